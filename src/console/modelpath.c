/* Where models live, and which file a name means.
 * SPDX-License-Identifier: Apache-2.0 */
#include "console/modelpath.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "console/escape.h"

bool modelpath_folder(struct text *path)
{
    const char *models = getenv("LONGLEAF_MODELS"), *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    if (models && *models)
        text_puts(path, models);
    else if (data && data[0] == '/')
        text_printf(path, "%s/longleaf/models", data);
    else if (home && *home)
        text_printf(path, "%s/.local/share/longleaf/models", home);
    return path->length > 0;
}

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

static bool in_folder(const char *folder, const char *name, const char *suffix, struct text *path)
{
    text_clear(path);
    text_printf(path, "%s/%s%s", folder, name, suffix);
    return exists(text_string(path));
}

bool modelpath_find(const char *name, struct text *path, struct text *problem)
{
    struct text folder = {0};
    bool housed = modelpath_folder(&folder);
    bool found;
    if (!name) {
        found = housed && in_folder(text_string(&folder), MODELPATH_DEFAULT, "", path);
        if (!found)
            text_puts(problem,
                      "the default model is not here yet; run `longleaf models fetch`, or name one with -m");
    } else {
        found = housed && *name && !strchr(name, '/') &&
                (in_folder(text_string(&folder), name, "", path) ||
                 in_folder(text_string(&folder), name, ".gguf", path));
        if (!found) {
            text_clear(path);
            text_puts(path, name);
            found = *name && exists(name);
        }
        if (!found) {
            text_puts(problem, "there is no model “");
            escape_append_line(problem, name);
            text_puts(problem, "”, neither as a file nor in the models folder (see `longleaf models`)");
        }
    }
    text_fini(&folder);
    return found;
}
