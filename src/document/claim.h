/* A sentence of a summary and the place in the document that it rests on.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef DOCUMENT_CLAIM_H
#define DOCUMENT_CLAIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sentences with a smaller share of their words in the text are marked wherever they are shown. */
#define CLAIM_SUPPORTED 0.8f

struct claim {
    char *text; /* owned; blanks folded */
    size_t length, words;
    size_t window;      /* the first one, when it rests on several */
    size_t first, last; /* bytes of the document */
    float support;      /* share of content words found there */
    float score;        /* how well it stands for the document; for choosing */
    bool quoted;        /* word for word from the document */
    bool borne;         /* its numbers and names stand where it says it rests; set for quotes, too */
    bool counted;       /* the account of a whole log or table */
    bool line;          /* stands alone, as the lines of logs do */
    uint64_t group;     /* says the same as others of it but for numbers; 0: of none */
};

struct claim_list { /* zero-initialised storage is empty */
    struct claim *items;
    size_t count, capacity;
};

/* Copies text with blanks folded. false: no memory. */
bool claim_add(struct claim_list *list, const char *text, size_t length, const struct claim *rest);
/* Whether two sentences say the same: equal words, or 4 in 5 of their 5-word runs shared. */
bool claim_repeats(const char *a, size_t a_length, const char *b, size_t b_length);
/* Whether at least half of what the shorter sentence says, in 5-word runs, stands in the other one. */
bool claim_overlaps(const char *a, size_t a_length, const char *b, size_t b_length);
/* Whether it may be shown unmarked. */
bool claim_supported(const struct claim *claim);
void claim_list_fini(struct claim_list *list);

#endif
