"""ALiBi families without a class in transformers, in double precision with NumPy.
SPDX-License-Identifier: Apache-2.0

Written from the published descriptions: Refact (RMSNorm, SwiGLU, one key/value head, ALiBi 8), Baichuan-13B
(as LLaMA, with ALiBi 8 in place of rotary positions; arXiv 2309.10305), Jais (LayerNorm, SwiGLU with biases,
scores divided by the head size; arXiv 2308.16149). Tensors go by their names in the GGUF file.
"""
import numpy as np

from mpt_truth import slopes


def norm(x, weight, bias=None):
    if bias is None:
        return x / np.sqrt((x ** 2).mean(axis=-1, keepdims=True) + 1e-5) * weight
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred ** 2).mean(axis=-1, keepdims=True) + 1e-5) * weight + bias


def linear(x, layer, name):
    return x @ layer[name + ".weight"].T + layer.get(name + ".bias", 0.0)


def attention(x, layer, config):
    rows, size = len(x), config.head_dim
    if config.fused:
        fused = linear(x, layer, "attn_qkv")
        width, narrow = config.heads * size, config.kv_heads * size
        q, k, v = fused[:, :width], fused[:, width:width + narrow], fused[:, width + narrow:]
    else:
        q, k, v = (linear(x, layer, "attn_" + part) for part in "qkv")
    q = q.reshape(rows, config.heads, size).swapaxes(0, 1)
    share = config.heads // config.kv_heads
    k, v = (np.repeat(part.reshape(rows, config.kv_heads, size).swapaxes(0, 1), share, axis=0) for part in (k, v))
    distance = np.arange(rows)[:, None] - np.arange(rows)[None, :]
    scores = q @ k.swapaxes(1, 2) * config.scale - slopes(config.heads, 8)[:, None, None] * distance
    scores = np.where(distance >= 0, scores, -np.inf)
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares /= shares.sum(axis=-1, keepdims=True)
    return linear((shares @ v).swapaxes(0, 1).reshape(rows, -1), layer, "attn_output")


def alibi_logits(tensors, config, tokens):
    """[tokens, vocabulary]."""
    x = tensors["token_embd.weight"][tokens]
    for i in range(config.layers):
        layer = {name.split(".", 2)[2]: t for name, t in tensors.items() if name.startswith(f"blk.{i}.")}
        x = x + attention(norm(x, layer["attn_norm.weight"], layer.get("attn_norm.bias")), layer, config)
        h = norm(x, layer["ffn_norm.weight"], layer.get("ffn_norm.bias"))
        gate = linear(h, layer, "ffn_gate")
        x = x + linear(gate / (1 + np.exp(-gate)) * linear(h, layer, "ffn_up"), layer, "ffn_down")
    x = norm(x, tensors["output_norm.weight"], tensors.get("output_norm.bias"))
    return x @ tensors["output.weight"].T


class Parameter:
    """What fill() needs of a parameter: a shape, and a place for its values."""

    def __init__(self, *shape):
        self.shape, self.data = shape, None


class AlibiModel:
    """The tensors of one such model by their names in the file."""

    def __init__(self, vocabulary, config):
        self.config, self.vocabulary = config, vocabulary

    def double(self):
        return self

    def eval(self):
        return self

    def shapes(self):
        c = self.config
        wide, narrow = c.heads * c.head_dim, c.kv_heads * c.head_dim
        yield "token_embd.weight", (self.vocabulary, c.width)
        yield "output.weight", (self.vocabulary, c.width)
        yield "output_norm.weight", (c.width,)
        for i in range(c.layers):
            parts = {"attn_norm": (c.width,), "ffn_norm": (c.width,), "attn_output": (c.width, wide),
                     "ffn_gate": (c.ffn, c.width), "ffn_up": (c.ffn, c.width), "ffn_down": (c.width, c.ffn)}
            if c.fused:
                parts["attn_qkv"] = (wide + 2 * narrow, c.width)
            else:
                parts |= {"attn_q": (wide, c.width), "attn_k": (narrow, c.width), "attn_v": (narrow, c.width)}
            for name, shape in parts.items():
                yield f"blk.{i}.{name}.weight", shape

    def named_parameters(self):
        for name, shape in self.shapes():
            yield name, Parameter(*shape)
            if self.config.biases and name not in ("token_embd.weight", "output.weight"):
                yield name.replace(".weight", ".bias"), Parameter(shape[0])
