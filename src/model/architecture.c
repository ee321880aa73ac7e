/* The table of architectures: a new family is a row here.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/architecture.h"

#include <stdio.h>

static const struct architecture architectures[] = {
    {.name = "llama",
     .position = LL_ROTARY,
     .norm = NORM_RMS,
     .activation = ACTIVATE_SILU,
     .gated = true,
     .adjacent_pairs = true,
     .experts = true},
    {.name = "qwen2", .position = LL_ROTARY, .norm = NORM_RMS, .activation = ACTIVATE_SILU, .gated = true},
    {.name = "qwen3",
     .position = LL_ROTARY,
     .norm = NORM_RMS,
     .activation = ACTIVATE_SILU,
     .gated = true,
     .qk_norm_heads = true,
     .required_qk_norm = true},
    {.name = "qwen3moe",
     .position = LL_ROTARY,
     .norm = NORM_RMS,
     .activation = ACTIVATE_SILU,
     .gated = true,
     .qk_norm_heads = true,
     .required_qk_norm = true,
     .experts = true},
    {.name = "gemma2",
     .position = LL_ROTARY,
     .norm = NORM_RMS,
     .activation = ACTIVATE_GELU_TANH,
     .gated = true,
     .post_norms = true,
     .window_period = 2,
     .read = read_gemma2},
    {.name = "gemma3",
     .position = LL_ROTARY,
     .norm = NORM_RMS,
     .activation = ACTIVATE_GELU_TANH,
     .gated = true,
     .qk_norm_heads = true,
     .required_qk_norm = true,
     .post_norms = true,
     .window_period = 6,
     .local_rotary = true,
     .read = read_gemma3},
    {.name = "phi3",
     .position = LL_ROTARY,
     .norm = NORM_RMS,
     .activation = ACTIVATE_SILU,
     .gated = true,
     .fused_gate = true,
     .fused_qkv = true,
     .read = read_phi3},
    {.name = "smollm3",
     .position = LL_ROTARY,
     .norm = NORM_RMS,
     .activation = ACTIVATE_SILU,
     .gated = true,
     .adjacent_pairs = true,
     .read = read_smollm3},
    {.name = "olmo2",
     .position = LL_ROTARY,
     .norm = NORM_RMS,
     .activation = ACTIVATE_SILU,
     .gated = true,
     .required_qk_norm = true,
     .no_pre_norms = true,
     .post_norms = true},
    {.name = "granite",
     .position = LL_ROTARY,
     .norm = NORM_RMS,
     .activation = ACTIVATE_SILU,
     .gated = true,
     .adjacent_pairs = true,
     .read = read_granite},
    {.name = "starcoder2", .position = LL_ROTARY, .norm = NORM_LAYER, .activation = ACTIVATE_GELU_TANH},
    {.name = "bloom",
     .position = LL_ALIBI,
     .norm = NORM_LAYER,
     .activation = ACTIVATE_GELU_TANH,
     .fused_qkv = true,
     .embed_norm = true,
     .read = read_bloom},
    {.name = "mpt",
     .position = LL_ALIBI,
     .norm = NORM_LAYER,
     .activation = ACTIVATE_GELU_ERF,
     .fused_qkv = true,
     .read = read_mpt},
    {.name = "falcon",
     .position = LL_ROTARY,
     .norm = NORM_LAYER,
     .activation = ACTIVATE_GELU_ERF,
     .fused_qkv = true,
     .read = read_falcon},
    {.name = "refact",
     .position = LL_ALIBI,
     .norm = NORM_RMS,
     .activation = ACTIVATE_SILU,
     .gated = true,
     .read = read_bloom},
    {.name = "baichuan",
     .position = LL_ROTARY,
     .norm = NORM_RMS,
     .activation = ACTIVATE_SILU,
     .gated = true,
     .adjacent_pairs = true,
     .read = read_baichuan},
    {.name = "jais",
     .position = LL_ALIBI,
     .norm = NORM_LAYER,
     .activation = ACTIVATE_SILU,
     .gated = true,
     .fused_qkv = true,
     .read = read_jais},
};

const struct architecture *architecture_at(size_t index)
{
    return index < sizeof architectures / sizeof architectures[0] ? &architectures[index] : NULL;
}

const struct architecture *architecture_find(struct gguf_text name)
{
    const struct architecture *architecture;
    for (size_t i = 0; (architecture = architecture_at(i)) != NULL; i++)
        if (gguf_text_equals(name, architecture->name))
            return architecture;
    return NULL;
}

void architecture_names(char *out, size_t cap)
{
    const struct architecture *architecture;
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; (architecture = architecture_at(i)) != NULL && used < cap; i++)
        used += (size_t)snprintf(out + used, cap - used, "%s%s", i ? ", " : "", architecture->name);
}
