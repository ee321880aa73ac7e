#!/usr/bin/env python3
"""Planted facts asked for: how many are found, how many questions without an answer are refused.
SPDX-License-Identifier: Apache-2.0

usage: questions.py [--longleaf PROGRAM] [--model FILE] [--seed N] [--rounds N] [--tune] [--peer] TEXT...

Plants ten invented facts in each text (see facts.py) and asks `longleaf ask` for each in its own words and in
others; for what the text says nothing about, and for things it never names. No model judges: an answer is right
when it holds the fact's name, number or word, a quote when it is the planted sentence. Columns:
  exact, loose      right answers of 10 in the fact's own words, and in others (any word of it beside its name)
  quoted            of those: the first quote is the planted sentence, at its bytes
  top3              facts whose window is among the first three of the ranking, over both kinds of question
  absent, foreign   questions refused of 10 about a named thing of which this is not said, and about no such thing
With --peer the whole text is put before llama-cpp-python, as people do, and asked the same.
"""
import argparse
import json
import os
import random
import re
import subprocess
import tempfile

import facts as invented


def read_objects(text):
    decoder, at, found = json.JSONDecoder(), 0, []
    while at < len(text):
        value, end = decoder.raw_decode(text, at)
        found.append(value)
        at = end
        while at < len(text) and text[at].isspace():
            at += 1
    return found


def ask(arguments, path, questions):
    command = [arguments.longleaf, "ask", path, "--json", "--no-cache"]
    if arguments.model:
        command += ["-m", arguments.model]
    for option in arguments.option or []:
        command += option.split()
    for q in questions:
        command += ["-q", q]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 7):
        raise SystemExit(done.stderr)
    return read_objects(done.stdout)


def locate(arguments, path, planted):
    """Bytes are those of the text a model is given, which may differ from the file's."""
    done = subprocess.run([arguments.longleaf, "text", path], capture_output=True, check=True)
    folded = done.stdout
    for fact in planted:
        words = [re.escape(w) for w in fact.sentence.encode().split()]
        found = re.search(rb"\s+".join(words), folded)
        fact.at = found.start() if found else fact.at
    return len(folded)


def holds(window, fact):
    return window["bytes"][0] <= fact.at < window["bytes"][1]


class Tally:
    def __init__(self):
        self.right = {"exact": 0, "loose": 0}
        self.quoted = {"exact": 0, "loose": 0}
        self.top = self.facts = self.asked = 0
        self.refused = {"absent": 0, "foreign": 0}
        self.depths = [[0, 0] for _ in range(10)]
        self.generated = 0
        self.seconds = 0.0

    def add(self, kind, fact, result, size, show):
        good = fact.answered_by(result["answer"])
        first = result["quotes"][0] if result["quotes"] else None
        quoted = bool(first) and first["bytes"][0] <= fact.at < first["bytes"][1]
        self.right[kind] += good
        self.quoted[kind] += quoted
        self.top += any(holds(w, fact) for w in result["windows"][:3])
        self.asked += 1
        self.generated += result["generated"]
        self.seconds += result["stats"]["seconds"]
        decile = self.depths[min(9, 10 * fact.at // size)]
        decile[0] += good
        decile[1] += 1
        if show and not good:
            rank = next((i + 1 for i, w in enumerate(result["windows"]) if holds(w, fact)), 0)
            print(f"   {kind}: {result['question']}\n      fact   {fact.sentence} (window ranked {rank})\n"
                  f"      answer {result['answer']} ({result['reason']}; {result['windows'][0]['reply']!r})")

    def refuse(self, kind, result, show):
        self.refused[kind] += not result["found"]
        if show and result["found"]:
            print(f"   {kind} not refused: {result['question']}\n      answer {result['answer']}")


def peer_right(arguments, model, text, planted, kind):
    right = 0
    for fact in planted:
        question = getattr(fact, kind)
        reply = model.create_chat_completion(
            [{"role": "user", "content": f"{text}\n\n{question} Answer in one short sentence."}],
            max_tokens=48, temperature=0)["choices"][0]["message"]["content"]
        right += fact.answered_by(reply)
    return right


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--longleaf", default="./longleaf")
    parser.add_argument("--model")
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "big"))
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--tune", action="store_true", help="the templates that thresholds were set on")
    parser.add_argument("--peer", action="store_true")
    parser.add_argument("--show", action="store_true", help="print what went wrong")
    parser.add_argument("--option", action="append", help="more options for longleaf ask")
    parser.add_argument("texts", nargs="+")
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}")
    print(f"{'text':<22} exact loose  quoted     top3  absent foreign generated s/question")
    draw, all_depths = random.Random(arguments.seed), [[0, 0] for _ in range(10)]
    sums = [0] * 8
    for path in arguments.texts:
        with open(path, encoding="utf-8", errors="replace") as file:
            original = file.read()
        for _ in range(arguments.rounds):
            planted = invented.draw_facts(draw, 10, arguments.tune)
            text = invented.plant(draw, original, planted)
            with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8", delete=False) as file:
                file.write(text)
            tally, size = Tally(), locate(arguments, file.name, planted)
            kinds = ["exact", "loose", "absent", "foreign"]
            results = ask(arguments, file.name, [getattr(f, k) for k in kinds for f in planted])
            os.unlink(file.name)
            for i, result in enumerate(results):
                kind, fact = kinds[i // len(planted)], planted[i % len(planted)]
                if kind in ("exact", "loose"):
                    tally.add(kind, fact, result, size, arguments.show)
                else:
                    tally.refuse(kind, result, arguments.show)
            row = [tally.right["exact"], tally.right["loose"], tally.quoted["exact"], tally.quoted["loose"], tally.top,
                   tally.asked, tally.refused["absent"], tally.refused["foreign"]]
            sums = [a + b for a, b in zip(sums, row)]
            print(f"{os.path.basename(path):<22} {row[0]:>5} {row[1]:>5}  {row[2]:>2}, {row[3]:>2}  "
                  f"{row[4]:>3}/{row[5]:<3}  {row[6]:>5}  {row[7]:>5}  {tally.generated:>5}/{tally.asked:<5}"
                  f"{tally.seconds / tally.asked:>7.2f}", flush=True)
            for i in range(10):
                all_depths[i] = [all_depths[i][0] + tally.depths[i][0], all_depths[i][1] + tally.depths[i][1]]
            if arguments.peer:
                import llama_cpp
                model = llama_cpp.Llama(arguments.model, n_ctx=0, verbose=False)
                print(f"{'  peer, whole text':<22} {peer_right(arguments, model, text, planted, 'exact'):>5} "
                      f"{peer_right(arguments, model, text, planted, 'loose'):>5}", flush=True)
    runs = len(arguments.texts) * arguments.rounds
    print(f"{'mean of 10':<22} {sums[0] / runs:>5.1f} {sums[1] / runs:>5.1f}  {sums[2] / runs:.1f}, {sums[3] / runs:.1f}  "
          f"top3 {100 * sums[4] / sums[5]:.1f} %  absent {sums[6] / runs:.1f}  foreign {sums[7] / runs:.1f}")
    print("right by depth decile: " + " ".join(f"{a}/{b}" for a, b in all_depths))


if __name__ == "__main__":
    main()
