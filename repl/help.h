/* Help made from the tables: usage, options, the man page's lists, completion.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef REPL_HELP_H
#define REPL_HELP_H

#include "console/verb.h"
#include "repl/output.h"

void help_overview(struct output *output);
void help_verb(struct output *output, enum verb verb, size_t columns);
void help_options(struct output *output, size_t columns); /* all options of all verbs */
void help_roff(struct output *output);                    /* the lists of longleaf.1 */
void help_completion(struct output *output);              /* the bash completion script */

#endif
