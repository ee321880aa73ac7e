/* help: the manual, a verb's options, or lists for other programs.
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
    say_error("there is no help on “%s”%s%s%s; `longleaf help` lists the verbs", topic,
              near.best ? " (did you mean " : "", near.best ? near.best : "", near.best ? "?)" : "");
    return LEAVE_USAGE;
}

int verb_help(struct program *program)
{
    const char *topic = program->operand_count ? program->operands[0] : NULL;
    struct output *output = &program->output;
    size_t columns = output->terminal ? terminal_columns(STDOUT_FILENO) : 80;
    if (!topic)
        help_overview(output);
    else if (strcmp(topic, "options") == 0)
        help_options(output, columns);
    else if (strcmp(topic, "roff") == 0)
        help_roff(output);
    else if (strcmp(topic, "completion") == 0)
        help_completion(output);
    else if (verb_find(topic) != VERB_COUNT)
        help_verb(output, verb_find(topic), columns);
    else
        return unknown_topic(topic);
    return LEAVE_OK;
}
