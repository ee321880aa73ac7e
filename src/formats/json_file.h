/* JSON files of a model folder, read whole with a limit.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_JSON_FILE_H
#define FORMATS_JSON_FILE_H

#include <jansson.h>

#include "longleaf.h"

/* folder may be NULL: name is the path then. LL_NOT_FOUND: no such file. Objects that name a key twice are
 * refused; text may hold NUL. The caller's to json_decref. */
ll_status json_file_read(const char *folder, const char *name, size_t most_bytes, json_t **ret,
                         ll_error *error);
/* The same from memory; where names the file for errors. */
ll_status json_file_parse(const char *text, size_t length, const char *where, json_t **ret, ll_error *error);
/* A member that is there and not null. */
const json_t *json_member(const json_t *object, const char *name);
/* Its text; NULL when it is none. */
const char *json_member_text(const json_t *object, const char *name);
bool json_member_true(const json_t *object, const char *name, bool fallback);

#endif
