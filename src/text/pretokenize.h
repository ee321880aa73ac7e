/* Cuts text into the words that BPE may not merge across, by the rule a model file names.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A rule is a row: its name, up to six regular expressions applied one inside the other (what
 * matches and what lies between matches are both words), and what else the name implies. */
#ifndef TEXT_PRETOKENIZE_H
#define TEXT_PRETOKENIZE_H

#include "formats/gguf.h"

enum {
    RULE_IGNORE_MERGES = 1, /* a word that is a token is that token, whatever the merges say */
    RULE_ADD_BOS = 2,       /* BOS is added when the file does not say */
    RULE_NFC = 4,           /* text is composed (Unicode NFC) first */
};

struct pretokenizer;      /* compiled; immutable: any thread */
struct pretokenize_state; /* working memory of one thread */

typedef bool (*pretokenize_fn)(void *user, const char *word, size_t length); /* false: stop, no memory */

/* name.text NULL: the file names none, "default" is taken. LL_UNSUPPORTED names an unknown one. */
ll_status pretokenizer_open(struct gguf_text name, struct pretokenizer **ret, ll_error *error);
void pretokenizer_close(struct pretokenizer *pretokenizer);
const char *pretokenizer_name(const struct pretokenizer *pretokenizer);
unsigned pretokenizer_flags(const struct pretokenizer *pretokenizer);

struct pretokenize_state *pretokenize_begin(const struct pretokenizer *pretokenizer); /* NULL: no memory */
void pretokenize_end(struct pretokenize_state *state);
/* text must be valid UTF-8. Gives out words in order; together they are the text. false: stopped. */
bool pretokenize_split(struct pretokenize_state *state, const char *text, size_t length, pretokenize_fn word,
                       void *user);

#endif
