/* Reads a tokenizer.json whose model is SentencePiece's unigram: scored pieces, and the steps before them.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The steps are those by which the libraries write a SentencePiece model's own rules down; a step that such a
 * model cannot have is refused by its name. */
#define _GNU_SOURCE 1 /* memmem */
#include <math.h>
#include <string.h>

#include "base/base64.h"
#include "base/error.h"
#include "base/utf8.h"
#include "formats/hf_tokenizer.h"
#include "formats/json_file.h"

enum { STEPS_DEEP = 8 };

static const char where[] = "tokenizer.json";
static const char space_mark[] = "\xE2\x96\x81"; /* U+2581 */

static bool is(const char *text, const char *other)
{
    return text && strcmp(text, other) == 0;
}

/* ---- pieces ---- */

static bool is_byte(struct gguf_text text)
{
    return text.length == 6 && memcmp(text.text, "<0x", 3) == 0 && text.text[5] == '>';
}

static ll_status read_pieces(const json_t *model, struct hf_vocabulary *v, ll_error *error)
{
    const json_t *pieces = json_object_get(model, "vocab"), *unknown = json_object_get(model, "unk_id");
    bool bytes = json_member_true(model, "byte_fallback", false);
    v->unknown = json_is_integer(unknown) ? json_integer_value(unknown) : -1;
    for (size_t i = 0; i < json_array_size(pieces); i++) {
        const json_t *piece = json_array_get(pieces, i), *name = json_array_get(piece, 0);
        struct gguf_text text = {json_string_value(name), json_string_length(name)};
        double score = json_number_value(json_array_get(piece, 1));
        if (!text.text || !json_is_number(json_array_get(piece, 1)) || fabs(score) > 1e30)
            return error_set(error, LL_FORMAT, where, "piece %zu is no text with a score", i);
        int kind = (int64_t)i == v->unknown ? HF_UNKNOWN : bytes && is_byte(text) ? HF_BYTE : HF_NORMAL;
        LL_TRY(hf_vocabulary_put(v, (int64_t)i, text, kind, error));
        if (i < v->count)
            v->scores[i] = (float)score;
    }
    return json_array_size(pieces) > 0 ? LL_OK
                                       : error_set(error, LL_FORMAT, where, "the model has no vocabulary");
}

/* Where text is cut before every mark, pieces that have one behind their first character never come. */
static void retire_crossing(struct hf_vocabulary *v)
{
    for (size_t i = 0; i < v->count; i++) {
        struct gguf_text text = v->texts[i];
        if (text.text && v->kinds[i] == HF_NORMAL && text.length > 3 &&
            memmem(text.text + 1, text.length - 1, space_mark, 3))
            v->kinds[i] = HF_UNUSED;
    }
}

/* ---- steps ---- */

struct steps {
    struct hf_vocabulary *vocabulary;
    bool marks, prefix, split;
};

static bool take_replace(const json_t *step, struct steps *steps)
{
    const json_t *pattern = json_object_get(step, "pattern");
    const char *content = json_member_text(step, "content"), *regex = json_member_text(pattern, "Regex");
    bool to_mark = is(content, space_mark);
    if (is(regex, " {2,}") && (to_mark || is(content, " "))) {
        steps->vocabulary->trims_spaces = true;
        return true;
    }
    if (is(regex, "(?<!\\n)^") && to_mark) {
        steps->prefix = true;
        return true;
    }
    steps->marks |= to_mark;
    return to_mark && (is(regex, " ") || is(json_member_text(pattern, "String"), " "));
}

static bool take_table(const json_t *step, struct steps *steps)
{
    const json_t *table = json_object_get(step, "precompiled_charsmap");
    struct strbuf *decoded = &steps->vocabulary->decoded;
    if (!json_is_string(table))
        return !table || json_is_null(table);
    strbuf_clear(decoded);
    base64_decode(json_string_value(table), json_string_length(table), decoded);
    steps->vocabulary->table = (struct gguf_text){strbuf_text(decoded), decoded->length};
    return true;
}

static bool take_metaspace(const json_t *step, struct steps *steps)
{
    const char *scheme = json_member_text(step, "prepend_scheme"),
               *mark = json_member_text(step, "replacement");
    steps->prefix = scheme ? !is(scheme, "never") : json_member_true(step, "add_prefix_space", true);
    steps->split |= json_member_true(step, "split", true);
    steps->marks = true;
    return is(mark, space_mark);
}

static bool take_step(const json_t *step, struct steps *steps)
{
    const char *type = json_member_text(step, "type");
    if (is(type, "Precompiled"))
        return take_table(step, steps);
    if (is(type, "Replace"))
        return take_replace(step, steps);
    if (is(type, "Metaspace"))
        return take_metaspace(step, steps);
    if (is(type, "Prepend")) {
        steps->prefix = true;
        return is(json_member_text(step, "prepend"), space_mark);
    }
    steps->vocabulary->trims_spaces = true;
    return is(type, "Strip") || is(type, "WhitespaceSplit");
}

static ll_status take_steps(const json_t *rule, const char *list_name, int deep, struct steps *steps,
                            ll_error *error)
{
    const char *type = json_member_text(rule, "type");
    const json_t *list = json_object_get(rule, list_name);
    char shown[48];
    if (!rule || json_is_null(rule))
        return LL_OK;
    if (is(type, "Sequence") && deep < STEPS_DEEP) {
        for (size_t i = 0; i < json_array_size(list); i++)
            LL_TRY(take_steps(json_array_get(list, i), list_name, deep + 1, steps, error));
        return LL_OK;
    }
    if (take_step(rule, steps))
        return LL_OK;
    utf8_printable(type ? type : "", type ? strlen(type) : 0, shown, sizeof shown);
    return error_set(error, LL_UNSUPPORTED, where,
                     "its step \"%s\" changes or cuts text in a way that GGUF files have no name for", shown);
}

ll_status hf_unigram_read_json(const json_t *root, struct hf_vocabulary *v, ll_error *error)
{
    struct steps steps = {.vocabulary = v};
    v->marks = v->unigram = true;
    LL_TRY(take_steps(json_member(root, "normalizer"), "normalizers", 0, &steps, error));
    LL_TRY(take_steps(json_member(root, "pre_tokenizer"), "pretokenizers", 0, &steps, error));
    if (v->decoded.failed)
        return error_nomem(error, where, v->decoded.length);
    if (!steps.marks)
        return error_set(error, LL_UNSUPPORTED, where,
                         "it leaves spaces as they are, which is not supported");
    LL_TRY(read_pieces(json_member(root, "model"), v, error));
    if (steps.split)
        retire_crossing(v);
    v->adds_space = steps.prefix;
    return LL_OK;
}
