/* longleaf, the program: settings from all places, then one verb, then the exit code.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "console/stack.h"
#include "console/suggest.h"
#include "console/terminal.h"
#include "repl/arguments.h"
#include "repl/help.h"
#include "repl/say.h"
#include "repl/signals.h"
#include "repl/verbs.h"

/* A closed standard descriptor would be given to the next file opened, and answers would be written
 * into a model. A stand-in opened the wrong way round takes the place and fails each use. */
static bool hold_descriptors(void)
{
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd)
            return false;
    return true;
}

/* Text is UTF-8 everywhere; only the character classes of the locale are taken, numbers keep points. */
static void choose_locale(void)
{
    if (!setlocale(LC_CTYPE, "") || strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
        setlocale(LC_CTYPE, "C.UTF-8");
}

static int unknown_verb(const char *word)
{
    if (access(word, F_OK) == 0) {
        say_error("“%s” is a file, not a verb; did you mean `longleaf sum %s` or `longleaf chat %s`?", word,
                  word, word);
        return LEAVE_USAGE;
    }
    struct suggestion near;
    suggest_begin(&near, word);
    for (int i = 0; i < VERB_COUNT; i++)
        suggest_offer(&near, verb_row((enum verb)i)->name);
    say_error("there is no verb “%s”%s%s%s; `longleaf help` lists them", word,
              near.best ? " (did you mean " : "", near.best ? near.best : "", near.best ? "?)" : "");
    return LEAVE_USAGE;
}

static bool read_settings(struct settings *settings, struct text *problem)
{
    struct text path = {0};
    settings_config_path(&path);
    bool ok = settings_read_config(settings, text_string(&path), problem) &&
              settings_read_environment(settings, problem);
    text_fini(&path);
    return ok;
}

/* A misspelt variable would be as good as not there, and nobody would hear of it. */
static void name_unknown_variables(void)
{
    struct text names = {0};
    settings_unknown_variables(&names);
    if (names.length)
        say_note("no setting is called %s; it is ignored (`longleaf info --config` lists them)",
                 text_string(&names));
    text_fini(&names);
}

static bool one_form(const struct settings *settings, struct text *problem)
{
    if (settings_flag(settings, OPTION_JSON) && settings_flag(settings, OPTION_NDJSON))
        text_puts(problem, "--json and --ndjson are two forms of the answer: choose one");
    return !problem->length;
}

/* Without a FILE, a verb that needs one reads what is piped or redirected into it. */
static bool is_fed(void)
{
    struct stat status;
    return fstat(STDIN_FILENO, &status) == 0 &&
           (S_ISFIFO(status.st_mode) || S_ISREG(status.st_mode) || S_ISSOCK(status.st_mode));
}

static void read_what_is_fed(struct arguments *arguments)
{
    static char dash[] = "-";
    if (arguments->operand_count == 0 && verb_row(arguments->verb)->least == 1 && is_fed())
        arguments->operands[arguments->operand_count++] = dash;
}

static bool count_operands(const struct arguments *arguments, struct text *problem)
{
    const struct verb_row *row = verb_row(arguments->verb);
    if (arguments->operand_count < row->least)
        text_printf(problem, "%s needs something to work on: longleaf %s %s", row->name, row->name,
                    row->arguments);
    else if (row->most >= 0 && arguments->operand_count > row->most)
        text_printf(problem, "%s takes %s: longleaf %s %s", row->name, row->most ? "fewer words" : "no words",
                    row->name, row->arguments);
    return !problem->length;
}

/* A reader that went away is no failure to talk about: the program ends as the signal would end it. */
static int settle_output(struct program *program, int code)
{
    bool keep =
        code == LEAVE_OK || code == LEAVE_UNCOVERED || (program->verb == VERB_RUN && code >= LEAVE_HUNG_UP);
    struct text path = {0};
    text_puts(&path, program->output.path.length ? text_string(&program->output.path) : "standard output");
    bool written = output_close(&program->output, keep);
    if (!written && program->output.failure == EPIPE) {
        meter_clear(&program->meter);
        signal(SIGPIPE, SIG_DFL);
        raise(SIGPIPE);
    }
    if (!written) {
        say_error("%s: the answer could not be written: %s", text_string(&path),
                  strerror(program->output.failure));
        code = code ? code : LEAVE_OTHER;
    }
    text_fini(&path);
    return code;
}

static int run_verb(struct program *program)
{
    const char *path = settings_text(&program->settings, OPTION_OUTPUT);
    if (!output_open(&program->output, path)) {
        say_error("%s: %s", path, strerror(errno));
        output_close(&program->output, false);
        return LEAVE_OTHER;
    }
    bool plain = settings_flag(&program->settings, OPTION_PLAIN),
         quiet = settings_flag(&program->settings, OPTION_QUIET);
    say_set_quiet(quiet);
    meter_init(&program->meter, STDERR_FILENO, !plain && !quiet);
    program->streams_json = settings_flag(&program->settings, OPTION_NDJSON);
    program->cancel = ll_cancel_new();
    int code = LEAVE_OTHER;
    if (!program->cancel) {
        say_error("out of memory");
        code = LEAVE_MEMORY;
    } else if (!signals_start(program->cancel))
        say_error("the signal handlers could not be set up: %s", strerror(errno));
    else
        code = verbs_function(program->verb)(program);
    meter_clear(&program->meter);
    beacon_close(program->beacon);
    code = settle_output(program, code);
    ll_cancel_free(program->cancel);
    return code;
}

/* --help and --version win over everything else on the line, and need no sound configuration. */
static int print_help(const struct arguments *arguments)
{
    struct program program = {.verb = VERB_HELP};
    output_open(&program.output, NULL);
    size_t columns = program.output.terminal ? terminal_columns(STDOUT_FILENO) : 80;
    signals_start(NULL);
    if (arguments->version)
        output_printf(&program.output, "longleaf %s\n", ll_version());
    else if (arguments->verb_at && arguments->verb != VERB_COUNT)
        help_verb(&program.output, arguments->verb, columns);
    else
        help_overview(&program.output);
    return settle_output(&program, LEAVE_OK);
}

static int read_line_and_run(struct arguments *arguments, int argc, char **argv)
{
    struct text problem = {0};
    struct program program = {.verb = arguments->verb};
    int code = LEAVE_USAGE;
    if (arguments->verb == VERB_COUNT)
        return unknown_verb(argv[arguments->verb_at]);
    bool ok = settings_init(&program.settings) && read_settings(&program.settings, &problem) &&
              arguments_read(arguments, argc, argv, &program.settings, &problem) &&
              one_form(&program.settings, &problem);
    if (ok)
        name_unknown_variables();
    if (ok)
        read_what_is_fed(arguments);
    ok = ok && count_operands(arguments, &problem);
    if (!ok) {
        say_error("%s", text_string(&problem));
    } else {
        program.operands = arguments->operands;
        program.operand_count = arguments->operand_count;
        code = run_verb(&program);
    }
    text_fini(&problem);
    settings_fini(&program.settings);
    return code;
}

int main(int argc, char **argv)
{
    struct arguments arguments;
    struct text problem = {0};
    int code = LEAVE_USAGE;
    if (!hold_descriptors())
        return LEAVE_OTHER;
    choose_locale();
    if (!stack_suffices(&problem)) {
        say_error("%s", text_string(&problem));
        code = LEAVE_OTHER;
    } else if (!arguments_find_verb(&arguments, argc, argv, &problem))
        say_error("%s", text_string(&problem));
    else if (arguments.help || arguments.version)
        code = print_help(&arguments);
    else
        code = read_line_and_run(&arguments, argc, argv);
    text_fini(&problem);
    arguments_fini(&arguments);
    return code;
}
