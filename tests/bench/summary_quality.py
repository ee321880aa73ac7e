#!/usr/bin/env python3
"""Measures summaries without a judge: loops, coverage, support, copying, closeness to an author's abstract.
SPDX-License-Identifier: Apache-2.0

usage: summary_quality.py [--longleaf PROGRAM] [--model FILE] [--words N] [--abstract FILE] TEXT...

Runs `longleaf sum --json` with the model and with key sentences only, and prints one row for each. The texts are
the caller's: use ones nobody has tuned on. What the columns say:
  words       of the short summary
  loop        share of its 4-word runs that came before (0 is good)
  tenths      share of the tenths of the text that a sentence of the summary rests on
  unsupported numbers and capitalised words, inside sentences, that the text does not hold
  quoted      share of its sentences taken word for word
  windows     parts of the outline with at least one sentence of the model's own that passed the checks
  rouge2      share of the abstract's word pairs found in the summary (with --abstract only)
"""
import argparse
import json
import re
import subprocess


def words(text):
    return re.findall(r"[A-Za-z0-9À-ÿ]+(?:['’-][A-Za-z0-9]+)*", text)


def loop_rate(text):
    w = [x.lower() for x in words(text)]
    runs = [tuple(w[i:i + 4]) for i in range(len(w) - 3)]
    return 1 - len(set(runs)) / len(runs) if runs else 0.0


def rouge2(summary, abstract):
    def pairs(text):
        w = [x.lower() for x in words(text)]
        return list(zip(w, w[1:]))
    wanted, have = pairs(abstract), set(pairs(summary))
    return sum(p in have for p in wanted) / len(wanted) if wanted else 0.0


def unsupported(sentences, source):
    known = {x.lower() for x in words(source)}
    missing = []
    for s in sentences:
        for i, w in enumerate(words(s["text"])):
            if (any(c.isdigit() for c in w) or (i and w[0].isupper())) and w.lower() not in known:
                if not all(p.lower() in known for p in re.split(r"[-']", w)):
                    missing.append(w)
    return missing


def run(arguments, text, method):
    command = [arguments.longleaf, "sum", "--json", "--length", str(arguments.words), "--method", method]
    if arguments.model:
        command += ["-m", arguments.model]
    done = subprocess.run(command + [text], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def row(arguments, text, method, source, abstract):
    result = run(arguments, text, method)
    sentences, outline = result["sentences"], result["outline"]
    spoken = " ".join(s["text"] for s in sentences)
    size = result["coverage"]["document_bytes"]
    tenths = {min(9, 10 * s["bytes"][0] // size) for s in sentences}
    parts = [n for n in outline if n["level"] == 0]
    own = len(parts) - result["stats"]["fallbacks"] if method != "extractive" else 0
    name = text.rsplit("/", 1)[-1]
    missing = unsupported(sentences, source)
    print(f"{name:<20} {method:<11} {len(words(spoken)):>5} {loop_rate(spoken):>6.3f} {len(tenths) / 10:>6.1f} "
          f"{len(missing):>11} {sum(s['quoted'] for s in sentences) / len(sentences):>7.2f} {own:>4}/{len(parts):<4} "
          f"{result['stats']['looped']:>6} " + (f"{rouge2(spoken, abstract):>6.2f} " if abstract else "     - ") +
          f"{result['stats']['seconds']:>7.1f}" + (f"  {missing}" if missing else ""), flush=True)
    if arguments.show:
        print("\n" + result["summary"] + "\n", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--longleaf", default="./longleaf")
    parser.add_argument("--model")
    parser.add_argument("--words", type=int, default=350)
    parser.add_argument("--abstract", help="a file with the author's own abstract, removed from the text")
    parser.add_argument("--show", action="store_true", help="print the summaries too")
    parser.add_argument("--method", action="append", help="default: auto and extractive")
    parser.add_argument("texts", nargs="+")
    arguments = parser.parse_args()
    abstract = open(arguments.abstract, encoding="utf-8").read() if arguments.abstract else ""
    print(f"{'text':<20} {'method':<11} words   loop tenths unsupported  quoted  windows  looped rouge2 seconds")
    for text in arguments.texts:
        with open(text, encoding="utf-8", errors="replace") as file:
            source = file.read()
        for method in arguments.method or ["auto", "extractive"]:
            row(arguments, text, method, source, abstract)


if __name__ == "__main__":
    main()
