#!/usr/bin/env python3
"""Tiny random models of every architecture as GGUF files, and the logits they must give.
SPDX-License-Identifier: Apache-2.0

Refact, Baichuan with ALiBi and Jais have no class there: alibi_truth.py is theirs.

    python3 -m venv v && v/bin/pip install -r requirements.txt
    v/bin/python make_vectors.py            # writes NAME.gguf and NAME.txt beside this script
    v/bin/python make_vectors.py --peer     # also runs each file through llama.cpp (llama-cpp-python)

The weights are drawn from a seeded generator, given to transformers, which runs in double precision
throughout (its fixed casts to float32 are turned into casts to double), and written as GGUF with the
names, layouts and keys that llama.cpp's converters use. Where transformers is known to be wrong, the
NumPy model in mpt_truth.py is the truth: transformers ignores MPT's alibi_bias_max.

NAME.txt holds for each sequence of tokens its ids, some rows of logits, and the natural logarithm of the
probability of each token given all before it (0 for the first).
"""
import argparse
import os
import types

import gguf
import numpy as np
import torch
import transformers
from gguf import GGMLQuantizationType as Q

from alibi_truth import AlibiModel, alibi_logits
from mpt_truth import mpt_logits, slopes
from tiny_vocabulary import add_bpe, add_spm

HERE = os.path.dirname(os.path.abspath(__file__))
CONTEXT = 512
LENGTHS = {1: [0], 7: list(range(7)), 40: [15, 23, 24, 39], 200: [63, 64, 128, 199]}


def force_double():
    """transformers computes norms, rotations and softmax in float32 whatever the model's type: not here."""
    torch.set_default_dtype(torch.float64)
    torch.float = torch.float32 = torch.float64
    torch.Tensor.float = torch.Tensor.bfloat16 = torch.Tensor.double


class Recipe:
    """One tiny model: how to build it, name its tensors and describe it."""

    def __init__(self, name, arch, seed, layers, build, describe, **options):
        self.name, self.arch, self.seed, self.layers = name, arch, seed, layers
        self.build, self.describe = build, describe
        self.options = options
        self.types = options.get("types", {})
        self.spm = options.get("spm", False)


# ---- weights --------------------------------------------------------------------------------------

def draw(random, name, shape, options):
    """Values that make every part matter: peaked attention, norms away from 1, biases away from 0."""
    plain = random.standard_normal(shape)
    if "norm" in name or "ln_f" in name:
        centre = 0.0 if options.get("norm_plus_one") or name.endswith("bias") else 1.0
        return centre + 0.25 * plain
    if name.endswith("bias"):
        return 0.3 * plain
    if "embed" in name or "wte" in name:
        return options.get("embedding", 0.5) * plain
    return 1.2 / np.sqrt(shape[-1]) * plain


def random_k_blocks(random, qtype, rows, columns):
    """Bytes of a K-quant tensor: any are valid, so the scales are set and the rest is noise."""
    block, size = gguf.GGML_QUANT_SIZES[qtype]
    count = rows * columns // block
    data = random.integers(0, 256, (count, size), dtype=np.uint8)
    steps = {Q.Q4_K: (5e-4, 3.75e-3), Q.Q5_K: (2.5e-4, 3.75e-3), Q.Q6_K: (1e-4, None)}[qtype]
    jitter = 1 + 0.2 * random.standard_normal((count, 2))
    halves = (jitter * [steps[0], steps[1] or 0]).astype("<f2")
    if qtype == Q.Q6_K:
        data[:, -2:] = halves[:, :1].view(np.uint8)
    else:
        data[:, :4] = halves.view(np.uint8)
    return data.reshape(rows, -1)


def encode(random, values, qtype):
    """The tensor as stored, and the double-precision values that storage stands for."""
    values = values.astype(np.float32)
    if qtype == Q.F32:
        return values, values.astype(np.float64)
    if qtype in (Q.Q4_K, Q.Q5_K, Q.Q6_K):
        stored = random_k_blocks(random, qtype, *values.shape)
    else:
        stored = gguf.quants.quantize(values, qtype)
    return stored, gguf.quants.dequantize(stored, qtype).astype(np.float64)


# ---- from transformers' layout to the file's --------------------------------------------------------

def to_adjacent(weight, heads):
    """llama: rows of q and k reordered so that rotated pairs lie side by side."""
    return weight.reshape(heads, 2, weight.shape[0] // heads // 2, -1).swapaxes(1, 2).reshape(weight.shape)


def from_adjacent(weight, heads):
    return weight.reshape(heads, weight.shape[0] // heads // 2, 2, -1).swapaxes(1, 2).reshape(weight.shape)


ADJACENT = ("llama", "smollm3", "granite", "baichuan")


def falcon_groups(config):
    heads = config.num_attention_heads
    if config.new_decoder_architecture:
        return config.num_kv_heads, heads // config.num_kv_heads
    return (1, heads) if config.multi_query else (heads, 1)


def falcon_to_file(config, value):
    """Each key/value head's queries, key and value side by side become all queries, all keys, all values."""
    groups, share = falcon_groups(config)
    parts = value.reshape(groups, share + 2, config.head_dim, *value.shape[1:])
    pieces = parts[:, :-2], parts[:, -2:-1], parts[:, -1:]
    return np.concatenate([piece.reshape(-1, *value.shape[1:]) for piece in pieces])


def falcon_from_file(config, value):
    groups, share = falcon_groups(config)
    rest = value.shape[1:]
    q, k, v = np.split(value, [groups * share * config.head_dim, groups * (share + 1) * config.head_dim])
    parts = [q.reshape(groups, share, config.head_dim, *rest)]
    parts += [part.reshape(groups, 1, config.head_dim, *rest) for part in (k, v)]
    return np.concatenate(parts, axis=1).reshape(value.shape)


def file_layout(recipe, config, name, value):
    if recipe.arch in ADJACENT and name.endswith(("q_proj.weight", "k_proj.weight")):
        heads = config.num_attention_heads if "q_proj" in name else config.num_key_value_heads
        return to_adjacent(value, heads)
    if recipe.arch in ("gemma2", "gemma3") and "norm" in name:
        return value + 1
    if recipe.arch == "falcon" and "query_key_value" in name:
        return falcon_to_file(config, value)
    if recipe.arch == "bloom" and "query_key_value" in name:
        heads = config.n_head
        parts = value.reshape(heads, 3, config.hidden_size // heads, *value.shape[1:])
        return parts.swapaxes(0, 1).reshape(value.shape)
    return value


def model_layout(recipe, config, name, value):
    """The inverse of file_layout: what transformers is given for what the file holds."""
    if recipe.arch in ADJACENT and name.endswith(("q_proj.weight", "k_proj.weight")):
        heads = config.num_attention_heads if "q_proj" in name else config.num_key_value_heads
        return from_adjacent(value, heads)
    if recipe.arch in ("gemma2", "gemma3") and "norm" in name:
        return value - 1
    if recipe.arch == "falcon" and "query_key_value" in name:
        return falcon_from_file(config, value)
    if recipe.arch == "bloom" and "query_key_value" in name:
        heads = config.n_head
        parts = value.reshape(3, heads, config.hidden_size // heads, *value.shape[1:])
        return parts.swapaxes(0, 1).reshape(value.shape)
    return value


def storage_type(recipe, name, shape):
    if len(shape) == 1 or not recipe.types:
        return Q.F32
    for part, qtype in recipe.types.items():
        if part in name:
            return qtype
    return Q.F32


def own_name(recipe, name):
    """Names that gguf's table lacks: falcon's two norms of a layer, and the models that are ours already."""
    if name.startswith(("blk.", "token_embd.", "output")):
        return name
    if recipe.arch == "falcon" and ".post_attention_layernorm." in name:
        layer, kind = name.split(".")[-3], name.split(".")[-1]
        return f"blk.{layer}.ffn_norm.{kind}"
    return None


def fill(recipe, model, writer):
    """Draws every parameter, writes it, and gives transformers what the file says."""
    arch = {v: k for k, v in gguf.MODEL_ARCH_NAMES.items()}[recipe.arch]
    names = gguf.get_tensor_name_map(arch, recipe.layers)
    random = np.random.default_rng(recipe.seed)
    tensors = {}
    for name, parameter in sorted(model.named_parameters()):
        drawn = draw(random, name, tuple(parameter.shape), recipe.options)
        laid = file_layout(recipe, model.config, name, drawn)
        short = name.removeprefix("transformer.") if recipe.arch == "bloom" else name
        file_name = own_name(recipe, short) or names.get_name(short, try_suffixes=(".weight", ".bias"))
        qtype = storage_type(recipe, file_name, laid.shape)
        stored, meant = encode(random, np.ascontiguousarray(laid), qtype)
        writer.add_tensor(file_name, stored, raw_dtype=qtype)
        tensors[file_name] = meant
        given = model_layout(recipe, model.config, name, meant)
        parameter.data = torch.from_numpy(np.ascontiguousarray(given)).reshape(tuple(parameter.shape))
    if recipe.options.get("output_twice"):
        writer.add_tensor("output.weight", tensors["token_embd.weight"].astype(np.float32))
    return tensors


# ---- architectures ----------------------------------------------------------------------------------

def rope_divisors(config):
    """llama3 scaling as the converter stores it: one divisor for each pair."""
    rope = config.rope_parameters
    freqs = 1.0 / rope["rope_theta"] ** (np.arange(0, config.head_dim, 2) / config.head_dim)
    old, low, high = rope["original_max_position_embeddings"], rope["low_freq_factor"], rope["high_freq_factor"]
    out = []
    for wavelength in 2 * np.pi / freqs:
        if wavelength < old / high:
            out.append(1.0)
        elif wavelength > old / low:
            out.append(rope["factor"])
        else:
            smooth = (old / wavelength - low) / (high - low)
            out.append(1 / ((1 - smooth) / rope["factor"] + smooth))
    return np.array(out, np.float32)


def build_llama(vocabulary, **config):
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=vocabulary, max_position_embeddings=CONTEXT, rms_norm_eps=1e-5,
        attn_implementation="eager", **config))


def describe_llama(writer, config):
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    if config.head_dim != config.hidden_size // config.num_attention_heads:
        writer.add_key_length(config.head_dim)
        writer.add_value_length(config.head_dim)
    writer.add_vocab_size(config.vocab_size)
    writer.add_rope_dimension_count(config.head_dim)
    if config.rope_parameters["rope_type"] == "llama3":
        writer.add_tensor("rope_freqs.weight", rope_divisors(config))


def build_gemma3(vocabulary, **config):
    return transformers.Gemma3ForCausalLM(transformers.Gemma3TextConfig(
        vocab_size=vocabulary, max_position_embeddings=CONTEXT, attn_implementation="eager", **config))


def describe_gemma3(writer, config):
    rope = config.rope_parameters["full_attention"]
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_key_length(config.head_dim)
    writer.add_value_length(config.head_dim)
    writer.add_rope_freq_base(rope["rope_theta"])
    if rope["rope_type"] == "linear":
        writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(rope["factor"])
    if config.final_logit_softcapping:
        writer.add_final_logit_softcapping(config.final_logit_softcapping)
    if "sliding_attention" in config.layer_types:
        writer.add_sliding_window(config.sliding_window)
    writer.add_head_count_kv(config.num_key_value_heads)


def build_bloom(vocabulary, **config):
    return transformers.BloomForCausalLM(transformers.BloomConfig(
        vocab_size=vocabulary, attn_implementation="eager", **config))


def describe_bloom(writer, config):
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(4 * config.hidden_size)
    writer.add_block_count(config.n_layer)
    writer.add_head_count(config.n_head)
    writer.add_head_count_kv(config.n_head)
    writer.add_layer_norm_eps(config.layer_norm_epsilon)


def build_mpt(vocabulary, **config):
    return transformers.MptForCausalLM(transformers.MptConfig(
        vocab_size=vocabulary, max_seq_len=CONTEXT, attn_implementation="eager", **config))


def describe_mpt(writer, config):
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(config.d_model)
    writer.add_block_count(config.n_layers)
    writer.add_feed_forward_length(4 * config.d_model)
    writer.add_head_count(config.n_heads)
    writer.add_layer_norm_eps(1e-5)
    if config.attn_config.clip_qkv is not None:
        writer.add_clamp_kqv(config.attn_config.clip_qkv)
    writer.add_max_alibi_bias(config.attn_config.alibi_bias_max)


def build(model_class, config_class, **fixed):
    """A function that builds such a model; options given later win."""
    def make_model(vocabulary, **config):
        options = {"vocab_size": vocabulary, "max_position_embeddings": CONTEXT, "pad_token_id": 0,
                   "attn_implementation": "eager", **fixed, **config}
        return getattr(transformers, model_class)(getattr(transformers, config_class)(**options))
    return make_model


build_qwen2 = build("Qwen2ForCausalLM", "Qwen2Config")
build_qwen3 = build("Qwen3ForCausalLM", "Qwen3Config")
build_gemma2 = build("Gemma2ForCausalLM", "Gemma2Config")
build_phi3 = build("Phi3ForCausalLM", "Phi3Config", sliding_window=None)
build_smollm3 = build("SmolLM3ForCausalLM", "SmolLM3Config", use_sliding_window=False)
build_olmo2 = build("Olmo2ForCausalLM", "Olmo2Config")
build_granite = build("GraniteForCausalLM", "GraniteConfig")
build_starcoder2 = build("Starcoder2ForCausalLM", "Starcoder2Config", sliding_window=None)
build_mistral = build("MistralForCausalLM", "MistralConfig")
build_falcon = build("FalconForCausalLM", "FalconConfig")


def describe_common(writer, config):
    """The keys that most families share."""
    arch = writer.arch
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    if hasattr(config, "rms_norm_eps"):
        writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    else:
        writer.add_layer_norm_eps(config.norm_epsilon)
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    writer.add_key_length(size)
    writer.add_value_length(size)
    if getattr(config, "sliding_window", None) and getattr(config, "use_sliding_window", True):
        writer.add_sliding_window(config.sliding_window)
    rope = config.rope_parameters
    if rope["rope_type"] == "yarn":
        writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        writer.add_rope_scaling_factor(rope["factor"])
        writer.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
    if rope["rope_type"] == "longrope":
        original = rope["original_max_position_embeddings"]
        writer.add_rope_scaling_type(gguf.RopeScalingType.LONGROPE)
        writer.add_rope_scaling_orig_ctx_len(original)
        writer.add_rope_scaling_attn_factors(rope["attention_factor"])
        writer.add_tensor("rope_factors_long.weight", np.array(rope["long_factor"], np.float32))
        writer.add_tensor("rope_factors_short.weight", np.array(rope["short_factor"], np.float32))
    if arch == "granite":
        writer.add_embedding_scale(config.embedding_multiplier)
        writer.add_residual_scale(config.residual_multiplier)
        writer.add_logit_scale(config.logits_scaling)
        writer.add_attention_scale(config.attention_multiplier)
    if arch == "gemma2":
        writer.add_attn_logit_softcapping(config.attn_logit_softcapping)
        writer.add_final_logit_softcapping(config.final_logit_softcapping)


def describe_falcon(writer, config):
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.ffn_hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(falcon_groups(config)[0])
    writer.add_layer_norm_eps(config.layer_norm_epsilon)
    if config.alibi:
        writer.add_max_alibi_bias(8.0)
        writer.add_bool("falcon.use_parallel_residual", config.parallel_attn)


def build_alibi(**config):
    return lambda vocabulary: AlibiModel(vocabulary, types.SimpleNamespace(**config))


def describe_alibi(writer, config):
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(config.width)
    writer.add_feed_forward_length(config.ffn)
    writer.add_block_count(config.layers)
    writer.add_head_count(config.heads)
    writer.add_head_count_kv(config.kv_heads)
    (writer.add_layer_norm_eps if config.biases else writer.add_layer_norm_rms_eps)(1e-5)
    if writer.arch != "refact":
        writer.add_max_alibi_bias(8.0)


def describe_baichuan(writer, config):
    describe_common(writer, config)
    writer.add_max_alibi_bias(0.0)


SMALL = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
         "num_key_value_heads": 2}

MIXED = {"token_embd": Q.Q8_0, "output.weight": Q.Q5_1, "attn_q": Q.Q4_0, "attn_k": Q.Q4_1, "attn_v": Q.Q5_0,
         "attn_output": Q.BF16, "ffn_gate": Q.F16, "ffn_up": Q.Q8_0,
         "0.ffn_down": Q.Q4_K, "1.ffn_down": Q.Q5_K, "2.ffn_down": Q.Q6_K}

RECIPES = [
    Recipe("llama-grouped", "llama", 1, 3, lambda v: build_llama(
        v, hidden_size=32, intermediate_size=48, num_hidden_layers=3, num_attention_heads=4,
        num_key_value_heads=2, tie_word_embeddings=False), describe_llama),
    Recipe("llama-tied-scaled", "llama", 2, 2, lambda v: build_llama(
        v, hidden_size=48, intermediate_size=40, num_hidden_layers=2, num_attention_heads=3,
        num_key_value_heads=1, head_dim=20, tie_word_embeddings=True,
        rope_parameters={"rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0, "low_freq_factor": 1.0,
                         "high_freq_factor": 4.0, "original_max_position_embeddings": 64}), describe_llama),
    Recipe("llama-quantised", "llama", 3, 3, lambda v: build_llama(
        v, hidden_size=32, intermediate_size=256, num_hidden_layers=3, num_attention_heads=2,
        num_key_value_heads=1, head_dim=32, tie_word_embeddings=False), describe_llama, types=MIXED),
    Recipe("gemma3-window", "gemma3", 4, 7, lambda v: build_gemma3(
        v, hidden_size=24, intermediate_size=32, num_hidden_layers=7, num_attention_heads=2,
        num_key_value_heads=1, head_dim=16, query_pre_attn_scalar=16, sliding_window=24,
        rope_parameters={"full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1000000.0},
                         "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}),
        describe_gemma3, norm_plus_one=True, spm=True),
    Recipe("gemma3-whole-capped", "gemma3", 5, 2, lambda v: build_gemma3(
        v, hidden_size=24, intermediate_size=32, num_hidden_layers=2, num_attention_heads=3,
        num_key_value_heads=3, head_dim=8, query_pre_attn_scalar=8, final_logit_softcapping=5.0,
        layer_types=["full_attention"] * 2), describe_gemma3, norm_plus_one=True, spm=True),
    Recipe("bloom-4-heads", "bloom", 6, 2, lambda v: build_bloom(
        v, hidden_size=32, n_layer=2, n_head=4), describe_bloom, output_twice=True),
    Recipe("bloom-6-heads", "bloom", 7, 2, lambda v: build_bloom(
        v, hidden_size=24, n_layer=2, n_head=6, layer_norm_epsilon=1e-3), describe_bloom),
    Recipe("mpt-bias-8", "mpt", 8, 2, lambda v: build_mpt(
        v, d_model=32, n_heads=4, n_layers=2,
        attn_config={"alibi": True, "alibi_bias_max": 8, "clip_qkv": None}), describe_mpt),
    Recipe("mpt-bias-16-clipped", "mpt", 9, 2, lambda v: build_mpt(
        v, d_model=24, n_heads=6, n_layers=2,
        attn_config={"alibi": True, "alibi_bias_max": 16, "clip_qkv": 0.8}), describe_mpt),
    Recipe("llama-window", "llama", 10, 2, lambda v: build_mistral(v, **SMALL, sliding_window=24), describe_common),
    Recipe("llama-yarn", "llama", 11, 2, lambda v: build_llama(v, **SMALL, head_dim=16, tie_word_embeddings=False,
        rope_parameters={"rope_type": "yarn", "rope_theta": 10000.0, "factor": 8.0,
                         "original_max_position_embeddings": 64}), describe_common),
    Recipe("qwen2", "qwen2", 12, 2, lambda v: build_qwen2(v, **SMALL, tie_word_embeddings=True), describe_common),
    Recipe("qwen3", "qwen3", 13, 2, lambda v: build_qwen3(v, **SMALL, head_dim=12), describe_common),
    Recipe("gemma2", "gemma2", 14, 3, lambda v: build_gemma2(v, **{**SMALL, "num_hidden_layers": 3}, head_dim=16,
        query_pre_attn_scalar=16, sliding_window=24, attn_logit_softcapping=4.0, final_logit_softcapping=5.0),
        describe_common, norm_plus_one=True, spm=True),
    Recipe("phi3-window", "phi3", 15, 2, lambda v: build_phi3(v, **SMALL, sliding_window=24,
        original_max_position_embeddings=CONTEXT), describe_common),
    Recipe("phi3-long", "phi3", 16, 2, lambda v: build_phi3(v, **SMALL, original_max_position_embeddings=4,
        rope_parameters={"rope_type": "longrope", "rope_theta": 10000.0, "original_max_position_embeddings": 4,
                         "attention_factor": 1.2, "long_factor": [1.0, 1.5, 4.0, 9.0],
                         "short_factor": [1.0, 1.0, 1.1, 1.2]}), describe_common),
    Recipe("phi3-short", "phi3", 17, 2, lambda v: build_phi3(v, **SMALL, original_max_position_embeddings=256,
        rope_parameters={"rope_type": "longrope", "rope_theta": 10000.0, "original_max_position_embeddings": 256,
                         "attention_factor": 1.2, "long_factor": [1.0, 1.5, 4.0, 9.0],
                         "short_factor": [1.0, 1.0, 1.1, 1.2]}), describe_common),
    Recipe("smollm3", "smollm3", 18, 5, lambda v: build_smollm3(
        v, **{**SMALL, "hidden_size": 24, "num_hidden_layers": 5, "num_attention_heads": 3,
              "num_key_value_heads": 1}), describe_common),
    Recipe("olmo2", "olmo2", 19, 2, lambda v: build_olmo2(v, **SMALL), describe_common),
    Recipe("granite", "granite", 20, 2, lambda v: build_granite(v, **SMALL, embedding_multiplier=3.0,
        residual_multiplier=0.4, logits_scaling=2.5, attention_multiplier=0.2), describe_common),
    Recipe("starcoder2", "starcoder2", 21, 2, lambda v: build_starcoder2(v, **SMALL), describe_common),
    Recipe("falcon-one-norm", "falcon", 22, 2, lambda v: build_falcon(
        v, hidden_size=32, num_hidden_layers=2, num_attention_heads=4), describe_falcon),
    Recipe("falcon-two-norms", "falcon", 23, 2, lambda v: build_falcon(
        v, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, new_decoder_architecture=True,
        num_kv_heads=2), describe_falcon),
    Recipe("falcon-rw", "falcon", 24, 2, lambda v: build_falcon(
        v, hidden_size=24, num_hidden_layers=2, num_attention_heads=6, alibi=True, multi_query=False,
        parallel_attn=False, bias=True, attn_implementation="sdpa"), describe_falcon), # eager adds the bias twice
    Recipe("refact", "refact", 25, 2, build_alibi(width=32, ffn=40, layers=2, heads=4, kv_heads=1, head_dim=8,
        scale=8 ** -0.5, fused=False, biases=False), describe_alibi),
    Recipe("baichuan-alibi", "baichuan", 26, 2, build_alibi(width=30, ffn=40, layers=2, heads=5, kv_heads=5,
        head_dim=6, scale=6 ** -0.5, fused=False, biases=False), describe_alibi),
    Recipe("baichuan-rotary", "baichuan", 27, 2, lambda v: build_llama(
        v, **{**SMALL, "num_key_value_heads": 4}, tie_word_embeddings=False), describe_baichuan),
    Recipe("jais", "jais", 28, 2, build_alibi(width=32, ffn=40, layers=2, heads=4, kv_heads=4, head_dim=8,
        scale=1 / 8, fused=True, biases=True), describe_alibi),
]


# ---- running ----------------------------------------------------------------------------------------

def truth(recipe, model, tensors, tokens):
    """[rows, vocabulary] in double precision."""
    if isinstance(model, AlibiModel):
        return alibi_logits(tensors, model.config, tokens)
    with torch.no_grad():
        logits = model(torch.tensor([tokens]), use_cache=False).logits[0].numpy()
    assert logits.dtype == np.float64
    if recipe.arch != "mpt":
        return logits
    config = model.config
    ours = mpt_logits(tensors, config.n_layers, config.n_heads, config.attn_config.alibi_bias_max,
                      config.attn_config.clip_qkv, tokens)
    same = np.abs(ours - logits).max() / np.ptp(logits)
    if config.attn_config.alibi_bias_max == 8:
        assert same < 1e-12, f"the NumPy model differs from transformers by {same}"
    elif len(tokens) > 30:
        assert same > 1e-6, "transformers honours alibi_bias_max now: drop the exception"
    return ours


def logprobs(logits, tokens):
    peak = logits.max(axis=1, keepdims=True)
    normal = logits - peak - np.log(np.exp(logits - peak).sum(axis=1, keepdims=True))
    return [0.0] + [normal[i, t] for i, t in enumerate(tokens[1:])]


def write_expected(recipe, vocabulary, sequences):
    with open(os.path.join(HERE, recipe.name + ".txt"), "w", encoding="ascii") as out:
        out.write(f"model {recipe.name} vocabulary {vocabulary} sequences {len(sequences)}\n")
        for tokens, logits in sequences:
            rows = LENGTHS[len(tokens)]
            out.write(f"sequence {len(tokens)} rows {len(rows)}\n" + " ".join(map(str, tokens)) + "\n")
            out.write(" ".join(f"{x:.8g}" for x in logprobs(logits, tokens)) + "\n")
            for row in rows:
                out.write(f"{row} " + " ".join(f"{x:.8g}" for x in logits[row]) + "\n")


def make(recipe):
    path = os.path.join(HERE, recipe.name + ".gguf")
    writer = gguf.GGUFWriter(path, recipe.arch)
    writer.add_name(recipe.name)
    vocabulary = add_spm(writer) if recipe.spm else add_bpe(writer)
    model = recipe.build(vocabulary).double().eval()
    recipe.describe(writer, model.config)
    tensors = fill(recipe, model, writer)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    random = np.random.default_rng(recipe.seed + 1000)
    sequences = []
    for length in LENGTHS:
        tokens = random.integers(0, vocabulary, length).tolist()
        sequences.append((tokens, truth(recipe, model, tensors, tokens)))
    write_expected(recipe, vocabulary, sequences)
    return path, sequences


def check_slopes(heads, bias):
    """Against both forms in transformers, which are written differently."""
    mpt = transformers.models.mpt.modeling_mpt.build_mpt_alibi_tensor(heads, 2, bias)
    assert np.allclose(-mpt[:, 0, 0].numpy(), slopes(heads, bias), rtol=1e-12, atol=0)
    if bias == 8:
        bloom = transformers.models.bloom.modeling_bloom._get_alibi_slopes(heads, torch.device("cpu"))
        assert np.allclose(bloom.numpy(), slopes(heads, bias), rtol=1e-12, atol=0)


def write_slopes():
    """ALiBi slopes, also for head counts that are no power of two."""
    with open(os.path.join(HERE, "slopes.txt"), "w", encoding="ascii") as out:
        for heads, bias in [(1, 8), (2, 8), (4, 8), (6, 8), (8, 8), (12, 8), (16, 8), (32, 8), (40, 8), (56, 8),
                            (71, 8), (112, 8), (6, 16), (32, 16), (40, 16)]:
            check_slopes(heads, bias)
            out.write(f"{heads} {bias} " + " ".join(f"{x:.9g}" for x in slopes(heads, bias)) + "\n")


def compare_with_peer(path, sequences):
    """Largest difference of llama.cpp's logits (f32 KV) as a share of the logits' spread."""
    import llama_cpp
    peer = llama_cpp.Llama(path, n_ctx=CONTEXT, n_threads=1, logits_all=True, verbose=False,
                           type_k=llama_cpp.GGML_TYPE_F32, type_v=llama_cpp.GGML_TYPE_F32)
    worst = 0.0
    for tokens, logits in sequences:
        peer.reset()
        peer.eval(tokens)
        worst = max(worst, np.abs(peer.scores[:len(tokens)] - logits).max() / np.ptp(logits))
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", action="store_true", help="compare each model with llama.cpp")
    parser.add_argument("names", nargs="*", help="only these models")
    arguments = parser.parse_args()
    force_double()
    write_slopes()
    for recipe in RECIPES:
        if arguments.names and recipe.name not in arguments.names:
            continue
        path, sequences = make(recipe)
        spread = np.ptp(sequences[-1][1])
        line = f"{recipe.name:22} {os.path.getsize(path):7} bytes, logits spread over {spread:.3g}"
        if arguments.peer:
            line += f", llama.cpp within {compare_with_peer(path, sequences):.1e} of it"
        print(line, flush=True)


if __name__ == "__main__":
    main()
