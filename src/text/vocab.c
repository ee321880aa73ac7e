/* The vocabulary of a model file: spellings, printed bytes, kinds, special ids, all checked.
 * SPDX-License-Identifier: Apache-2.0 */
#include "text/vocab.h"

#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "text/byte_letters.h"

static const char where[] = "tokenizer";
static const char space_mark[] = "\xE2\x96\x81";  /* U+2581 */
static const char replacement[] = "\xEF\xBF\xBD"; /* U+FFFD */

/* Control tokens that end a turn or a text, by the spellings published models use. */
static const char *const end_spellings[] = {
    "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<end_of_turn>",      "<|endoftext|>", "<|end_of_text|>",
    "<|end|>",    "<|eot|>",    "<EOT>",      "<|end_of_turn|>",    "</s>",          "<eos>",
    "<|return|>", "<|call|>",   "<turn|>",    "<|end_of_message|>", "<|EOT|>",       "<end_of_utterance>",
};

static bool text_is(struct gguf_text text, const char *other)
{
    return text.length == strlen(other) && memcmp(text.text, other, text.length) == 0;
}

struct gguf_text vocab_spelling(const struct vocab *vocab, ll_token id)
{
    return gguf_array_text(vocab->gguf, vocab->tokens, (uint64_t)id);
}

struct gguf_text vocab_piece(const struct vocab *vocab, ll_token id)
{
    uint32_t start = vocab->piece_starts[id];
    return (struct gguf_text){vocab->pieces + start, vocab->piece_starts[id + 1] - start};
}

/* ---- spelling to id ------------------------------------------------------------------------- */

#define HEAD_LONG 255u
#define TOKENS_AHEAD 16 /* filling the table waits for memory: so many tokens ahead it is asked for */

struct key {
    uint64_t hash, head;
};

static struct key key_of(const char *spelling, size_t length)
{
    uint64_t head = 0;
    memcpy(&head, spelling, length < 7 ? length : 7);
    head |= (uint64_t)(length < 8 ? length : HEAD_LONG) << 56;
    return (struct key){hash_bytes(spelling, length, 0), head};
}

/* The slot that holds the spelling, or the free one for it. Short spellings, which most are, are compared
 * without leaving the table. */
static struct vocab_slot *slot_of(const struct vocab *vocab, struct key key, const char *spelling,
                                  size_t length)
{
    for (size_t at = (size_t)key.hash & vocab->slot_mask;; at = (at + 1) & vocab->slot_mask) {
        struct vocab_slot *slot = &vocab->slots[at];
        if (slot->id < 0)
            return slot;
        if (slot->head != key.head)
            continue;
        if (length < 8)
            return slot;
        if (slot->tag != (uint32_t)(key.hash >> 32))
            continue;
        struct gguf_text held = vocab_spelling(vocab, slot->id);
        if (held.length == length && memcmp(held.text, spelling, length) == 0)
            return slot;
    }
}

void vocab_prefetch(const struct vocab *vocab, const char *spelling, size_t length)
{
    __builtin_prefetch(&vocab->slots[(size_t)hash_bytes(spelling, length, 0) & vocab->slot_mask]);
}

ll_token vocab_find(const struct vocab *vocab, const char *spelling, size_t length)
{
    if (length == 0 || length > vocab->longest)
        return -1;
    return slot_of(vocab, key_of(spelling, length), spelling, length)->id;
}

bool vocab_is_text(const struct vocab *vocab, ll_token id)
{
    int kind = vocab->kinds[id];
    return kind == TOKEN_NORMAL || kind == TOKEN_USER || kind == TOKEN_UNUSED;
}

ll_token vocab_find_text(const struct vocab *vocab, const char *spelling, size_t length)
{
    ll_token id = vocab_find(vocab, spelling, length);
    return id >= 0 && vocab_is_text(vocab, id) ? id : -1;
}

/* Also sums what the printed bytes can take: no token prints more than its spelling, or than U+FFFD. */
static ll_status index_spellings(struct vocab *vocab, uint64_t *ret_room, ll_error *error)
{
    size_t slots = 64;
    while (slots < vocab->count + vocab->count / 2)
        slots *= 2;
    vocab->slots = mem_new(slots, sizeof *vocab->slots);
    if (!vocab->slots)
        return error_nomem(error, where, slots * sizeof *vocab->slots);
    vocab->slot_mask = slots - 1;
    memset(vocab->slots, 0xFF, slots * sizeof *vocab->slots);
    for (size_t i = 0; i < vocab->count; i++) {
        struct gguf_text text = vocab_spelling(vocab, (ll_token)i), later;
        if (i + TOKENS_AHEAD < vocab->count) {
            later = vocab_spelling(vocab, (ll_token)(i + TOKENS_AHEAD));
            vocab_prefetch(vocab, later.text, later.length);
        }
        if (!mem_add(*ret_room, text.length + 3, ret_room) || *ret_room > UINT32_MAX)
            return error_set(error, LL_FORMAT, where, "the vocabulary's spellings exceed 4 GiB");
        if (text.length == 0)
            continue;
        struct key key = key_of(text.text, text.length);
        struct vocab_slot *slot = slot_of(vocab, key, text.text, text.length);
        if (slot->id < 0) /* of tokens spelt alike the first is found */
            *slot = (struct vocab_slot){key.head, (uint32_t)(key.hash >> 32), (ll_token)i};
        if (text.length > vocab->longest)
            vocab->longest = text.length;
    }
    return LL_OK;
}

/* ---- kinds ---------------------------------------------------------------------------------- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "<0x0A>" and nothing like it: no sign, no space, exactly two digits. -1 when it is not one. */
static int byte_of_spelling(struct gguf_text text)
{
    if (text.length != 6 || memcmp(text.text, "<0x", 3) != 0 || text.text[5] != '>')
        return -1;
    int high = hex_digit(text.text[3]), low = hex_digit(text.text[4]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

/* Files without token_type: what SentencePiece models have always called them. */
static enum token_kind guess_kind(struct gguf_text text, enum vocab_style style)
{
    if (style != VOCAB_SPACE_MARK)
        return TOKEN_NORMAL;
    if (byte_of_spelling(text) >= 0)
        return TOKEN_BYTE;
    if (text_is(text, "<unk>"))
        return TOKEN_UNKNOWN;
    return text_is(text, "<s>") || text_is(text, "</s>") ? TOKEN_CONTROL : TOKEN_NORMAL;
}

static ll_status read_kinds(struct vocab *vocab, enum vocab_style style, ll_error *error)
{
    const struct gguf_value *types;
    LL_TRY(gguf_get_array(vocab->gguf, "tokenizer.ggml.token_type", GGUF_I32, &types, error));
    if (types && types->count != vocab->count)
        return error_set(error, LL_FORMAT, where, "tokenizer.ggml.token_type has %llu entries for %zu tokens",
                         (unsigned long long)types->count, vocab->count);
    vocab->kinds = mem_new(vocab->count, sizeof *vocab->kinds);
    if (!vocab->kinds)
        return error_nomem(error, where, vocab->count);
    for (size_t i = 0; i < vocab->count; i++) {
        int64_t kind =
            types ? gguf_array_int(types, i) : (int64_t)guess_kind(vocab_spelling(vocab, (ll_token)i), style);
        if (kind < 0 || kind > TOKEN_BYTE)
            return error_set(error, LL_FORMAT, where, "token %zu has type %lld, known are 0 to 6", i,
                             (long long)kind);
        if (kind == TOKEN_BYTE && byte_of_spelling(vocab_spelling(vocab, (ll_token)i)) < 0)
            return error_set(error, LL_FORMAT, where, "token %zu is a byte token not spelt like <0x0A>", i);
        vocab->kinds[i] = (unsigned char)(kind ? kind : TOKEN_NORMAL);
    }
    return LL_OK;
}

/* ---- printed bytes -------------------------------------------------------------------------- */

static size_t write_space_marks(struct gguf_text text, char *out)
{
    size_t used = 0;
    for (size_t i = 0; i < text.length;) {
        if (text.length - i >= 3 && memcmp(text.text + i, space_mark, 3) == 0) {
            out[used++] = ' ';
            i += 3;
        } else {
            out[used++] = text.text[i++];
        }
    }
    return used;
}

static size_t write_letters(struct gguf_text text, char *out)
{
    size_t used = 0, step;
    for (size_t i = 0; i < text.length; i += step) {
        if (text.text[i] > ' ' && text.text[i] < 0x7F) { /* most letters are their own bytes */
            out[used++] = text.text[i];
            step = 1;
            continue;
        }
        int byte = byte_of_letter(utf8_decode(text.text + i, text.length - i, &step));
        if (byte >= 0) {
            out[used++] = (char)byte;
        } else { /* not of the alphabet: prints as itself */
            memcpy(out + used, text.text + i, step);
            used += step;
        }
    }
    return used;
}

static size_t write_piece(const struct vocab *vocab, size_t id, enum vocab_style style, char *out)
{
    struct gguf_text text = vocab_spelling(vocab, (ll_token)id);
    switch (vocab->kinds[id]) {
    case TOKEN_CONTROL:
        return 0;
    case TOKEN_UNKNOWN:
        memcpy(out, replacement, 3);
        return 3;
    case TOKEN_BYTE:
        out[0] = (char)byte_of_spelling(text);
        return 1;
    default:
        break;
    }
    if (style == VOCAB_SPACE_MARK)
        return write_space_marks(text, out);
    if (vocab->kinds[id] != TOKEN_USER)
        return write_letters(text, out);
    memcpy(out, text.text, text.length); /* added tokens are spelt as they print */
    return text.length;
}

static ll_status write_pieces(struct vocab *vocab, enum vocab_style style, uint64_t room, ll_error *error)
{
    vocab->pieces = mem_new((size_t)room, 1);
    vocab->piece_starts = mem_new(vocab->count + 1, sizeof *vocab->piece_starts);
    if (!vocab->pieces || !vocab->piece_starts)
        return error_nomem(error, where, (size_t)room);
    size_t used = 0;
    for (size_t i = 0; i < vocab->count; i++) {
        vocab->piece_starts[i] = (uint32_t)used;
        used += write_piece(vocab, i, style, vocab->pieces + used);
    }
    vocab->piece_starts[vocab->count] = (uint32_t)used;
    return LL_OK;
}

static void index_bytes(struct vocab *vocab, enum vocab_style style)
{
    memset(vocab->bytes, 0xFF, sizeof vocab->bytes);
    for (size_t i = 0; i < vocab->count; i++) {
        struct gguf_text piece = vocab_piece(vocab, (ll_token)i);
        bool counts =
            vocab->kinds[i] == TOKEN_BYTE || (style == VOCAB_BYTE_LETTERS && vocab->kinds[i] == TOKEN_NORMAL);
        if (piece.length != 1 || !counts)
            continue;
        ll_token *slot = &vocab->bytes[(unsigned char)piece.text[0]];
        if (*slot < 0)
            *slot = (ll_token)i;
    }
}

/* ---- special ids ---------------------------------------------------------------------------- */

/* Absent: the token spelt `fallback`, or none. No numbered default is believed. */
static ll_status read_id(const struct vocab *vocab, const char *key, const char *fallback, ll_token *ret,
                         ll_error *error)
{
    uint64_t id;
    LL_TRY(gguf_get_uint(vocab->gguf, key, UINT64_MAX, &id, error));
    if (id == UINT64_MAX || id == UINT32_MAX) { /* absent, or written as -1 */
        *ret = fallback ? vocab_find(vocab, fallback, strlen(fallback)) : -1;
        return LL_OK;
    }
    if (id >= vocab->count)
        return error_set(error, LL_FORMAT, where, "%s is %llu, but there are only %zu tokens", key,
                         (unsigned long long)id, vocab->count);
    *ret = (ll_token)id;
    return LL_OK;
}

static void add_end(struct vocab *vocab, ll_token id)
{
    if (id >= 0 && !vocab_is_end(vocab, id) && vocab->end_count < VOCAB_ENDS_MAX)
        vocab->ends[vocab->end_count++] = id;
}

static ll_status read_specials(struct vocab *vocab, enum vocab_style style, ll_error *error)
{
    bool marks = style == VOCAB_SPACE_MARK;
    ll_token eot, eom;
    LL_TRY(read_id(vocab, "tokenizer.ggml.bos_token_id", marks ? "<s>" : NULL, &vocab->bos, error));
    LL_TRY(read_id(vocab, "tokenizer.ggml.eos_token_id", marks ? "</s>" : NULL, &vocab->eos, error));
    LL_TRY(read_id(vocab, "tokenizer.ggml.unknown_token_id", marks ? "<unk>" : NULL, &vocab->unknown, error));
    LL_TRY(read_id(vocab, "tokenizer.ggml.eot_token_id", NULL, &eot, error));
    LL_TRY(read_id(vocab, "tokenizer.ggml.eom_token_id", NULL, &eom, error));
    add_end(vocab, vocab->eos);
    add_end(vocab, eot);
    add_end(vocab, eom);
    for (size_t i = 0; i < sizeof end_spellings / sizeof *end_spellings; i++) {
        ll_token id = vocab_find(vocab, end_spellings[i], strlen(end_spellings[i]));
        if (id >= 0 && (vocab->kinds[id] == TOKEN_CONTROL || vocab->kinds[id] == TOKEN_USER))
            add_end(vocab, id);
    }
    return LL_OK;
}

bool vocab_is_end(const struct vocab *vocab, ll_token id)
{
    for (size_t i = 0; i < vocab->end_count; i++)
        if (vocab->ends[i] == id)
            return true;
    return false;
}

static void choose_lost(struct vocab *vocab)
{
    if (vocab->unknown >= 0 && vocab->kinds[vocab->unknown] != TOKEN_CONTROL) {
        vocab->lost[vocab->lost_count++] = vocab->unknown;
        return;
    }
    char letters[6];
    size_t length = byte_letters_write(replacement, 3, letters);
    ll_token whole = vocab_find_text(vocab, letters, length);
    if (whole >= 0) {
        vocab->lost[vocab->lost_count++] = whole;
        return;
    }
    for (int i = 0; i < 3; i++)
        if (vocab->bytes[(unsigned char)replacement[i]] < 0)
            return;
    for (int i = 0; i < 3; i++)
        vocab->lost[vocab->lost_count++] = vocab->bytes[(unsigned char)replacement[i]];
}

bool vocab_push_byte(const struct vocab *vocab, unsigned char byte, struct token_list *out)
{
    if (vocab->bytes[byte] >= 0)
        return token_list_push(out, vocab->bytes[byte]);
    for (size_t i = 0; i < vocab->lost_count; i++)
        if (!token_list_push(out, vocab->lost[i]))
            return false;
    return true;
}

bool vocab_push_bytes(const struct vocab *vocab, const char *bytes, size_t length, bool *unknown,
                      struct token_list *out)
{
    for (size_t i = 0; i < length; i++) {
        bool known = vocab->bytes[(unsigned char)bytes[i]] >= 0;
        if (!known && *unknown)
            continue;
        *unknown = !known;
        if (!vocab_push_byte(vocab, (unsigned char)bytes[i], out))
            return false;
    }
    return true;
}

/* ---- life ----------------------------------------------------------------------------------- */

static ll_status load(struct vocab *vocab, enum vocab_style style, ll_error *error)
{
    LL_TRY(gguf_get_array(vocab->gguf, "tokenizer.ggml.tokens", GGUF_STRING, &vocab->tokens, error));
    if (!vocab->tokens || vocab->tokens->count == 0)
        return error_set(error, LL_FORMAT, where, "the file has no tokenizer.ggml.tokens");
    if (vocab->tokens->count >= INT32_MAX)
        return error_set(error, LL_FORMAT, where, "tokenizer.ggml.tokens claims %llu tokens",
                         (unsigned long long)vocab->tokens->count);
    vocab->count = (size_t)vocab->tokens->count;
    LL_TRY(read_kinds(vocab, style, error));
    uint64_t room = 1;
    LL_TRY(index_spellings(vocab, &room, error));
    LL_TRY(write_pieces(vocab, style, room, error));
    index_bytes(vocab, style);
    LL_TRY(read_specials(vocab, style, error));
    choose_lost(vocab);
    return LL_OK;
}

ll_status vocab_open(const struct gguf *gguf, enum vocab_style style, struct vocab *ret, ll_error *error)
{
    *ret = (struct vocab){.gguf = gguf};
    ll_status status = load(ret, style, error);
    if (status != LL_OK)
        vocab_fini(ret);
    return status;
}

void vocab_fini(struct vocab *vocab)
{
    mem_free(vocab->kinds);
    mem_free(vocab->pieces);
    mem_free(vocab->piece_starts);
    mem_free(vocab->slots);
    *vocab = (struct vocab){0};
}
