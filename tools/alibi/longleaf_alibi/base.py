"""The rotary base: weights and shape from a GGUF file or a Hugging Face folder.
SPDX-License-Identifier: Apache-2.0

Weights are fp32, [outputs, inputs], in a GGUF file's order: rotary pairs lie side by side."""
import hashlib
import json
import os
from dataclasses import dataclass, field

import numpy as np
import torch

from .fault import Fault

MATRICES = ("attn_q", "attn_k", "attn_v", "attn_output")
NORMS = ("attn_norm", "ffn_norm")
FEED_FORWARD = ("ffn_gate", "ffn_up", "ffn_down")
HF_NAMES = {"attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
            "attn_output": "self_attn.o_proj", "attn_norm": "input_layernorm",
            "ffn_norm": "post_attention_layernorm", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
            "ffn_down": "mlp.down_proj"}


@dataclass(frozen=True)
class Shape:
    name: str
    layers: int
    width: int
    heads: int
    kv_heads: int
    head_dim: int
    eps: float
    context: int
    frequencies: tuple  # [head_dim / 2], radians a token


@dataclass
class Base:
    shape: Shape
    identity: str  # SHA-256 over the file or files
    layers: list = field(default_factory=list)  # of dicts: role -> tensor
    embedding: torch.Tensor = None
    output_norm: torch.Tensor = None
    output: torch.Tensor = None  # the embedding itself where the model ties them

    def to(self, device, dtype):
        """Frozen parts in dtype; what the student changes stays fp32."""
        kept = MATRICES + NORMS
        self.layers = [{n: t.to(device, torch.float32 if n in kept else dtype) for n, t in layer.items()}
                       for layer in self.layers]
        tied = self.output is self.embedding
        self.embedding = self.embedding.to(device, dtype)
        self.output = self.embedding if tied else self.output.to(device, dtype)
        self.output_norm = self.output_norm.to(device)
        return self


def open_base(path):
    if os.path.isdir(path):
        return _from_folder(path)
    if not os.path.exists(path):
        raise Fault(f"{path}: no such file or folder")
    return _from_gguf(path)


def hash_files(paths):
    digest = hashlib.sha256()
    for path in paths:
        with open(path, "rb") as file:
            while piece := file.read(1 << 20):
                digest.update(piece)
    return digest.hexdigest()


def _frequencies(theta, head_dim, factors=None):
    inverse = theta ** (-np.arange(0, head_dim, 2, dtype=np.float64) / head_dim)
    return tuple((inverse / factors if factors is not None else inverse).tolist())


def _finish(base, take):
    roles = MATRICES + NORMS + FEED_FORWARD
    base.layers = [{role: take(layer, role) for role in roles} for layer in range(base.shape.layers)]
    s = base.shape
    expected = {"attn_q": (s.heads * s.head_dim, s.width), "attn_k": (s.kv_heads * s.head_dim, s.width),
                "attn_v": (s.kv_heads * s.head_dim, s.width), "attn_output": (s.width, s.heads * s.head_dim)}
    for index, layer in enumerate(base.layers):
        for role, wanted in expected.items():
            if tuple(layer[role].shape) != wanted:
                raise Fault(f"blk.{index}.{role} is {tuple(layer[role].shape)}, and {wanted} was expected")
    return base


# ---- GGUF ----

def _from_gguf(path):
    import gguf
    try:
        reader = gguf.GGUFReader(path)
    except Exception as problem:
        raise Fault(f"{path}: not a readable GGUF file ({problem})") from problem

    def value(key, default=None):
        found = reader.fields.get(key)
        if found is None and default is None:
            raise Fault(f"{path}: the metadata has no {key}")
        return default if found is None else found.contents()

    if value("general.architecture") != "llama":
        raise Fault(f"{path}: the architecture is {value('general.architecture')}; only llama can be converted")
    tensors = {tensor.name: tensor for tensor in reader.tensors}
    for name in tensors:
        if name.endswith(".bias") or "_exps" in name or "_norm.weight" in name and name.split(".")[-2] in (
                "attn_q_norm", "attn_k_norm"):
            raise Fault(f"{path}: the tensor {name} belongs to no plain llama, which is all that can be converted")
    if value("llama.rope.scaling.type", "none") not in ("none", "linear") or \
            float(value("llama.rope.scaling.factor", 1.0)) != 1.0:
        raise Fault(f"{path}: scaled rotary positions other than llama 3's table are not supported")

    def tensor(name):
        if name not in tensors:
            raise Fault(f"{path}: the tensor {name} is missing")
        found = tensors[name]
        plain = gguf.quants.dequantize(found.data, found.tensor_type)
        return torch.from_numpy(np.array(plain, dtype=np.float32).reshape(tuple(int(n) for n in found.shape[::-1])))

    heads, width = value("llama.attention.head_count"), value("llama.embedding_length")
    head_dim = value("llama.attention.key_length", width // heads)
    factors = tensor("rope_freqs.weight").numpy().astype(np.float64) if "rope_freqs.weight" in tensors else None
    shape = Shape(value("general.name", os.path.basename(path)), value("llama.block_count"), width, heads,
                  value("llama.attention.head_count_kv", heads), head_dim,
                  value("llama.attention.layer_norm_rms_epsilon"), value("llama.context_length"),
                  _frequencies(value("llama.rope.freq_base", 10000.0), head_dim, factors))
    base = Base(shape, hash_files([path]))
    base.embedding = tensor("token_embd.weight")
    base.output = tensor("output.weight") if "output.weight" in tensors else base.embedding
    base.output_norm = tensor("output_norm.weight")
    return _finish(base, lambda layer, role: tensor(f"blk.{layer}.{role}.weight"))


# ---- Hugging Face ----

def _llama3_factors(scaling, frequencies):
    """The divisor of each frequency, as llama 3's configuration states it."""
    low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
    waves = 2 * np.pi / np.array(frequencies)
    smooth = (scaling["original_max_position_embeddings"] / waves - low) / (high - low)
    blend = 1.0 / ((1 - smooth) / scaling["factor"] + smooth)
    return np.where(smooth < 0, scaling["factor"], np.where(smooth > 1, 1.0, blend))


def _pairs_together(matrix, heads):
    """Halves of a head become neighbours, as GGUF files of llama have them."""
    rows, cols = matrix.shape
    return matrix.view(heads, 2, rows // heads // 2, cols).transpose(1, 2).reshape(rows, cols).contiguous()


def _from_folder(path):
    from safetensors.torch import load_file
    try:
        with open(os.path.join(path, "config.json"), encoding="utf-8") as file:
            config = json.load(file)
    except (OSError, ValueError) as problem:
        raise Fault(f"{path}: config.json cannot be read ({problem})") from problem
    if config.get("model_type") != "llama" or config.get("attention_bias") or config.get("mlp_bias"):
        raise Fault(f"{path}: the model is no plain llama, which is all that can be converted")
    files = sorted(os.path.join(path, n) for n in os.listdir(path) if n.endswith(".safetensors"))
    weights = {}
    for name in files:
        weights.update(load_file(name))

    def tensor(name):
        if name not in weights:
            raise Fault(f"{path}: the tensor {name} is missing")
        return weights[name].float()

    heads, width = config["num_attention_heads"], config["hidden_size"]
    head_dim = config.get("head_dim") or width // heads
    kv_heads = config.get("num_key_value_heads", heads)
    rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
    theta = config.get("rope_theta") or rope.get("rope_theta", 10000.0)
    kind = rope.get("rope_type", rope.get("type", "default"))
    if kind not in ("default", "llama3"):
        raise Fault(f"{path}: rotary positions scaled by {kind} are not supported")
    plain = _frequencies(theta, head_dim)
    factors = _llama3_factors(rope, plain) if kind == "llama3" else None
    shape = Shape(os.path.basename(os.path.normpath(path)), config["num_hidden_layers"], width, heads, kv_heads,
                  head_dim, config["rms_norm_eps"], config["max_position_embeddings"],
                  _frequencies(theta, head_dim, factors))
    base = Base(shape, hash_files(files))
    base.embedding = tensor("model.embed_tokens.weight")
    base.output = tensor("lm_head.weight") if "lm_head.weight" in weights and \
        not config.get("tie_word_embeddings") else base.embedding
    base.output_norm = tensor("model.norm.weight")

    def take(layer, role):
        matrix = tensor(f"model.layers.{layer}.{HF_NAMES[role]}.weight")
        count = {"attn_q": heads, "attn_k": kv_heads}.get(role)
        return _pairs_together(matrix, count) if count else matrix

    return _finish(base, take)
