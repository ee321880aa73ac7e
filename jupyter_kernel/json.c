/* JSON through jansson: members added safely, valid UTF-8 whatever the bytes were.
 * SPDX-License-Identifier: Apache-2.0 */
#include "jupyter_kernel/json.h"

#include <math.h>
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

json_t *json_make_string(const char *string)
{
    return string ? json_make_text(string, strlen(string)) : json_null();
}

void json_put(json_t *object, const char *key, json_t *value)
{
    json_object_set_new(object, key, value);
}

void json_put_string(json_t *object, const char *key, const char *string)
{
    json_put(object, key, json_make_string(string));
}

void json_put_text(json_t *object, const char *key, const struct text *text)
{
    json_put(object, key, json_make_text(text_string(text), text->length));
}

void json_put_bytes(json_t *object, const char *key, const char *bytes, size_t length)
{
    json_put(object, key, json_make_text(bytes, length));
}

void json_put_number(json_t *object, const char *key, double value)
{
    json_put(object, key, isfinite(value) ? json_real(value) : json_null());
}

void json_put_count(json_t *object, const char *key, uint64_t value)
{
    json_put(object, key, value <= INT64_MAX ? json_integer((json_int_t)value) : json_real((double)value));
}

void json_put_bool(json_t *object, const char *key, bool value)
{
    json_put(object, key, json_boolean(value));
}

const char *json_get_string(const json_t *object, const char *key, size_t *ret_length)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_string(value))
        return NULL;
    if (ret_length)
        *ret_length = json_string_length(value);
    return json_string_value(value);
}

bool json_get_bool(const json_t *object, const char *key, bool fallback)
{
    const json_t *value = json_object_get(object, key);
    return json_is_boolean(value) ? json_is_true(value) : fallback;
}

int64_t json_get_integer(const json_t *object, const char *key, int64_t fallback)
{
    const json_t *value = json_object_get(object, key);
    return json_is_integer(value) ? json_integer_value(value) : fallback;
}

static int write_some(const char *bytes, size_t length, void *user)
{
    struct text *out = user;
    text_append(out, bytes, length);
    return out->failed ? -1 : 0;
}

void json_write(struct text *out, const json_t *value)
{
    if (!value || json_dump_callback(value, write_some, out, JSON_COMPACT | JSON_REAL_PRECISION(9)) != 0)
        out->failed = true;
}

json_t *json_read_object(const char *bytes, size_t length)
{
    json_t *value = json_loadb(bytes, length, JSON_ALLOW_NUL, NULL);
    if (json_is_object(value))
        return value;
    json_decref(value);
    return NULL;
}
