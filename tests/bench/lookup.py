#!/usr/bin/env python3
"""What --lookup gains and costs: the same answers with and without it, in turn in one run.
SPDX-License-Identifier: Apache-2.0

    python3 tests/bench/lookup.py LONGLEAF [MODEL.gguf]

Three tasks: to repeat a text (where a draft comes true), to summarise it, and to write freely (where drafts rarely
do, and are left out after they fail). Both answers must be the same tokens, or nothing is shown. Medians of the
tokens written in a second. It is a measurement, not a test: nothing fails when it is slow.
"""
import json
import statistics
import subprocess
import sys

ROUNDS = 3
TEXT = open("/usr/share/common-licenses/GPL-3", encoding="utf-8").read()[620:2600]
TASKS = [("repeat a text", TEXT + "\n\nRepeat the text above word for word.", "0"),
         ("summarise it", TEXT + "\n\nSummarise the text above.", "0"),
         ("write freely", "Write a long story about a lighthouse keeper.", "0"),
         ("write freely, sampled", "Write a long story about a lighthouse keeper.", "0.8")]


def answer(prompt, temperature, *more):
    model = ["-m", sys.argv[2]] if len(sys.argv) > 2 else []
    done = subprocess.run([sys.argv[1], "run", *model, *more, "-p", prompt, "-n", "200", "--temp", temperature,
                           "--seed", "1", "--no-log", "--quiet", "--json"], capture_output=True, text=True, check=True)
    read = json.loads(done.stdout)
    return read["tokens"], read["timings"]["decode_rate"]


def main():
    for name, prompt, temperature in TASKS:
        plain, ahead = [], []
        for _ in range(ROUNDS):
            tokens, rate = answer(prompt, temperature)
            same, faster = answer(prompt, temperature, "--lookup")
            assert tokens == same, f"{name}: the answers differ"
            plain.append(rate)
            ahead.append(faster)
        a, b = statistics.median(plain), statistics.median(ahead)
        print(f"{name}: {len(tokens)} tokens, {a:.1f} tokens/s, with --lookup {b:.1f}, ratio {b / a:.2f}")


main()
