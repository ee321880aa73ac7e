/* Reads a SentencePiece model: the pieces and settings of a protocol buffer that is not trusted.
 * SPDX-License-Identifier: Apache-2.0
 *
 * ModelProto: 1 pieces {1 text, 2 score, 3 kind}, 2 trainer {3 kind of model, 24 spaces behind words, 40 … 43
 * special ids}, 3 normaliser {2 table of characters, 3 a space before the text, 4 runs of spaces become one,
 * 5 spaces become U+2581}. */
#include <string.h>

#include "base/error.h"
#include "formats/hf_tokenizer.h"

static const char where[] = "tokenizer.model";

enum { WIRE_VARINT, WIRE_64, WIRE_BYTES, WIRE_32 = 5 };
enum { MODEL_UNIGRAM = 1, MODEL_BPE, KINDS = 6 };

struct field {
    uint64_t number, value; /* value: of varints and 32-bit ones */
    const unsigned char *bytes;
    size_t length; /* of byte fields */
    int wire;
};

struct stream {
    const unsigned char *at, *end;
};

static bool take_varint(struct stream *s, uint64_t *ret)
{
    *ret = 0;
    for (int shift = 0; shift < 64 && s->at < s->end; shift += 7) {
        unsigned char byte = *s->at++;
        *ret |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return true;
    }
    return false;
}

/* false: damaged. */
static bool take_field(struct stream *s, struct field *ret)
{
    uint64_t key;
    *ret = (struct field){0};
    if (!take_varint(s, &key))
        return false;
    ret->number = key >> 3;
    ret->wire = (int)(key & 7);
    size_t left = (size_t)(s->end - s->at);
    switch (ret->wire) {
    case WIRE_VARINT:
        return take_varint(s, &ret->value);
    case WIRE_64:
        s->at += left < 8 ? left : 8;
        return left >= 8;
    case WIRE_32:
        if (left < 4)
            return false;
        ret->value = (uint64_t)s->at[0] | (uint64_t)s->at[1] << 8 | (uint64_t)s->at[2] << 16 |
                     (uint64_t)s->at[3] << 24;
        s->at += 4;
        return true;
    case WIRE_BYTES:
        if (!take_varint(s, &ret->value) || ret->value > (size_t)(s->end - s->at))
            return false;
        ret->bytes = s->at;
        ret->length = (size_t)ret->value;
        s->at += ret->length;
        return true;
    default:
        return false;
    }
}

static ll_status damaged(ll_error *error)
{
    return error_set(error, LL_FORMAT, where, "it is no SentencePiece model, or damaged");
}

static struct stream stream_of(const struct field *field)
{
    return (struct stream){field->bytes, field->bytes + field->length};
}

static ll_status read_piece(const struct field *piece, int64_t id, struct hf_vocabulary *v, ll_error *error)
{
    struct stream s = stream_of(piece);
    struct field field;
    struct gguf_text text = {"", 0};
    uint64_t kind = HF_NORMAL;
    float score = 0.0f;
    while (s.at < s.end) {
        if (!take_field(&s, &field))
            return damaged(error);
        if (field.number == 1 && field.wire == WIRE_BYTES)
            text = (struct gguf_text){(const char *)field.bytes, field.length};
        else if (field.number == 2 && field.wire == WIRE_32) {
            uint32_t bits = (uint32_t)field.value;
            memcpy(&score, &bits, sizeof score);
        } else if (field.number == 3 && field.wire == WIRE_VARINT)
            kind = field.value;
    }
    if (kind < 1 || kind > KINDS || score != score)
        return damaged(error);
    if ((uint64_t)id >= v->count)
        return LL_OK;
    LL_TRY(hf_vocabulary_put(v, id, text, (int)kind, error));
    v->scores[id] = score;
    return LL_OK;
}

static ll_status read_trainer(const struct field *trainer, struct hf_vocabulary *v, ll_error *error)
{
    struct stream s = stream_of(trainer);
    struct field field;
    uint64_t kind = MODEL_UNIGRAM; /* the library's default */
    int64_t *const ids[] = {&v->unknown, &v->bos, &v->eos, &v->pad};
    while (s.at < s.end) {
        if (!take_field(&s, &field))
            return damaged(error);
        if (field.number == 3 && field.wire == WIRE_VARINT)
            kind = field.value;
        if (field.number == 24 && field.wire == WIRE_VARINT && field.value != 0)
            return error_set(error, LL_UNSUPPORTED, where,
                             "its spaces stand behind words, which is not supported");
        if (field.number >= 40 && field.number <= 43 && field.wire == WIRE_VARINT)
            *ids[field.number - 40] = field.value < v->count ? (int64_t)field.value : -1;
    }
    if (kind != MODEL_UNIGRAM && kind != MODEL_BPE)
        return error_set(
            error, LL_UNSUPPORTED, where,
            "only SentencePiece models of the kinds unigram (1) and BPE (2) are supported, not kind "
            "%llu",
            (unsigned long long)kind);
    v->unigram = kind == MODEL_UNIGRAM;
    return LL_OK;
}

static ll_status read_normalizer(const struct field *normalizer, struct hf_vocabulary *v, ll_error *error)
{
    struct stream s = stream_of(normalizer);
    struct field field;
    v->adds_space = 1; /* the library's defaults */
    v->trims_spaces = true;
    while (s.at < s.end) {
        if (!take_field(&s, &field))
            return damaged(error);
        if (field.number == 2 && field.wire == WIRE_BYTES)
            v->table = (struct gguf_text){(const char *)field.bytes, field.length};
        if (field.number == 3 && field.wire == WIRE_VARINT)
            v->adds_space = field.value != 0;
        if (field.number == 4 && field.wire == WIRE_VARINT)
            v->trims_spaces = field.value != 0;
        if (field.number == 5 && field.wire == WIRE_VARINT && field.value == 0)
            return error_set(error, LL_UNSUPPORTED, where,
                             "it leaves spaces as they are, which is not supported");
    }
    return LL_OK;
}

ll_status sentencepiece_read(const void *bytes, size_t size, struct hf_vocabulary *v, ll_error *error)
{
    struct stream s = {bytes, (const unsigned char *)bytes + size};
    struct field field;
    int64_t pieces = 0;
    v->marks = v->unigram = true;
    v->unknown = 0;
    v->bos = 1;
    v->eos = 2; /* the library's defaults */
    while (s.at < s.end) {
        if (!take_field(&s, &field))
            return damaged(error);
        if (field.wire != WIRE_BYTES)
            continue;
        if (field.number == 1)
            LL_TRY(read_piece(&field, pieces++, v, error));
        else if (field.number == 2)
            LL_TRY(read_trainer(&field, v, error));
        else if (field.number == 3)
            LL_TRY(read_normalizer(&field, v, error));
    }
    if (!v->unigram && v->table.length > 0)
        return error_set(error, LL_UNSUPPORTED, where,
                         "it changes letters before it cuts, which is supported for unigram models only");
    return pieces > 0 ? LL_OK : damaged(error);
}
