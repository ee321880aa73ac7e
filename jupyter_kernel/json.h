/* JSON through jansson: members added safely, valid UTF-8 whatever the bytes were.
 * SPDX-License-Identifier: Apache-2.0
 *
 * json_put_* add a member. What cannot be said in JSON becomes null (a number that is not finite) or
 * U+FFFD (a byte that is no UTF-8). json_get_* look into objects that came from outside. */
#ifndef JUPYTER_KERNEL_JSON_H
#define JUPYTER_KERNEL_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "console/text.h"

json_t *json_make_text(const char *bytes, size_t length);
json_t *json_make_string(const char *string); /* NULL: null */
void json_put_string(json_t *object, const char *key, const char *string);
void json_put_text(json_t *object, const char *key, const struct text *text);
void json_put_bytes(json_t *object, const char *key, const char *bytes, size_t length);
void json_put_number(json_t *object, const char *key, double value);
void json_put_count(json_t *object, const char *key, uint64_t value);
void json_put_bool(json_t *object, const char *key, bool value);
void json_put(json_t *object, const char *key, json_t *value); /* takes value */

/* The member, or the fallback when it is not there or of another kind. */
const char *json_get_string(const json_t *object, const char *key, size_t *ret_length); /* NULL: none */
bool json_get_bool(const json_t *object, const char *key, bool fallback);
int64_t json_get_integer(const json_t *object, const char *key, int64_t fallback);

/* Compact JSON appended to out; a failure sets out->failed. */
void json_write(struct text *out, const json_t *value);
/* An object out of bytes, or NULL: not valid, too deep, or no object. */
json_t *json_read_object(const char *bytes, size_t length);

#endif
