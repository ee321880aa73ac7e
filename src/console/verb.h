/* The verbs of the program: their names, arguments and one line of help each.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CONSOLE_VERB_H
#define CONSOLE_VERB_H

enum verb {
    VERB_CHAT,
    VERB_SUM,
    VERB_ASK,
    VERB_RUN,
    VERB_TEXT,
    VERB_TOKENS,
    VERB_INFO,
    VERB_PLAN,
    VERB_PPL,
    VERB_BENCH,
    VERB_MODELS,
    VERB_CACHE,
    VERB_LOG,
    VERB_TOP,
    VERB_QUANTIZE,
    VERB_CONVERT,
    VERB_CHECK,
    VERB_HELP,
    VERB_COUNT
};

#define VERB_BIT(verb) (1u << (verb))

struct verb_row {
    const char *name;
    const char *arguments; /* synopsis of the operands, "" when there are none */
    const char *help;      /* one sentence, lower case, no full stop */
    int least, most;       /* operands; most -1: any number */
};

const struct verb_row *verb_row(enum verb verb);
/* The verb of that name; VERB_COUNT when there is none. */
enum verb verb_find(const char *name);

#endif
