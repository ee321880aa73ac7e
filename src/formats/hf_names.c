/* What the tensors of Hugging Face models are called in GGUF files, family by family.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/hf_family.h"

#define END                                                                                                  \
    {                                                                                                        \
        NULL, NULL, HF_SKIP                                                                                  \
    }
#define ATTENTION                                                                                            \
    {"self_attn.q_proj", "attn_q", HF_QUERIES}, {"self_attn.k_proj", "attn_k", HF_KEYS},                     \
        {"self_attn.v_proj", "attn_v", HF_WHOLE}, {"self_attn.o_proj", "attn_output", HF_WHOLE},             \
    {                                                                                                        \
        "self_attn.rotary_emb.inv_freq", NULL, HF_SKIP                                                       \
    }
#define QK_NORMS                                                                                             \
    {"self_attn.q_norm", "attn_q_norm", HF_NORM},                                                            \
    {                                                                                                        \
        "self_attn.k_norm", "attn_k_norm", HF_NORM                                                           \
    }
#define GATED                                                                                                \
    {"mlp.gate_proj", "ffn_gate", HF_WHOLE}, {"mlp.up_proj", "ffn_up", HF_WHOLE},                            \
    {                                                                                                        \
        "mlp.down_proj", "ffn_down", HF_WHOLE                                                                \
    }
#define PRE_NORMS                                                                                            \
    {"input_layernorm", "attn_norm", HF_NORM},                                                               \
    {                                                                                                        \
        "post_attention_layernorm", "ffn_norm", HF_NORM                                                      \
    }

const struct hf_name hf_layer_llama[] = {ATTENTION, QK_NORMS, GATED, PRE_NORMS, END};

const struct hf_name hf_layer_gemma[] = {ATTENTION,
                                         QK_NORMS,
                                         GATED,
                                         {"input_layernorm", "attn_norm", HF_NORM},
                                         {"post_attention_layernorm", "post_attention_norm", HF_NORM},
                                         {"pre_feedforward_layernorm", "ffn_norm", HF_NORM},
                                         {"post_feedforward_layernorm", "post_ffw_norm", HF_NORM},
                                         END};

const struct hf_name hf_layer_phi3[] = {{"self_attn.qkv_proj", "attn_qkv", HF_WHOLE},
                                        {"self_attn.o_proj", "attn_output", HF_WHOLE},
                                        {"self_attn.rotary_emb.inv_freq", NULL, HF_SKIP},
                                        {"mlp.gate_up_proj", "ffn_up", HF_WHOLE},
                                        {"mlp.down_proj", "ffn_down", HF_WHOLE},
                                        PRE_NORMS,
                                        END};

const struct hf_name hf_layer_olmo2[] = {ATTENTION,
                                         QK_NORMS,
                                         GATED,
                                         {"post_attention_layernorm", "post_attention_norm", HF_NORM},
                                         {"post_feedforward_layernorm", "post_ffw_norm", HF_NORM},
                                         END};

const struct hf_name hf_layer_starcoder2[] = {
    ATTENTION, {"mlp.c_fc", "ffn_up", HF_WHOLE}, {"mlp.c_proj", "ffn_down", HF_WHOLE}, PRE_NORMS, END};

const struct hf_name hf_layer_mixtral[] = {ATTENTION,
                                           PRE_NORMS,
                                           {"block_sparse_moe.gate", "ffn_gate_inp", HF_WHOLE},
                                           {"block_sparse_moe.experts.#.w1", "ffn_gate_exps", HF_WHOLE},
                                           {"block_sparse_moe.experts.#.w2", "ffn_down_exps", HF_WHOLE},
                                           {"block_sparse_moe.experts.#.w3", "ffn_up_exps", HF_WHOLE},
                                           END};

const struct hf_name hf_layer_qwen3moe[] = {ATTENTION,
                                            QK_NORMS,
                                            PRE_NORMS,
                                            {"mlp.gate", "ffn_gate_inp", HF_WHOLE},
                                            {"mlp.experts.#.gate_proj", "ffn_gate_exps", HF_WHOLE},
                                            {"mlp.experts.#.up_proj", "ffn_up_exps", HF_WHOLE},
                                            {"mlp.experts.#.down_proj", "ffn_down_exps", HF_WHOLE},
                                            END};

const struct hf_name hf_layer_bloom[] = {{"self_attention.query_key_value", "attn_qkv", HF_INTERLEAVED},
                                         {"self_attention.dense", "attn_output", HF_WHOLE},
                                         {"mlp.dense_h_to_4h", "ffn_up", HF_WHOLE},
                                         {"mlp.dense_4h_to_h", "ffn_down", HF_WHOLE},
                                         PRE_NORMS,
                                         END};

const struct hf_name hf_layer_falcon[] = {{"self_attention.query_key_value", "attn_qkv", HF_INTERLEAVED},
                                          {"self_attention.dense", "attn_output", HF_WHOLE},
                                          {"self_attention.rotary_emb.inv_freq", NULL, HF_SKIP},
                                          {"mlp.dense_h_to_4h", "ffn_up", HF_WHOLE},
                                          {"mlp.dense_4h_to_h", "ffn_down", HF_WHOLE},
                                          {"ln_mlp", "attn_norm", HF_NORM},
                                          {"ln_attn", "attn_norm_2", HF_NORM},
                                          PRE_NORMS,
                                          END};

const struct hf_name hf_layer_mpt[] = {{"attn.Wqkv", "attn_qkv", HF_WHOLE},
                                       {"attn.out_proj", "attn_output", HF_WHOLE},
                                       {"attn.q_ln", "attn_q_norm", HF_NORM},
                                       {"attn.k_ln", "attn_k_norm", HF_NORM},
                                       {"ffn.up_proj", "ffn_up", HF_WHOLE},
                                       {"ffn.down_proj", "ffn_down", HF_WHOLE},
                                       {"norm_1", "attn_norm", HF_NORM},
                                       {"norm_2", "ffn_norm", HF_NORM},
                                       END};

const struct hf_name hf_layer_refact[] = {{"attn.q", "attn_q", HF_WHOLE},
                                          {"attn.kv", "attn_k", HF_KV_K},
                                          {"attn.kv", "attn_v", HF_KV_V},
                                          {"attn.c_proj", "attn_output", HF_WHOLE},
                                          {"mlp.gate_up_proj", "ffn_gate", HF_FIRST_HALF},
                                          {"mlp.gate_up_proj", "ffn_up", HF_SECOND_HALF},
                                          {"mlp.c_proj", "ffn_down", HF_WHOLE},
                                          {"ln_1", "attn_norm", HF_NORM},
                                          {"ln_2", "ffn_norm", HF_NORM},
                                          END};

const struct hf_name hf_layer_baichuan[] = {{"self_attn.W_pack", "attn_q", HF_PACK_Q},
                                            {"self_attn.W_pack", "attn_k", HF_PACK_K},
                                            {"self_attn.W_pack", "attn_v", HF_PACK_V},
                                            {"self_attn.o_proj", "attn_output", HF_WHOLE},
                                            {"self_attn.rotary_emb.inv_freq", NULL, HF_SKIP},
                                            GATED,
                                            PRE_NORMS,
                                            END};

const struct hf_name hf_layer_jais[] = {{"attn.c_attn", "attn_qkv", HF_TRANSPOSED},
                                        {"attn.c_proj", "attn_output", HF_TRANSPOSED},
                                        {"attn.bias", NULL, HF_SKIP},
                                        {"attn.masked_bias", NULL, HF_SKIP},
                                        {"mlp.c_fc", "ffn_up", HF_TRANSPOSED},
                                        {"mlp.c_fc2", "ffn_gate", HF_TRANSPOSED},
                                        {"mlp.c_proj", "ffn_down", HF_TRANSPOSED},
                                        {"ln_1", "attn_norm", HF_NORM},
                                        {"ln_2", "ffn_norm", HF_NORM},
                                        END};

const struct hf_name hf_whole_llama[] = {{"embed_tokens", "token_embd", HF_EMBEDDING},
                                         {"norm", "output_norm", HF_NORM},
                                         {"lm_head", "output", HF_OUTPUT},
                                         {"rotary_emb.inv_freq", NULL, HF_SKIP},
                                         END};

const struct hf_name hf_whole_bloom[] = {{"word_embeddings", "token_embd", HF_EMBEDDING},
                                         {"word_embeddings_layernorm", "token_embd_norm", HF_NORM},
                                         {"ln_f", "output_norm", HF_NORM},
                                         {"lm_head", "output", HF_OUTPUT},
                                         END};

const struct hf_name hf_whole_mpt[] = {{"wte", "token_embd", HF_EMBEDDING},
                                       {"norm_f", "output_norm", HF_NORM},
                                       {"lm_head", "output", HF_OUTPUT},
                                       END};

const struct hf_name hf_whole_gpt[] = {{"wte", "token_embd", HF_EMBEDDING},
                                       {"ln_f", "output_norm", HF_NORM},
                                       {"lm_head", "output", HF_OUTPUT},
                                       {"relative_pe.slopes", NULL, HF_SKIP},
                                       END};
