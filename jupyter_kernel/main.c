/* The program longleaf-kernel: serves a notebook, or installs, removes and lists its kernel specs.
 * SPDX-License-Identifier: Apache-2.0 */
#ifdef __linux__
#include <malloc.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console/stack.h"
#include "jupyter_kernel/kernel.h"
#include "jupyter_kernel/spec.h"
#include "longleaf.h"

enum leave { LEAVE_OK = 0, LEAVE_OTHER = 1, LEAVE_USAGE = 2 };

static const char help[] =
    "usage: longleaf-kernel install [--user | --sys-prefix | --prefix FOLDER]\n"
    "                               [--name NAME] [--display-name NAME] [--model MODEL]\n"
    "       longleaf-kernel uninstall [--user | --sys-prefix | --prefix FOLDER] [--name NAME]\n"
    "       longleaf-kernel list\n"
    "       longleaf-kernel -f CONNECTION_FILE [--model MODEL]\n"
    "\n"
    "The kernel of longleaf for Jupyter notebooks. install tells Jupyter of it; Jupyter starts it with -f.\n"
    "\n"
    "  --user                for this user (the default): $JUPYTER_DATA_DIR or ~/.local/share/jupyter\n"
    "  --sys-prefix          in the active Python environment\n"
    "  --prefix FOLDER       under FOLDER/share/jupyter/kernels\n"
    "  --name NAME           the spec's name (default: longleaf); several may stand side by side\n"
    "  --display-name NAME   what notebooks show (default: Longleaf, and the model's name)\n"
    "  --model MODEL         the model: a name in the models folder, or a GGUF file\n"
    "  -f CONNECTION_FILE    serve: the file that Jupyter wrote\n"
    "  --help, --version\n";

struct arguments {
    struct spec spec;
    bool placed; /* one of --user, --sys-prefix, --prefix was given */
    const char *connection_file;
};

static int usage(const char *format, const char *word)
{
    fprintf(stderr, "longleaf-kernel: ");
    fprintf(stderr, format, word);
    fprintf(stderr, "; longleaf-kernel --help explains\n");
    return LEAVE_USAGE;
}

/* "--name VALUE" and "--name=VALUE". */
static bool takes_value(const char *argument, const char *name, char **argv, int *at, const char **ret)
{
    size_t length = strlen(name);
    if (strncmp(argument, name, length) != 0)
        return false;
    if (argument[length] == '=' && argument[1] == '-') {
        *ret = argument + length + 1;
        return true;
    }
    if (argument[length] || !argv[*at + 1])
        return false;
    *ret = argv[++*at];
    return true;
}

static bool set_place(struct arguments *arguments, enum spec_where where)
{
    bool first = !arguments->placed;
    arguments->placed = true;
    arguments->spec.where = where;
    return first;
}

static int parse(struct arguments *arguments, char **argv, int at)
{
    struct spec *spec = &arguments->spec;
    for (; argv[at]; at++) {
        const char *argument = argv[at];
        bool alone = true;
        if (strcmp(argument, "--user") == 0)
            alone = set_place(arguments, SPEC_USER);
        else if (strcmp(argument, "--sys-prefix") == 0)
            alone = set_place(arguments, SPEC_SYS_PREFIX);
        else if (takes_value(argument, "--prefix", argv, &at, &spec->prefix))
            alone = set_place(arguments, SPEC_PREFIX);
        else if (!takes_value(argument, "--name", argv, &at, &spec->name) &&
                 !takes_value(argument, "--display-name", argv, &at, &spec->display_name) &&
                 !takes_value(argument, "--model", argv, &at, &spec->model) &&
                 !takes_value(argument, "-m", argv, &at, &spec->model) &&
                 !takes_value(argument, "-f", argv, &at, &arguments->connection_file))
            return usage(argv[at][0] == '-' ? "%s is no option here, or lacks its value"
                                            : "%s is not expected here",
                         argument);
        if (!alone)
            return usage("%s: only one of --user, --sys-prefix and --prefix can be", argument);
    }
    return LEAVE_OK;
}

static int fail(const struct text *problem)
{
    fprintf(stderr, "longleaf-kernel: %s\n", text_string(problem));
    return LEAVE_OTHER;
}

/* What is freed of large cells goes back to the system, whatever thread it was for. */
static void return_memory(void)
{
#ifdef M_MMAP_THRESHOLD
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
    mallopt(M_TRIM_THRESHOLD, 1 << 20);
#endif
}

static int serve(const struct arguments *arguments)
{
    struct text problem = {0};
    return_memory();
    if (arguments->placed || arguments->spec.name || arguments->spec.display_name)
        return usage("%s and --user, --prefix, --name and the like do not go together", "-f");
    bool ok = kernel_run(arguments->connection_file, arguments->spec.model, &problem);
    int code = ok ? LEAVE_OK : fail(&problem);
    text_fini(&problem);
    return code;
}

static int install(const struct arguments *arguments, const char *called)
{
    struct text program = {0}, path = {0}, problem = {0};
    bool ok = spec_program(called, &program, &problem) &&
              spec_install(&arguments->spec, text_string(&program), &path, &problem);
    int code = ok ? LEAVE_OK : fail(&problem);
    if (ok)
        printf("installed %s\n", text_string(&path));
    text_fini(&program);
    text_fini(&path);
    text_fini(&problem);
    return code;
}

static int uninstall(const struct arguments *arguments)
{
    struct text path = {0}, problem = {0};
    if (arguments->spec.display_name || arguments->spec.model)
        return usage("%s takes --user, --sys-prefix, --prefix and --name", "uninstall");
    bool ok = spec_uninstall(&arguments->spec, &path, &problem);
    int code = ok ? LEAVE_OK : fail(&problem);
    if (ok)
        printf("removed %s\n", text_string(&path));
    text_fini(&path);
    text_fini(&problem);
    return code;
}

static int list(void)
{
    struct text out = {0};
    spec_list(&out);
    if (!out.length)
        fputs("longleaf-kernel: no spec of longleaf is where Jupyter looks; longleaf-kernel install writes "
              "one\n",
              stderr);
    fputs(text_string(&out), stdout);
    text_fini(&out);
    return fflush(stdout) == 0 ? LEAVE_OK : LEAVE_OTHER;
}

int main(int argc, char **argv)
{
    struct arguments arguments = {.spec = {.where = SPEC_USER}};
    const char *verb = argc > 1 ? argv[1] : "--help";
    if (strcmp(verb, "--help") == 0 || strcmp(verb, "-h") == 0)
        return fputs(help, argc > 1 ? stdout : stderr) < 0 ? LEAVE_OTHER : argc > 1 ? LEAVE_OK : LEAVE_USAGE;
    if (strcmp(verb, "--version") == 0)
        return printf("longleaf-kernel %s\n", ll_version()) < 0 ? LEAVE_OTHER : LEAVE_OK;
    bool worded = verb[0] != '-';
    struct text problem = {0};
    if (!stack_suffices(&problem)) {
        fprintf(stderr, "longleaf-kernel: %s\n", text_string(&problem));
        text_fini(&problem);
        return LEAVE_OTHER;
    }
    int code = parse(&arguments, argv, worded ? 2 : 1);
    if (code)
        return code;
    if (worded && arguments.connection_file)
        return usage("%s and -f do not go together", verb);
    if (strcmp(verb, "install") == 0)
        return install(&arguments, argv[0]);
    if (strcmp(verb, "uninstall") == 0)
        return uninstall(&arguments);
    if (strcmp(verb, "list") == 0)
        return argc > 2 ? usage("%s takes nothing after it", verb) : list();
    if (worded)
        return usage("there is no command %s", verb);
    return arguments.connection_file ? serve(&arguments) : usage("%s is missing", "-f CONNECTION_FILE");
}
