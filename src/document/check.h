/* Whether a generated sentence may stand: its words, numbers and names must be in the text it rests on.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The checks remove invented names and numbers, talk about the summary itself and echoes of the
 * instruction. They cannot see a wrong claim made of right words. */
#ifndef DOCUMENT_CHECK_H
#define DOCUMENT_CHECK_H

#include "document/document.h"
#include "readers/words.h"

enum check_verdict {
    CHECK_GOOD,
    CHECK_SHORT,  /* fewer than four words, or no content words */
    CHECK_NUMBER, /* a number that the text does not have */
    CHECK_NAME,   /* a name that the text does not have */
    CHECK_WORDS,  /* fewer than four in five of its content words are there, or none of a whole clause */
    CHECK_META,   /* talks of the text, the summary or the assistant */
    CHECK_ECHO,   /* repeats the instruction */
    CHECK_BROKEN  /* code, lists, unbalanced quotes, the same said twice: no sentence */
};

struct checker {      /* zero-initialised storage is ready for check_load */
    const char *text; /* of the window; borrowed */
    size_t length;
    struct word_set stems, exact, figures, runs; /* runs: six words in a row */
    struct word_set instruction;                 /* runs of six words of the instruction */
};

/* What sentences are checked against from now on. false: no memory. */
bool check_load(struct checker *checker, const char *text, size_t length, const char *instruction);
enum check_verdict check_sentence(const struct checker *checker, const char *sentence, size_t length,
                                  float *ret_support);
/* Whether a claim may rest on this stretch of text: what it speaks of and seven in ten of its content words
 * are there, and it denies, permits, demands and leaves conditions out only as the text does. Words from all
 * over a window make sentences that nobody wrote. */
bool check_rests_on(const char *text, size_t length, const char *claim, size_t claim_length);
/* Whether the sentence stands in the text word for word (blanks and case aside). */
bool check_is_quoted(const struct checker *checker, const char *sentence, size_t length);
void check_fini(struct checker *checker);

/* The sentences of the document in [first, last) that the claim rests on: the best one, and a second one
 * when much of the claim is only there. */
void check_locate(const struct ll_document *document, size_t first, size_t last, const char *claim,
                  size_t length, size_t *ret_first, size_t *ret_last);

#endif
