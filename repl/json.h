/* JSON through jansson: finite numbers, valid UTF-8, and a whole object or a failure.
 * SPDX-License-Identifier: Apache-2.0
 *
 * json_put_* add a member. What cannot be said in JSON becomes null (a number that is not finite) or
 * U+FFFD (a byte that is no UTF-8). */
#ifndef REPL_JSON_H
#define REPL_JSON_H

#include <stdint.h>

#include <jansson.h>

#include "repl/output.h"

json_t *json_make_text(const char *bytes, size_t length);
json_t *json_make_number(double value);
json_t *json_make_count(uint64_t value);
void json_put_string(json_t *object, const char *key, const char *string); /* NULL: null */
void json_put_text(json_t *object, const char *key, const char *bytes, size_t length);
void json_put_number(json_t *object, const char *key, double value);
void json_put_count(json_t *object, const char *key, uint64_t value);
void json_put_bool(json_t *object, const char *key, bool value);
/* Writes the value and a newline, and gives the value back. flags as in json_dumps. */
void json_print(struct output *output, json_t *value, size_t flags);

#endif
