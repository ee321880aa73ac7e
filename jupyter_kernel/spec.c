/* Kernel specs: the folders by which Jupyter finds this kernel, installed, listed, removed.
 * SPDX-License-Identifier: Apache-2.0 */
#include "jupyter_kernel/spec.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "console/escape.h"
#include "console/modelpath.h"
#include "jupyter_kernel/json.h"
#include "jupyter_kernel/logos.h"
#include "jupyter_kernel/sockets.h"

#define SPEC_NAME "longleaf"
#define SPEC_PROGRAM "longleaf-kernel"
#define SPEC_FILE "kernel.json"

static bool fail(struct text *problem, const char *what, const char *path, int reason)
{
    text_printf(problem, "%s ", what);
    escape_append_line(problem, path);
    text_printf(problem, ": %s", strerror(reason));
    return false;
}

/* ---- where ---- */

static bool user_folder(struct text *path)
{
    const char *jupyter = getenv("JUPYTER_DATA_DIR"), *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    if (jupyter && *jupyter)
        text_printf(path, "%s/kernels", jupyter);
    else if (data && data[0] == '/')
        text_printf(path, "%s/jupyter/kernels", data);
    else if (home && *home)
        text_printf(path, "%s/.local/share/jupyter/kernels", home);
    return path->length > 0;
}

static const char *environment_prefix(void)
{
    static const char *const names[] = {"VIRTUAL_ENV", "CONDA_PREFIX"};
    for (size_t i = 0; i < 2; i++) {
        const char *value = getenv(names[i]);
        if (value && *value)
            return value;
    }
    return NULL;
}

bool spec_folder(enum spec_where where, const char *prefix, struct text *path, struct text *problem)
{
    if (where == SPEC_USER) {
        if (!user_folder(path))
            text_puts(problem, "there is no home folder: set HOME, or name a place with --prefix");
        return path->length > 0;
    }
    if (where == SPEC_SYS_PREFIX)
        prefix = environment_prefix();
    if (!prefix) {
        text_puts(problem,
                  "no Python environment is active (neither VIRTUAL_ENV nor CONDA_PREFIX is set); activate "
                  "one, or name its folder with --prefix");
        return false;
    }
    text_printf(path, "%s/share/jupyter/kernels", prefix);
    return true;
}

static bool check_name(const char *name, struct text *problem)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
    if (*name && strspn(name, allowed) == strlen(name) && name[0] != '.' && strlen(name) <= 100)
        return true;
    text_puts(problem, "“");
    escape_append_line(problem, name);
    text_puts(problem, "” is no name for a kernel: letters, digits, - . _ only, and no dot at its beginning");
    return false;
}

bool spec_program(const char *called, struct text *path, struct text *problem)
{
    char self[PATH_MAX + 1];
    ssize_t length = readlink("/proc/self/exe", self, PATH_MAX);
    if (length <= 0)
        return fail(problem, "cannot find this program,", called, errno);
    self[length] = '\0';
    /* In a build folder the program itself does not find its library; libtool's script beside .libs does. */
    char *name = strrchr(self, '/'), *libs = strstr(self, "/.libs/");
    if (libs && libs + 6 == name) {
        text_append(path, self, (size_t)(libs - self));
        text_printf(path, "/%s", SPEC_PROGRAM);
    } else {
        text_puts(path, self);
    }
    return !path->failed;
}

/* ---- a spec's file ---- */

/* The argv[0] and display name of the spec in a folder; false: there is none, or it is another kernel's. */
static bool read_spec(const char *folder, struct text *display)
{
    struct text path = {0};
    text_printf(&path, "%s/%s", folder, SPEC_FILE);
    json_t *spec = path.failed ? NULL : json_load_file(text_string(&path), 0, NULL);
    text_fini(&path);
    const char *program = json_string_value(json_array_get(json_object_get(spec, "argv"), 0));
    const char *slash = program ? strrchr(program, '/') : NULL;
    bool ours = program && strcmp(slash ? slash + 1 : program, SPEC_PROGRAM) == 0;
    const char *name = ours && display ? json_get_string(spec, "display_name", NULL) : NULL;
    if (name)
        escape_append_line(display, name);
    json_decref(spec);
    return ours;
}

/* The argument of --model as the kernel is to be given it: a file's absolute name, or a name as it is. */
static bool settle_model(const char *model, struct text *out, struct text *problem)
{
    struct text found = {0};
    char absolute[PATH_MAX + 1];
    bool ok = modelpath_find(model, &found, problem);
    if (ok && strcmp(text_string(&found), model) == 0 && realpath(model, absolute))
        text_puts(out, absolute);
    else if (ok)
        text_puts(out, model);
    text_fini(&found);
    return ok;
}

static void add_display_name(json_t *object, const struct spec *spec)
{
    struct text display = {0};
    const char *slash = spec->model ? strrchr(spec->model, '/') : NULL;
    if (spec->display_name)
        text_puts(&display, spec->display_name);
    else if (spec->model)
        text_printf(&display, "Longleaf (%s)", slash ? slash + 1 : spec->model);
    else
        text_puts(&display, "Longleaf");
    json_put_text(object, "display_name", &display);
    text_fini(&display);
}

static bool describe(const struct spec *spec, const char *program, struct text *out, struct text *problem)
{
    struct text model = {0};
    if (spec->model && !settle_model(spec->model, &model, problem))
        return false;
    json_t *argv = json_array(), *object = json_object();
    json_array_append_new(argv, json_make_string(program));
    json_array_append_new(argv, json_string("-f"));
    json_array_append_new(argv, json_string("{connection_file}"));
    if (spec->model) {
        json_array_append_new(argv, json_string("--model"));
        json_array_append_new(argv, json_make_text(text_string(&model), model.length));
    }
    json_put(object, "argv", argv);
    add_display_name(object, spec);
    json_put(object, "language", json_string("longleaf"));
    json_put(object, "interrupt_mode", json_string("message"));
    json_put(object, "env", json_object());
    json_t *metadata = json_pack("{s:b}", "debugger", 0);
    if (sockets_can_encrypt())
        json_put(metadata, "supported_encryption", json_pack("[s]", "curve"));
    json_put(object, "metadata", metadata);
    json_put(object, "kernel_protocol_version", json_string(WIRE_PROTOCOL));
    char *text = json_dumps(object, JSON_INDENT(1));
    if (text)
        text_printf(out, "%s\n", text);
    else
        out->failed = true;
    free(text);
    json_decref(object);
    text_fini(&model);
    if (out->failed)
        text_puts(problem, "no memory for the spec");
    return !out->failed;
}

/* ---- writing ---- */

static bool write_file(const char *folder, const char *name, const void *bytes, size_t length,
                       struct text *problem)
{
    struct text path = {0};
    text_printf(&path, "%s/%s", folder, name);
    FILE *file = path.failed ? NULL : fopen(text_string(&path), "wxe");
    bool ok =
        file && fwrite(bytes, 1, length, file) == length && fflush(file) == 0 && fsync(fileno(file)) == 0;
    if (!ok)
        fail(problem, "cannot write", text_string(&path), errno);
    if (file)
        fclose(file);
    text_fini(&path);
    return ok;
}

static bool fill(const char *folder, const struct text *description, struct text *problem)
{
    bool ok = write_file(folder, SPEC_FILE, text_string(description), description->length, problem);
    for (size_t i = 0; i < LOGO_COUNT && ok; i++)
        ok = write_file(folder, logos[i].name, logos[i].bytes, logos[i].length, problem);
    return ok && chmod(folder, 0755) == 0;
}

/* Removes our files and then the folder; false: something else is in it. */
static bool clear(const char *folder)
{
    struct text path = {0};
    text_printf(&path, "%s/%s", folder, SPEC_FILE);
    unlink(text_string(&path));
    for (size_t i = 0; i < LOGO_COUNT; i++) {
        text_clear(&path);
        text_printf(&path, "%s/%s", folder, logos[i].name);
        unlink(text_string(&path));
    }
    text_fini(&path);
    return rmdir(folder) == 0;
}

static bool make_folders(const char *path, struct text *problem)
{
    char *copy = strdup(path);
    bool ok = copy != NULL;
    for (char *slash = ok ? strchr(copy + 1, '/') : NULL; ok && slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        ok = mkdir(copy, 0755) == 0 || errno == EEXIST;
        *slash = '/';
    }
    ok = ok && (mkdir(copy, 0755) == 0 || errno == EEXIST);
    if (!ok)
        fail(problem, "cannot make the folder", path, errno);
    free(copy);
    return ok;
}

static bool is_there(const char *path)
{
    struct stat about;
    return lstat(path, &about) == 0;
}

/* Puts the new folder in the old one's place. */
static bool take_place(const char *fresh, const char *path, struct text *problem)
{
    if (is_there(path) && (!read_spec(path, NULL) || !clear(path))) {
        escape_append_line(problem, path);
        text_puts(problem,
                  " holds something else than a spec of longleaf; take another --name, or remove it first");
        return false;
    }
    return rename(fresh, path) == 0 || fail(problem, "cannot make", path, errno);
}

bool spec_install(const struct spec *spec, const char *program, struct text *path, struct text *problem)
{
    struct text folder = {0}, fresh = {0}, description = {0};
    const char *name = spec->name ? spec->name : SPEC_NAME;
    bool ok = check_name(name, problem) && spec_folder(spec->where, spec->prefix, &folder, problem) &&
              describe(spec, program, &description, problem) && make_folders(text_string(&folder), problem);
    if (ok) {
        text_printf(path, "%s/%s", text_string(&folder), name);
        text_printf(&fresh, "%s/.%s.XXXXXX", text_string(&folder), name);
        ok = !fresh.failed && mkdtemp(fresh.bytes);
        if (!ok)
            fail(problem, "cannot make a folder in", text_string(&folder), errno);
    }
    if (ok) {
        ok = fill(text_string(&fresh), &description, problem) &&
             take_place(text_string(&fresh), text_string(path), problem);
        if (!ok)
            clear(text_string(&fresh));
    }
    text_fini(&folder);
    text_fini(&fresh);
    text_fini(&description);
    return ok;
}

bool spec_uninstall(const struct spec *spec, struct text *path, struct text *problem)
{
    struct text folder = {0};
    const char *name = spec->name ? spec->name : SPEC_NAME;
    bool ok = check_name(name, problem) && spec_folder(spec->where, spec->prefix, &folder, problem);
    if (ok)
        text_printf(path, "%s/%s", text_string(&folder), name);
    text_fini(&folder);
    if (!ok)
        return false;
    if (!read_spec(text_string(path), NULL)) {
        escape_append_line(problem, text_string(path));
        text_puts(problem, is_there(text_string(path))
                               ? " is no spec of longleaf; it was left alone"
                               : " does not exist (longleaf-kernel list shows what does)");
        return false;
    }
    if (!clear(text_string(path))) {
        escape_append_line(problem, text_string(path));
        text_puts(problem, " holds other files, too; longleaf's own are removed, the rest was left");
        return false;
    }
    return true;
}

/* ---- listing ---- */

static void list_folder(const char *folder, struct text *out)
{
    DIR *all = opendir(folder);
    struct dirent *entry;
    while (all && (entry = readdir(all))) {
        struct text path = {0}, display = {0};
        text_printf(&path, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] != '.' && !path.failed && read_spec(text_string(&path), &display)) {
            escape_append_line(out, entry->d_name);
            text_printf(out, "\t%s\t", text_string(&display));
            escape_append_line(out, text_string(&path));
            text_putc(out, '\n');
        }
        text_fini(&path);
        text_fini(&display);
    }
    if (all)
        closedir(all);
}

static void list_prefix(const char *prefix, const char *below, struct text *out)
{
    struct text folder = {0};
    text_printf(&folder, "%s%s", prefix, below);
    list_folder(text_string(&folder), out);
    text_fini(&folder);
}

bool spec_list(struct text *out)
{
    struct text user = {0};
    const char *more = getenv("JUPYTER_PATH");
    while (more && *more) {
        size_t length = strcspn(more, ":");
        struct text folder = {0};
        text_append(&folder, more, length);
        if (length)
            list_prefix(text_string(&folder), "/kernels", out);
        text_fini(&folder);
        more += length + (more[length] == ':');
    }
    if (user_folder(&user))
        list_folder(text_string(&user), out);
    text_fini(&user);
    if (environment_prefix())
        list_prefix(environment_prefix(), "/share/jupyter/kernels", out);
    list_folder("/usr/local/share/jupyter/kernels", out);
    list_folder("/usr/share/jupyter/kernels", out);
    return !out->failed;
}
