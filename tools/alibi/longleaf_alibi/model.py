"""The layers of base and student, and the student's low-rank factors.
SPDX-License-Identifier: Apache-2.0"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

from .attention import alibi_attention, blocks, rotary_attention, rotary_table
from .base import MATRICES, NORMS


def heads_of(x, weight, heads):
    rows, tokens, _ = x.shape
    return F.linear(x, weight).view(rows, tokens, heads, -1).transpose(1, 2)


def _feed_forward(x, norm, gate, up, down, eps):
    y = F.rms_norm(x, (x.shape[-1],), norm.to(x.dtype), eps)
    return x + F.linear(F.silu(F.linear(y, gate)) * F.linear(y, up), down)


def _joined(z, weight):
    return F.linear(z.transpose(1, 2).flatten(2), weight)


def rotary_mix(y, w, cos, sin, shape):
    q, k, v, o = (w[n].to(y.dtype) for n in MATRICES)
    return _joined(rotary_attention(heads_of(y, q, shape.heads), heads_of(y, k, shape.kv_heads),
                                    heads_of(y, v, shape.kv_heads), cos, sin), o)


def rotary_block(x, w, cos, sin, shape):
    y = F.rms_norm(x, (shape.width,), w["attn_norm"].to(x.dtype), shape.eps)
    x = x + rotary_mix(y, w, cos, sin, shape)
    return _feed_forward(x, w["ffn_norm"], w["ffn_gate"], w["ffn_up"], w["ffn_down"], shape.eps)


def _changed(w, factors, dtype):
    return [(w[n] + factors[n + ".b"] @ factors[n + ".a"]).to(dtype) for n in MATRICES]


def alibi_mix(y, w, factors, slopes, mask, shape):
    q, k, v, o = _changed(w, factors, y.dtype)
    return _joined(alibi_attention(heads_of(y, q, shape.heads), heads_of(y, k, shape.kv_heads),
                                   heads_of(y, v, shape.kv_heads), slopes, mask), o)


def alibi_block(x, w, factors, slopes, mask, shape):
    norm = (w["attn_norm"] + factors["attn_norm"]).to(x.dtype)
    x = x + alibi_mix(F.rms_norm(x, (shape.width,), norm, shape.eps), w, factors, slopes, mask, shape)
    return _feed_forward(x, w["ffn_norm"] + factors["ffn_norm"], w["ffn_gate"], w["ffn_up"], w["ffn_down"],
                         shape.eps)


def match_block(x, w, factors, cos, sin, slopes, mask, shape):
    """The base's layer on its own input, and the squared error of the student's attention on that input,
    as a share of the output's squares. The first four tokens, which the base attends to when idle, do not
    count."""
    with torch.no_grad():
        y = F.rms_norm(x, (shape.width,), w["attn_norm"].to(x.dtype), shape.eps)
        wanted = rotary_mix(y, w, cos, sin, shape)
        after = _feed_forward(x + wanted, w["ffn_norm"], w["ffn_gate"], w["ffn_up"], w["ffn_down"], shape.eps)
        wanted = wanted[:, 4:].float()
    given = alibi_mix(y, w, factors, slopes, mask, shape)[:, 4:].float()
    return after, (given - wanted).square().mean() / wanted.square().mean()


class Student(nn.Module):
    """What changes of the base: factors b·a of the attention matrices and additions to the norms."""

    def __init__(self, base, table, ranks, seed=0):
        super().__init__()
        draw = torch.Generator().manual_seed(seed)
        device = base.output_norm.device
        self.table = table
        self.slopes = torch.tensor(table, dtype=torch.float32, device=device)
        self.layers = nn.ModuleList()
        for layer in base.layers:
            factors = nn.ParameterDict()
            for name in MATRICES:
                outputs, inputs = layer[name].shape
                rank = min(ranks[name], outputs, inputs)
                first = torch.randn(rank, inputs, generator=draw) * inputs ** -0.5
                factors[name + "|a"] = nn.Parameter(first.to(device))
                factors[name + "|b"] = nn.Parameter(torch.zeros(outputs, rank, device=device))
            for name in NORMS:
                factors[name] = nn.Parameter(torch.zeros_like(layer[name]))
            self.layers.append(factors)
        self.output_norm = nn.Parameter(torch.zeros_like(base.output_norm))

    def factors(self, index):
        return {name.replace("|", "."): value for name, value in self.layers[index].items()}


class Runner:
    """Both models' passes over rows of tokens; compiled on a card."""

    def __init__(self, base, student, teach, recompute=False):
        self.base, self.student, self.teach, self.recompute = base, student, teach, recompute
        self.device = base.embedding.device
        self.dtype = base.embedding.dtype
        self.card = self.device.type == "cuda"
        compiled = (lambda f: torch.compile(f, dynamic=False)) if self.card else (lambda f: f)
        if self.card:
            torch._dynamo.config.recompile_limit = 128
            torch.set_float32_matmul_precision("high")
        self.rotary_block, self.alibi_block = compiled(rotary_block), compiled(alibi_block)
        self.match_block = compiled(match_block)
        self.masks = {}

    def mask(self, layer, tokens):
        if not self.card:
            return None
        key = (tokens, tuple(self.student.table[layer]))
        if key not in self.masks:
            self.masks = {k: m for k, m in self.masks.items() if k[0] == tokens}
            self.masks[key] = blocks(self.student.slopes[layer], tokens)
        return self.masks[key]

    @torch.no_grad()
    def teacher_whole(self, tokens):
        shape = self.base.shape
        cos, sin = rotary_table(shape, tokens.shape[1], self.device, self.dtype)
        x = F.embedding(tokens, self.base.embedding)
        for layer in self.base.layers:
            x = self.rotary_block(x, layer, cos, sin, shape)
        return F.rms_norm(x, (shape.width,), self.base.output_norm.to(x.dtype), shape.eps)

    def teacher(self, tokens):
        """Rows longer than the teacher may see go through windows that overlap by half."""
        window, length = self.teach, tokens.shape[1]
        if length <= window:
            return self.teacher_whole(tokens)
        rows = tokens.unfold(1, window, window // 2)
        hidden = torch.cat([self.teacher_whole(rows[:, i]).unsqueeze(1) for i in range(rows.shape[1])], 1)
        return torch.cat([hidden[:, 0], hidden[:, 1:, window // 2:].flatten(1, 2)], 1)

    def pupil(self, tokens):
        shape = self.base.shape
        x = F.embedding(tokens, self.base.embedding)
        for i, layer in enumerate(self.base.layers):
            arguments = (layer, self.student.factors(i), self.student.slopes[i], self.mask(i, tokens.shape[1]),
                         shape)
            if self.recompute and torch.is_grad_enabled():
                x = checkpoint(self.alibi_block, x, *arguments, use_reentrant=False)
            else:
                x = self.alibi_block(x, *arguments)
        norm = (self.base.output_norm + self.student.output_norm).to(x.dtype)
        return F.rms_norm(x, (shape.width,), norm, shape.eps)
