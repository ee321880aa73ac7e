/* Reads a tokenizer.json: BPE of bytes, or of SentencePiece as merges; the unigram model is read elsewhere.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "formats/hf_tokenizer.h"
#include "formats/json_file.h"
#include "formats/name_index.h"

static const char where[] = "tokenizer.json";
static const char space_mark[] = "\xE2\x96\x81"; /* U+2581 */

static bool is(const char *text, const char *other)
{
    return text && strcmp(text, other) == 0;
}

static struct gguf_text text_of(const json_t *value)
{
    return (struct gguf_text){json_string_value(value), json_string_length(value)};
}

/* ---- vocabulary ---- */

static bool is_byte(struct gguf_text text)
{
    return text.length == 6 && memcmp(text.text, "<0x", 3) == 0 && text.text[5] == '>';
}

static ll_status read_vocabulary(const json_t *model, struct hf_vocabulary *v, ll_error *error)
{
    json_t *tokens = json_object_get(model, "vocab"), *id;
    bool bytes = v->marks && json_member_true(model, "byte_fallback", false);
    const char *name, *unknown = json_member_text(model, "unk_token");
    size_t length;
    if (!json_is_object(tokens))
        return error_set(error, LL_FORMAT, where, "the model has no vocabulary");
    json_object_keylen_foreach(tokens, name, length, id)
    {
        struct gguf_text text = {name, length};
        bool lost = unknown && strlen(unknown) == length && memcmp(unknown, name, length) == 0;
        if (!json_is_integer(id))
            return error_set(error, LL_FORMAT, where, "a token has no number");
        LL_TRY(hf_vocabulary_put(v, json_integer_value(id), text,
                                 lost && v->marks         ? HF_UNKNOWN
                                 : bytes && is_byte(text) ? HF_BYTE
                                                          : HF_NORMAL,
                                 error));
        if (lost)
            v->unknown = json_integer_value(id);
    }
    return LL_OK;
}

/* Added tokens may stand in the vocabulary already. */
static ll_status read_added(const json_t *root, struct hf_vocabulary *v, ll_error *error)
{
    const json_t *list = json_member(root, "added_tokens");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *token = json_array_get(list, i), *id = json_object_get(token, "id");
        struct gguf_text text = text_of(json_object_get(token, "content"));
        int kind = json_member_true(token, "special", false) ? HF_CONTROL : HF_USER;
        if (!text.text || !json_is_integer(id))
            return error_set(error, LL_FORMAT, where, "an added token has no text or no number");
        int64_t number = json_integer_value(id);
        if (number < 0 || (uint64_t)number >= v->count)
            continue;
        if (v->kinds[number] == HF_UNKNOWN)
            continue;
        if (v->texts[number].text && (v->texts[number].length != text.length ||
                                      memcmp(v->texts[number].text, text.text, text.length) != 0))
            return error_set(error, LL_FORMAT, where, "the number %lld belongs to two tokens",
                             (long long)number);
        v->texts[number].text = NULL;
        LL_TRY(hf_vocabulary_put(v, number, text, kind, error));
    }
    return LL_OK;
}

/* ---- merges ---- */

/* The two sides of a merge, "a b" or ["a", "b"]. */
static bool sides(const json_t *merge, struct gguf_text *left, struct gguf_text *right)
{
    if (json_is_array(merge) && json_array_size(merge) == 2) {
        *left = text_of(json_array_get(merge, 0));
        *right = text_of(json_array_get(merge, 1));
        return left->text && right->text && !memchr(left->text, ' ', left->length) &&
               !memchr(right->text, ' ', right->length);
    }
    const char *text = json_string_value(merge), *space = text ? strchr(text, ' ') : NULL;
    if (!space)
        return false;
    *left = (struct gguf_text){text, (size_t)(space - text)};
    *right = (struct gguf_text){space + 1, json_string_length(merge) - left->length - 1};
    return true;
}

static ll_status write_merges(const json_t *merges, struct gguf_writer *writer, ll_error *error)
{
    size_t count = json_array_size(merges);
    struct gguf_text *texts = mem_new(count, sizeof *texts), left, right;
    struct strbuf all = {0};
    ll_status status = texts ? LL_OK : error_nomem(error, where, count * sizeof *texts);
    for (size_t i = 0; i < count && status == LL_OK; i++) {
        const json_t *merge = json_array_get(merges, i);
        if (!sides(merge, &left, &right))
            status = error_set(error, LL_FORMAT, where, "merge %zu is no pair of tokens", i);
        else {
            texts[i].length = left.length + 1 + right.length;
            strbuf_append(&all, left.text, left.length);
            strbuf_putc(&all, ' ');
            strbuf_append(&all, right.text, right.length);
        }
    }
    if (status == LL_OK && all.failed)
        status = error_nomem(error, where, all.length);
    size_t at = 0;
    for (size_t i = 0; i < count && status == LL_OK; at += texts[i++].length)
        texts[i].text = strbuf_text(&all) + at;
    if (status == LL_OK)
        gguf_writer_strings(writer, "tokenizer.ggml.merges", texts, count);
    mem_free(texts);
    strbuf_fini(&all);
    return status;
}

static struct gguf_text token_text(const void *owner, size_t item)
{
    const struct hf_vocabulary *v = owner;
    return v->texts[item].text ? v->texts[item] : (struct gguf_text){v->made[item], strlen(v->made[item])};
}

/* A token's score is that of the first merge that makes it: the order of merges is that of SentencePiece. */
static ll_status score_merges(const json_t *merges, struct hf_vocabulary *v, ll_error *error)
{
    struct name_index index;
    struct gguf_text left, right;
    struct strbuf both = {0};
    ll_status status = LL_OK;
    size_t count = json_array_size(merges);
    if (!name_index_init(&index, v->count, token_text, v))
        return error_nomem(error, where, v->count * 8);
    for (size_t i = 0; i < v->count; i++) {
        v->scores[i] = v->kinds[i] == HF_NORMAL || v->kinds[i] == HF_USER ? -1e9f : 0.0f;
        name_index_add(&index, i);
    }
    for (size_t i = 0; i < count && status == LL_OK; i++) {
        strbuf_clear(&both);
        if (!sides(json_array_get(merges, i), &left, &right)) {
            status = error_set(error, LL_FORMAT, where, "merge %zu is no pair of tokens", i);
            break;
        }
        strbuf_append(&both, left.text, left.length);
        strbuf_append(&both, right.text, right.length);
        size_t token = both.failed ? NAME_NONE : name_index_find(&index, both.text, both.length);
        if (both.failed)
            status = error_nomem(error, where, both.length);
        else if (token != NAME_NONE && v->scores[token] == -1e9f)
            v->scores[token] = -(float)i;
    }
    name_index_fini(&index);
    strbuf_fini(&both);
    return status;
}

/* ---- rules ---- */

/* Whether a step puts marks for spaces; *prefix: also before the text. */
static bool marks_spaces(const json_t *step, int *prefix, bool *split)
{
    const char *type = json_member_text(step, "type"), *scheme = json_member_text(step, "prepend_scheme");
    const char *content = json_member_text(step, "content");
    if (is(type, "Prepend") && is(json_member_text(step, "prepend"), space_mark)) {
        *prefix = 1;
        return false;
    }
    if (is(type, "Metaspace")) {
        *prefix = scheme ? !is(scheme, "never") : json_member_true(step, "add_prefix_space", true);
        *split |= json_member_true(step, "split", true);
        return true;
    }
    return is(type, "Replace") && is(content, space_mark) &&
           is(json_member_text(json_object_get(step, "pattern"), "String"), " ");
}

static bool in_steps(const json_t *rule, const char *list_name, int *prefix, bool *split)
{
    const json_t *list = json_member(rule, list_name);
    bool found = marks_spaces(rule, prefix, split);
    for (size_t i = 0; i < json_array_size(list); i++)
        found |= marks_spaces(json_array_get(list, i), prefix, split);
    return found;
}

/* What is put before and behind every text. */
static void read_template(const json_t *processor, struct hf_vocabulary *v)
{
    const json_t *list = json_member(processor, "processors"), *single = json_member(processor, "single");
    for (size_t i = 0; i < json_array_size(list); i++)
        read_template(json_array_get(list, i), v);
    size_t count = json_array_size(single);
    if (count == 0)
        return;
    const json_t *first = json_object_get(json_array_get(single, 0), "SpecialToken");
    const json_t *last = json_object_get(json_array_get(single, count - 1), "SpecialToken");
    const char *name = json_member_text(first, "id");
    v->adds_bos = first != NULL;
    v->adds_eos = last != NULL && count > 1;
    if (name && v->bos < 0)
        v->bos = hf_vocabulary_find(v, name);
}

static ll_status unknown_type(const char *type, ll_error *error)
{
    char shown[48] = "this one";
    if (type)
        utf8_printable(type, strlen(type), shown, sizeof shown);
    return error_set(error, LL_UNSUPPORTED, where,
                     "only tokenizers of the kinds BPE and Unigram are supported, not %s", shown);
}

static ll_status read_unigram(const json_t *root, struct hf_vocabulary *v, ll_error *error)
{
    LL_TRY(hf_unigram_read_json(root, v, error));
    LL_TRY(read_added(root, v, error));
    v->adds_bos = 0;
    read_template(json_member(root, "post_processor"), v);
    return LL_OK;
}

ll_status hf_tokenizer_read_json(const json_t *root, struct hf_vocabulary *v, struct gguf_writer *writer,
                                 ll_error *error)
{
    const json_t *model = json_member(root, "model"), *merges = json_member(model, "merges");
    const char *type = json_member_text(model, "type");
    bool split = false;
    int prefix = 0;
    if (is(type, "Unigram") || (!type && json_is_array(json_object_get(model, "vocab"))))
        return read_unigram(root, v, error);
    if ((type && !is(type, "BPE")) || !json_is_array(merges))
        return unknown_type(type, error);
    v->marks = in_steps(json_member(root, "normalizer"), "normalizers", &prefix, &split);
    v->marks |= in_steps(json_member(root, "pre_tokenizer"), "pretokenizers", &prefix, &split);
    v->pre = v->marks ? NULL : hf_pretokenizer_name(root);
    if (!v->marks && !v->pre)
        return error_set(error, LL_UNSUPPORTED, where,
                         "it cuts or changes text by rules that this version has no name for");
    if (v->marks && split)
        return error_set(error, LL_UNSUPPORTED, where, "it cuts at spaces, which is not supported");
    LL_TRY(read_vocabulary(model, v, error));
    LL_TRY(read_added(root, v, error));
    read_template(json_member(root, "post_processor"), v);
    if (v->marks)
        v->adds_space = prefix;
    return v->marks ? score_merges(merges, v, error) : write_merges(merges, writer, error);
}
