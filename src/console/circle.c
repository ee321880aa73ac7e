/* Notices that a text goes in a circle: the same words again and again.
 * SPDX-License-Identifier: Apache-2.0 */
#include "console/circle.h"

enum { LEAST_AGAIN = 48, TIMES = 3, LATELY = 200, MOST_WORDLESS = 4000, MOST_LETTERS = 64 };
static const double known_share = 0.94;

/* Three words of the text: whether they stood together before, within what is kept. */
static bool is_known(const struct circle *c, size_t at)
{
    size_t first = c->count > CIRCLE_WORDS ? c->count - CIRCLE_WORDS : 0;
    if (at < 2 || at < first + 2)
        return false;
    for (size_t i = first + 2; i < at; i++)
        if (c->words[i % CIRCLE_WORDS] == c->words[at % CIRCLE_WORDS] &&
            c->words[(i - 1) % CIRCLE_WORDS] == c->words[(at - 1) % CIRCLE_WORDS] &&
            c->words[(i - 2) % CIRCLE_WORDS] == c->words[(at - 2) % CIRCLE_WORDS])
            return true;
    return false;
}

static bool repeats(struct circle *c, size_t at)
{
    bool circles = false;
    for (size_t period = 1; period <= CIRCLE_PERIOD && period <= at; period++) {
        bool same = c->words[at % CIRCLE_WORDS] == c->words[(at - period) % CIRCLE_WORDS];
        c->runs[period] = same ? (uint16_t)(c->runs[period] + (c->runs[period] < UINT16_MAX)) : 0;
        circles = circles || (c->runs[period] >= LEAST_AGAIN && c->runs[period] >= (TIMES - 1) * period);
    }
    return circles;
}

static bool says_nothing_new(struct circle *c, size_t at)
{
    bool known = is_known(c, at), before = at >= LATELY && c->known[(at - LATELY) % CIRCLE_WORDS];
    c->known[at % CIRCLE_WORDS] = known;
    c->known_lately += (size_t)known;
    c->known_lately -= (size_t)before;
    return (double)c->known_lately >= known_share * LATELY;
}

static bool end_word(struct circle *c)
{
    bool counts = c->has_letter;
    size_t at = c->count;
    uint64_t hash = c->hash;
    c->hash = 0;
    c->has_letter = false;
    c->letters = 0;
    if (!counts)
        return false;
    c->wordless = 0;
    c->words[at % CIRCLE_WORDS] = hash;
    c->count++;
    bool circles = repeats(c, at), old = says_nothing_new(c, at);
    return circles || old;
}

static void add_byte(struct circle *c, unsigned char byte)
{
    c->hash = ((c->hash ? c->hash : 0xCBF29CE484222325u) ^ byte) * 0x100000001B3u;
}

static bool take_byte(struct circle *c, unsigned char byte)
{
    bool letter = (byte | 32) >= 'a' && (byte | 32) <= 'z';
    if (byte >= 0x80) { /* every character is a word: many scripts have no blanks */
        bool circles = (byte & 0xC0) != 0x80 && end_word(c);
        add_byte(c, byte);
        c->has_letter = true;
        return circles;
    }
    if (letter || (byte >= '0' && byte <= '9')) {
        add_byte(c, letter ? byte | 32 : byte);
        c->has_letter = c->has_letter || letter;
        /* A model can say one letter for ever: what has no end is taken for several words. */
        return ++c->letters >= MOST_LETTERS && end_word(c);
    }
    c->wordless++;
    return end_word(c) || c->wordless > MOST_WORDLESS;
}

bool circle_add(struct circle *circle, const char *text, size_t length)
{
    bool circles = false;
    for (size_t i = 0; i < length; i++)
        circles = take_byte(circle, (unsigned char)text[i]) || circles;
    return circles;
}
