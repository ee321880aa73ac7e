/* A question taken apart: its telling words, words like them in the document, the kind of answer wanted.
 * SPDX-License-Identifier: Apache-2.0 */
#include "asking/question.h"

#include <string.h>
#include <strings.h>

/* ---- what is asked for ----------------------------------------------------------------------- */

/* Folds to lower-case words with single blanks, a blank at both ends. */
static void fold(const char *text, size_t length, char *out, size_t cap)
{
    struct words walk = words_of(text, length);
    struct word word;
    size_t used = 0;
    out[used++] = ' ';
    while (words_next(&walk, &word) && used + (word.last - word.first) + 2 < cap) {
        for (size_t i = word.first; i < word.last; i++)
            out[used++] = (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] + 32 : text[i]);
        out[used++] = ' ';
    }
    out[used] = '\0';
}

static bool holds_any(const char *folded, const char *const *phrases, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strstr(folded, phrases[i]))
            return true;
    return false;
}

static enum question_wants find_wants(const char *text, size_t length)
{
    static const char *const numbers[] = {
        " how many ",      " how much ",       " how long ",      " how far ",    " how tall ",
        " how old ",       " how large ",      " how big ",       " how high ",   " how deep ",
        " how heavy ",     " how wide ",       " how fast ",      " how often ",  " when ",
        " what year ",     " which year ",     " what date ",     " which date ", " what percentage ",
        " what share ",    " what number ",    " what time ",     " what price ", " what age ",
        " at what age ",   " in what year ",   " what distance ", " what speed ", " what temperature ",
        " which century ", " what the price ", " what day ",      " how late ",   " how early "};
    static const char *const names[] = {" who ",           " whose ",        " whom ",      " which city ",
                                        " which town ",    " which person ", " what city ", " what town ",
                                        " which country ", " what country "};
    char folded[1024];
    fold(text, length, folded, sizeof folded);
    if (strstr(folded, " how old ") || strstr(folded, " what age "))
        return WANTS_AGE;
    if (holds_any(folded, numbers, sizeof numbers / sizeof numbers[0]))
        return WANTS_NUMBER;
    if (holds_any(folded, names, sizeof names / sizeof names[0]))
        return WANTS_NAME;
    return strstr(folded, " where ") ? WANTS_PLACE : WANTS_ANYTHING;
}

static bool is_among(const char *text, size_t length, const char *const *words)
{
    for (; *words; words++)
        if (strlen(*words) == length && strncasecmp(*words, text, length) == 0)
            return true;
    return false;
}

/* "old" in "how old", "long" in "how long": the measure that is asked for. */
static bool is_measure(const char *text, const struct word *word)
{
    size_t at = word->first;
    while (at > 0 && text[at - 1] == ' ')
        at--;
    return at >= 3 && strncasecmp(text + at - 3, "how", 3) == 0 && (at == 3 || text[at - 4] == ' ');
}

/* Words that only shape a question. */
static bool shapes_question(const char *text, const struct word *word)
{
    static const char *const shapes[] = {
        "many",  "much",  "long",   "tell",     "please",  "explain",   "describe", "called",  "name",
        "named", "give",  "gives",  "know",     "exactly", "actually",  "happen",   "happens", "happened",
        "kind",  "kinds", "sort",   "sorts",    "someone", "something", "go",       "goes",    "get",
        "gets",  "got",   "make",   "makes",    "thing",   "things",    "mean",     "means",   "happening",
        "there", "exist", "exists", "anything", "anyone",  "document",  "text",     NULL};
    return is_among(text + word->first, word->last - word->first, shapes) || is_measure(text, word);
}

/* ---- words ----------------------------------------------------------------------------------- */

static bool seen_before(const struct question *q, const struct word *word)
{
    for (size_t i = 0; i < q->count; i++)
        if (q->words[i].hash == word->hash)
            return true;
    return false;
}

static void add_word(struct question *q, const struct word *word, bool first, const struct terms *terms,
                     const struct likeness *likeness)
{
    const char *text = q->text + word->first;
    size_t length = word->last - word->first;
    struct question_word *w = &q->words[q->count++];
    *w = (struct question_word){.hash = word->hash,
                                .exact = word->exact,
                                .first = word->first,
                                .last = word->last,
                                .name = word->capital && !first,
                                .number = word->number,
                                .known = terms_holds(terms, word->hash)};
    w->weight = terms_rarity(terms, word->hash);
    /* A shaping word still orders windows, a little. */
    w->shape = !w->name && !w->number && shapes_question(q->text, word);
    if (w->shape)
        w->weight *= 0.2;
    if (likeness && !w->shape && !w->name && !w->number)
        w->like_count = likeness_find(likeness, text, length, word->hash, w->like, QUESTION_LIKE);
    q->weight += w->weight;
}

void question_read(const char *text, size_t length, const struct terms *terms,
                   const struct likeness *likeness, struct question *ret)
{
    struct words walk = words_of(text, length);
    struct word word;
    *ret = (struct question){.text = text, .length = length, .wants = find_wants(text, length)};
    for (bool first = true; ret->count < QUESTION_WORDS && words_next(&walk, &word); first = false)
        if (!word.common && !seen_before(ret, &word))
            add_word(ret, &word, first, terms, likeness);
}

bool question_holds(const struct question *q, const struct word *word)
{
    for (size_t i = 0; i < q->count; i++)
        if (q->words[i].hash == word->hash || q->words[i].exact == word->exact)
            return true;
    return false;
}

/* ---- matching -------------------------------------------------------------------------------- */

static float share_of(const struct question_word *w, const struct word *word)
{
    if (w->hash == word->hash || w->exact == word->exact)
        return 1.0f;
    for (size_t i = 0; i < w->like_count; i++)
        if (w->like[i].hash == word->hash)
            return w->like[i].share;
    return 0.0f;
}

void question_match(const struct question *q, const char *text, size_t length, struct question_match *ret)
{
    struct words walk = words_of(text, length);
    struct word word;
    memset(ret->held, 0, q->count * sizeof *ret->held);
    while (words_next(&walk, &word)) {
        if (word.common)
            continue;
        for (size_t i = 0; i < q->count; i++) {
            float share = ret->held[i] < 1.0f ? share_of(&q->words[i], &word) : 0.0f;
            if (share > ret->held[i])
                ret->held[i] = share;
        }
    }
}

static double share(const struct question *q, const struct question_match *match, int names)
{
    double all = 0, met = 0;
    for (size_t i = 0; i < q->count; i++) {
        bool name = q->words[i].name || q->words[i].number;
        if (names >= 0 && (name != (names == 1) || q->words[i].shape))
            continue;
        all += q->words[i].weight;
        met += q->words[i].weight * (double)match->held[i];
    }
    return all > 0 ? met / all : 1.0;
}

double question_share(const struct question *q, const struct question_match *match)
{
    return share(q, match, -1);
}

double question_name_share(const struct question *q, const struct question_match *match)
{
    return share(q, match, 1);
}

double question_other_share(const struct question *q, const struct question_match *match)
{
    return share(q, match, 0);
}

/* ---- what is left ---------------------------------------------------------------------------- */

bool question_names(const struct question *q)
{
    for (size_t i = 0; i < q->count; i++)
        if (q->words[i].name || q->words[i].number)
            return true;
    return false;
}

bool question_has_subject(const struct question *q)
{
    for (size_t i = 0; i < q->count; i++)
        if (!q->words[i].shape)
            return true;
    return false;
}

const struct question_word *question_unmet(const struct question *q, const struct question_match *match)
{
    const struct question_word *worst = NULL;
    for (size_t i = 0; i < q->count; i++)
        if (!q->words[i].shape && match->held[i] < 0.34f && (!worst || q->words[i].weight > worst->weight))
            worst = &q->words[i];
    return worst;
}

/* ---- the kind of answer ---------------------------------------------------------------------- */

/* What tells how old something is, beside a number. */
static bool tells_age(const char *text, size_t length)
{
    static const char *const words[] = {
        "year",    "years", "age",    "aged",        "old",       "century", "centuries", "months",
        "founded", "built", "born",   "established", "since",     "opened",  "erected",   "created",
        "began",   "dates", "dating", "released",    "published", "started", "written",   NULL};
    struct words walk = words_of(text, length);
    struct word word;
    while (words_next(&walk, &word))
        if (is_among(text + word.first, word.last - word.first, words))
            return true;
    return false;
}

/* "behind the barn": a place need not have a name. What the question names itself is no answer. */
static bool tells_place(const struct question *q, const char *text, size_t length)
{
    static const char *const before[] = {"in",      "at",       "on",     "under",   "behind", "near",
                                         "beside",  "between",  "inside", "outside", "above",  "below",
                                         "beneath", "along",    "across", "into",    "onto",   "from",
                                         "around",  "opposite", "within", NULL};
    struct words walk = words_of(text, length);
    struct word word;
    bool place = false;
    while (words_next(&walk, &word)) {
        if (is_among(text + word.first, word.last - word.first, before))
            place = true;
        else if (!word.common && place && !word.number && !question_holds(q, &word))
            return true;
        else if (!word.common)
            place = false;
    }
    return false;
}

bool question_answered(const struct question *q, const char *text, size_t length, const char *path)
{
    struct words walk = words_of(text, length);
    struct word word;
    if (q->wants == WANTS_ANYTHING)
        return true;
    if (q->wants == WANTS_AGE && !tells_age(text, length) && !tells_age(path, strlen(path)))
        return false;
    if (q->wants == WANTS_PLACE && tells_place(q, text, length))
        return true;
    bool name = q->wants == WANTS_NAME || q->wants == WANTS_PLACE;
    while (words_next(&walk, &word)) {
        if (question_holds(q, &word))
            continue;
        if (!name && (word.number || words_digit_of(word.exact)))
            return true;
        if (name && word.capital && !word.common && !word.number)
            return true;
    }
    return false;
}
