"""MPT in double precision with NumPy, slopes included: the truth where transformers is wrong.
SPDX-License-Identifier: Apache-2.0

transformers 5.24 ignores alibi_bias_max (always 8), so it is no reference for storywriter (16). With 8
both agree to 1e-12, which make_vectors.py asserts.
"""
import math

import numpy as np


def slopes(heads, bias_max):
    """Press's rule: the powers of a whole power of two, then every second one of the next."""
    whole = 2 ** math.floor(math.log2(heads))
    first = [2.0 ** (-bias_max / whole * (h + 1)) for h in range(min(heads, whole))]
    rest = [2.0 ** (-bias_max / (2 * whole) * (2 * h + 1)) for h in range(heads - whole)]
    return np.array(first + rest)


def layer_norm(x, weight):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred ** 2).mean(axis=-1, keepdims=True) + 1e-5) * weight


def gelu(x):
    return 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def attention(x, qkv, out, heads, bias_max, clip):
    rows, width = x.shape
    fused = x @ qkv.T
    if clip is not None:
        fused = np.clip(fused, -clip, clip)
    q, k, v = (part.reshape(rows, heads, -1).swapaxes(0, 1) for part in np.split(fused, 3, axis=1))
    distance = np.arange(rows)[:, None] - np.arange(rows)[None, :]
    scores = q @ k.swapaxes(1, 2) / math.sqrt(width // heads)
    scores = scores - slopes(heads, bias_max)[:, None, None] * distance
    scores = np.where(distance >= 0, scores, -np.inf)
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares /= shares.sum(axis=-1, keepdims=True)
    return (shares @ v).swapaxes(0, 1).reshape(rows, width) @ out.T


def mpt_logits(tensors, layers, heads, bias_max, clip, tokens):
    """[tokens, vocabulary]; tensors by their names in the GGUF file."""
    x = tensors["token_embd.weight"][tokens]
    for i in range(layers):
        layer = {name.split(".", 2)[2]: t for name, t in tensors.items() if name.startswith(f"blk.{i}.")}
        x = x + attention(layer_norm(x, layer["attn_norm.weight"]), layer["attn_qkv.weight"],
                          layer["attn_output.weight"], heads, bias_max, clip)
        inner = gelu(layer_norm(x, layer["ffn_norm.weight"]) @ layer["ffn_up.weight"].T)
        x = x + inner @ layer["ffn_down.weight"].T
    return layer_norm(x, tensors["output_norm.weight"]) @ tensors["token_embd.weight"].T
