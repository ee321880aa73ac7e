"""Perplexity by position on held-out documents: the base, the student, and both in fresh windows.
SPDX-License-Identifier: Apache-2.0"""
import json
import math

import torch

from .loss import surprise
from .text import read_held

FIRST_EDGE = 512


def edges_up_to(length):
    edges = [0, min(FIRST_EDGE, length)]
    while edges[-1] < length:
        edges.append(min(2 * edges[-1], length))
    return edges


def _whole(hidden, output, row):
    return surprise(hidden[0, :-1], output, row[0, 1:])


def _windows(passes, output, row, window):
    """Every token past the first window has half a window to a whole one before it."""
    parts, half = [], window // 2
    for first in range(0, row.shape[1] - window + 1, half):
        piece = row[:, first:first + window]
        nats = _whole(passes(piece), output, piece)
        parts.append(nats if first == 0 else nats[half - 1:])
    return torch.cat(parts)


@torch.no_grad()
def evaluate(runner, folder, length, window, say, teacher_whole=True):
    """Rows of `length` tokens from the middle of each held-out document that is as long."""
    output, documents = runner.base.output, {}
    edges = edges_up_to(length)
    ways = {"base": lambda r: _whole(runner.teacher_whole(r), output, r),
            "base in windows": lambda r: _windows(runner.teacher_whole, output, r, window),
            "student": lambda r: _whole(runner.pupil(r), output, r),
            "student in windows": lambda r: _windows(runner.pupil, output, r, window)}
    if not teacher_whole:
        ways.pop("base")
    for name, tokens in read_held(folder).items():
        if len(tokens) < length:
            say(f"{name} has {len(tokens)} tokens, fewer than {length}, and is left out")
            continue
        at = (len(tokens) - length) // 2
        row = torch.from_numpy(tokens[at:at + length].astype("int64"))[None].to(runner.device)
        documents[name] = {}
        for way, measure in ways.items():
            nats = measure(row)
            documents[name][way] = [float(nats[a:b].mean()) if len(nats[a:b]) else math.nan
                                    for a, b in zip(edges[:-1], edges[1:])]
        say(f"measured on {name}")
    mean = {way: [sum(d[way][i] for d in documents.values()) / len(documents) for i in range(len(edges) - 1)]
            for way in ways} if documents else {}
    return {"edges": edges, "window": window, "documents": documents, "mean": mean}


def proven_length(results, allowed=1.05):
    """Up to where one pass is no more than `allowed` times as bad as the student's own fresh windows."""
    proven = 0
    mean = results["mean"]
    if not mean:
        return 0
    for edge, whole, fresh in zip(results["edges"][1:], mean["student"], mean["student in windows"]):
        if not math.exp(whole - fresh) <= allowed:
            break
        proven = edge
    return proven


def table_of(results):
    edges = results["edges"]
    lines = ["| position | " + " | ".join(f"{a}–{b}" for a, b in zip(edges[:-1], edges[1:])) + " |",
             "|---|" + "---|" * (len(edges) - 1)]
    for way, nats in results["mean"].items():
        lines.append(f"| {way} | " + " | ".join(f"{math.exp(v):.2f}" for v in nats) + " |")
    return "\n".join(lines)


def save_results(path, results):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(results, file, indent=2)
        file.write("\n")
