#!/usr/bin/env python3
"""Tiny random models as Hugging Face folders, the logits they must give and the ids of hard texts.
SPDX-License-Identifier: Apache-2.0

    v/bin/python make_folders.py [NAME...]     # with the libraries of requirements.txt; writes hf/NAME/

Each folder is written by transformers itself (save_pretrained, BF16), so that the names and the config.json
are those of published models; the logits are transformers' in double precision. Refact, Baichuan and Jais have no
class there: their tensors are named as the published checkpoints name them, and alibi_truth.py is the truth.
tokenizer.json files have the pre-tokenizers of the families' published ones; ids.txt holds what the tokenizers
library (sentencepiece, where there is only a tokenizer.model) makes of the samples of tests/text.
"""
import copy
import importlib.util
import io
import json
import os
import shutil
import sys
import tempfile
import types

import numpy as np
import sentencepiece
import torch
import transformers
from safetensors.torch import save_file
from sentencepiece import sentencepiece_model_pb2
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from alibi_truth import AlibiModel, alibi_logits
from make_vectors import build, draw, force_double, logprobs

HERE = os.path.dirname(os.path.abspath(__file__))
SPEC = importlib.util.spec_from_file_location("texts", os.path.join(HERE, "../text/make_vectors.py"))
texts = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(texts)

CONTEXT = 256
ROWS = {1: [0], 40: [11, 39]}
BF16 = torch.bfloat16
TRAINING = texts.SAMPLES[:20] * 3 + ["the theory of other things, there and then 1234 12 567"] * 4

# ---- tokenizers -------------------------------------------------------------------------------------

GPT4 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
        r"\s+(?!\S)|\s+")
BLOOM = " ?[^(\\s|[.,!?…。，、।۔،])]+"


def split(pattern):
    return pre_tokenizers.Split(Regex(pattern), "isolated")


def byte_level(words):
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=words)


RULES = {
    "llama3": [split(GPT4 % r"\p{N}{1,3}"), byte_level(False)],
    "dbrx": [split(GPT4 % r"\p{N}{1,3}"), byte_level(False)],
    "qwen": [split(GPT4 % r"\p{N}"), byte_level(False)],
    "gpt2": [byte_level(True)],
    "nfc": [byte_level(True)],
    "digit": [pre_tokenizers.Digits(individual_digits=True), byte_level(True)],
    "bloom": [split(BLOOM), byte_level(False)],
    "falcon": [pre_tokenizers.Punctuation("contiguous"), byte_level(True), pre_tokenizers.Digits(False),
               split("[0-9][0-9][0-9]")],
}


def train_bytes(steps):
    """Merges cross every border that the rules keep, but for Falcon's: its digits are cut out of byte letters, which
    files of GGUF have no rule for, and no merge that was learnt under the rule itself asks for one."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(steps)
    trainer = trainers.BpeTrainer(vocab_size=330, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                                  show_progress=False)
    tokenizer.train_from_iterator(TRAINING, trainer)
    model = json.loads(tokenizer.to_str())["model"]
    return model["vocab"], [tuple(m) for m in model["merges"]]


def bpe_tokenizer(rule, vocabulary, merges):
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges, ignore_merges=rule == "llama3"))
    steps = RULES[rule]
    tokenizer.pre_tokenizer = steps[0] if len(steps) == 1 else pre_tokenizers.Sequence(steps)
    if rule in ("qwen", "nfc"):
        tokenizer.normalizer = normalizers.NFC()
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<|start|>", "<|end|>"])
    tokenizer.add_tokens([AddedToken("<tool>", normalized=False)])
    if rule == "llama3":
        tokenizer.post_processor = processors.Sequence([
            processors.ByteLevel(trim_offsets=False),
            processors.TemplateProcessing(single="<|start|> $A", pair="<|start|> $A <|start|> $B",
                                          special_tokens=[("<|start|>", tokenizer.token_to_id("<|start|>"))])])
    return tokenizer


def train_pieces(model_type="bpe", vocab_size=420, normalization_rule_name="identity", **options):
    out = io.BytesIO()
    if model_type == "unigram" and normalization_rule_name != "identity":
        # The tokenizers library looks up whole graphemes, so that it misses rules for parts of them.
        options["normalization_rule_tsv"] = texts.write_table(
            tempfile.mkdtemp(), [rule for rule in texts.TABLE if len(rule[0]) == 1])
    else:
        options["normalization_rule_name"] = normalization_rule_name
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(t for t in TRAINING if t.strip() and t.isascii()), model_writer=out,
        model_type=model_type, vocab_size=vocab_size, hard_vocab_limit=False, byte_fallback=True, split_digits=True,
        minloglevel=2, character_coverage=0.98, **options)
    return sentencepiece.SentencePieceProcessor(model_proto=out.getvalue()), out.getvalue()


def pieces_tokenizer(processor, prefix):
    """As transformers writes SentencePiece models: merges in the order of the scores."""
    count = processor.get_piece_size()
    vocabulary = {processor.id_to_piece(i): i for i in range(count)}
    merges = []
    for piece, i in vocabulary.items():
        local = [(piece[:at], piece[at:], processor.get_score(i)) for at in range(1, len(piece))
                 if piece[:at] in vocabulary and piece[at:] in vocabulary]
        merges += sorted(local, key=lambda m: (vocabulary[m[0]], vocabulary[m[1]]))
    merges.sort(key=lambda m: (m[2], len(m[0]), len(m[1])), reverse=True)
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[m[:2] for m in merges], unk_token="<unk>",
                                     fuse_unk=True, byte_fallback=True))
    steps = [normalizers.Prepend("▁")] if prefix else []
    tokenizer.normalizer = normalizers.Sequence(steps + [normalizers.Replace(" ", "▁")])
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>"])
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s> $B",
                                                             special_tokens=[("<s>", 1)])
    return tokenizer


def unigram_tokenizer(processor, proto):
    """As transformers writes SentencePiece's unigram models."""
    made = sentencepiece_model_pb2.ModelProto.FromString(proto)
    pieces = [(p.piece, p.score) for p in made.pieces]
    tokenizer = Tokenizer(models.Unigram(pieces, made.trainer_spec.unk_id, made.trainer_spec.byte_fallback))
    tokenizer.normalizer = normalizers.Sequence([
        normalizers.Precompiled(made.normalizer_spec.precompiled_charsmap), normalizers.Strip(left=False, right=True),
        normalizers.Replace(Regex(" {2,}"), "▁")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>"])
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s> $B",
                                                             special_tokens=[("<s>", 1)])
    return tokenizer


def write_ids(folder, encode, spaces_only=False):
    """spaces_only: the library puts no mark before a text that begins with one, where SentencePiece does."""
    with open(os.path.join(folder, "ids.txt"), "w", encoding="ascii") as out:
        for sample in texts.SAMPLES:
            if spaces_only and "▁" in sample:
                continue
            out.write(sample.encode().hex() + ":" + "".join(f" {i}" for i in encode(sample)) + "\n")


TEMPLATE = "{% for m in messages %}<|start|>{{ m.role }}\n{{ m.content }}<|end|>\n{% endfor %}"


def write_tokenizer(folder, rule):
    """Returns how many tokens there are."""
    settings = {"chat_template": TEMPLATE}
    if rule in ("pieces-only", "unigram-only"):
        kind = {"model_type": "unigram", "vocab_size": 330} if rule == "unigram-only" else {}
        processor, proto = train_pieces(add_dummy_prefix=False, remove_extra_whitespaces=False, **kind)
        with open(os.path.join(folder, "tokenizer.model"), "wb") as out:
            out.write(proto)
        settings.update({"add_bos_token": False, "bos_token": {"content": "<s>"}, "eos_token": {"content": "</s>"}})
        write_ids(folder, processor.encode)
        count = processor.get_piece_size()
    elif rule == "unigram":
        tokenizer = unigram_tokenizer(*train_pieces("unigram", 330, "table"))
        settings.update({"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"})
    elif rule in ("pieces", "pieces-prefix"):
        processor, _ = train_pieces()
        tokenizer = pieces_tokenizer(processor, rule == "pieces-prefix")
        settings.update({"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"})
    else:
        tokenizer = bpe_tokenizer(rule, *train_bytes(RULES["falcon"] if rule == "falcon" else [byte_level(False)]))
        settings.update({"bos_token": "<|start|>" if rule == "llama3" else None, "eos_token": "<|end|>"})
    if rule not in ("pieces-only", "unigram-only"):
        tokenizer.save(os.path.join(folder, "tokenizer.json"))
        write_ids(folder, lambda text: tokenizer.encode(text).ids, rule == "unigram")
        count = tokenizer.get_vocab_size()
    with open(os.path.join(folder, "tokenizer_config.json"), "w", encoding="utf-8") as out:
        json.dump(settings, out, indent=1)
    return count


# ---- models -----------------------------------------------------------------------------------------

SMALL = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4,
         "num_key_value_heads": 2}
LLAMA3 = {"rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0, "low_freq_factor": 1.0,
          "high_freq_factor": 4.0, "original_max_position_embeddings": 64}
LONG = {"rope_type": "longrope", "rope_theta": 10000.0, "original_max_position_embeddings": 4,
        "long_factor": [1.0, 1.5, 4.0, 9.0], "short_factor": [1.0, 1.0, 1.1, 1.2]}


def family(name, rule, model, config, **options):
    return types.SimpleNamespace(name=name, rule=rule, build=build(model, config, **options.pop("with_", {})),
                                 options=options)


FAMILIES = [
    family("llama", "llama3", "LlamaForCausalLM", "LlamaConfig",
           with_={**SMALL, "head_dim": 8, "rope_parameters": LLAMA3, "attention_bias": True}),
    family("mistral", "pieces-prefix", "MistralForCausalLM", "MistralConfig", with_={**SMALL, "sliding_window": 12}),
    family("mixtral", "pieces-prefix", "MixtralForCausalLM", "MixtralConfig",
           with_={**SMALL, "hidden_size": 32, "intermediate_size": 64, "num_local_experts": 5, "experts_implementation": "eager", "num_experts_per_tok": 2, "sliding_window": None}),
    family("qwen2", "qwen", "Qwen2ForCausalLM", "Qwen2Config", with_={**SMALL, "tie_word_embeddings": True}),
    family("qwen3", "qwen", "Qwen3ForCausalLM", "Qwen3Config",
           with_={**SMALL, "head_dim": 8, "rope_parameters": {
               "rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 32}}),
    family("qwen3moe", "qwen", "Qwen3MoeForCausalLM", "Qwen3MoeConfig",
           with_={**SMALL, "head_dim": 8, "moe_intermediate_size": 16, "experts_implementation": "eager", "num_experts": 6, "num_experts_per_tok": 3,
                  "norm_topk_prob": True, "decoder_sparse_step": 1, "mlp_only_layers": []}),
    family("gemma2", "pieces", "Gemma2ForCausalLM", "Gemma2Config",
           with_={**SMALL, "head_dim": 8, "query_pre_attn_scalar": 12, "sliding_window": 12,
                  "attn_logit_softcapping": 4.0, "final_logit_softcapping": 5.0}, norm_plus_one=True),
    family("gemma3", "pieces", "Gemma3ForCausalLM", "Gemma3TextConfig",
           with_={**SMALL, "head_dim": 8, "num_hidden_layers": 3, "query_pre_attn_scalar": 8, "sliding_window": 12,
                  "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
                  "rope_parameters": {"full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
                                      "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}},
           norm_plus_one=True),
    family("phi3", "pieces-prefix", "Phi3ForCausalLM", "Phi3Config",
           with_={**SMALL, "hidden_size": 32, "original_max_position_embeddings": 4, "rope_parameters": LONG,
                  "sliding_window": None}),
    family("smollm3", "llama3", "SmolLM3ForCausalLM", "SmolLM3Config",
           with_={**SMALL, "num_hidden_layers": 5, "use_sliding_window": False}),
    family("olmo2", "dbrx", "Olmo2ForCausalLM", "Olmo2Config", with_=SMALL),
    family("granite", "digit", "GraniteForCausalLM", "GraniteConfig",
           with_={**SMALL, "embedding_multiplier": 3.0, "residual_multiplier": 0.4, "logits_scaling": 2.5,
                  "attention_multiplier": 0.2, "tie_word_embeddings": True}),
    family("starcoder2", "digit", "Starcoder2ForCausalLM", "Starcoder2Config", with_={**SMALL, "sliding_window": 12}),
    family("falcon", "falcon", "FalconForCausalLM", "FalconConfig",
           with_={"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4,
                  "new_decoder_architecture": True, "num_kv_heads": 2}),
    family("falcon-rw", "gpt2", "FalconForCausalLM", "FalconConfig",
           with_={"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "alibi": True,
                  "multi_query": False, "parallel_attn": False, "bias": True, "attn_implementation": "sdpa"}),
    family("bloom", "bloom", "BloomForCausalLM", "BloomConfig",
           with_={"hidden_size": 16, "n_layer": 2, "n_head": 4, "seq_length": CONTEXT}),
    family("mpt", "nfc", "MptForCausalLM", "MptConfig",
           with_={"d_model": 16, "n_heads": 4, "n_layers": 2, "max_seq_len": CONTEXT,
                  "attn_config": {"alibi": True, "alibi_bias_max": 8, "clip_qkv": 0.8}}),
    family("mistral-unigram", "unigram-only", "MistralForCausalLM", "MistralConfig", with_={**SMALL, "sliding_window": 12}),
    family("llama-unigram", "unigram", "LlamaForCausalLM", "LlamaConfig", with_={**SMALL, "head_dim": 8}),
]

# Those that transformers has no class for: the config.json, and the names of the published checkpoints.
OWN = {
    "refact": ("digit", {"model_type": "gpt_refact", "n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": CONTEXT,
                         "multi_query": True, "layer_norm_epsilon": 1e-5},
               {"width": 16, "ffn": 256, "layers": 2, "heads": 4, "kv_heads": 1, "head_dim": 4, "scale": 0.5,
                "fused": False, "biases": False}),
    "baichuan": ("pieces-only", {"model_type": "baichuan", "hidden_size": 16, "intermediate_size": 24,
                                 "num_hidden_layers": 2, "num_attention_heads": 4, "model_max_length": CONTEXT,
                                 "rms_norm_eps": 1e-5, "hidden_act": "silu"},
                 {"width": 16, "ffn": 24, "layers": 2, "heads": 4, "kv_heads": 4, "head_dim": 4, "scale": 0.5,
                  "fused": False, "biases": False}),
    "jais": ("gpt2", {"model_type": "jais", "n_embd": 16, "n_layer": 2, "n_head": 4, "n_inner": 24,
                      "n_positions": CONTEXT, "activation_function": "swiglu", "position_embedding_type": "alibi",
                      "layer_norm_epsilon": 1e-5, "mup_embeddings_scale": 4.0, "mup_width_scale": 0.5,
                      "mup_output_alpha": 0.75, "mup_scale_qk_dot_by_d": True},
             {"width": 16, "ffn": 24, "layers": 2, "heads": 4, "kv_heads": 4, "head_dim": 4, "scale": 0.25,
              "fused": True, "biases": True}),
}


def rounded(values):
    return torch.from_numpy(np.ascontiguousarray(values)).to(BF16).double().numpy()


def fill(entry, model, seed):
    random = np.random.default_rng(seed)
    for name, parameter in sorted(model.named_parameters()):
        drawn = rounded(draw(random, name, tuple(parameter.shape), entry.options))
        parameter.data = torch.from_numpy(drawn).reshape(tuple(parameter.shape))


def own_names(name, tensors):
    """Published names for the tensors of alibi_truth.py."""
    out = {}
    top = {"token_embd": "transformer.wte", "output_norm": "transformer.ln_f", "output": "lm_head"}
    if name == "baichuan":
        top = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
    for key in [k for k in tensors if not k.startswith("blk.")]:
        part, kind = key.rsplit(".", 1)
        out[f"{top[part]}.{kind}"] = tensors[key]
    for i in range(2):
        layer = {k.split(".", 2)[2]: v for k, v in tensors.items() if k.startswith(f"blk.{i}.")}
        if name == "refact":
            rows = {"attn.q": "attn_q", "attn.c_proj": "attn_output", "mlp.c_proj": "ffn_down", "ln_1": "attn_norm",
                    "ln_2": "ffn_norm"}
            out.update({f"transformer.h.{i}.{to}.weight": layer[of + ".weight"] for to, of in rows.items()})
            out[f"transformer.h.{i}.attn.kv.weight"] = np.concatenate(
                [layer["attn_k.weight"], layer["attn_v.weight"]])
            out[f"transformer.h.{i}.mlp.gate_up_proj.weight"] = np.concatenate(
                [layer["ffn_gate.weight"], layer["ffn_up.weight"]])
        elif name == "baichuan":
            rows = {"self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
                    "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm"}
            out.update({f"model.layers.{i}.{to}.weight": layer[of + ".weight"] for to, of in rows.items()})
            out[f"model.layers.{i}.self_attn.W_pack.weight"] = np.concatenate(
                [layer[f"attn_{part}.weight"] for part in "qkv"])
        else:
            rows = {"attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output", "mlp.c_fc": "ffn_up",
                    "mlp.c_fc2": "ffn_gate", "mlp.c_proj": "ffn_down", "ln_1": "attn_norm", "ln_2": "ffn_norm"}
            for to, of in rows.items():
                weight = layer[of + ".weight"]
                out[f"transformer.h.{i}.{to}.weight"] = weight.T if weight.ndim == 2 else weight
                out[f"transformer.h.{i}.{to}.bias"] = layer[of + ".bias"]
            out[f"transformer.h.{i}.attn.bias"] = np.ones((1, 1, 4, 4))
            out["transformer.relative_pe.slopes"] = np.ones(4)
    return out


def write_expected(folder, name, vocabulary, sequences):
    with open(os.path.join(folder, "expected.txt"), "w", encoding="ascii") as out:
        out.write(f"model hf/{name}/expected vocabulary {vocabulary} sequences {len(sequences)}\n")
        for tokens, logits in sequences:
            out.write(f"sequence {len(tokens)} rows {len(ROWS[len(tokens)])}\n" + " ".join(map(str, tokens)) + "\n")
            out.write(" ".join(f"{x:.8g}" for x in logprobs(logits, tokens)) + "\n")
            for row in ROWS[len(tokens)]:
                out.write(f"{row} " + " ".join(f"{x:.8g}" for x in logits[row]) + "\n")


def sequences_of(seed, vocabulary, run):
    random = np.random.default_rng(seed + 1000)
    lists = [random.integers(0, vocabulary, length).tolist() for length in ROWS]
    return [(tokens, run(tokens)) for tokens in lists]


def fresh(name):
    folder = os.path.join(HERE, "hf", name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    return folder


def make(entry, seed):
    folder = fresh(entry.name)
    vocabulary = write_tokenizer(folder, entry.rule) + 3  # rows that no token has
    sizes = {"max_position_embeddings": CONTEXT} if "n_layer" not in str(entry.options) else {}
    model = entry.build(vocabulary, **sizes).double().eval()
    fill(entry, model, seed)
    copy.deepcopy(model).to(BF16).save_pretrained(folder, max_shard_size="12KB" if entry.name == "qwen2" else "1GB")
    generation = os.path.join(folder, "generation_config.json")
    if os.path.exists(generation):
        os.remove(generation)

    def run(tokens):
        with torch.no_grad():
            return model(torch.tensor([tokens]), use_cache=False).logits[0].numpy()
    write_expected(folder, entry.name, vocabulary, sequences_of(seed, vocabulary, run))


def make_own(name, seed):
    rule, config, shape = OWN[name]
    folder = fresh(name)
    vocabulary = write_tokenizer(folder, rule) + 3
    random = np.random.default_rng(seed)
    model = AlibiModel(vocabulary, types.SimpleNamespace(**shape))
    tensors = {key: rounded(draw(random, key, size, {})) for key, size in
               ((key, parameter.shape) for key, parameter in model.named_parameters())}
    meant = dict(tensors)
    if name == "jais":
        meant["token_embd.weight"] = tensors["token_embd.weight"] * config["mup_embeddings_scale"]
        meant["output.weight"] = tensors["output.weight"] * (config["mup_width_scale"] * config["mup_output_alpha"])
    stored = {key: torch.from_numpy(np.ascontiguousarray(v)).to(BF16) for key, v in own_names(name, tensors).items()}
    save_file(stored, os.path.join(folder, "model.safetensors"))
    with open(os.path.join(folder, "config.json"), "w", encoding="ascii") as out:
        json.dump({**config, "vocab_size": vocabulary, "torch_dtype": "bfloat16"}, out, indent=1)
    write_expected(folder, name, vocabulary,
                   sequences_of(seed, vocabulary, lambda tokens: alibi_logits(meant, model.config, tokens)))


def main():
    force_double()
    for i, entry in enumerate(FAMILIES):
        if len(sys.argv) < 2 or entry.name in sys.argv[1:]:
            make(entry, 500 + i)
    for i, name in enumerate(OWN):
        if len(sys.argv) < 2 or name in sys.argv[1:]:
            make_own(name, 600 + i)


if __name__ == "__main__":
    main()
