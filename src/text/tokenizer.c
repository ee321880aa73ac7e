/* Text to token ids and back, by the rules the model file names.
 * SPDX-License-Identifier: Apache-2.0 */
#include "text/tokenizer.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "text/added.h"
#include "text/bpe.h"
#include "text/pretokenize.h"
#include "text/spm.h"
#include "text/unigram.h"
#include "text/vocab.h"

#define TEXT_MAX ((size_t)1 << 29) /* positions inside fit 32 bits, escaped spaces included */

static const char where[] = "tokenizer";

enum algorithm {
    BYTE_MERGES,  /* byte-level BPE */
    MARK_MERGES,  /* SentencePiece's BPE */
    MARK_UNIGRAM, /* SentencePiece's unigram model */
};

struct tokenizer {
    struct vocab vocab;
    struct added added;
    enum algorithm algorithm;
    struct pretokenizer *pretokenizer; /* BYTE_MERGES */
    struct bpe bpe;
    struct spm spm;
    struct unigram unigram;
    bool adds_bos;
    bool adds_space;   /* MARK_MERGES: a space before the text */
    bool trims_spaces; /* MARK_MERGES: runs of spaces become one, those at the ends none */
    bool guessed;      /* the file names no pre-tokenizer */
    char name[64];
};

/* ---- opening -------------------------------------------------------------------------------- */

static ll_status read_model(const struct gguf *gguf, enum algorithm *ret, ll_error *error)
{
    static const char *const names[] = {
        [BYTE_MERGES] = "gpt2", [MARK_MERGES] = "llama", [MARK_UNIGRAM] = "t5"};
    struct gguf_text model;
    char shown[80];
    LL_TRY(gguf_get_text(gguf, "tokenizer.ggml.model", &model, error));
    if (!model.text)
        return error_set(error, LL_UNSUPPORTED, where, "the model file carries no tokenizer");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (gguf_text_equals(model, names[i])) {
            *ret = (enum algorithm)i;
            return LL_OK;
        }
    utf8_printable(model.text, model.length, shown, sizeof shown);
    return error_set(error, LL_UNSUPPORTED, where,
                     "the model's tokenizer is of kind \"%s\"; this version reads \"gpt2\", \"llama\" and "
                     "\"t5\"",
                     shown);
}

static ll_status open_bytes(struct tokenizer *tokenizer, const struct gguf *gguf, ll_error *error)
{
    struct gguf_text name;
    LL_TRY(gguf_get_text(gguf, "tokenizer.ggml.pre", &name, error));
    tokenizer->guessed = name.text == NULL;
    LL_TRY(pretokenizer_open(name, &tokenizer->pretokenizer, error));
    LL_TRY(bpe_open(&tokenizer->vocab, tokenizer->pretokenizer, &tokenizer->bpe, error));
    tokenizer->adds_bos = pretokenizer_flags(tokenizer->pretokenizer) & RULE_ADD_BOS;
    snprintf(tokenizer->name, sizeof tokenizer->name, "bpe %s", pretokenizer_name(tokenizer->pretokenizer));
    return LL_OK;
}

static ll_status open_marks(struct tokenizer *tokenizer, const struct gguf *gguf, ll_error *error)
{
    LL_TRY(spm_open(&tokenizer->vocab, &tokenizer->spm, error));
    tokenizer->adds_bos = true;
    snprintf(tokenizer->name, sizeof tokenizer->name, "spm");
    LL_TRY(gguf_get_bool(gguf, "tokenizer.ggml.add_space_prefix", true, &tokenizer->adds_space, error));
    return gguf_get_bool(gguf, "tokenizer.ggml.remove_extra_whitespaces", false, &tokenizer->trims_spaces,
                         error);
}

static ll_status open_unigram(struct tokenizer *tokenizer, ll_error *error)
{
    snprintf(tokenizer->name, sizeof tokenizer->name, "unigram");
    return unigram_open(&tokenizer->vocab, &tokenizer->unigram, error);
}

static ll_status open_algorithm(struct tokenizer *tokenizer, const struct gguf *gguf, ll_error *error)
{
    switch (tokenizer->algorithm) {
    case BYTE_MERGES:
        return open_bytes(tokenizer, gguf, error);
    case MARK_MERGES:
        return open_marks(tokenizer, gguf, error);
    default:
        return open_unigram(tokenizer, error);
    }
}

static ll_status read_bos(struct tokenizer *tokenizer, const struct gguf *gguf, ll_error *error)
{
    static const char key[] = "tokenizer.ggml.add_bos_token";
    LL_TRY(gguf_get_bool(gguf, key, tokenizer->adds_bos, &tokenizer->adds_bos, error));
    if (!tokenizer->adds_bos || tokenizer->vocab.bos >= 0)
        return LL_OK;
    if (gguf_find(gguf, key))
        return error_set(error, LL_FORMAT, where, "%s is set, but the file names no bos_token_id", key);
    tokenizer->adds_bos = false;
    return LL_OK;
}

static ll_status load(struct tokenizer *tokenizer, const struct gguf *gguf, ll_error *error)
{
    LL_TRY(read_model(gguf, &tokenizer->algorithm, error));
    enum vocab_style style = tokenizer->algorithm == BYTE_MERGES ? VOCAB_BYTE_LETTERS : VOCAB_SPACE_MARK;
    LL_TRY(vocab_open(gguf, style, &tokenizer->vocab, error));
    LL_TRY(added_open(&tokenizer->vocab, &tokenizer->added, error));
    LL_TRY(open_algorithm(tokenizer, gguf, error));
    return read_bos(tokenizer, gguf, error);
}

ll_status tokenizer_open(const struct gguf *gguf, struct tokenizer **ret, ll_error *error)
{
    struct tokenizer *tokenizer = mem_new(1, sizeof *tokenizer);
    if (!tokenizer)
        return error_nomem(error, where, sizeof *tokenizer);
    ll_status status = load(tokenizer, gguf, error);
    if (status == LL_OK)
        *ret = tokenizer;
    else
        tokenizer_close(tokenizer);
    return status;
}

void tokenizer_close(struct tokenizer *tokenizer)
{
    if (!tokenizer)
        return;
    unigram_fini(&tokenizer->unigram);
    spm_fini(&tokenizer->spm);
    bpe_fini(&tokenizer->bpe);
    pretokenizer_close(tokenizer->pretokenizer);
    added_fini(&tokenizer->added);
    vocab_fini(&tokenizer->vocab);
    mem_free(tokenizer);
}

/* ---- encoding ------------------------------------------------------------------------------- */

static ll_status encode_text(const struct tokenizer *tokenizer, const char *text, size_t length,
                             struct token_list *out, ll_error *error)
{
    if (length == 0)
        return LL_OK;
    if (tokenizer->algorithm == BYTE_MERGES)
        return bpe_encode(&tokenizer->bpe, text, length, out, error);
    return spm_encode(&tokenizer->spm, text, length, out, error);
}

/* BOS spelt at the head of the text counts: there is never a second one. */
static bool starts_with_bos(const struct tokenizer *tokenizer, const char *text, size_t length)
{
    size_t at = 0;
    const struct added_token *first = added_next(&tokenizer->added, text, length, 0, true, &at);
    return first && at == 0 && first->id == tokenizer->vocab.bos;
}

static ll_status encode_parts(const struct tokenizer *tokenizer, const char *text, size_t length,
                              bool control, struct token_list *out, ll_error *error)
{
    size_t at = 0, found_at = 0;
    const struct added_token *found;
    while ((found = added_next(&tokenizer->added, text, length, at, control, &found_at)) != NULL) {
        LL_TRY(encode_text(tokenizer, text + at, found_at - at, out, error));
        if (!token_list_push(out, found->id))
            return error_nomem(error, where, out->count * sizeof *out->ids);
        at = found_at + found->length;
    }
    return encode_text(tokenizer, text + at, length - at, out, error);
}

/* The library trims after it has escaped, so that U+2581 at the end goes too, but not elsewhere. */
static void append_trimmed(struct strbuf *out, const char *text, size_t length)
{
    for (;;) {
        if (length && text[length - 1] == ' ')
            length--;
        else if (length >= 3 && memcmp(text + length - 3, "\xE2\x96\x81", 3) == 0)
            length -= 3;
        else
            break;
    }
    bool space = true;
    for (size_t i = 0; i < length; i++) {
        if (text[i] != ' ' || !space)
            strbuf_putc(out, text[i]);
        space = text[i] == ' ';
    }
}

/* SentencePiece's rules for spaces at the head and in runs. */
static ll_status encode_spaced(const struct tokenizer *tokenizer, const char *text, size_t length,
                               unsigned flags, struct token_list *out, ll_error *error)
{
    bool control = flags & TOKENIZE_SPECIAL;
    bool prefix = tokenizer->adds_space && (flags & (TOKENIZE_START | TOKENIZE_SPACE)) && length > 0;
    if (prefix && control) {
        size_t at = 0;
        const struct added_token *first = added_next(&tokenizer->added, text, length, 0, true, &at);
        prefix = !(first && first->control && at == 0);
    }
    if (!prefix && !tokenizer->trims_spaces)
        return encode_parts(tokenizer, text, length, control, out, error);
    struct strbuf spaced = {0};
    if (prefix)
        strbuf_putc(&spaced, ' ');
    if (tokenizer->trims_spaces)
        append_trimmed(&spaced, text, length);
    else
        strbuf_append(&spaced, text, length);
    if (tokenizer->trims_spaces && spaced.length == (prefix ? 1u : 0u))
        strbuf_clear(&spaced); /* nothing but spaces */
    ll_status status =
        spaced.failed ? error_nomem(error, where, length)
                      : encode_parts(tokenizer, strbuf_text(&spaced), spaced.length, control, out, error);
    strbuf_fini(&spaced);
    return status;
}

static ll_status encode_all(const struct tokenizer *tokenizer, const char *text, size_t length,
                            unsigned flags, struct token_list *out, ll_error *error)
{
    bool control = flags & TOKENIZE_SPECIAL;
    bool start = (flags & TOKENIZE_START) && tokenizer->adds_bos;
    if (start && control && starts_with_bos(tokenizer, text, length))
        start = false;
    if (start && !token_list_push(out, tokenizer->vocab.bos))
        return error_nomem(error, where, sizeof *out->ids);
    switch (tokenizer->algorithm) {
    case MARK_MERGES:
        return encode_spaced(tokenizer, text, length, flags, out, error);
    case MARK_UNIGRAM:
        return unigram_encode(&tokenizer->unigram, &tokenizer->added, text, length, control,
                              flags & (TOKENIZE_START | TOKENIZE_SPACE), out, error);
    default:
        return encode_parts(tokenizer, text, length, control, out, error);
    }
}

ll_status tokenizer_encode(const struct tokenizer *tokenizer, const char *text, size_t length, unsigned flags,
                           struct token_list *out, ll_error *error)
{
    size_t before = out->count;
    if (length >= TEXT_MAX)
        return error_set(error, LL_ARGUMENT, where,
                         "%zu bytes are too many for one call; cut the text below 512 MiB", length);
    ll_status status = encode_all(tokenizer, text, length, flags, out, error);
    if (status != LL_OK)
        out->count = before;
    return status;
}

/* ---- looking -------------------------------------------------------------------------------- */

static bool in_range(const struct tokenizer *tokenizer, ll_token id)
{
    return id >= 0 && (size_t)id < tokenizer->vocab.count;
}

static const char *give(struct gguf_text text, size_t *ret_length)
{
    *ret_length = text.length;
    return text.text;
}

const char *tokenizer_piece(const struct tokenizer *tokenizer, ll_token id, size_t *ret_length)
{
    return in_range(tokenizer, id) ? give(vocab_piece(&tokenizer->vocab, id), ret_length) : NULL;
}

const char *tokenizer_spelling(const struct tokenizer *tokenizer, ll_token id, size_t *ret_length)
{
    return in_range(tokenizer, id) ? give(vocab_spelling(&tokenizer->vocab, id), ret_length) : NULL;
}

enum token_kind tokenizer_kind(const struct tokenizer *tokenizer, ll_token id)
{
    return in_range(tokenizer, id) ? (enum token_kind)tokenizer->vocab.kinds[id] : TOKEN_UNUSED;
}

const char *tokenizer_name(const struct tokenizer *tokenizer)
{
    return tokenizer->name;
}

const char *tokenizer_note(const struct tokenizer *tokenizer)
{
    return tokenizer->guessed
               ? "the model file names no pre-tokenizer; \"default\" is taken and may split words "
                 "otherwise than in training"
               : NULL;
}

size_t tokenizer_size(const struct tokenizer *tokenizer)
{
    return tokenizer->vocab.count;
}

ll_token tokenizer_bos(const struct tokenizer *tokenizer)
{
    return tokenizer->vocab.bos;
}

ll_token tokenizer_eos(const struct tokenizer *tokenizer)
{
    return tokenizer->vocab.eos;
}

bool tokenizer_adds_bos(const struct tokenizer *tokenizer)
{
    return tokenizer->adds_bos;
}

bool tokenizer_is_end(const struct tokenizer *tokenizer, ll_token id)
{
    return vocab_is_end(&tokenizer->vocab, id);
}

ll_token tokenizer_find(const struct tokenizer *tokenizer, const char *spelling, size_t length)
{
    return vocab_find(&tokenizer->vocab, spelling, length);
}

ll_token tokenizer_next_control(const struct tokenizer *tokenizer, const char *text, size_t end, size_t from,
                                size_t *ret_at, size_t *ret_length)
{
    const struct added_token *found;
    while ((found = added_next(&tokenizer->added, text, end, from, true, ret_at)) != NULL) {
        *ret_length = found->length;
        if (found->control)
            return found->id;
        from = *ret_at + found->length; /* a user's token is found again where text is tokenised */
    }
    return -1;
}
