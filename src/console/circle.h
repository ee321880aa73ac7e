/* Notices that a text goes in a circle: the same words again and again.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Words are letters in any case; numbers and signs are passed over, so that a list whose numbers alone change
 * counts as the same words. It is a circle when the last words say the same three times at least, 48 words of
 * it repeated, or when hardly any three words of the last 200 stand together for the first time. */
#ifndef CONSOLE_CIRCLE_H
#define CONSOLE_CIRCLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CIRCLE_WORDS = 1024, CIRCLE_PERIOD = 160 };

struct circle {                   /* zero-initialised: nothing was said */
    uint64_t words[CIRCLE_WORDS]; /* a ring of hashes */
    bool known[CIRCLE_WORDS];     /* the three words that end here were said before */
    size_t count, known_lately;
    uint16_t runs[CIRCLE_PERIOD + 1]; /* words in a row that are those of so many words before */
    uint64_t hash;                    /* of the word that goes on; 0: none does */
    bool has_letter;
    size_t letters;  /* bytes of it */
    size_t wordless; /* bytes since the last word */
};

/* More of the text. True: it goes in a circle now. */
bool circle_add(struct circle *circle, const char *text, size_t length);

#endif
