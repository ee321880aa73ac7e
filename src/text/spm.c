/* SentencePiece as GGUF files carry it: score-driven merges over text whose spaces are U+2581.
 * SPDX-License-Identifier: Apache-2.0 */
#include "text/spm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "text/merge.h"

static const char where[] = "tokenizer";
static const char space_mark[] = "\xE2\x96\x81"; /* U+2581 */

/* ---- opening -------------------------------------------------------------------------------- */

struct scored {
    double score;
    ll_token id;
};

static int by_score(const void *a, const void *b)
{
    const struct scored *left = a, *right = b;
    return left->score > right->score ? -1 : left->score < right->score;
}

static ll_status rank_scores(struct spm *spm, struct scored *scored, const struct gguf_value *scores,
                             ll_error *error)
{
    size_t count = spm->vocab->count;
    for (size_t i = 0; i < count; i++) {
        scored[i] = (struct scored){gguf_array_float(scores, i), (ll_token)i};
        if (isnan(scored[i].score))
            return error_set(error, LL_FORMAT, where, "the score of token %zu is not a number", i);
    }
    qsort(scored, count, sizeof *scored, by_score);
    uint32_t rank = 0;
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && scored[i].score < scored[i - 1].score)
            rank++;
        spm->ranks[scored[i].id] = rank;
    }
    return LL_OK;
}

static ll_status load_scores(struct spm *spm, ll_error *error)
{
    const struct gguf_value *scores;
    size_t count = spm->vocab->count;
    LL_TRY(gguf_get_array(spm->vocab->gguf, "tokenizer.ggml.scores", GGUF_F32, &scores, error));
    if (!scores)
        return error_set(error, LL_FORMAT, where, "a \"llama\" tokenizer needs tokenizer.ggml.scores");
    if (scores->count != count)
        return error_set(error, LL_FORMAT, where, "tokenizer.ggml.scores has %llu entries for %zu tokens",
                         (unsigned long long)scores->count, count);
    struct scored *scored = mem_new(count, sizeof *scored);
    spm->ranks = mem_new(count, sizeof *spm->ranks);
    ll_status status = LL_OK;
    if (scored && spm->ranks)
        status = rank_scores(spm, scored, scores, error);
    else
        status = error_nomem(error, where, count * sizeof *scored);
    mem_free(scored);
    return status;
}

static bool is_mark(const char *text, size_t length)
{
    return length >= 3 && memcmp(text, space_mark, 3) == 0;
}

/* A mark right after something else, as in "a▁b". */
static bool spans_words(struct gguf_text text)
{
    bool other = false;
    for (size_t i = 0; i < text.length; i++) {
        if (!is_mark(text.text + i, text.length - i))
            other = true;
        else if (other)
            return true;
        else
            i += 2;
    }
    return false;
}

ll_status spm_open(const struct vocab *vocab, struct spm *ret, ll_error *error)
{
    *ret = (struct spm){.vocab = vocab};
    ll_status status = load_scores(ret, error);
    if (status != LL_OK) {
        spm_fini(ret);
        return status;
    }
    for (size_t i = 0; i < vocab->count; i++) {
        if (!vocab_is_text(vocab, (ll_token)i))
            continue;
        ret->cross_words = ret->cross_words || spans_words(vocab_spelling(vocab, (ll_token)i));
        ret->has_unused = ret->has_unused || vocab->kinds[i] == TOKEN_UNUSED;
    }
    return LL_OK;
}

void spm_fini(struct spm *spm)
{
    mem_free(spm->ranks);
    spm->ranks = NULL;
}

/* ---- one stretch ---------------------------------------------------------------------------- */

struct stretch { /* what may merge with one another; marks stand for spaces */
    const struct spm *spm;
    const char *text;
    struct merge_work work;
    uint32_t *halves; /* [count] of an unused piece: bytes of its left half; NULL until needed */
    bool unknown;     /* the last thing put out was an unknown token */
    struct token_list *out;
};

static uint32_t pair_rank(const void *user, const struct symbol *left, const struct symbol *right,
                          ll_token *merged)
{
    const struct stretch *stretch = user;
    const struct vocab *vocab = stretch->spm->vocab;
    uint64_t length = (uint64_t)left->length + right->length;
    if (length > vocab->longest)
        return MERGE_NONE;
    *merged = vocab_find_text(vocab, stretch->text + left->start, (size_t)length);
    if (*merged < 0)
        return MERGE_NONE;
    if (stretch->halves && vocab->kinds[*merged] == TOKEN_UNUSED)
        stretch->halves[*merged] = left->length;
    return stretch->spm->ranks[*merged];
}

static bool push_piece(struct stretch *stretch, const char *text, size_t length)
{
    const struct vocab *vocab = stretch->spm->vocab;
    for (;;) { /* left halves by recursion, right ones here: depth is bounded by the piece's length */
        ll_token id = vocab_find_text(vocab, text, length);
        if (id < 0)
            return vocab_push_bytes(vocab, text, length, &stretch->unknown, stretch->out);
        size_t half = stretch->halves && vocab->kinds[id] == TOKEN_UNUSED ? stretch->halves[id] : 0;
        if (half == 0 || half >= length) {
            stretch->unknown = false;
            return token_list_push(stretch->out, id);
        }
        if (!push_piece(stretch, text, half))
            return false;
        text += half;
        length -= half;
    }
}

static bool push_stretch(struct stretch *stretch, const char *text, size_t length)
{
    struct merge_work *work = &stretch->work;
    stretch->text = text;
    merge_begin(work);
    for (size_t at = 0, step; at < length; at += step) {
        utf8_decode(text + at, length - at, &step);
        if (!merge_add(work, (uint32_t)at, (uint32_t)step, -1))
            return false;
    }
    if (!merge_run(work, pair_rank, stretch))
        return false;
    for (int32_t i = 0; i >= 0; i = work->symbols[i].next) {
        const struct symbol *symbol = &work->symbols[i];
        bool plain = symbol->id >= 0 && stretch->spm->vocab->kinds[symbol->id] != TOKEN_UNUSED;
        if (plain ? !token_list_push(stretch->out, symbol->id)
                  : !push_piece(stretch, text + symbol->start, symbol->length))
            return false;
        stretch->unknown = stretch->unknown && !plain;
    }
    return true;
}

/* ---- all of it ------------------------------------------------------------------------------ */

/* The end of the word from `at`: its leading marks and what follows them up to the next mark. */
static size_t word_end(const char *text, size_t length, size_t at)
{
    while (is_mark(text + at, length - at))
        at += 3;
    while (at < length && !is_mark(text + at, length - at))
        at++;
    return at;
}

static bool push_words(struct stretch *stretch, const char *text, size_t length)
{
    if (stretch->spm->cross_words)
        return push_stretch(stretch, text, length);
    for (size_t at = 0; at < length;) {
        size_t end = word_end(text, length, at);
        if (!push_stretch(stretch, text + at, end - at))
            return false;
        at = end;
    }
    return true;
}

static void write_marks(struct strbuf *out, const char *text, size_t length)
{
    for (size_t at = 0; at < length;) {
        const char *space = memchr(text + at, ' ', length - at);
        size_t run = space ? (size_t)(space - text) - at : length - at;
        strbuf_append(out, text + at, run);
        if (space)
            strbuf_append(out, space_mark, 3);
        at += run + 1;
    }
}

ll_status spm_encode(const struct spm *spm, const char *text, size_t length, struct token_list *out,
                     ll_error *error)
{
    if (length == 0)
        return LL_OK;
    struct stretch stretch = {.spm = spm, .out = out};
    struct strbuf marked = {0};
    write_marks(&marked, text, length);
    bool done = !marked.failed;
    if (done && spm->has_unused) {
        stretch.halves = mem_new(spm->vocab->count, sizeof *stretch.halves);
        done = stretch.halves != NULL;
    }
    done = done && push_words(&stretch, marked.text, marked.length);
    mem_free(stretch.halves);
    merge_work_fini(&stretch.work);
    strbuf_fini(&marked);
    return done ? LL_OK : error_nomem(error, where, length);
}
