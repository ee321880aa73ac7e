/* Byte-level BPE: a word's bytes merged pair by pair in the order of the model's merge list.
 * SPDX-License-Identifier: Apache-2.0 */
#include "text/bpe.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "text/byte_letters.h"
#include "text/compose.h"
#include "text/merge.h"

#define MERGES_AHEAD 16 /* loading waits for memory: so many merges ahead it is asked for */
#define SHORT_WORD 48   /* up to here rescanning an array beats a heap */

static const char where[] = "tokenizer";

/* ---- merges --------------------------------------------------------------------------------- */

static struct bpe_pair *pair_slot(const struct bpe *bpe, ll_token left, ll_token right)
{
    uint64_t key = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    key *= 0x9E3779B97F4A7C15u;
    for (size_t at = (size_t)(key >> 32) & bpe->pair_mask;; at = (at + 1) & bpe->pair_mask) {
        struct bpe_pair *pair = &bpe->pairs[at];
        if (pair->left < 0 || (pair->left == left && pair->right == right))
            return pair;
    }
}

static uint32_t pair_rank(const struct bpe *bpe, ll_token left, ll_token right, ll_token *merged)
{
    if (left < 0 || right < 0)
        return MERGE_NONE;
    const struct bpe_pair *pair = pair_slot(bpe, left, right);
    *merged = pair->merged;
    return pair->left < 0 ? MERGE_NONE : pair->rank;
}

struct loading {
    struct strbuf joined;
    ll_token previous; /* what the last merge made */
};

/* Trained vocabularies list tokens in the order of their merges: the next one is tried before any search. */
static ll_token find_whole(const struct vocab *vocab, struct gguf_text left, struct gguf_text right,
                           ll_token guess, struct strbuf *joined)
{
    if (guess >= 0 && (size_t)guess < vocab->count) {
        struct gguf_text next = vocab_spelling(vocab, guess);
        if (next.length == left.length + right.length && memcmp(next.text, left.text, left.length) == 0 &&
            memcmp(next.text + left.length, right.text, right.length) == 0)
            return guess;
    }
    strbuf_clear(joined);
    strbuf_append(joined, left.text, left.length);
    strbuf_append(joined, right.text, right.length);
    return joined->failed ? -1 : vocab_find(vocab, joined->text, joined->length);
}

/* "Ġ the": two spellings with one space between; a spelling itself holds none. */
static bool split_merge(struct gguf_text merge, struct gguf_text *ret_left, struct gguf_text *ret_right)
{
    const char *space = merge.length > 1 ? memchr(merge.text + 1, ' ', merge.length - 1) : NULL;
    if (!space)
        return false;
    *ret_left = (struct gguf_text){merge.text, (size_t)(space - merge.text)};
    *ret_right = (struct gguf_text){space + 1, merge.length - ret_left->length - 1};
    return true;
}

static void prefetch_merge(const struct vocab *vocab, struct gguf_text merge)
{
    struct gguf_text left, right;
    if (!split_merge(merge, &left, &right))
        return;
    vocab_prefetch(vocab, left.text, left.length);
    vocab_prefetch(vocab, right.text, right.length);
}

static ll_status add_merge(struct bpe *bpe, struct gguf_text merge, uint32_t rank, struct loading *loading,
                           ll_error *error)
{
    struct gguf_text first, second;
    if (!split_merge(merge, &first, &second))
        return error_set(error, LL_FORMAT, where, "entry %u of tokenizer.ggml.merges is not two tokens",
                         rank);
    ll_token left = vocab_find(bpe->vocab, first.text, first.length);
    ll_token right = vocab_find(bpe->vocab, second.text, second.length);
    ll_token whole = find_whole(bpe->vocab, first, second, loading->previous + 1, &loading->joined);
    loading->previous = whole;
    if (loading->joined.failed)
        return error_nomem(error, where, merge.length);
    if (left < 0 || right < 0 || whole < 0)
        return error_set(error, LL_FORMAT, where,
                         "entry %u of tokenizer.ggml.merges names a token that is not in the vocabulary",
                         rank);
    struct bpe_pair *pair = pair_slot(bpe, left, right);
    if (pair->left < 0 && vocab_is_text(bpe->vocab, whole)) /* text never merges into a control token */
        *pair = (struct bpe_pair){left, right, rank, whole};
    return LL_OK;
}

static ll_status load_merges(struct bpe *bpe, ll_error *error)
{
    const struct gguf_value *merges;
    LL_TRY(gguf_get_array(bpe->vocab->gguf, "tokenizer.ggml.merges", GGUF_STRING, &merges, error));
    if (!merges || merges->count >= INT32_MAX)
        return error_set(error, LL_FORMAT, where, "a \"gpt2\" tokenizer needs tokenizer.ggml.merges");
    size_t slots = 64;
    while (slots < merges->count + merges->count / 2)
        slots *= 2;
    bpe->pairs = mem_new(slots, sizeof *bpe->pairs);
    if (!bpe->pairs)
        return error_nomem(error, where, slots * sizeof *bpe->pairs);
    bpe->pair_mask = slots - 1;
    memset(bpe->pairs, 0xFF, slots * sizeof *bpe->pairs);
    struct loading loading = {.previous = -2};
    ll_status status = LL_OK;
    for (uint64_t i = 0; i < merges->count && status == LL_OK; i++) {
        if (i + MERGES_AHEAD < merges->count)
            prefetch_merge(bpe->vocab, gguf_array_text(bpe->vocab->gguf, merges, i + MERGES_AHEAD));
        status = add_merge(bpe, gguf_array_text(bpe->vocab->gguf, merges, i), (uint32_t)i, &loading, error);
    }
    strbuf_fini(&loading.joined);
    return status;
}

ll_status bpe_open(const struct vocab *vocab, const struct pretokenizer *pretokenizer, struct bpe *ret,
                   ll_error *error)
{
    *ret = (struct bpe){.vocab = vocab, .pretokenizer = pretokenizer};
    ll_status status = load_merges(ret, error);
    if (status != LL_OK)
        bpe_fini(ret);
    return status;
}

void bpe_fini(struct bpe *bpe)
{
    mem_free(bpe->pairs);
    bpe->pairs = NULL;
}

/* ---- one word ------------------------------------------------------------------------------- */

struct encoding { /* the state of one bpe_encode */
    const struct bpe *bpe;
    struct token_list *out;
    struct merge_work work;
    struct strbuf letters;
};

static size_t merge_short(const struct bpe *bpe, ll_token *ids, size_t count)
{
    uint32_t ranks[SHORT_WORD];
    ll_token merged[SHORT_WORD];
    for (size_t i = 0; i + 1 < count; i++)
        ranks[i] = pair_rank(bpe, ids[i], ids[i + 1], &merged[i]);
    while (count > 1) {
        size_t best = 0;
        for (size_t i = 1; i + 1 < count; i++)
            if (ranks[i] < ranks[best])
                best = i;
        if (ranks[best] == MERGE_NONE)
            break;
        ids[best] = merged[best];
        count--;
        for (size_t i = best + 1; i < count; i++)
            ids[i] = ids[i + 1];
        for (size_t i = best + 1; i + 1 < count; i++) {
            ranks[i] = ranks[i + 1];
            merged[i] = merged[i + 1];
        }
        if (best + 1 < count)
            ranks[best] = pair_rank(bpe, ids[best], ids[best + 1], &merged[best]);
        if (best > 0)
            ranks[best - 1] = pair_rank(bpe, ids[best - 1], ids[best], &merged[best - 1]);
    }
    return count;
}

static bool push_short(struct encoding *encoding, const char *word, size_t length)
{
    const struct vocab *vocab = encoding->bpe->vocab;
    ll_token ids[SHORT_WORD];
    size_t lost = 0;
    for (size_t i = 0; i < length; i++) {
        ids[i] = vocab->bytes[(unsigned char)word[i]];
        lost += ids[i] < 0;
    }
    size_t count = merge_short(encoding->bpe, ids, length), at = 0;
    for (size_t i = 0; i < count; i++) {
        if (ids[i] >= 0 && !token_list_push(encoding->out, ids[i]))
            return false;
        if (ids[i] >= 0 && lost == 0)
            continue;
        if (ids[i] < 0 && !vocab_push_byte(vocab, (unsigned char)word[at], encoding->out))
            return false;
        at += ids[i] < 0 ? 1 : vocab_piece(vocab, ids[i]).length;
    }
    return true;
}

static uint32_t long_pair(const void *user, const struct symbol *left, const struct symbol *right,
                          ll_token *merged)
{
    return pair_rank(user, left->id, right->id, merged);
}

static bool push_long(struct encoding *encoding, const char *word, size_t length)
{
    const struct bpe *bpe = encoding->bpe;
    struct merge_work *work = &encoding->work;
    merge_begin(work);
    for (size_t i = 0; i < length; i++)
        if (!merge_add(work, (uint32_t)i, 1, bpe->vocab->bytes[(unsigned char)word[i]]))
            return false;
    if (!merge_run(work, long_pair, bpe))
        return false;
    for (int32_t i = 0; i >= 0; i = work->symbols[i].next) {
        const struct symbol *symbol = &work->symbols[i];
        bool pushed = symbol->id >= 0
                          ? token_list_push(encoding->out, symbol->id)
                          : vocab_push_byte(bpe->vocab, (unsigned char)word[symbol->start], encoding->out);
        if (!pushed)
            return false;
    }
    return true;
}

/* The token that is exactly this word, -1 when there is none. */
static ll_token whole_word(struct encoding *encoding, const char *word, size_t length)
{
    struct strbuf *letters = &encoding->letters;
    if (length > encoding->bpe->vocab->longest)
        return -1;
    strbuf_clear(letters);
    for (size_t i = 0; i < length; i++) {
        char letter[4];
        strbuf_append(letters, letter, byte_letters_write(word + i, 1, letter));
    }
    return letters->failed ? -1 : vocab_find_text(encoding->bpe->vocab, letters->text, letters->length);
}

static bool push_word(void *user, const char *word, size_t length)
{
    struct encoding *encoding = user;
    if (pretokenizer_flags(encoding->bpe->pretokenizer) & RULE_IGNORE_MERGES) {
        ll_token id = whole_word(encoding, word, length);
        if (id >= 0)
            return token_list_push(encoding->out, id);
        if (encoding->letters.failed)
            return false;
    }
    return length <= SHORT_WORD ? push_short(encoding, word, length) : push_long(encoding, word, length);
}

/* ---- any bytes ------------------------------------------------------------------------------ */

static size_t valid_run(const char *text, size_t length)
{
    size_t at = 0, step;
    while (at < length) {
        if ((unsigned char)text[at] < 0x80)
            step = 1;
        else if (utf8_decode(text + at, length - at, &step) == UTF8_BAD)
            break;
        at += step;
    }
    return at;
}

static bool push_valid(struct encoding *encoding, struct pretokenize_state *state, const char *text,
                       size_t length)
{
    char *composed = NULL;
    if (pretokenizer_flags(encoding->bpe->pretokenizer) & RULE_NFC) {
        if (!compose_text(text, length, &composed, &length))
            return false;
        if (composed)
            text = composed;
    }
    bool done = pretokenize_split(state, text, length, push_word, encoding);
    mem_free(composed);
    return done;
}

static bool push_all(struct encoding *encoding, struct pretokenize_state *state, const char *text,
                     size_t length)
{
    for (size_t at = 0; at < length;) {
        size_t run = valid_run(text + at, length - at);
        if (!push_valid(encoding, state, text + at, run))
            return false;
        at += run;
        if (at < length && !vocab_push_byte(encoding->bpe->vocab, (unsigned char)text[at++], encoding->out))
            return false;
    }
    return true;
}

ll_status bpe_encode(const struct bpe *bpe, const char *text, size_t length, struct token_list *out,
                     ll_error *error)
{
    struct encoding encoding = {.bpe = bpe, .out = out};
    struct pretokenize_state *state = pretokenize_begin(bpe->pretokenizer);
    bool done = state && push_all(&encoding, state, text, length);
    pretokenize_end(state);
    merge_work_fini(&encoding.work);
    strbuf_fini(&encoding.letters);
    return done ? LL_OK : error_nomem(error, where, length);
}
