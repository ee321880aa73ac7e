/* The command line: which verb, its options into the settings, its operands.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef REPL_ARGUMENTS_H
#define REPL_ARGUMENTS_H

#include "console/settings.h"

struct arguments {
    enum verb verb;     /* VERB_COUNT: a word that is no verb came first */
    int verb_at;        /* index in argv, 0: none was given */
    bool help, version; /* asked for before anything else is looked at */
    char **operands;    /* owned array of borrowed strings */
    int operand_count;
};

/* Finds the verb: the first word that is neither an option nor an option's value. */
bool arguments_find_verb(struct arguments *arguments, int argc, char **argv, struct text *problem);
/* Reads the options of that verb into the settings and collects the operands. */
bool arguments_read(struct arguments *arguments, int argc, char **argv, struct settings *settings,
                    struct text *problem);
void arguments_fini(struct arguments *arguments);

#endif
