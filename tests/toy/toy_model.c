/* Writes small GGUF models with random weights, for tests.
 * SPDX-License-Identifier: Apache-2.0 */
#include "toy/toy_model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "formats/quantize.h"

struct builder {
    const struct toy_model *toy;
    struct gguf_writer *writer;
    void **owned; /* tensor data, borrowed by the writer until the end */
    size_t owned_count, owned_capacity;
    uint64_t random;
    int tokens;
    bool failed;
};

/* ---- random numbers: integers only, so that every machine makes the same model ---- */

static uint64_t next_bits(struct builder *builder) /* splitmix64 */
{
    uint64_t z = builder->random += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

/* About normal with deviation 1: the sum of four uniform numbers. */
static float next_normal(struct builder *builder)
{
    uint64_t bits = next_bits(builder);
    int sum = 0;
    for (int i = 0; i < 4; i++)
        sum += (int)(bits >> (16 * i) & 0xFFFF);
    return (float)(sum - 131070) / 37837.0f;
}

/* ---- tensors ---- */

static void *own(struct builder *builder, size_t bytes)
{
    void *memory = mem_new(bytes, 1);
    if (!memory || !mem_grow((void **)&builder->owned, &builder->owned_capacity, builder->owned_count + 1,
                             sizeof *builder->owned)) {
        mem_free(memory);
        builder->failed = true;
        return NULL;
    }
    return builder->owned[builder->owned_count++] = memory;
}

static void layer_name(char name[64], int layer, const char *suffix)
{
    if (layer < 0)
        snprintf(name, 64, "%s", suffix);
    else
        snprintf(name, 64, "blk.%d.%s", layer, suffix);
}

/* rows × cols values of the given deviation around `middle`. layer < 0: a tensor of no layer. */
static void add_tensor(struct builder *builder, int layer, const char *suffix, enum dtype dtype, int dims,
                       int rows, int cols, float middle, float deviation)
{
    char name[64];
    uint64_t shape[2] = {(uint64_t)cols, (uint64_t)rows}, row_bytes = dtype_row_bytes(dtype, (uint64_t)cols);
    float *row = mem_new((size_t)cols, sizeof *row);
    char *data = row_bytes ? own(builder, (size_t)row_bytes * (size_t)rows) : NULL;
    if (row && data) {
        for (int r = 0; r < rows; r++) {
            for (int c = 0; c < cols; c++)
                row[c] = middle + deviation * next_normal(builder);
            quantize_row(dtype, row, data + (size_t)r * row_bytes, cols);
        }
        layer_name(name, layer, suffix);
        gguf_writer_tensor(builder->writer, name, dtype, dims, shape, data);
    } else
        builder->failed = true;
    mem_free(row);
}

static void add_matrix(struct builder *builder, int layer, const char *suffix, int rows, int cols)
{
    add_tensor(builder, layer, suffix, builder->toy->dtype, 2, rows, cols, 0.0f, 1.5f / sqrtf((float)cols));
}

static void add_norm(struct builder *builder, int layer, const char *suffix, int size)
{
    add_tensor(builder, layer, suffix, DT_F32, 1, 1, size, 1.0f, 0.1f);
}

static void add_bias(struct builder *builder, int layer, const char *suffix, int size)
{
    add_tensor(builder, layer, suffix, DT_F32, 1, 1, size, 0.0f, 0.1f);
}

/* The ends that all architectures share. */
static void add_ends(struct builder *builder)
{
    const struct toy_model *toy = builder->toy;
    add_tensor(builder, -1, "token_embd.weight", toy->dtype, 2, builder->tokens, toy->width, 0.0f, 0.5f);
    add_norm(builder, -1, "output_norm.weight", toy->width);
    if (!toy->tied)
        add_matrix(builder, -1, "output.weight", builder->tokens, toy->width);
}

static void add_rotary_layer(struct builder *builder, int layer)
{
    const struct toy_model *toy = builder->toy;
    bool gemma = strcmp(toy->architecture, "gemma3") == 0;
    int width = toy->width, query = toy->heads * toy->head_dim, key = toy->kv_heads * toy->head_dim;
    add_norm(builder, layer, "attn_norm.weight", width);
    add_matrix(builder, layer, "attn_q.weight", query, width);
    add_matrix(builder, layer, "attn_k.weight", key, width);
    add_matrix(builder, layer, "attn_v.weight", key, width);
    add_matrix(builder, layer, "attn_output.weight", width, query);
    if (gemma) {
        add_norm(builder, layer, "attn_q_norm.weight", toy->head_dim);
        add_norm(builder, layer, "attn_k_norm.weight", toy->head_dim);
        add_norm(builder, layer, "post_attention_norm.weight", width);
        add_norm(builder, layer, "post_ffw_norm.weight", width);
    }
    add_norm(builder, layer, "ffn_norm.weight", width);
    add_matrix(builder, layer, "ffn_gate.weight", toy->feed_forward, width);
    add_matrix(builder, layer, "ffn_up.weight", toy->feed_forward, width);
    add_matrix(builder, layer, "ffn_down.weight", width, toy->feed_forward);
}

static void add_alibi_layer(struct builder *builder, int layer)
{
    const struct toy_model *toy = builder->toy;
    bool biases = strcmp(toy->architecture, "bloom") == 0;
    int width = toy->width, query = toy->heads * toy->head_dim,
        fused = query + 2 * toy->kv_heads * toy->head_dim;
    add_norm(builder, layer, "attn_norm.weight", width);
    add_matrix(builder, layer, "attn_qkv.weight", fused, width);
    add_matrix(builder, layer, "attn_output.weight", width, query);
    add_norm(builder, layer, "ffn_norm.weight", width);
    add_matrix(builder, layer, "ffn_up.weight", toy->feed_forward, width);
    add_matrix(builder, layer, "ffn_down.weight", width, toy->feed_forward);
    if (!biases)
        return;
    add_bias(builder, layer, "attn_norm.bias", width);
    add_bias(builder, layer, "attn_qkv.bias", fused);
    add_bias(builder, layer, "attn_output.bias", width);
    add_bias(builder, layer, "ffn_norm.bias", width);
    add_bias(builder, layer, "ffn_up.bias", toy->feed_forward);
    add_bias(builder, layer, "ffn_down.bias", width);
}

/* ---- metadata ---- */

static const char *key_of(const struct toy_model *toy, const char *suffix, char key[96])
{
    snprintf(key, 96, "%s.%s", toy->architecture, suffix);
    return key;
}

static void put_u32(struct builder *builder, const char *suffix, int value)
{
    char key[96];
    gguf_writer_u32(builder->writer, key_of(builder->toy, suffix, key), (uint32_t)value);
}

static void put_f32(struct builder *builder, const char *suffix, float value)
{
    char key[96];
    gguf_writer_f32(builder->writer, key_of(builder->toy, suffix, key), value);
}

static void add_common_keys(struct builder *builder)
{
    const struct toy_model *toy = builder->toy;
    gguf_writer_text(builder->writer, "general.architecture", toy->architecture);
    gguf_writer_text(builder->writer, "general.name", "Toy");
    put_u32(builder, "block_count", toy->layers);
    put_u32(builder, "context_length", toy->context);
    put_u32(builder, "embedding_length", toy->width);
    put_u32(builder, "feed_forward_length", toy->feed_forward);
    put_u32(builder, "attention.head_count", toy->heads);
    put_u32(builder, "attention.head_count_kv", toy->kv_heads);
}

static void add_rotary_keys(struct builder *builder)
{
    const struct toy_model *toy = builder->toy;
    put_f32(builder, "attention.layer_norm_rms_epsilon", 1e-6f);
    put_f32(builder, "rope.freq_base", toy->rope_base);
    if (strcmp(toy->architecture, "gemma3") == 0)
        put_u32(builder, "attention.sliding_window", toy->sliding_window);
    else {
        put_u32(builder, "rope.dimension_count", toy->head_dim);
        put_u32(builder, "vocab_size", builder->tokens);
    }
    if (strcmp(toy->architecture, "gemma3") == 0 || toy->head_dim * toy->heads != toy->width) {
        put_u32(builder, "attention.key_length", toy->head_dim);
        put_u32(builder, "attention.value_length", toy->head_dim);
    }
}

static void add_alibi_keys(struct builder *builder)
{
    const struct toy_model *toy = builder->toy;
    put_f32(builder, "attention.layer_norm_epsilon", 1e-5f);
    if (strcmp(toy->architecture, "mpt") != 0)
        return;
    put_f32(builder, "attention.max_alibi_bias", toy->max_alibi_bias);
    if (toy->clamp_kqv > 0)
        put_f32(builder, "attention.clamp_kqv", toy->clamp_kqv);
}

/* ---- whole models ---- */

struct toy_model toy_model_defaults(const char *architecture)
{
    bool gemma = strcmp(architecture, "gemma3") == 0, llama = strcmp(architecture, "llama") == 0;
    struct toy_model toy = {
        .architecture = architecture,
        .layers = 2,
        .width = 64,
        .heads = 4,
        .head_dim = 16,
        .feed_forward = 128,
        .context = 2048,
        .dtype = DT_F32,
        .tied = !llama,
        .sliding_window = 32,
        .max_alibi_bias = 8,
        .vocabulary = gemma ? TOY_SPM : TOY_BPE,
        .seed = 1,
    };
    toy.kv_heads = llama || gemma ? 2 : 4;
    toy.rope_base = gemma ? 1000000 : 10000;
    toy.pre = llama ? "smollm" : architecture;
    toy.chat = gemma ? TOY_CHAT_GEMMA : llama ? TOY_CHAT_CHATML : TOY_CHAT_NONE;
    return toy;
}

static void build(struct builder *builder)
{
    const struct toy_model *toy = builder->toy;
    bool bloom = strcmp(toy->architecture, "bloom") == 0,
         alibi = bloom || strcmp(toy->architecture, "mpt") == 0;
    add_common_keys(builder);
    builder->tokens = toy_vocabulary_write(toy, builder->writer);
    if (builder->tokens == 0) {
        builder->failed = true;
        return;
    }
    if (alibi)
        add_alibi_keys(builder);
    else
        add_rotary_keys(builder);
    add_ends(builder);
    if (bloom) {
        add_norm(builder, -1, "token_embd_norm.weight", toy->width);
        add_bias(builder, -1, "token_embd_norm.bias", toy->width);
        add_bias(builder, -1, "output_norm.bias", toy->width);
    }
    for (int layer = 0; layer < toy->layers; layer++) {
        if (alibi)
            add_alibi_layer(builder, layer);
        else
            add_rotary_layer(builder, layer);
    }
}

bool toy_model_write(const struct toy_model *toy, struct strbuf *out)
{
    struct builder builder = {.toy = toy, .random = toy->seed, .writer = gguf_writer_new()};
    if (!builder.writer)
        return false;
    build(&builder);
    if (!builder.failed)
        gguf_writer_finish(builder.writer, out);
    gguf_writer_free(builder.writer);
    for (size_t i = 0; i < builder.owned_count; i++)
        mem_free(builder.owned[i]);
    mem_free(builder.owned);
    return !builder.failed && !out->failed;
}

bool toy_model_write_file(const struct toy_model *toy, const char *path)
{
    struct strbuf out = {0};
    bool done = toy_model_write(toy, &out) && file_write(path, out.text, out.length, NULL) == LL_OK;
    strbuf_fini(&out);
    return done;
}
