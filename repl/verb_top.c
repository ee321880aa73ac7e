/* top: what the user's running programs do, on the whole screen or as text.
 * SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "console/terminal.h"
#include "repl/dash.h"
#include "repl/json.h"
#include "repl/paintable.h"
#include "repl/say.h"
#include "repl/signals.h"
#include "repl/verbs.h"

static bool read_pid(const char *word, long *ret)
{
    char *end;
    errno = 0;
    *ret = isdigit((unsigned char)*word) ? strtol(word, &end, 10) : 0;
    return *ret > 0 && !errno && !*end;
}

static void print_one(struct output *output, const struct text *bytes, bool first)
{
    struct report report;
    struct text shown = {0};
    if (!report_read(text_string(bytes), bytes->length, &report))
        return;
    report_show(&report, &shown);
    output_printf(output, "%s%s", first ? "" : "\n", text_string(&shown));
    text_fini(&shown);
}

static void add_json(json_t *list, const struct text *bytes)
{
    json_t *report = json_loadb(text_string(bytes), bytes->length, 0, NULL);
    if (report)
        json_array_append_new(list, report);
}

/* One that ends while it is asked is left out, unless it is the one that was named. */
static int print_all(struct program *program, const long *pids, size_t count, bool named)
{
    bool as_json = settings_flag(&program->settings, OPTION_JSON);
    json_t *list = json_array();
    size_t shown = 0;
    int code = LEAVE_OK;
    for (size_t i = 0; i < count; i++) {
        struct text bytes = {0}, problem = {0};
        if (report_fetch(pids[i], NULL, &bytes, &problem)) {
            if (as_json)
                add_json(list, &bytes);
            else
                print_one(&program->output, &bytes, !shown);
            shown++;
        } else if (named) {
            say_error("%s", text_string(&problem));
            code = LEAVE_OTHER;
        }
        text_fini(&bytes);
        text_fini(&problem);
    }
    if (as_json && !code)
        json_print(&program->output, list, JSON_INDENT(2));
    else
        json_decref(list);
    if (!shown && !code && !as_json)
        say_aside("no longleaf of yours is running");
    return code;
}

int verb_top(struct program *program)
{
    long pids[REPORT_PROGRAMS];
    size_t count = 0;
    struct text problem = {0};
    const char *word = program->operand_count ? program->operands[0] : NULL;
    if (word && !read_pid(word, &pids[0])) {
        say_error("top takes the number of a process, not “%s”; without one it shows all", word);
        return LEAVE_USAGE;
    }
    bool screen = !settings_flag(&program->settings, OPTION_JSON) &&
                  !settings_flag(&program->settings, OPTION_PLAIN) && isatty(STDIN_FILENO) &&
                  program->output.terminal && paintable_is(STDOUT_FILENO);
    if (screen && dash_run(stdout, NULL, word ? pids[0] : 0))
        return signals_seen() ? program_interrupted() : LEAVE_OK;
    if (!word && !report_find(pids, &count, &problem)) {
        say_error("%s", text_string(&problem));
        text_fini(&problem);
        return LEAVE_OTHER;
    }
    text_fini(&problem);
    return print_all(program, pids, word ? 1 : count, word != NULL);
}
