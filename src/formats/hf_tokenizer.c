/* The tokenizer of a Hugging Face folder as the keys of a GGUF file.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/hf_tokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "formats/json_file.h"

enum { TOKENIZER_MOST = 128 << 20, CONFIG_MOST = 16 << 20, TEMPLATE_MOST = 1 << 20, TOKENS_MOST = 1 << 24 };

static const char where[] = "tokenizer";

/* ---- the collection ---- */

ll_status hf_vocabulary_new(uint64_t count, struct hf_vocabulary *ret, ll_error *error)
{
    struct hf_vocabulary v = {.count = (size_t)count,
                              .bos = -1,
                              .eos = -1,
                              .unknown = -1,
                              .pad = -1,
                              .adds_bos = -1,
                              .adds_eos = -1,
                              .adds_space = -1};
    if (count == 0 || count > TOKENS_MOST)
        return error_set(error, LL_FORMAT, where, "a vocabulary of %llu tokens", (unsigned long long)count);
    v.texts = mem_new(v.count, sizeof *v.texts);
    v.kinds = mem_new(v.count, sizeof *v.kinds);
    v.scores = mem_new(v.count, sizeof *v.scores);
    v.made = mem_new(v.count, sizeof *v.made);
    *ret = v;
    if (v.texts && v.kinds && v.scores && v.made)
        return LL_OK;
    hf_vocabulary_fini(ret);
    return error_nomem(error, where, v.count * sizeof *v.made);
}

void hf_vocabulary_fini(struct hf_vocabulary *v)
{
    mem_free(v->texts);
    mem_free(v->kinds);
    mem_free(v->scores);
    mem_free(v->made);
    strbuf_fini(&v->decoded);
    *v = (struct hf_vocabulary){0};
}

ll_status hf_vocabulary_put(struct hf_vocabulary *v, int64_t id, struct gguf_text text, int kind,
                            ll_error *error)
{
    if (id < 0)
        return error_set(error, LL_FORMAT, where, "a token has the number %lld", (long long)id);
    if ((uint64_t)id >= v->count)
        return LL_OK;
    if (v->texts[id].text)
        return error_set(error, LL_FORMAT, where, "the number %lld belongs to two tokens", (long long)id);
    v->texts[id] = text;
    v->kinds[id] = kind;
    return LL_OK;
}

int64_t hf_vocabulary_find(const struct hf_vocabulary *v, const char *text)
{
    size_t length = strlen(text);
    for (size_t i = 0; i < v->count; i++)
        if (v->texts[i].text && v->texts[i].length == length && memcmp(v->texts[i].text, text, length) == 0)
            return (int64_t)i;
    return -1;
}

/* Rows of the embedding that no token has. */
static void fill_holes(struct hf_vocabulary *v)
{
    for (size_t i = 0; i < v->count; i++)
        if (!v->texts[i].text) {
            snprintf(v->made[i], sizeof v->made[i], "[PAD%zu]", i);
            v->texts[i] = (struct gguf_text){v->made[i], strlen(v->made[i])};
            v->kinds[i] = HF_UNUSED;
            v->scores[i] = -1e9f;
        }
}

/* ---- tokenizer_config.json ---- */

/* "bos_token": "<s>", or an object with its content. */
static void read_special(const json_t *settings, const char *name, struct hf_vocabulary *v, int64_t *id)
{
    const json_t *value = json_object_get(settings, name);
    const char *text = json_is_object(value) ? json_member_text(value, "content") : json_string_value(value);
    int64_t found = text ? hf_vocabulary_find(v, text) : -1;
    if (found >= 0)
        *id = found;
}

static void read_switch(const json_t *settings, const char *name, int *ret)
{
    const json_t *value = json_object_get(settings, name);
    if (json_is_boolean(value))
        *ret = json_is_true(value);
}

static void read_settings(const json_t *settings, struct hf_vocabulary *v)
{
    read_special(settings, "bos_token", v, &v->bos);
    read_special(settings, "eos_token", v, &v->eos);
    read_special(settings, "unk_token", v, &v->unknown);
    read_special(settings, "pad_token", v, &v->pad);
    read_switch(settings, "add_bos_token", &v->adds_bos);
    read_switch(settings, "add_eos_token", &v->adds_eos);
    read_switch(settings, "add_prefix_space", v->marks ? &v->adds_space : &(int){0});
}

/* Tokens added to a SentencePiece model. */
static ll_status read_decoder(const json_t *settings, struct hf_vocabulary *v, ll_error *error)
{
    json_t *tokens = json_object_get(settings, "added_tokens_decoder"), *token;
    const char *key;
    json_object_foreach(tokens, key, token)
    {
        char *end;
        const json_t *content = json_object_get(token, "content");
        long long id = strtoll(key, &end, 10);
        if (*end || end == key || id < 0 || !json_is_string(content))
            return error_set(error, LL_FORMAT, "tokenizer_config.json",
                             "added_tokens_decoder holds no token");
        if ((uint64_t)id >= v->count || v->kinds[id] == HF_UNKNOWN)
            continue;
        v->texts[id] = (struct gguf_text){json_string_value(content), json_string_length(content)};
        v->kinds[id] = json_member_true(token, "special", false) ? HF_CONTROL : HF_USER;
    }
    return LL_OK;
}

static ll_status write_templates(const char *folder, const json_t *settings, struct gguf_writer *writer,
                                 ll_error *error)
{
    const json_t *template = json_member(settings, "chat_template");
    struct strbuf path = {0}, text = {0};
    strbuf_printf(&path, "%s/chat_template.jinja", folder);
    ll_status status = path.failed ? error_nomem(error, where, strlen(folder))
                                   : file_read(path.text, TEMPLATE_MOST, NULL, &text, error);
    if (status == LL_OK)
        gguf_writer_string(writer, "tokenizer.chat_template",
                           (struct gguf_text){strbuf_text(&text), text.length});
    else if (json_is_string(template))
        gguf_writer_string(writer, "tokenizer.chat_template",
                           (struct gguf_text){json_string_value(template), json_string_length(template)});
    for (size_t i = 0; status != LL_OK && i < json_array_size(template); i++) {
        const json_t *entry = json_array_get(template, i);
        const char *name = json_member_text(entry, "name"), *body = json_member_text(entry, "template");
        char key[96];
        if (!name || !body || strlen(name) > 60)
            continue;
        bool usual = strcmp(name, "default") == 0;
        snprintf(key, sizeof key, "tokenizer.chat_template%s%s", usual ? "" : ".", usual ? "" : name);
        gguf_writer_text(writer, key, body);
    }
    strbuf_fini(&text);
    strbuf_fini(&path);
    return status == LL_OK || status == LL_NOT_FOUND ? LL_OK : status;
}

/* ---- writing ---- */

static void put_id(struct gguf_writer *writer, const char *key, int64_t id, const struct hf_vocabulary *v)
{
    if (id >= 0 && (uint64_t)id < v->count)
        gguf_writer_u32(writer, key, (uint32_t)id);
}

static void write_vocabulary(const struct hf_vocabulary *v, struct gguf_writer *writer)
{
    bool bos = v->adds_bos >= 0 ? v->adds_bos : v->marks;
    gguf_writer_text(writer, "tokenizer.ggml.model", v->unigram ? "t5" : v->marks ? "llama" : "gpt2");
    gguf_writer_text(writer, "tokenizer.ggml.pre", v->pre ? v->pre : "default");
    gguf_writer_strings(writer, "tokenizer.ggml.tokens", v->texts, v->count);
    gguf_writer_i32s(writer, "tokenizer.ggml.token_type", v->kinds, v->count);
    if (v->marks)
        gguf_writer_f32s(writer, "tokenizer.ggml.scores", v->scores, v->count);
    put_id(writer, "tokenizer.ggml.bos_token_id", v->bos, v);
    put_id(writer, "tokenizer.ggml.eos_token_id", v->eos, v);
    put_id(writer, "tokenizer.ggml.unknown_token_id", v->unknown, v);
    put_id(writer, "tokenizer.ggml.padding_token_id", v->pad, v);
    gguf_writer_bool(writer, "tokenizer.ggml.add_bos_token", bos && v->bos >= 0);
    gguf_writer_bool(writer, "tokenizer.ggml.add_eos_token", v->adds_eos > 0);
    if (!v->marks)
        return;
    gguf_writer_bool(writer, "tokenizer.ggml.add_space_prefix", v->adds_space != 0);
    gguf_writer_bool(writer, "tokenizer.ggml.remove_extra_whitespaces", v->trims_spaces);
    if (v->table.length > 0)
        gguf_writer_bytes(writer, "tokenizer.ggml.precompiled_charsmap", v->table.text, v->table.length);
}

/* ---- the folder ---- */

struct sources { /* what the vocabulary borrows from */
    json_t *tokenizer, *settings;
    struct strbuf pieces;
};

static ll_status read_pieces(const char *folder, struct sources *from, struct hf_vocabulary *v,
                             ll_error *error)
{
    struct strbuf path = {0};
    strbuf_printf(&path, "%s/tokenizer.model", folder);
    ll_status status = path.failed ? error_nomem(error, where, strlen(folder))
                                   : file_read(path.text, TOKENIZER_MOST, NULL, &from->pieces, error);
    strbuf_fini(&path);
    LL_TRY(status);
    LL_TRY(sentencepiece_read(strbuf_text(&from->pieces), from->pieces.length, v, error));
    return read_decoder(from->settings, v, error);
}

/* tokenizer.json says all; where it cannot be told, SentencePiece's own file may stand in. */
static ll_status read_tokens(const char *folder, uint64_t count, struct sources *from,
                             struct hf_vocabulary *v, struct gguf_writer *writer, ll_error *error)
{
    ll_error other;
    LL_TRY(hf_vocabulary_new(count, v, error));
    ll_status status = json_file_read(folder, "tokenizer.json", TOKENIZER_MOST, &from->tokenizer, error);
    if (status == LL_OK)
        status = hf_tokenizer_read_json(from->tokenizer, v, writer, error);
    if (status != LL_NOT_FOUND && status != LL_UNSUPPORTED)
        return status;
    hf_vocabulary_fini(v);
    LL_TRY(hf_vocabulary_new(count, v, error));
    ll_status pieces = read_pieces(folder, from, v, &other);
    if (pieces == LL_NOT_FOUND && status == LL_NOT_FOUND)
        return error_set(error, LL_NOT_FOUND, where,
                         "there is neither tokenizer.json nor tokenizer.model in %s", folder);
    if (pieces == LL_NOT_FOUND)
        return status;
    if (pieces != LL_OK && error)
        *error = other;
    return pieces;
}

static ll_status write_all(const char *folder, const struct hf_config *config, uint64_t count,
                           struct sources *from, struct hf_vocabulary *v, struct gguf_writer *writer,
                           ll_error *error)
{
    ll_status status = json_file_read(folder, "tokenizer_config.json", CONFIG_MOST, &from->settings, error);
    if (status != LL_OK && status != LL_NOT_FOUND)
        return status;
    LL_TRY(read_tokens(folder, count, from, v, writer, error));
    fill_holes(v);
    int64_t bos = v->bos, eos = v->eos;
    read_settings(from->settings, v);
    v->bos = v->bos < 0 || (v->bos == bos && config->bos >= 0 && bos < 0) ? config->bos : v->bos;
    v->eos = v->eos < 0 || (v->eos == eos && eos < 0) ? config->eos : v->eos;
    write_vocabulary(v, writer);
    return write_templates(folder, from->settings, writer, error);
}

ll_status hf_tokenizer_write(const char *folder, const struct hf_config *config, uint64_t count,
                             struct gguf_writer *writer, ll_error *error)
{
    struct hf_vocabulary v = {0};
    struct sources from = {0};
    ll_status status = write_all(folder, config, count, &from, &v, writer, error);
    hf_vocabulary_fini(&v);
    json_decref(from.tokenizer);
    json_decref(from.settings);
    strbuf_fini(&from.pieces);
    return status;
}
