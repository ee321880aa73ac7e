/* How telling each word of a document is: counts, and the weight that follows from them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef DOCUMENT_TERMS_H
#define DOCUMENT_TERMS_H

#include "document/document.h"
#include "readers/words.h"

struct term {
    uint64_t hash; /* 0: free slot */
    uint32_t count, sentences;
    uint32_t last; /* sentence counted last, plus one */
};

struct terms { /* zero-initialised storage is empty */
    struct term *slots;
    size_t count, capacity;
    size_t sentences;      /* in the document */
    struct word_set focus; /* what the reader asked for */
};

/* Counts all words of all sentences. focus may be NULL. */
ll_status terms_count(const struct ll_document *document, const char *focus, const ll_run *run,
                      struct terms *ret, ll_error *error);
/* log(1 + count) · log(sentences / sentences with it): little for words seen once, 0 for common
 * words. */
double terms_weight(const struct terms *terms, const struct word *word);
/* How rare a word is: log(1 + sentences / (1 + sentences with it)), also for words the document lacks. */
double terms_rarity(const struct terms *terms, uint64_t hash);
/* How often the document says exactly this sentence; 0: not at all. */
size_t terms_said(const struct terms *terms, const char *sentence, size_t length);
bool terms_holds(const struct terms *terms, uint64_t hash);
/* How many different words of the reader's focus a text holds. */
size_t terms_focus(const struct terms *terms, const char *text, size_t length);
void terms_fini(struct terms *terms);

#endif
