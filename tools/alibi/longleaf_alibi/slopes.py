"""ALiBi's standard slopes, and which head of the base each of them suits best.
SPDX-License-Identifier: Apache-2.0"""
import math

import numpy as np
import torch
import torch.nn.functional as F

from .attention import rotary_table, rotate
from .model import heads_of, rotary_block


def standard_slopes(heads, max_bias=8.0):
    """As the paper gives them: a geometric series, and for other counts than powers of two the odd members of
    the next finer one after it."""
    whole = 1 << (heads.bit_length() - 1)
    return [2.0 ** (-(max_bias / whole) * (h + 1)) if h < whole else
            2.0 ** (-(max_bias / (2 * whole)) * (2 * (h - whole) + 1)) for h in range(heads)]


def assign(cost):
    """The column of each row so that the sum of cost[row][column] is least (Hungarian method)."""
    n = len(cost)
    u, v, match = [0.0] * (n + 1), [0.0] * (n + 1), [0] * (n + 1)
    for row in range(1, n + 1):
        match[0], column = row, 0
        least, way, used = [math.inf] * (n + 1), [0] * (n + 1), [False] * (n + 1)
        while True:
            used[column] = True
            delta, following = math.inf, 0
            for c in range(1, n + 1):
                if used[c]:
                    continue
                reduced = cost[match[column] - 1][c - 1] - u[match[column]] - v[c]
                if reduced < least[c]:
                    least[c], way[c] = reduced, column
                if least[c] < delta:
                    delta, following = least[c], c
            for c in range(n + 1):
                if used[c]:
                    u[match[c]] += delta
                    v[c] -= delta
                else:
                    least[c] -= delta
            column = following
            if match[column] == 0:
                break
        while column:
            match[column] = match[way[column]]
            column = way[column]
    result = [0] * n
    for c in range(1, n + 1):
        result[match[c] - 1] = c - 1
    return result


def _divergences(shape, query, key, slopes):
    """[heads, slopes]: of the base's attention without its first token from softmax(q·k - slope·distance)."""
    rows, heads, tokens, _ = query.shape
    device = query.device
    cos, sin = rotary_table(shape, tokens, device, torch.float32)
    i, j = torch.arange(tokens, device=device)[:, None], torch.arange(tokens, device=device)[None]
    seen, distance = (i >= j) & (j >= 1), (i - j).clamp(min=0).float()
    scale, group = 1.0 / math.sqrt(shape.head_dim), heads // key.shape[1]
    cost = np.zeros((heads, len(slopes)))
    for h in range(heads):
        k = key[:, h // group]
        scores = rotate(query[:, h], cos, sin) @ rotate(k, cos, sin).transpose(1, 2) * scale
        weight = scores.masked_fill(i < j, -math.inf).softmax(-1) * seen
        mass = weight.sum(-1, keepdim=True)
        weight = weight / mass.clamp(min=1e-9)
        mass = mass[..., 0] * (torch.arange(tokens, device=device) >= 2)
        entropy = (weight * weight.clamp(min=1e-20).log()).sum(-1)
        plain = query[:, h] @ k.transpose(1, 2) * scale
        for column, slope in enumerate(slopes):
            guess = (plain - slope * distance).masked_fill(~seen, -1e30).log_softmax(-1)
            divergence = entropy - (weight * guess.clamp(min=-1e4)).sum(-1)
            cost[h, column] = ((divergence * mass).sum() / mass.sum().clamp(min=1e-9)).item()
    return cost


@torch.no_grad()
def fit_slopes(base, tokens):
    """[layers][heads] slopes in the base's own order of heads, and the mean divergence before and after.
    tokens: [rows, tokens] of ordinary text."""
    shape = base.shape
    slopes = standard_slopes(shape.heads)
    cos, sin = rotary_table(shape, tokens.shape[1], tokens.device, torch.float32)
    x, table, plain, fitted = F.embedding(tokens, base.embedding).float(), [], 0.0, 0.0
    for layer in base.layers:
        y = F.rms_norm(x, (shape.width,), layer["attn_norm"], shape.eps)
        query = heads_of(y, layer["attn_q"], shape.heads)
        key = heads_of(y, layer["attn_k"], shape.kv_heads)
        cost = _divergences(shape, query, key, slopes)
        chosen = assign(cost.tolist())
        table.append([slopes[c] for c in chosen])
        plain += float(np.trace(cost)) / shape.heads / shape.layers
        fitted += float(sum(cost[h, c] for h, c in enumerate(chosen))) / shape.heads / shape.layers
        x = rotary_block(x, {n: t.float() for n, t in layer.items()}, cos, sin, shape)
    return table, plain, fitted
