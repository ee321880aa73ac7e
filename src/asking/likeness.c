/* Words of a document that mean nearly the same as a given one, by the model's own embeddings.
 * SPDX-License-Identifier: Apache-2.0 */
#include "asking/likeness.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/mem.h"
#include "readers/words.h"

enum {
    MOST_WORDS = 20000, /* of one document; the first ones */
    MOST_TOKENS = 3,    /* of one word: longer ones are mostly names */
    SAMPLED = 2048,     /* tokens whose mean is taken for the middle */
    LEAST_LETTERS = 3,
    LONGEST_WORD = 40,
};

/* Measured on SmolLM2-135M: words of the same meaning lie above .5, others below .45. */
static const float least_cosine = 0.50f, full_cosine = 1.0f;

struct vocabulary_word {
    uint64_t hash;
    size_t first, last;
};

struct likeness {
    const struct llm *llm;
    const struct ll_document *document;
    struct vocabulary_word *words;
    size_t count, capacity;
    float *directions;        /* [count, width] of length 1, or all 0 */
    float *middle;            /* [width] */
    struct token_list tokens; /* scratch */
};

/* ---- directions ------------------------------------------------------------------------------ */

static bool find_middle(struct likeness *l, float *row)
{
    size_t width = l->llm->embedding_width, vocabulary = l->llm->vocabulary, taken = 0;
    size_t step = vocabulary > SAMPLED ? vocabulary / SAMPLED : 1;
    for (size_t token = 0; token < vocabulary; token += step) {
        if (!l->llm->embed(l->llm->self, (ll_token)token, row))
            return false;
        for (size_t i = 0; i < width; i++)
            l->middle[i] += row[i];
        taken++;
    }
    for (size_t i = 0; i < width && taken; i++)
        l->middle[i] /= (float)taken;
    return taken > 0;
}

/* Words inside a text follow a blank, and are spelt with it. false: no direction. */
static bool find_direction(struct likeness *l, const char *word, size_t length, float *row, float *out)
{
    char spelt[LONGEST_WORD + 1] = " ";
    size_t width = l->llm->embedding_width;
    if (length < LEAST_LETTERS || length >= sizeof spelt)
        return false;
    memcpy(spelt + 1, word, length);
    l->tokens.count = 0;
    ll_error ignored;
    if (l->llm->encode_text(l->llm->self, spelt, length + 1, &l->tokens, &ignored) != LL_OK ||
        l->tokens.count == 0 || l->tokens.count > MOST_TOKENS)
        return false;
    memset(out, 0, width * sizeof *out);
    for (size_t t = 0; t < l->tokens.count; t++) {
        if (!l->llm->embed(l->llm->self, l->tokens.ids[t], row))
            return false;
        for (size_t i = 0; i < width; i++)
            out[i] += row[i] - l->middle[i];
    }
    double square = 0;
    for (size_t i = 0; i < width; i++)
        square += (double)out[i] * (double)out[i];
    float scale = square > 0 ? (float)(1.0 / sqrt(square)) : 0.0f;
    for (size_t i = 0; i < width; i++)
        out[i] *= scale;
    return scale > 0;
}

/* ---- the document's words -------------------------------------------------------------------- */

static ll_status collect_words(struct likeness *l, const ll_run *run, ll_error *error)
{
    const struct ll_document *d = l->document;
    struct word_set seen = {0};
    struct words walk = words_of(d->text.text, d->text.length);
    struct word word;
    ll_status status = LL_OK;
    for (size_t n = 0; status == LL_OK && l->count < MOST_WORDS && words_next(&walk, &word); n++) {
        if (n % 65536 == 0 && run && cancel_requested(run->cancel))
            status = error_set(error, LL_CANCELLED, "ask", "the question was cancelled");
        if (word.common || word.number || word_set_has(&seen, word.hash))
            continue;
        if (!word_set_add(&seen, word.hash) ||
            !mem_grow((void **)&l->words, &l->capacity, l->count + 1, sizeof *l->words))
            status = error_nomem(error, "ask", (l->count + 1) * sizeof *l->words);
        else
            l->words[l->count++] = (struct vocabulary_word){word.hash, word.first, word.last};
    }
    word_set_fini(&seen);
    return status;
}

static ll_status place_words(struct likeness *l, ll_error *error)
{
    size_t width = l->llm->embedding_width;
    float *row = mem_new(width, sizeof *row);
    l->middle = mem_new(width, sizeof *l->middle);
    l->directions = mem_new(l->count, width * sizeof *l->directions);
    ll_status status = LL_OK;
    if (!row || !l->middle || !l->directions)
        status = error_nomem(error, "ask", l->count * width * sizeof *l->directions);
    else if (!find_middle(l, row))
        l->count = 0;
    for (size_t i = 0; status == LL_OK && i < l->count; i++) {
        const struct vocabulary_word *w = &l->words[i];
        if (!find_direction(l, l->document->text.text + w->first, w->last - w->first, row,
                            l->directions + i * width))
            memset(l->directions + i * width, 0, width * sizeof *l->directions);
    }
    mem_free(row);
    return status;
}

ll_status likeness_open(const struct ll_document *document, const struct llm *llm, const ll_run *run,
                        struct likeness **ret, ll_error *error)
{
    *ret = NULL;
    if (!llm || !llm->embed || llm->embedding_width == 0)
        return LL_OK;
    struct likeness *l = mem_new(1, sizeof *l);
    if (!l)
        return error_nomem(error, "ask", sizeof *l);
    l->llm = llm;
    l->document = document;
    ll_status status = collect_words(l, run, error);
    if (status == LL_OK)
        status = place_words(l, error);
    if (status == LL_OK)
        *ret = l;
    else
        likeness_close(l);
    return status;
}

void likeness_close(struct likeness *l)
{
    if (!l)
        return;
    mem_free(l->words);
    mem_free(l->directions);
    mem_free(l->middle);
    token_list_fini(&l->tokens);
    mem_free(l);
}

/* ---- looking up ------------------------------------------------------------------------------ */

static float cosine(const float *a, const float *b, size_t width)
{
    float sum = 0;
    for (size_t i = 0; i < width; i++)
        sum += a[i] * b[i];
    return sum;
}

static size_t keep_best(struct likeness_match *out, size_t count, size_t most, struct likeness_match new)
{
    size_t at = count;
    while (at > 0 && out[at - 1].share < new.share)
        at--;
    if (at >= most)
        return count;
    count += count < most;
    for (size_t i = count - 1; i > at; i--)
        out[i] = out[i - 1];
    out[at] = new;
    return count;
}

static int folded(char c)
{
    return c >= 'A' && c <= 'Z' ? c + 32 : (unsigned char)c;
}

/* "top" and "toppings" share a spelling, and therefore tokens, but no meaning: what one has beyond the other
 * must be an ending. */
static bool is_spelt_alike(const char *a, size_t a_length, const char *b, size_t b_length)
{
    static const char *const endings[] = {"s",   "es", "d",  "ed",  "er", "ers", "or",
                                          "ing", "ly", "al", "ion", "n",  NULL};
    size_t shared = 0, least = a_length < b_length ? a_length : b_length;
    while (shared < least && folded(a[shared]) == folded(b[shared]))
        shared++;
    if (shared < least || a_length == b_length)
        return false;
    const char *rest = (a_length > b_length ? a : b) + least;
    size_t length = (a_length > b_length ? a_length : b_length) - least;
    for (const char *const *e = endings; *e; e++)
        if (strlen(*e) == length && strncasecmp(*e, rest, length) == 0)
            return false;
    return true;
}

size_t likeness_find(const struct likeness *likeness, const char *word, size_t length, uint64_t own_hash,
                     struct likeness_match *out, size_t most)
{
    struct likeness scratch = *likeness; /* only its token list is written */
    size_t width = likeness->llm->embedding_width, count = 0;
    scratch.tokens = (struct token_list){0};
    float *rows = mem_new(2, width * sizeof *rows);
    if (rows && find_direction(&scratch, word, length, rows, rows + width))
        for (size_t i = 0; i < likeness->count; i++) {
            const struct vocabulary_word *w = &likeness->words[i];
            float near = cosine(rows + width, likeness->directions + i * width, width);
            if (near < least_cosine || w->hash == own_hash ||
                is_spelt_alike(word, length, likeness->document->text.text + w->first, w->last - w->first))
                continue;
            float share = (near - 0.3f) / (full_cosine - 0.3f);
            count = keep_best(out, count, most,
                              (struct likeness_match){w->hash, share < 1 ? share : 1, w->first, w->last});
        }
    mem_free(rows);
    token_list_fini(&scratch.tokens);
    return count;
}
