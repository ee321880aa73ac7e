#!/usr/bin/env python3
"""Measures summaries without a judge: loops, coverage, support, copying, closeness to an author's abstract.
SPDX-License-Identifier: Apache-2.0

usage: summaries.py [--longleaf PROGRAM] [--model FILE] [--words N] [--abstract FILE] [--made N] [--peer] TEXT...

Runs `longleaf sum --json` with the model and with key sentences only, and prints one row for each. Key facts and
abstracts of some texts are in references.py; --made N adds N reports made afresh from --seed. With --peer also
llama-cpp-python on the text cut at its context, and on windows of 2,000 tokens one after another, both cut at the
same number of words. What the columns say:
  words       of the short summary
  loop        share of its 4-word runs that came before (0 is good)
  tenths      share of the tenths of the text that a sentence of the summary rests on
  unsupported numbers and capitalised words, inside sentences, that the text does not hold
  quoted      share of its sentences taken word for word
  windows     parts of the outline with at least one sentence of the model's own that passed the checks
  rouge2      share of the abstract's word pairs found in the summary
  facts       share of the key facts found in the summary
"""
import argparse
import json
import os
import random
import re
import subprocess
import tempfile

import references


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


def facts_share(summary, keys):
    return sum(bool(re.search(k, summary)) for k in keys) / len(keys) if keys else None


def print_row(name, method, spoken, tenths, missing, quoted, own, looped, abstract, keys, seconds):
    facts = facts_share(spoken, keys)
    print(f"{name:<16} {method:<11} {len(words(spoken)):>5} {loop_rate(spoken):>6.3f} {tenths:>6} {len(missing):>11} "
          f"{quoted:>7} {own:>9} {looped:>6} {rouge2(spoken, abstract) if abstract else float('nan'):>6.2f} "
          f"{facts if facts is not None else float('nan'):>5.2f} {seconds:>7.1f}" +
          (f"  {missing[:6]}" if missing else ""), flush=True)


def row(arguments, text, name, method, source, abstract, keys):
    result = run(arguments, text, method)
    sentences, outline = result["sentences"], result["outline"]
    spoken = " ".join(s["text"] for s in sentences)
    size = result["coverage"]["document_bytes"]
    tenths = {min(9, 10 * s["bytes"][0] // size) for s in sentences}
    parts = [n for n in outline if n["level"] == 0]
    own = len(parts) - result["stats"]["fallbacks"] if method != "extractive" else 0
    print_row(name, method, spoken, f"{len(tenths) / 10:.1f}", unsupported(sentences, source),
              f"{sum(s['quoted'] for s in sentences) / len(sentences):.2f}", f"{own}/{len(parts)}",
              result["stats"]["looped"], abstract, keys, result["stats"]["seconds"])
    if arguments.show:
        print("\n" + result["summary"] + "\n", flush=True)


def peer_rows(arguments, name, source, abstract, keys):
    import time

    import llama_cpp
    model = llama_cpp.Llama(arguments.model, n_ctx=8192, verbose=False)
    tokens = model.tokenize(source.encode(), add_bos=False)

    def summarise(piece, limit):
        text = model.detokenize(piece).decode(errors="replace")
        return model.create_chat_completion(
            [{"role": "user", "content": text + "\n\nSummarize the text above in 3 sentences."}], temperature=0,
            max_tokens=limit)["choices"][0]["message"]["content"]

    for method in ("truncated", "plain map"):
        began = time.time()
        if method == "truncated":
            spoken = summarise(tokens[:7500], 500)
        else:
            spoken = " ".join(summarise(tokens[i:i + 2000], 120) for i in range(0, len(tokens), 2000))
        spoken = " ".join(spoken.split()[:arguments.words])
        missing = unsupported([{"text": s} for s in re.split(r"(?<=[.!?]) ", spoken)], source)
        print_row(name, method, spoken, "-", missing, "-", "-", "-", abstract, keys, time.time() - began)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--longleaf", default="./longleaf")
    parser.add_argument("--model")
    parser.add_argument("--words", type=int, default=350)
    parser.add_argument("--abstract", help="a file with the author's own abstract, removed from the text")
    parser.add_argument("--made", type=int, default=0)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "big"))
    parser.add_argument("--peer", action="store_true")
    parser.add_argument("--show", action="store_true", help="print the summaries too")
    parser.add_argument("--method", action="append", help="default: auto and extractive")
    parser.add_argument("texts", nargs="*")
    arguments = parser.parse_args()
    jobs = []
    for text in arguments.texts:
        name = os.path.basename(text).removesuffix(".txt")
        with open(text, encoding="utf-8", errors="replace") as file:
            source = file.read()
        abstract = references.ABSTRACTS.get(name, "")
        if arguments.abstract:
            with open(arguments.abstract, encoding="utf-8") as file:
                abstract = file.read()
        jobs.append((text, name, source, abstract, references.KEYS.get(name, [])))
    draw, folder = random.Random(arguments.seed), tempfile.mkdtemp()
    for i in range(arguments.made):
        source, keys, abstract = references.make_report(draw)
        path = os.path.join(folder, f"report{i + 1}.md")
        with open(path, "w", encoding="utf-8") as file:
            file.write(source)
        jobs.append((path, f"report{i + 1}", source, abstract, keys))
    print(f"seed {arguments.seed}\ntext             method      words   loop tenths unsupported  quoted   windows looped "
          "rouge2 facts seconds")
    for path, name, source, abstract, keys in jobs:
        for method in arguments.method or ["auto", "extractive"]:
            row(arguments, path, name, method, source, abstract, keys)
        if arguments.peer:
            peer_rows(arguments, name, source, abstract, keys)


if __name__ == "__main__":
    main()
