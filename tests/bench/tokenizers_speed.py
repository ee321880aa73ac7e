"""Tokenising beside the tokenizers library: the same vocabulary and text, one thread each, in turn in one run.
SPDX-License-Identifier: Apache-2.0

    python3 tests/bench/tokenizers_speed.py LIBLONGLEAF.so MODEL.gguf TEXT

Needs the Python packages tokenizers and gguf, and a model whose pre-tokenizer is smollm. The peer is set up from the
model's own vocabulary and merges; both must give the same tokens, or nothing is timed. It is a measurement, not a
test: nothing fails when it is slow.
"""
import ctypes as c
import os
import statistics
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "peer"))
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import gguf
import ours
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

ROUNDS = 7


def strings(reader, key):
    field = reader.fields[key]
    return [bytes(field.parts[i]).decode("utf-8", "surrogateescape") for i in field.data]


def peer(path):
    reader = gguf.GGUFReader(path)
    kind = bytes(reader.fields["tokenizer.ggml.pre"].parts[-1]).decode()
    assert kind == "smollm", f"the pre-tokenizer is {kind}: only smollm is set up here"
    vocabulary = {token: i for i, token in enumerate(strings(reader, "tokenizer.ggml.tokens"))}
    merges = [tuple(merge.split(" ", 1)) for merge in strings(reader, "tokenizer.ggml.merges")]
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)])
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def main():
    library, path, name = sys.argv[1:4]
    text = open(name, encoding="utf-8").read()
    size = len(text.encode())
    engine = ours.Engine(ours.Library(os.path.abspath(library)), 1, "cpu")
    model, theirs = ours.Model(engine, path), peer(path)
    mine, other = model.tokenize(text, False), theirs.encode(text, add_special_tokens=False).ids
    assert mine == other, f"{len(mine)} tokens and {len(other)}: they are not the same"
    raw, out, count = text.encode(), (c.c_int32 * (size + 2))(), c.c_size_t()
    seconds = {"longleaf": [], "tokenizers": []}
    for _ in range(ROUNDS):
        started = time.process_time()
        model.library.call("ll_tokenize", model.handle, raw, c.c_size_t(size), c.c_bool(False), c.c_bool(False), out,
                           c.c_size_t(len(out)), c.byref(count))
        seconds["longleaf"].append(time.process_time() - started)
        started = time.process_time()
        theirs.encode(text, add_special_tokens=False)
        seconds["tokenizers"].append(time.process_time() - started)
    a, b = (statistics.median(seconds[who]) for who in ("longleaf", "tokenizers"))
    print(f"{name}: {size / 1e6:.1f} MB, {len(mine)} tokens, the same from both")
    print(f"longleaf {size / a / 1e6:.1f} MB/s, tokenizers {size / b / 1e6:.1f} MB/s, ratio {b / a:.2f} "
          f"(processor time, one thread each, median of {ROUNDS}; bar 3)")


main()
