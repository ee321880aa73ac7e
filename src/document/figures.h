/* The numbers that a text speaks of, whether in digits or in words: "1,200", "twelve hundred", "3 million".
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef DOCUMENT_FIGURES_H
#define DOCUMENT_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct figure {
    size_t first, last; /* bytes */
    size_t word;        /* place among the words of the text, from 0 */
    uint64_t key;       /* equal for equal numbers, however they are written */
    bool weak;          /* a lone "one": as often a pronoun as a number */
};

/* Numbers in their order, at most `most`; returns how many there are, which may be more. A time ("6:30") is
 * one number; of "1-64" and "SHA256" each run of digits is one. Number words are English. */
size_t figures_list(const char *text, size_t length, struct figure *out, size_t most);

#endif
