/* The numbers that a text speaks of, whether in digits or in words: "1,200", "twelve hundred", "3 million".
 * SPDX-License-Identifier: Apache-2.0 */
#include "document/figures.h"

#include <string.h>

#include "base/hash.h"
#include "readers/words.h"

enum { LONGEST = 24, MOST_DIGITS = 15 /* more are compared as text */ };

enum role { ROLE_NONE, ROLE_UNIT, ROLE_SCALE, ROLE_AND };

/* What one word, or one part of "twenty-five", adds to a number. */
struct part {
    enum role role;
    double value;
};

/* A number being put together out of words. */
struct pending {
    bool open, digits, scaled, and_met; /* and_met: "two hundred and" waits for the rest */
    size_t first, last, word, parts;
    double total, current;
};

struct listing {
    struct figure *out;
    size_t count, most;
    struct pending pending;
};

/* ---- words ------------------------------------------------------------------------------------ */

static const struct {
    const char *name;
    double value;
} units[] = {{"zero", 0},       {"one", 1},       {"two", 2},        {"three", 3},       {"four", 4},
             {"five", 5},       {"six", 6},       {"seven", 7},      {"eight", 8},       {"nine", 9},
             {"ten", 10},       {"eleven", 11},   {"twelve", 12},    {"thirteen", 13},   {"fourteen", 14},
             {"fifteen", 15},   {"sixteen", 16},  {"seventeen", 17}, {"eighteen", 18},   {"nineteen", 19},
             {"twenty", 20},    {"thirty", 30},   {"forty", 40},     {"fifty", 50},      {"sixty", 60},
             {"seventy", 70},   {"eighty", 80},   {"ninety", 90},    {"third", 3},       {"fourth", 4},
             {"fifth", 5},      {"sixth", 6},     {"seventh", 7},    {"eighth", 8},      {"ninth", 9},
             {"tenth", 10},     {"eleventh", 11}, {"twelfth", 12},   {"thirteenth", 13}, {"fifteenth", 15},
             {"twentieth", 20}, {"thirtieth", 30}},
  scales[] = {{"dozen", 12}, {"hundred", 100}, {"thousand", 1e3}, {"million", 1e6}, {"billion", 1e9}};

static struct part part_of(const char *word, size_t length)
{
    char folded[LONGEST];
    if (length >= sizeof folded)
        return (struct part){ROLE_NONE, 0};
    for (size_t i = 0; i < length; i++)
        folded[i] = (char)(word[i] >= 'A' && word[i] <= 'Z' ? word[i] + 32 : word[i]);
    folded[length] = '\0';
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(folded, units[i].name) == 0)
            return (struct part){ROLE_UNIT, units[i].value};
    for (size_t i = 0; i < sizeof scales / sizeof scales[0]; i++)
        if (strcmp(folded, scales[i].name) == 0)
            return (struct part){ROLE_SCALE, scales[i].value};
    return (struct part){strcmp(folded, "and") == 0 ? ROLE_AND : ROLE_NONE, 0};
}

/* ---- putting together ------------------------------------------------------------------------- */

static uint64_t key_of(double value)
{
    uint64_t bits;
    value += 0.0; /* no negative zero */
    memcpy(&bits, &value, sizeof bits);
    return hash_bytes(&bits, sizeof bits, 0x6E756D);
}

static void put(struct listing *l, size_t first, size_t last, size_t word, uint64_t key, bool weak)
{
    if (l->count < l->most)
        l->out[l->count] = (struct figure){first, last, word, key, weak};
    l->count++;
}

static void close_pending(struct listing *l)
{
    struct pending *p = &l->pending;
    if (p->open)
        put(l, p->first, p->last, p->word, key_of(p->total + p->current),
            !p->digits && p->parts == 1 && p->current == 1);
    *p = (struct pending){0};
}

static void begin(struct pending *p, const struct word *word, size_t index, double value)
{
    *p = (struct pending){
        .open = true, .first = word->first, .last = word->last, .word = index, .parts = 1, .current = value};
}

/* Whether the word goes on with the number: "forty" and "two", "hundred" and "five", "nineteen" and "eighty".
 */
static bool takes_unit(const struct pending *p, double value)
{
    double rest = p->current - 100 * (double)(long)(p->current / 100);
    if (!p->open || (p->digits && !p->scaled))
        return false;
    if (p->scaled && rest == 0)
        return value < 100;
    return rest >= 20 && (long)rest % 10 == 0 && value >= 1 && value < 10;
}

static void add_unit(struct listing *l, const struct word *word, size_t index, double value)
{
    struct pending *p = &l->pending;
    bool year = p->open && !p->digits && !p->scaled && p->parts == 1 && p->current >= 11 &&
                p->current <= 20 && value >= 10 && value < 100;
    if (year) {
        p->current = p->current * 100 + value;
    } else if (takes_unit(p, value)) {
        p->current += value;
    } else {
        close_pending(l);
        begin(p, word, index, value);
        return;
    }
    p->last = word->last;
    p->and_met = false;
    p->parts++;
}

static void add_scale(struct listing *l, const struct word *word, size_t index, double scale)
{
    struct pending *p = &l->pending;
    if (!p->open || p->and_met) {
        close_pending(l);
        begin(p, word, index, 1);
    }
    if (scale <= 100) {
        p->current *= scale;
    } else {
        p->total += (p->current > 0 ? p->current : 1) * scale;
        p->current = 0;
    }
    p->scaled = true;
    p->parts += 1;
    p->last = word->last;
}

/* ---- digits ----------------------------------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* "1,234,567": every comma stands before three digits. */
static bool has_thousands(const char *text, size_t length)
{
    size_t run = 0, commas = 0;
    for (size_t i = 0; i <= length; i++) {
        if (i < length && is_digit(text[i])) {
            run++;
            continue;
        }
        if (commas && run != 3)
            return false;
        if (i == length || text[i] != ',')
            break;
        commas++;
        run = 0;
    }
    return commas > 0;
}

/* The value of "1,200", "3.5" or "07"; false: it is no plain number ("6:30", "1.2.3", very long). */
static bool value_of(const char *text, size_t length, double *ret)
{
    char plain[LONGEST];
    size_t used = 0, marks = 0;
    bool thousands = has_thousands(text, length);
    for (size_t i = 0; i < length; i++) {
        if (text[i] == ',' && thousands)
            continue;
        if (used + 1 >= MOST_DIGITS || text[i] == ':')
            return false;
        marks += !is_digit(text[i]);
        plain[used++] = text[i];
        if (!is_digit(text[i]))
            plain[used - 1] = '.';
    }
    plain[used] = '\0';
    *ret = 0;
    double unit = 0;
    for (size_t i = 0; i < used; i++) { /* not strtod: its decimal point follows the locale */
        if (plain[i] == '.') {
            unit = 1;
            continue;
        }
        *ret = *ret * 10 + (plain[i] - '0');
        unit *= 10;
    }
    *ret = unit > 0 ? *ret / unit : *ret;
    return marks <= 1;
}

/* Every run of digits with . , : inside; a single one may be followed by "million". */
static void add_digits(struct listing *l, const char *text, const struct word *word, size_t index)
{
    bool whole = true;
    size_t runs = 0;
    close_pending(l);
    for (size_t at = word->first; at < word->last;) {
        size_t first = at;
        double value;
        while (at < word->last && (is_digit(text[at]) || (at > first && at + 1 < word->last &&
                                                          strchr(".,:", text[at]) && is_digit(text[at + 1]))))
            at++;
        if (at == first) {
            whole = false;
            at++;
            continue;
        }
        close_pending(l);
        if (value_of(text + first, at - first, &value)) {
            begin(&l->pending, &(struct word){.first = first, .last = at}, index, value);
            l->pending.digits = true;
        } else {
            put(l, first, at, index, hash_bytes(text + first, at - first, 0x74696D), false);
        }
        runs++;
    }
    if (!whole || runs != 1)
        close_pending(l);
}

/* ---- the walk --------------------------------------------------------------------------------- */

/* "twenty-five": every part must be a number word. */
static bool all_parts_count(const char *text, const struct word *word)
{
    for (size_t at = word->first; at <= word->last;) {
        size_t end = at;
        while (end < word->last && text[end] != '-')
            end++;
        if (end == at || part_of(text + at, end - at).role == ROLE_NONE)
            return false;
        at = end + 1;
    }
    return true;
}

static void add_word(struct listing *l, const char *text, const struct word *word, size_t index)
{
    struct pending *p = &l->pending;
    if (!all_parts_count(text, word)) {
        close_pending(l);
        return;
    }
    for (size_t at = word->first; at < word->last;) {
        size_t end = at;
        while (end < word->last && text[end] != '-')
            end++;
        struct part part = part_of(text + at, end - at);
        struct word piece = {.first = at, .last = end};
        if (part.role == ROLE_UNIT)
            add_unit(l, &piece, index, part.value);
        else if (part.role == ROLE_SCALE)
            add_scale(l, &piece, index, part.value);
        else if (p->open && p->scaled && !p->and_met)
            p->and_met = true;
        else
            close_pending(l);
        at = end + 1;
    }
}

size_t figures_list(const char *text, size_t length, struct figure *out, size_t most)
{
    struct listing l = {.out = out, .most = most};
    struct words walk = words_of(text, length);
    struct word word;
    size_t before = 0;
    for (size_t index = 0; words_next(&walk, &word); index++) {
        bool apart = false; /* "two, three" are two numbers */
        for (size_t i = before; i < word.first && index; i++)
            apart |= text[i] != ' ' && text[i] != '\n' && text[i] != '\t';
        if (apart)
            close_pending(&l);
        if (word.number)
            add_digits(&l, text, &word, index);
        else
            add_word(&l, text, &word, index);
        before = word.last;
    }
    close_pending(&l);
    return l.count;
}
