/* A question taken apart: its telling words, words like them in the document, the kind of answer wanted.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Words weigh by their rarity in the document. Where the model's embeddings are at hand, words of the
 * document that lie close to a word of the question count for it in part ("price" for "cost"). */
#ifndef ASKING_QUESTION_H
#define ASKING_QUESTION_H

#include "document/document.h"
#include "asking/likeness.h"
#include "document/terms.h"

enum { QUESTION_WORDS = 48, QUESTION_LIKE = 12 };

enum question_wants { WANTS_ANYTHING, WANTS_NUMBER, WANTS_AGE, WANTS_NAME, WANTS_PLACE };

struct question_word {
    uint64_t hash, exact;
    size_t first, last; /* bytes of the question */
    double weight;
    bool name, number, known; /* known: the document holds it */
    bool shape; /* only shapes the question ("kind", "happens", "old" in "how old"); weighs little */
    struct likeness_match like[QUESTION_LIKE];
    size_t like_count;
};

struct question {
    const char *text; /* borrowed */
    size_t length;
    struct question_word words[QUESTION_WORDS];
    size_t count;
    double weight; /* of all words together */
    enum question_wants wants;
};

/* likeness may be NULL. Words beyond the first QUESTION_WORDS different ones are left out. */
void question_read(const char *text, size_t length, const struct terms *terms,
                   const struct likeness *likeness, struct question *ret);

/* How much of the question a text meets: for each word 0 … 1. */
struct question_match {
    float held[QUESTION_WORDS];
};
void question_match(const struct question *question, const char *text, size_t length,
                    struct question_match *ret);
/* 0 … 1: met weight over all weight; of names alone, and of all other words but those that only shape the
 * question. Without any: 1. */
double question_share(const struct question *question, const struct question_match *match);
double question_name_share(const struct question *question, const struct question_match *match);
double question_other_share(const struct question *question, const struct question_match *match);
/* Whether the question names something or somebody. */
bool question_names(const struct question *question);
/* Whether it has a word that says what it is about; "How old is it?" has none. */
bool question_has_subject(const struct question *question);
/* The telling word that matters most of those that are met by less than a third; NULL: none. */
const struct question_word *question_unmet(const struct question *question,
                                           const struct question_match *match);
/* Whether the text holds something of the kind asked for that is not in the question itself; for an age also
 * a word of time or founding, which the headings above it (path) may give. */
bool question_answered(const struct question *question, const char *text, size_t length, const char *path);
/* Whether the question holds this word. */
bool question_holds(const struct question *question, const struct word *word);

#endif
