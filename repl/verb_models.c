/* models: what is in the models folder; fetch, verify, path.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "console/human.h"
#include "console/modelpath.h"
#include "console/suggest.h"
#include "repl/checksum.h"
#include "repl/json.h"
#include "repl/say.h"
#include "repl/signals.h"
#include "repl/verbs.h"

static int is_model(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return entry->d_name[0] != '.' && length > 5 && strcmp(entry->d_name + length - 5, ".gguf") == 0;
}

static uint64_t file_size(const char *folder, const char *name)
{
    struct text path = {0};
    struct stat about = {0};
    text_printf(&path, "%s/%s", folder, name);
    uint64_t size = stat(text_string(&path), &about) == 0 ? (uint64_t)about.st_size : 0;
    text_fini(&path);
    return size;
}

/* What an adapter goes over; false: the file is none, or does not say. */
static bool base_of(const char *folder, const char *name, ll_adapter_info *ret)
{
    struct text path = {0};
    text_printf(&path, "%s/%s", folder, name);
    bool is = ll_adapter_get_info(text_string(&path), ret, NULL) == LL_OK && ret->base_file[0];
    text_fini(&path);
    return is;
}

static json_t *entry_json(const char *folder, const char *name)
{
    json_t *row = json_object();
    json_put_string(row, "name", name);
    json_put_count(row, "bytes", file_size(folder, name));
    json_put_bool(row, "default", strcmp(name, MODELPATH_DEFAULT) == 0);
    ll_adapter_info adapter;
    if (base_of(folder, name, &adapter))
        json_put_string(row, "over", adapter.base_file);
    return row;
}

static void print_entries(struct program *program, const char *folder, struct dirent **entries, int count)
{
    struct output *output = &program->output;
    json_t *rows = json_array();
    bool json = settings_flag(&program->settings, OPTION_JSON);
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        ll_adapter_info adapter;
        bool over = !json && base_of(folder, name, &adapter);
        if (json)
            json_array_append_new(rows, entry_json(folder, name));
        else
            output_printf(output, "%-48s %10s%s%s%s\n", name, human_bytes(file_size(folder, name)).text,
                          strcmp(name, MODELPATH_DEFAULT) == 0 ? "  default" : "", over ? "  over " : "",
                          over ? adapter.base_file : "");
    }
    if (!json) {
        json_decref(rows);
        return;
    }
    json_t *object = json_object();
    json_put_string(object, "folder", folder);
    json_object_set_new(object, "models", rows);
    json_print(output, object, JSON_INDENT(2));
}

static int list(struct program *program, const char *folder)
{
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, is_model, alphasort);
    if (count < 0 && errno != ENOENT) {
        say_error("%s: %s", folder, strerror(errno));
        return LEAVE_OTHER;
    }
    print_entries(program, folder, entries, count < 0 ? 0 : count);
    if (count <= 0)
        say_note("no model is in %s yet; `longleaf models fetch` gets the default one", folder);
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
    return LEAVE_OK;
}

/* The installed script, or, for a program that still lies in its build folder, the one there. */
static bool find_script(struct text *script)
{
    char self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    text_puts(script, LL_PKGLIBEXECDIR "/fetch-model.sh");
    if (access(text_string(script), R_OK) == 0)
        return true;
    char *slash = NULL;
    if (length > 0) {
        self[length] = '\0';
        slash = strrchr(self, '/');
    }
    if (slash && slash - self >= 6 && memcmp(slash - 6, "/.libs", 6) == 0) {
        text_clear(script);
        text_printf(script, "%.*s/src/console/fetch-model.sh", (int)(slash - 6 - self), self);
    }
    return access(text_string(script), R_OK) == 0;
}

static int fetch(void)
{
    struct text script = {0};
    if (find_script(&script)) {
        execl("/bin/sh", "sh", text_string(&script), (char *)NULL);
        say_error("/bin/sh: %s", strerror(errno));
    } else {
        say_error("%s, the script that fetches the model, is missing; install longleaf again",
                  text_string(&script));
    }
    text_fini(&script);
    return LEAVE_OTHER;
}

static int verify(struct program *program, const char *name)
{
    struct text path = {0}, problem = {0};
    char hash[CHECKSUM_LENGTH + 1], wanted[CHECKSUM_LENGTH + 1];
    int code = LEAVE_MODEL;
    if (!modelpath_find(name, &path, &problem))
        say_error("%s", text_string(&problem));
    else if (!checksum_file(text_string(&path), hash, &problem)) {
        if (signals_seen())
            code = program_interrupted();
        else
            say_error("%s", text_string(&problem));
    } else if (!checksum_wanted(text_string(&path), wanted)) {
        output_printf(&program->output, "%s  %s\n", hash, text_string(&path));
        say_note("no checksum is known for this model, so nothing was compared");
        code = LEAVE_OK;
    } else if (strcmp(hash, wanted) != 0) {
        say_error("%s is damaged: its SHA-256 is %s and should be %s; `longleaf models fetch` gets the "
                  "default model anew",
                  text_string(&path), hash, wanted);
    } else {
        output_printf(&program->output, "%s  %s: sound\n", hash, text_string(&path));
        code = LEAVE_OK;
    }
    text_fini(&path);
    text_fini(&problem);
    return code;
}

static int path(struct program *program, const char *name, const char *folder)
{
    struct text found = {0}, problem = {0};
    int code = LEAVE_OK;
    if (!name) {
        output_printf(&program->output, "%s\n", folder);
    } else if (modelpath_find(name, &found, &problem)) {
        output_printf(&program->output, "%s\n", text_string(&found));
    } else {
        say_error("%s", text_string(&problem));
        code = LEAVE_MODEL;
    }
    text_fini(&found);
    text_fini(&problem);
    return code;
}

static int unknown_word(const char *word)
{
    static const char *const words[] = {"list", "fetch", "verify", "path"};
    struct suggestion near;
    suggest_begin(&near, word);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        suggest_offer(&near, words[i]);
    say_error("models knows list, fetch, verify and path, not “%s”%s%s%s", word,
              near.best ? " (did you mean " : "", near.best ? near.best : "", near.best ? "?)" : "");
    return LEAVE_USAGE;
}

int verb_models(struct program *program)
{
    const char *word = program->operand_count ? program->operands[0] : "list";
    const char *name = program->operand_count > 1 ? program->operands[1] : NULL;
    struct text folder = {0};
    int code;
    if (!modelpath_folder(&folder)) {
        say_error("neither LONGLEAF_MODELS, XDG_DATA_HOME nor HOME is set, so there is no models folder");
        return LEAVE_OTHER;
    }
    if (name && strcmp(word, "verify") != 0 && strcmp(word, "path") != 0) {
        say_error("models %s takes no name", word);
        code = LEAVE_USAGE;
    } else if (strcmp(word, "list") == 0)
        code = list(program, text_string(&folder));
    else if (strcmp(word, "fetch") == 0)
        code = fetch();
    else if (strcmp(word, "verify") == 0)
        code = verify(program, name);
    else if (strcmp(word, "path") == 0)
        code = path(program, name, text_string(&folder));
    else
        code = unknown_word(word);
    text_fini(&folder);
    return code;
}
