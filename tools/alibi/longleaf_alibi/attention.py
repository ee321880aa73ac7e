"""Attention with rotary positions and with ALiBi, on a graphics card and on the processor.
SPDX-License-Identifier: Apache-2.0

Tensors are [rows, heads, tokens, head_dim]; slopes [heads]. ALiBi's score is q·k/√d - slope·distance."""
import math

import torch
import torch.nn.functional as F

TILE = 512      # queries a step on the processor
BLOCK = 128     # tokens of a block on the card
NEGLIGIBLE = 96  # a bias below minus this leaves a key out on the card, block by block


def rotary_table(shape, tokens, device, dtype):
    frequencies = torch.tensor(shape.frequencies, device=device, dtype=torch.float64)
    angles = torch.arange(tokens, device=device, dtype=torch.float64)[:, None] * frequencies
    return angles.cos().to(dtype), angles.sin().to(dtype)


def rotate(x, cos, sin):
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)


def rotary_attention(q, k, v, cos, sin):
    return F.scaled_dot_product_attention(rotate(q, cos, sin), rotate(k, cos, sin), v, is_causal=True,
                                          enable_gqa=True)


def alibi_bias(slopes, first, count, dtype):
    """[heads, count, first + count]: of the queries from first on, against all keys up to them."""
    i = torch.arange(first, first + count, device=slopes.device)[:, None]
    j = torch.arange(first + count, device=slopes.device)[None]
    bias = -slopes[:, None, None] * (i - j)
    return bias.masked_fill(i < j, -math.inf).to(dtype)


def _tiles(q, k, v, slopes):
    parts = []
    for first in range(0, q.shape[2], TILE):
        count = min(TILE, q.shape[2] - first)
        bias = alibi_bias(slopes, first, count, q.dtype)
        parts.append(F.scaled_dot_product_attention(
            q[:, :, first:first + count], k[:, :, :first + count], v[:, :, :first + count],
            attn_mask=bias[None], enable_gqa=True))
    return parts[0] if len(parts) == 1 else torch.cat(parts, 2)


def alibi_attention(q, k, v, slopes, mask):
    """mask: of blocks(), or None for the processor."""
    if mask is None:
        return _tiles(q, k, v, slopes)
    from torch.nn.attention.flex_attention import flex_attention

    def score(value, row, head, i, j):
        return value - slopes[head] * (i - j)

    return flex_attention(q, k, v, score_mod=score, block_mask=mask, enable_gqa=True)


def _causal(row, head, i, j):
    return i >= j


def blocks(slopes, tokens):
    """The blocks that count for these slopes; tokens is a multiple of BLOCK. Blocks of which every bias is
    below -NEGLIGIBLE are left out whole; a block that straddles the bound is kept whole."""
    from torch.nn.attention.flex_attention import BlockMask
    count = tokens // BLOCK
    i = torch.arange(count, device=slopes.device)[:, None]
    j = torch.arange(count, device=slopes.device)[None]
    nearest = ((i - j) * BLOCK - (BLOCK - 1)).clamp(min=0)
    near = slopes[:, None, None] * nearest < NEGLIGIBLE
    full = near & (i > j)
    edge = (i == j).expand_as(full)

    def lists(kept):
        order = torch.argsort(kept.to(torch.int32), dim=-1, descending=True, stable=True)
        return kept.sum(-1).to(torch.int32)[None], order.to(torch.int32)[None]

    return BlockMask.from_kv_blocks(*lists(edge), *lists(full), BLOCK_SIZE=BLOCK, mask_mod=_causal,
                                    seq_lengths=(tokens, tokens))
