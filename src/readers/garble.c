/* Whether a text reads like no language: letters that fonts have named wrongly.
 * SPDX-License-Identifier: Apache-2.0 */
#include "readers/garble.h"

#include <string.h>

#include "base/utf8.h"

enum { LEAST_WORDS = 40 };

bool garble_is_likely(const char *text, size_t length)
{
    size_t words = 0, voiceless = 0, letters = 0, vowels = 0, other = 0, private_use = 0, all = 0;
    for (size_t i = 0, step; i < length; i += step) {
        int32_t code = utf8_decode(text + i, length - i, &step);
        int32_t low = code | 0x20;
        if (code < 0x80 && low >= 'a' && low <= 'z') {
            letters++;
            vowels += strchr("aeiouy", (char)low) != NULL;
            continue;
        }
        all += code > ' ';
        other += code >= 0x80;
        private_use += code >= 0xE000 && code <= 0xF8FF;
        vowels += code >= 0xC0 && code < 0x250; /* letters with accents are mostly vowels */
        if (letters >= 3) {
            words++;
            voiceless += vowels == 0;
        }
        all += letters;
        letters = vowels = 0;
    }
    if (private_use * 5 > all && private_use > LEAST_WORDS)
        return true;
    return words >= LEAST_WORDS && other * 4 < all && voiceless * 5 > words * 2;
}
