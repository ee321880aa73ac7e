/* Help made from the tables: usage, options, topics, the lists of man pages, completion.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef REPL_HELP_H
#define REPL_HELP_H

#include "console/verb.h"
#include "repl/output.h"

void help_overview(struct output *output);
void help_verb(struct output *output, enum verb verb, size_t columns);
void help_options(struct output *output, size_t columns); /* all options of all verbs */
/* Other things to read about: "config", "keys", "exit" … False: no such topic. */
bool help_topic(struct output *output, const char *topic, size_t columns);
const char *help_topic_name(size_t index); /* NULL past the end */
/* Words of a paragraph, broken before the last column, after an indent. */
void help_wrap(struct output *output, const char *words, size_t indent, size_t columns);
void help_roff(struct output *output); /* the lists of longleaf.1 */
void help_roff_verb(struct output *output, enum verb verb);
void help_roff_config(struct output *output);
/* A completion script; false: for no such shell. */
bool help_completion(struct output *output, const char *shell);

#endif
