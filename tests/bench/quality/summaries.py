#!/usr/bin/env python3
"""Measures summaries without a judge: loops, coverage, support, copying, closeness to an author's abstract.
SPDX-License-Identifier: Apache-2.0

usage: summaries.py [--longleaf PROGRAM] [--model FILE] [--words N] [--abstract FILE] [--own-abstract] [--made N]
       [--peer] TEXT...

Runs `longleaf sum --json` with the model and with key sentences only, and prints one row for each, and one for
"plain keys": the sentences with the most tf-idf for their length, nothing else. Key facts and abstracts of some
texts are in references.py; with --own-abstract the section "Abstract" of each text is taken out and used. The
means of all texts come last. --made N adds N reports made afresh from --seed. With --peer also
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
import collections
import json
import math
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


def plain_keys(source, limit):
    """The baseline of many papers: tf-idf over the square root of the length, the best until the words are used up."""
    pieces = [" ".join(s.split()) for block in re.split(r"\n\s*\n", source)
              for s in re.split(r"(?<=[.!?])\s+(?=[A-Z\"])", block)]
    pieces = [s for s in pieces if len(words(s)) >= 6 and s[-1] in ".!?\"'"]
    counted = [[w.lower() for w in words(s)] for s in pieces]
    count, among = collections.Counter(w for s in counted for w in s), collections.Counter(
        w for s in counted for w in set(s))
    weight = {w: math.log(1 + n) * math.log(1 + len(pieces) / among[w]) for w, n in count.items()}
    order = sorted(range(len(pieces)), key=lambda i: -sum(weight[w] for w in set(counted[i])) / len(counted[i])**.5)
    taken, used = [], 0
    for i in order:
        if used + len(counted[i]) <= limit:
            taken.append(i)
            used += len(counted[i])
    return [pieces[i] for i in sorted(taken)]


def take_abstract(source):
    """The text without its section "Abstract", and that section; (text, "") when there is none."""
    found = re.search(r"(?m)^(?:#+ *Abstract *\n|Abstract *\n[=-]{4,}\n)(.*?)(?=^(?:#+ |[^\n]+\n[=-]{4,}$)|\Z)",
                      source, re.S)
    return (source[:found.start()] + source[found.end():], found[1].strip()) if found else (source, "")


def print_means(rows):
    print("\nmeans: method, texts, rouge2, loop (most), tenths (least)")
    for method in dict.fromkeys(row[0] for row in rows):
        mine = [row for row in rows if row[0] == method]
        tenths = [float(row[3]) for row in mine if row[3] != "-"]
        rouge = [row[1] for row in mine if row[1] is not None]
        print(f"{method:<11} {len(mine):>3} {sum(rouge) / len(rouge) if rouge else float('nan'):.3f} "
              f"{sum(row[2] for row in mine) / len(mine):.3f} ({max(row[2] for row in mine):.3f}) " +
              (f"{sum(tenths) / len(tenths):.2f} ({min(tenths)})" if tenths else "-"))


ROWS = []


def print_row(name, method, spoken, tenths, missing, quoted, own, looped, abstract, keys, seconds):
    facts = facts_share(spoken, keys)
    ROWS.append((method, rouge2(spoken, abstract) if abstract else None, loop_rate(spoken), tenths))
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
    parser.add_argument("--own-abstract", action="store_true", help="take each text's section of that name out")
    parser.add_argument("--made", type=int, default=0)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "big"))
    parser.add_argument("--peer", action="store_true")
    parser.add_argument("--show", action="store_true", help="print the summaries too")
    parser.add_argument("--method", action="append", help="default: auto and extractive")
    parser.add_argument("texts", nargs="*")
    arguments = parser.parse_args()
    jobs, folder = [], tempfile.mkdtemp()
    for text in arguments.texts:
        name = os.path.basename(text).removesuffix(".txt")
        with open(text, encoding="utf-8", errors="replace") as file:
            source = file.read()
        abstract = references.ABSTRACTS.get(name, "")
        if arguments.abstract:
            with open(arguments.abstract, encoding="utf-8") as file:
                abstract = file.read()
        if arguments.own_abstract:
            source, abstract = take_abstract(source)
            text = os.path.join(folder, os.path.basename(text))
            with open(text, "w", encoding="utf-8") as file:
                file.write(source)
        jobs.append((text, name, source, abstract, references.KEYS.get(name, [])))
    draw = random.Random(arguments.seed)
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
        plain = plain_keys(source, arguments.words)
        missing = unsupported([{"text": s} for s in plain], source)
        print_row(name, "plain keys", " ".join(plain), "-", missing, "1.00", "-", "-", abstract, keys, 0.0)
        if arguments.peer:
            peer_rows(arguments, name, source, abstract, keys)
    print_means(ROWS)


if __name__ == "__main__":
    main()
