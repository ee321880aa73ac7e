/* json_at [PATH]: checks that standard input is JSON and prints the value at a.b.0.c, strings bare.
 * SPDX-License-Identifier: Apache-2.0
 * An array or object prints its size. Fails when the input is not one JSON value or lacks the path. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

static const json_t *walk(const json_t *value, char *path)
{
    for (char *name = strtok(path, "."); name && value; name = strtok(NULL, "."))
        value = json_is_array(value) ? json_array_get(value, strtoul(name, NULL, 10))
                                     : json_object_get(value, name);
    return value;
}

int main(int argc, char **argv)
{
    json_error_t error;
    json_t *root = json_loadf(stdin, JSON_REJECT_DUPLICATES, &error);
    if (!root) {
        fprintf(stderr, "json_at: %s (line %d)\n", error.text, error.line);
        return 1;
    }
    const json_t *value = argc > 1 ? walk(root, argv[1]) : root;
    if (!value)
        fprintf(stderr, "json_at: no %s\n", argv[1]);
    else if (json_is_string(value))
        puts(json_string_value(value));
    else if (json_is_array(value))
        printf("%zu\n", json_array_size(value));
    else if (json_is_object(value))
        printf("%zu\n", json_object_size(value));
    else if (json_is_real(value))
        printf("%.17g\n", json_real_value(value));
    else if (json_is_integer(value))
        printf("%lld\n", (long long)json_integer_value(value));
    else
        puts(json_is_true(value) ? "true" : json_is_false(value) ? "false" : "null");
    json_decref(root);
    return value ? 0 : 1;
}
