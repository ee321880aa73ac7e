/* JSON through jansson: finite numbers, valid UTF-8, and a whole object or a failure.
 * SPDX-License-Identifier: Apache-2.0 */
#include "repl/json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "console/escape.h"

json_t *json_make_text(const char *bytes, size_t length)
{
    json_t *value = json_stringn(bytes ? bytes : "", bytes ? length : 0);
    if (value)
        return value;
    struct text repaired = {0};
    escape_repair(&repaired, bytes, length);
    value = repaired.failed ? NULL : json_stringn(text_string(&repaired), repaired.length);
    text_fini(&repaired);
    return value;
}

json_t *json_make_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *json_make_count(uint64_t value)
{
    return value <= INT64_MAX ? json_integer((json_int_t)value) : json_real((double)value);
}

void json_put_string(json_t *object, const char *key, const char *string)
{
    json_object_set_new(object, key, string ? json_make_text(string, strlen(string)) : json_null());
}

void json_put_text(json_t *object, const char *key, const char *bytes, size_t length)
{
    json_object_set_new(object, key, json_make_text(bytes, length));
}

void json_put_number(json_t *object, const char *key, double value)
{
    json_object_set_new(object, key, json_make_number(value));
}

void json_put_count(json_t *object, const char *key, uint64_t value)
{
    json_object_set_new(object, key, json_make_count(value));
}

void json_put_bool(json_t *object, const char *key, bool value)
{
    json_object_set_new(object, key, json_boolean(value));
}

static int print_some(const char *bytes, size_t length, void *user)
{
    struct output *output = user;
    output_write(output, bytes, length);
    return output->failure ? -1 : 0;
}

void json_print(struct output *output, json_t *value, size_t flags)
{
    /* Controls are escaped by JSON itself; on a terminal bidirectional marks are too, as ASCII. */
    if (output->terminal)
        flags |= JSON_ENSURE_ASCII;
    if (!value || (json_dump_callback(value, print_some, output, flags | JSON_REAL_PRECISION(9)) != 0 &&
                   !output->failure))
        output->failure = ENOMEM;
    output_puts(output, "\n");
    json_decref(value);
}
