/* Words of a text: folded, stemmed and hashed, so that sentences can be compared.
 * SPDX-License-Identifier: Apache-2.0 */
#include "readers/words.h"

#include <string.h>
#include <utf8proc.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/utf8.h"

enum { LONGEST = 64 /* bytes of a folded word that count */, LONGEST_COMMON = 16 };

/* ---- characters ------------------------------------------------------------------------------ */

static bool is_ideograph(int32_t c)
{
    return (c >= 0x3040 && c <= 0x30FF) || (c >= 0x3400 && c <= 0x9FFF) || (c >= 0xAC00 && c <= 0xD7A3) ||
           (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x20000 && c <= 0x3FFFF);
}

static bool is_word_code(int32_t c, bool *digit)
{
    if (c < 0x80) {
        *digit = c >= '0' && c <= '9';
        return *digit || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    }
    utf8proc_category_t category = utf8proc_category(c);
    *digit = category == UTF8PROC_CATEGORY_ND;
    return *digit || (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_ME);
}

static bool is_upper(int32_t c)
{
    return c < 0x80 ? c >= 'A' && c <= 'Z' : utf8proc_category(c) == UTF8PROC_CATEGORY_LU;
}

static int32_t to_lower(int32_t c)
{
    return c < 0x80 ? (c >= 'A' && c <= 'Z' ? c + 32 : c) : utf8proc_tolower(c);
}

/* ---- endings and common words ---------------------------------------------------------------- */

static const char common_words[] =
    " a about above after again against all also although am among an and "
    "another any are as at be because been "
    "before being below between both but by can cannot could did do does "
    "doing down during each either else ever "
    "every few for from further had has have having he her here hers him his "
    "how however i if in into is it its "
    "itself just let may me might more most must my no nor not now of off on "
    "once one only or other our out over "
    "own per same shall she should since so some such than that the their "
    "them then there these they this those "
    "though through thus to too under until up upon us very was we were what "
    "when where whether which while who "
    "whom whose why will with within without would yes yet you your said says "
    "say unto thou thee thy hath ye der "
    "die das und ist nicht ein eine zu den von mit le la les de des et un une "
    "du est que dans pour el los las y en "
    "por con "
    /* what questions begin with, and small words, in other languages */
    "wann wo wer wie was warum wieso wieviel welche welcher welches wem wen viele vielen wurde wurden hat "
    "haben "
    "quand où qui comment combien pourquoi quel quelle quels quelles "
    "cuándo dónde quién cómo cuánto cuántos qué cuál "
    "quando dove chi quanto quanti perché il lo gli che di da "
    "quem onde quantos os da do em um uma "
    "когда где кто что как почему сколько какой какая какие и в на не с по из для "
    "متى أين من كيف لماذا كم ما ماذا هل في على إلى عن هو هي هذا هذه التي الذي و عدد ";

static bool is_common(const char *word, size_t length)
{
    char padded[LONGEST + 3];
    if (length > LONGEST_COMMON)
        return false;
    padded[0] = ' ';
    memcpy(padded + 1, word, length);
    padded[length + 1] = ' ';
    padded[length + 2] = '\0';
    return strstr(common_words, padded) != NULL;
}

static bool ends_with(const char *word, size_t length, const char *ending)
{
    size_t n = strlen(ending);
    return length >= n + 3 && memcmp(word + length - n, ending, n) == 0;
}

/* Light: plural, past and -ing only, so that "licensed works" meets "license" and "work". */
static size_t stem_length(const char *word, size_t length)
{
    if (ends_with(word, length, "'s"))
        length -= 2;
    if (ends_with(word, length, "ies") || ends_with(word, length, "ied"))
        return length - 2;
    if (ends_with(word, length, "ing"))
        length -= 3;
    else if (ends_with(word, length, "ed"))
        length -= 2;
    else if (ends_with(word, length, "s") && word[length - 2] != 's' && word[length - 2] != 'u')
        length -= 1;
    if (length > 3 && word[length - 1] == 'e')
        length -= 1;
    return length;
}

/* ---- the walk -------------------------------------------------------------------------------- */

struct folding {
    char text[LONGEST + 4];
    size_t length, letters, capitals;
};

static void fold(struct folding *folding, int32_t code)
{
    bool upper = is_upper(code);
    folding->letters++;
    folding->capitals += upper;
    if (folding->length < LONGEST)
        folding->length += utf8_encode(to_lower(code), folding->text + folding->length);
}

static bool joins(const struct words *w, size_t at, bool digit, size_t *ret_step)
{
    size_t step, after;
    bool next_digit;
    int32_t mark = utf8_decode(w->text + at, w->length - at, &step);
    bool joiner = mark == '\'' || mark == 0x2019 || mark == '-' || mark == 0x2010;
    bool number_joiner = digit && (mark == '.' || mark == ',' || mark == ':');
    if ((!joiner && !number_joiner) || at + step >= w->length)
        return false;
    int32_t next = utf8_decode(w->text + at + step, w->length - at - step, &after);
    *ret_step = step;
    return next >= 0 && !is_ideograph(next) && is_word_code(next, &next_digit) &&
           (!number_joiner || next_digit);
}

/* "rent for May", "May 2026": the month, and no word that only permits. At the beginning of a text without a
 * number after it, it may be either, and is taken for the verb. */
static bool is_month(const struct words *w, const struct word *word)
{
    size_t at = word->last;
    if (!word->capital || word->shouted || word->last - word->first != 3 ||
        memcmp(w->text + word->first, "May", 3) != 0)
        return false;
    while (at < w->length && strchr(" \t|,", w->text[at]) && w->text[at])
        at++;
    if (at < w->length && w->text[at] >= '0' && w->text[at] <= '9')
        return true;
    for (at = word->first; at > 0 && (w->text[at - 1] == ' ' || w->text[at - 1] == '\t'); at--)
        ;
    return at > 0 && strchr(".!?:;\n|\"", w->text[at - 1]) == NULL;
}

static void finish(struct words *w, size_t start, const struct folding *f, bool number, struct word *ret)
{
    ret->first = start;
    ret->last = w->at;
    ret->number = number;
    ret->shouted = f->letters > 1 && f->capitals == f->letters && !number;
    ret->exact = hash_bytes(f->text, f->length, 0);
    ret->hash = number ? ret->exact : hash_bytes(f->text, stem_length(f->text, f->length), 0);
    ret->common = !number && is_common(f->text, f->length) && !is_month(w, ret);
}

bool words_next(struct words *w, struct word *ret)
{
    size_t step = 0;
    bool digit = false;
    int32_t code = UTF8_BAD;
    while (w->at < w->length) {
        code = utf8_decode(w->text + w->at, w->length - w->at, &step);
        if (code >= 0 && is_word_code(code, &digit))
            break;
        w->at += step;
    }
    if (w->at >= w->length)
        return false;
    size_t start = w->at;
    struct folding f = {.length = 0};
    bool number = false, single = is_ideograph(code);
    ret->capital = is_upper(code);
    do {
        if (code != 0xAD)
            fold(&f, code == 0x2019 ? '\'' : code);
        number |= digit;
        w->at += step;
        if (single || w->at >= w->length)
            break;
        bool was_digit = digit;
        code = utf8_decode(w->text + w->at, w->length - w->at, &step);
        digit = false;
        if (code >= 0 && !is_ideograph(code) && is_word_code(code, &digit))
            continue;
        if (!joins(w, w->at, was_digit, &step))
            break;
        code = utf8_decode(w->text + w->at, w->length - w->at, &step);
        digit = was_digit;
    } while (true);
    finish(w, start, &f, number, ret);
    return true;
}

size_t words_count(const char *text, size_t length)
{
    struct words walk = words_of(text, length);
    struct word word;
    size_t count = 0;
    while (words_next(&walk, &word))
        count++;
    return count;
}

uint64_t words_digit_of(uint64_t exact)
{
    static const char *const names[] = {"zero",  "one",   "two",  "three", "four",   "five",  "six",
                                        "seven", "eight", "nine", "ten",   "eleven", "twelve"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (hash_bytes(names[i], strlen(names[i]), 0) == exact) {
            char digits[3] = {(char)(i < 10 ? '0' + i : '1'), (char)(i < 10 ? '\0' : '0' + i - 10), '\0'};
            return hash_bytes(digits, strlen(digits), 0);
        }
    return 0;
}

/* ---- sets ------------------------------------------------------------------------------------ */

static void insert(uint64_t *slots, size_t capacity, uint64_t hash)
{
    size_t at = hash & (capacity - 1);
    while (slots[at] && slots[at] != hash)
        at = (at + 1) & (capacity - 1);
    slots[at] = hash;
}

static bool grow_set(struct word_set *set)
{
    size_t capacity = set->capacity ? set->capacity * 2 : 64;
    uint64_t *slots = mem_new(capacity, sizeof *slots);
    if (!slots)
        return false;
    for (size_t i = 0; i < set->capacity; i++)
        if (set->slots[i])
            insert(slots, capacity, set->slots[i]);
    mem_free(set->slots);
    set->slots = slots;
    set->capacity = capacity;
    return true;
}

bool word_set_add(struct word_set *set, uint64_t hash)
{
    hash += hash == 0; /* 0 marks a free slot */
    if (word_set_has(set, hash))
        return true;
    if (set->count * 2 >= set->capacity && !grow_set(set))
        return false;
    insert(set->slots, set->capacity, hash);
    set->count++;
    return true;
}

bool word_set_has(const struct word_set *set, uint64_t hash)
{
    hash += hash == 0;
    if (!set->capacity)
        return false;
    for (size_t at = hash & (set->capacity - 1); set->slots[at]; at = (at + 1) & (set->capacity - 1))
        if (set->slots[at] == hash)
            return true;
    return false;
}

void word_set_clear(struct word_set *set)
{
    if (set->count)
        memset(set->slots, 0, set->capacity * sizeof *set->slots);
    set->count = 0;
}

void word_set_fini(struct word_set *set)
{
    mem_free(set->slots);
    *set = (struct word_set){0};
}
