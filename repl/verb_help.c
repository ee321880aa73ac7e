/* help: the manual, a verb's options, topics, or lists for other programs.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <unistd.h>

#include "console/suggest.h"
#include "console/terminal.h"
#include "repl/help.h"
#include "repl/say.h"
#include "repl/verbs.h"

static int unknown_topic(const char *topic)
{
    struct suggestion near;
    suggest_begin(&near, topic);
    for (int i = 0; i < VERB_COUNT; i++)
        suggest_offer(&near, verb_row((enum verb)i)->name);
    for (size_t i = 0; help_topic_name(i); i++)
        suggest_offer(&near, help_topic_name(i));
    say_error("there is no help on “%s”%s%s%s; `longleaf help` lists verbs and topics", topic,
              near.best ? " (did you mean " : "", near.best ? near.best : "", near.best ? "?)" : "");
    return LEAVE_USAGE;
}

static int print_roff(struct output *output, const char *page)
{
    if (!page)
        help_roff(output);
    else if (strcmp(page, "config") == 0)
        help_roff_config(output);
    else if (verb_find(page) != VERB_COUNT)
        help_roff_verb(output, verb_find(page));
    else
        return unknown_topic(page);
    return LEAVE_OK;
}

static int print_completion(struct output *output, const char *shell)
{
    if (help_completion(output, shell ? shell : "bash"))
        return LEAVE_OK;
    say_error("completion is there for bash, zsh and fish, not for “%s”", shell);
    return LEAVE_USAGE;
}

int verb_help(struct program *program)
{
    const char *topic = program->operand_count ? program->operands[0] : NULL;
    const char *more = program->operand_count > 1 ? program->operands[1] : NULL;
    struct output *output = &program->output;
    size_t columns = output->terminal ? terminal_columns(STDOUT_FILENO) : 80;
    if (topic && strcmp(topic, "roff") == 0)
        return print_roff(output, more);
    if (topic && strcmp(topic, "completion") == 0)
        return print_completion(output, more);
    if (more) {
        say_error("help takes one topic, not “%s” as well", more);
        return LEAVE_USAGE;
    }
    if (!topic)
        help_overview(output);
    else if (verb_find(topic) != VERB_COUNT)
        help_verb(output, verb_find(topic), columns);
    else if (!help_topic(output, topic, columns))
        return unknown_topic(topic);
    return LEAVE_OK;
}
