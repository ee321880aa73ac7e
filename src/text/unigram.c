/* SentencePiece's unigram model: of all ways to cut a text, the one whose pieces score most.
 * SPDX-License-Identifier: Apache-2.0 */
#include "text/unigram.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"

/* The library's numbers: a character that no piece spells costs so much more than the worst piece; a
 * user's token always wins. */
#define UNKNOWN_COST 10.0
#define USER_SCORE (-0.1)

static const char where[] = "tokenizer";
static const char space_mark[] = "\xE2\x96\x81"; /* U+2581 */

/* ---- opening -------------------------------------------------------------------------------- */

static ll_status take_scores(struct unigram *unigram, const struct gguf_value *scores, ll_error *error)
{
    const struct vocab *vocab = unigram->vocab;
    double least = HUGE_VAL;
    for (size_t i = 0; i < vocab->count; i++) {
        double score = gguf_array_float(scores, i);
        if (!isfinite(score))
            return error_set(error, LL_FORMAT, where, "the score of token %zu is not a number", i);
        unigram->scores[i] = vocab->kinds[i] == TOKEN_USER ? USER_SCORE : score;
        if (vocab->kinds[i] == TOKEN_NORMAL && score < least)
            least = score;
    }
    unigram->unknown_score = (least == HUGE_VAL ? 0.0 : least) - UNKNOWN_COST;
    return LL_OK;
}

static ll_status load_scores(struct unigram *unigram, ll_error *error)
{
    const struct gguf_value *scores;
    size_t count = unigram->vocab->count;
    LL_TRY(gguf_get_array(unigram->vocab->gguf, "tokenizer.ggml.scores", GGUF_F32, &scores, error));
    if (!scores)
        return error_set(error, LL_FORMAT, where, "a \"t5\" tokenizer needs tokenizer.ggml.scores");
    if (scores->count != count)
        return error_set(error, LL_FORMAT, where, "tokenizer.ggml.scores has %llu entries for %zu tokens",
                         (unsigned long long)scores->count, count);
    unigram->scores = mem_new(count, sizeof *unigram->scores);
    if (!unigram->scores)
        return error_nomem(error, where, count * sizeof *unigram->scores);
    return take_scores(unigram, scores, error);
}

static ll_status load_map(struct unigram *unigram, ll_error *error)
{
    static const char key[] = "tokenizer.ggml.precompiled_charsmap";
    const struct gguf_value *map;
    LL_TRY(gguf_get_array(unigram->vocab->gguf, key, GGUF_U8, &map, error));
    if (!map)
        return LL_OK;
    if (map->element != GGUF_U8 && map->element != GGUF_I8)
        return error_set(error, LL_FORMAT, where, "%s is no array of bytes", key);
    return charsmap_open(map->data, (size_t)map->count, &unigram->map, error);
}

static ll_status load(struct unigram *unigram, ll_error *error)
{
    const struct gguf *gguf = unigram->vocab->gguf;
    LL_TRY(load_scores(unigram, error));
    LL_TRY(load_map(unigram, error));
    LL_TRY(gguf_get_bool(gguf, "tokenizer.ggml.add_space_prefix", false, &unigram->adds_space, error));
    LL_TRY(
        gguf_get_bool(gguf, "tokenizer.ggml.remove_extra_whitespaces", false, &unigram->trims_spaces, error));
    return piece_trie_open(unigram->vocab, &unigram->trie, error);
}

ll_status unigram_open(const struct vocab *vocab, struct unigram *ret, ll_error *error)
{
    *ret = (struct unigram){.vocab = vocab};
    ll_status status = load(ret, error);
    if (status != LL_OK)
        unigram_fini(ret);
    return status;
}

void unigram_fini(struct unigram *unigram)
{
    piece_trie_fini(&unigram->trie);
    mem_free(unigram->scores);
    unigram->scores = NULL;
}

/* ---- the best cut ---------------------------------------------------------------------------- */

struct place { /* between two bytes: the best way to get there */
    double score;
    int32_t from; /* where its last piece begins; -1: no way yet */
    int32_t to;   /* where the piece that begins here ends, once the best way is known */
    ll_token id;  /* -1: no piece spells it */
};

struct cutter {
    const struct unigram *unigram;
    struct strbuf text;   /* changed, with marks for spaces, not yet cut */
    struct place *places; /* of the stretch that is being cut, all without a way when none is */
    size_t place_count, capacity;
    bool unknown; /* the last thing put out was an unknown token */
    struct token_list *out;
};

static bool reach(struct cutter *cutter, size_t from, size_t to, double score, ll_token id)
{
    if (to >= cutter->place_count) {
        if (to >= INT32_MAX ||
            !mem_grow((void **)&cutter->places, &cutter->capacity, to + 1, sizeof *cutter->places))
            return false;
        while (cutter->place_count <= to)
            cutter->places[cutter->place_count++] = (struct place){0.0, -1, -1, -1};
    }
    struct place *place = &cutter->places[to];
    score += cutter->places[from].score;
    if (place->from < 0 || score > place->score)
        *place = (struct place){score, (int32_t)from, -1, id};
    return true;
}

/* All pieces that begin at `at` of a stretch's text; a character that is none may be passed as unknown. */
static bool reach_all(struct cutter *cutter, const char *text, size_t length, size_t at)
{
    const struct unigram *unigram = cutter->unigram;
    size_t step, end = at + 1;
    bool single = false;
    utf8_decode(text + at, length - at, &step);
    uint32_t node = piece_trie_start(&unigram->trie, (unsigned char)text[at]);
    while (node != PIECE_NONE) {
        ll_token id = unigram->trie.nodes[node].id;
        if (id >= 0 && !reach(cutter, at, end, unigram->scores[id], id))
            return false;
        single = single || (id >= 0 && end == at + step);
        node = end < length ? piece_trie_step(&unigram->trie, node, (unsigned char)text[end++]) : PIECE_NONE;
    }
    return single || reach(cutter, at, at + step, unigram->unknown_score, -1);
}

static bool push_way(struct cutter *cutter, const char *text, size_t end)
{
    struct place *places = cutter->places;
    for (int32_t at = (int32_t)end; at > 0; at = places[at].from)
        places[places[at].from].to = at;
    for (int32_t at = 0; at < (int32_t)end; at = places[at].to) {
        const struct place *next = &places[places[at].to];
        if (next->id < 0) {
            if (!vocab_push_bytes(cutter->unigram->vocab, text + at, (size_t)(places[at].to - at),
                                  &cutter->unknown, cutter->out))
                return false;
            continue;
        }
        cutter->unknown = false;
        if (!token_list_push(cutter->out, next->id))
            return false;
    }
    return true;
}

/* Where no piece reaches over, the way up to there is settled: it is put out and the rest cut on its own. */
static bool cut(struct cutter *cutter)
{
    const char *text = strbuf_text(&cutter->text);
    size_t length = cutter->text.length, at = 0, step;
    cutter->place_count = 0;
    while (length > 0) {
        if (at == 0 && !reach(cutter, 0, 0, 0.0, -1))
            return false;
        if (at > 0 && at + 1 >= cutter->place_count) {
            if (!push_way(cutter, text, at))
                return false;
            text += at;
            length -= at;
            at = cutter->place_count = 0;
            continue;
        }
        if (!reach_all(cutter, text, length, at))
            return false;
        utf8_decode(text + at, length - at, &step);
        at += step;
    }
    strbuf_clear(&cutter->text);
    return true;
}

/* ---- spaces ---------------------------------------------------------------------------------- */

struct reader {
    struct cutter cutter;
    bool begins;      /* nothing of this text is there yet */
    bool prefix;      /* a space goes before it */
    bool after_space; /* a further one would be one too many */
};

static void begin_text(struct reader *reader)
{
    if (!reader->begins)
        return;
    if (reader->prefix)
        strbuf_append(&reader->cutter.text, space_mark, 3);
    reader->begins = false;
    reader->after_space = reader->cutter.unigram->trims_spaces;
}

static void append_marked(struct strbuf *out, struct gguf_text text)
{
    while (text.length > 0) {
        const char *space = memchr(text.text, ' ', text.length);
        size_t run = space ? (size_t)(space - text.text) : text.length;
        strbuf_append(out, text.text, run);
        if (space)
            strbuf_append(out, space_mark, 3);
        run += space != NULL;
        text.text += run;
        text.length -= run;
    }
}

static void read_text(struct reader *reader, const char *text, size_t length)
{
    const struct unigram *unigram = reader->cutter.unigram;
    for (size_t at = 0, step; at < length; at += step) {
        struct gguf_text next = charsmap_next(&unigram->map, text + at, length - at, &step);
        bool space = next.length == 1 && *next.text == ' ';
        if (reader->begins && space && unigram->trims_spaces)
            continue;
        begin_text(reader);
        for (; reader->after_space && next.length > 0 && *next.text == ' '; next.text++)
            next.length--;
        append_marked(&reader->cutter.text, next);
        if (next.length > 0)
            reader->after_space = unigram->trims_spaces && next.text[next.length - 1] == ' ';
    }
}

static bool end_text(struct reader *reader)
{
    struct strbuf *text = &reader->cutter.text;
    while (reader->cutter.unigram->trims_spaces && text->length >= 3 &&
           memcmp(text->text + text->length - 3, space_mark, 3) == 0)
        strbuf_truncate(text, text->length - 3);
    return !text->failed && cut(&reader->cutter);
}

static bool push_added(struct reader *reader, const struct added_token *token)
{
    const struct unigram *unigram = reader->cutter.unigram;
    if (token->control) {
        if (!end_text(reader))
            return false;
        reader->begins = true;
        reader->prefix = unigram->adds_space;
    } else {
        begin_text(reader);
        if (reader->cutter.text.failed || !cut(&reader->cutter))
            return false;
        reader->after_space = unigram->trims_spaces && token->text[token->length - 1] == ' ';
    }
    reader->cutter.unknown = false;
    return token_list_push(reader->cutter.out, token->id);
}

static bool read_all(struct reader *reader, const struct added *added, const char *text, size_t length,
                     bool control)
{
    size_t at = 0, found_at = 0;
    const struct added_token *found;
    while ((found = added_next(added, text, length, at, control, &found_at)) != NULL) {
        read_text(reader, text + at, found_at - at);
        if (!push_added(reader, found))
            return false;
        at = found_at + found->length;
    }
    read_text(reader, text + at, length - at);
    return end_text(reader);
}

ll_status unigram_encode(const struct unigram *unigram, const struct added *added, const char *text,
                         size_t length, bool control, bool first, struct token_list *out, ll_error *error)
{
    struct reader reader = {
        .cutter = {.unigram = unigram, .out = out}, .begins = true, .prefix = first && unigram->adds_space};
    bool done = read_all(&reader, added, text, length, control);
    mem_free(reader.cutter.places);
    strbuf_fini(&reader.cutter.text);
    return done ? LL_OK : error_nomem(error, where, length);
}
