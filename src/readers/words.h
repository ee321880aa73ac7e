/* Words of a text: folded, stemmed and hashed, so that sentences can be compared.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A word is a run of letters, digits and combining marks; marks like ' and - join inside a word, and
 * ". ," inside a number. Each Han, Kana or Hangul character is a word of its own. */
#ifndef READERS_WORDS_H
#define READERS_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct word {
    size_t first, last; /* bytes in the text walked */
    uint64_t hash;      /* of the folded word without common English endings */
    uint64_t exact;     /* of the folded word */
    bool number;        /* holds a digit */
    bool capital;       /* begins with an upper-case letter */
    bool shouted;       /* longer than one letter and all upper case */
    bool common;        /* "the", "of" …: says nothing about the subject */
};

struct words { /* a walk; plain value */
    const char *text;
    size_t length, at;
};

static inline struct words words_of(const char *text, size_t length)
{
    return (struct words){text, length, 0};
}

/* false at the end of the text. */
bool words_next(struct words *words, struct word *ret);
size_t words_count(const char *text, size_t length);
/* Number words and digits mean the same: hash of "3" for "three", 0 when exact is none of them. */
uint64_t words_digit_of(uint64_t exact);

/* A set of hashes, open addressing; zero-initialised storage is an empty set. */
struct word_set {
    uint64_t *slots;
    size_t count, capacity;
};

bool word_set_add(struct word_set *set, uint64_t hash); /* false: no memory */
bool word_set_has(const struct word_set *set, uint64_t hash);
void word_set_clear(struct word_set *set); /* keeps the memory */
void word_set_fini(struct word_set *set);

#endif
