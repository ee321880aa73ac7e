#!/usr/bin/env python3
"""Perplexity by position for a base, what stretches it, and its ALiBi adapter, measured by longleaf alone.
SPDX-License-Identifier: Apache-2.0

Prints the Markdown table of docs/alibi.md and, with --commands, the commands it runs."""
import argparse
import json
import math
import shlex
import subprocess
import sys
import tempfile

STEP = 512


def ways_of(options):
    """Name, options of longleaf ppl, and the tokens that a pass sees."""
    length, window = options.length, options.window
    factor = max(1.0, length / options.trained)
    base = ["-m", options.base]
    yield "rotary, one pass", base, length
    if factor > 1:
        scaled = ["--rope-factor", f"{factor:g}", "--rope-original", str(options.trained)]
        yield f"rotary, YaRN × {factor:g}", base + ["--rope-scaling", "yarn"] + scaled, length
        yield f"rotary, base of the angles × {factor:g} (NTK)", base + [
            "--rope-base", f"{options.theta * factor ** (options.head / (options.head - 2)):.0f}"], length
    yield f"rotary, sliding window of {window}", base + [
        "--set-meta", f"llama.attention.sliding_window=u32:{window}"], length
    yield f"rotary, fresh windows of {window}", base, window
    if options.alibi:
        yield "ALiBi, one pass", ["-m", options.alibi], length
        yield f"ALiBi, fresh windows of {window}", ["-m", options.alibi], window


def run(program, arguments, show):
    command = [program, "ppl", "--json", "-q", "--no-log", *arguments]
    if show:
        print("$ " + shlex.join(command), file=sys.stderr)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{shlex.join(command)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def edges_up_to(length):
    edges = [0, STEP]
    while edges[-1] < length:
        edges.append(min(2 * edges[-1], length))
    return edges


def beginnings(program, model, path, lengths):
    """The document's first so many tokens as text, for each length."""
    done = subprocess.run([program, "tokens", "-m", model, "--json", path], capture_output=True, check=True)
    tokens = [bytes(token["bytes"]) for token in json.loads(done.stdout)["tokens"][:max(lengths)]]
    if len(tokens) < max(lengths):
        sys.exit(f"{path} has {len(tokens)} tokens; give --length less, or a longer document")
    return {length: b"".join(tokens[:length]).decode("utf-8", "ignore") for length in lengths}


def by_position(measured, edges):
    """Octaves out of equal groups."""
    sums = [[0.0, 0] for _ in edges[1:]]
    for group in measured["buckets"]:
        at = next(i for i, edge in enumerate(edges[1:]) if group["first"] < edge)
        if group["tokens"]:
            sums[at][0] += math.log(group["perplexity"]) * group["tokens"]
            sums[at][1] += group["tokens"]
    return [math.exp(total / count) if count else math.nan for total, count in sums]


def windows_by_position(options, way, texts, edges):
    """Fresh windows know no position in the document: the difference of ever longer beginnings gives it."""
    nats = []
    for last in edges[1:]:
        with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
            file.write(texts[last])
            file.flush()
            measured = run(options.program, [*way, "-c", str(options.window), "--stride", str(options.window // 2),
                                             "--kind", "text", file.name], options.commands)
        nats.append((measured["nats_per_token"] * measured["tokens"], measured["tokens"]))
    parts = [nats[0]] + [(b[0] - a[0], b[1] - a[1]) for a, b in zip(nats, nats[1:])]
    return [math.exp(total / count) if count else math.nan for total, count in parts]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("document")
    parser.add_argument("--program", default="longleaf")
    parser.add_argument("--base", required=True)
    parser.add_argument("--alibi", help="an adapter whose base lies beside it, or a name in the models folder")
    parser.add_argument("--length", type=int, default=16384)
    parser.add_argument("--window", type=int, default=2048)
    parser.add_argument("--trained", type=int, default=8192, help="tokens of the base's training")
    parser.add_argument("--theta", type=float, default=100000.0, help="the base of its rotary angles")
    parser.add_argument("--head", type=int, default=64, help="the size of a head")
    parser.add_argument("--commands", action="store_true")
    options = parser.parse_args()
    edges = edges_up_to(options.length)
    texts = beginnings(options.program, options.base, options.document, edges[1:])
    print("| position | " + " | ".join(f"{a}–{b}" for a, b in zip(edges[:-1], edges[1:])) + " |")
    print("|---|" + "---|" * (len(edges) - 1))
    for name, way, seen in ways_of(options):
        if seen < options.length:
            row = windows_by_position(options, way, texts, edges)
        else:
            with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
                file.write(texts[options.length])
                file.flush()
                measured = run(options.program, [*way, "-c", str(options.length), "--buckets",
                                                 str(options.length // STEP), "--kind", "text", file.name],
                               options.commands)
            row = by_position(measured, edges)
        print(f"| {name} | " + " | ".join(f"{value:.2f}" for value in row) + " |", flush=True)


if __name__ == "__main__":
    main()
