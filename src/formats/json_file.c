/* JSON files of a model folder, read whole with a limit.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/json_file.h"

#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/file.h"
#include "base/utf8.h"

ll_status json_file_parse(const char *text, size_t length, const char *where, json_t **ret, ll_error *error)
{
    json_error_t problem;
    char shown[128];
    *ret = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &problem);
    if (*ret)
        return LL_OK;
    utf8_printable(problem.text, strlen(problem.text), shown, sizeof shown);
    return error_set(error, LL_FORMAT, where, "line %d is no JSON: %s", problem.line, shown);
}

ll_status json_file_read(const char *folder, const char *name, size_t most_bytes, json_t **ret,
                         ll_error *error)
{
    struct strbuf path = {0}, text = {0};
    struct stat info;
    strbuf_printf(&path, folder ? "%s/%s" : "%s%s", folder ? folder : "", name);
    ll_status status = path.failed ? error_nomem(error, "model", strlen(name)) : LL_OK;
    if (status == LL_OK && stat(path.text, &info) == 0 && !S_ISREG(info.st_mode)) /* a pipe may never speak */
        status = error_set(error, LL_FORMAT, "model", "%s is not a regular file", path.text);
    if (status == LL_OK)
        status = file_read(path.text, most_bytes, NULL, &text, error);
    const char *slash = strrchr(name, '/');
    if (status == LL_OK)
        status = json_file_parse(strbuf_text(&text), text.length, slash ? slash + 1 : name, ret, error);
    strbuf_fini(&text);
    strbuf_fini(&path);
    return status;
}

const json_t *json_member(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return value && !json_is_null(value) ? value : NULL;
}

const char *json_member_text(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

bool json_member_true(const json_t *object, const char *name, bool fallback)
{
    const json_t *value = json_object_get(object, name);
    return json_is_boolean(value) ? json_is_true(value) : fallback;
}
