#!/usr/bin/env python3
"""The same model in longleaf and in llama.cpp: perplexity, and greedy text of ten prompts. Prints TAP.
SPDX-License-Identifier: Apache-2.0

Perplexity is of fixed public texts found on any Debian, in windows of --context tokens that each start
afresh. Greedy text must be equal, or part where llama.cpp's own two best tokens are nearly level: both
engines round activations, so such places are decided by noise. The reference device (plain loops, no
rounding of activations) says which side the unrounded model takes.
"""
import argparse
import json
import math
import os
import pickle
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "peer"))
import ours

SHARE = 0.005   # of perplexity
LEVEL_GAP = 0.4 # logits between the two tokens where the texts part, in either engine; seen: 0.25
LENGTH = 128
PROMPTS = [
    "The capital of France is",
    "Once upon a time there was a miller who left no more to his three sons than",
    "Water boils at a lower temperature in the mountains because",
    "def fibonacci(n):\n    ",
    "A list of the planets of the solar system:\n1.",
    "Dear Sir or Madam,\n\nI am writing to you about",
    "The main difference between a virus and a bacterium is that",
    "Question: What is 12 times 11?\nAnswer:",
    "<html>\n<head>\n<title>",
    "In the year 1815, after the battle of Waterloo,",
]


def licence():
    with open("/usr/share/common-licenses/GPL-3", encoding="utf-8") as text:
        return text.read()


def scripture():
    """The King James text of the Debian packages bible-kjv and bible-kjv-text, about 8,000 tokens of it."""
    program = shutil.which("bible")
    if not program:
        raise FileNotFoundError("the program bible (Debian package bible-kjv)")
    return subprocess.run([program, "-l79", "genesis1:1-genesis11:32"], check=True, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL).stdout


TEXTS = {"GPL-3": licence, "Genesis 1-11": scripture}


class Tap:
    def __init__(self):
        self.count = self.failed = 0

    def say(self, good, text):
        self.count += 1
        self.failed += not good
        print(f"{'ok' if good else 'not ok'} {self.count} - {text}", flush=True)

    def skip(self, text, why):
        self.count += 1
        print(f"ok {self.count} - {text} # SKIP {why}", flush=True)

    def end(self):
        print(f"1..{self.count}")
        return 1 if self.failed else 0


def windows(tokens, context):
    return [tokens[i:i + context] for i in range(0, len(tokens), context) if len(tokens) - i > 1]


def perplexity(scores):
    """Of windows of scores; the first of each is no prediction."""
    flat = [x for window in scores for x in window[1:]]
    return math.exp(-sum(flat) / len(flat))


def peer_results(arguments):
    """All that is asked of llama.cpp, computed once and kept in --peer-cache when given."""
    key = (os.path.getsize(arguments.model), arguments.context, arguments.prompts, LENGTH)
    if arguments.peer_cache and os.path.exists(arguments.peer_cache):
        with open(arguments.peer_cache, "rb") as kept:
            known, results = pickle.load(kept)
        if known == key:
            return results
    import theirs
    model = theirs.Model(arguments.model)
    session = theirs.Session(model, arguments.context, arguments.threads)
    results = {"texts": {}, "greedy": []}
    for name, read in TEXTS.items():
        try:
            tokens = model.tokenize(read(), True)
        except (OSError, subprocess.CalledProcessError) as reason:
            results["texts"][name] = str(reason)
            continue
        results["texts"][name] = (tokens, [session.score(w) for w in windows(tokens, arguments.context)])
    for prompt in PROMPTS[:arguments.prompts]:
        tokens = model.tokenize(prompt, True)
        session.clear()
        session.extend(tokens)
        results["greedy"].append((tokens, session.greedy(LENGTH)))
    session.close()
    model.close()
    if arguments.peer_cache:
        with open(arguments.peer_cache, "wb") as kept:
            pickle.dump((key, results), kept)
    return results


def compare_perplexity(tap, arguments, model, results):
    session = ours.Session(model, arguments.context)
    for name, found in results["texts"].items():
        title = f"perplexity of {name} is within {SHARE:.1%} of llama.cpp's"
        if isinstance(found, str):
            tap.skip(title, found)
            continue
        tokens, peer_scores = found
        own = model.tokenize(TEXTS[name](), True)
        tap.say(own == tokens, f"{name} becomes the same {len(tokens)} tokens")
        scores = [session.score(w) for w in windows(tokens, arguments.context)]
        mine, peer = perplexity(scores), perplexity(peer_scores)
        apart = sorted(abs(a - b) for w, v in zip(scores, peer_scores) for a, b in zip(w[1:], v[1:]))
        tap.say(abs(mine / peer - 1) <= SHARE, title)
        print(f"# {name}: {mine:.4f} against {peer:.4f} ({mine / peer - 1:+.3%}); a token's log-probability differs "
              f"by {apart[len(apart) // 2]:.4f} at the median, {apart[int(len(apart) * 0.99)]:.3f} at the 99th "
              "percentile")
        compare_program(tap, arguments, name, mine)
    session.close()


def compare_program(tap, arguments, name, mine):
    """longleaf ppl over the same text; its reader may normalise the text, so a little more is allowed."""
    if not arguments.program:
        return
    path = os.path.join(arguments.work, "perplexity-text.txt")
    with open(path, "w", encoding="utf-8") as out:
        out.write(TEXTS[name]())
    done = subprocess.run([arguments.program, "ppl", "--json", "-m", arguments.model, "-c", str(arguments.context),
                           "--stride", str(arguments.context), "--threads", str(arguments.threads), path],
                          capture_output=True, text=True, check=False)
    os.unlink(path)
    title = f"longleaf ppl says the same of {name}"
    if done.returncode:
        tap.say(False, f"{title} (exit {done.returncode}: {done.stderr.strip()[:200]})")
        return
    said = json.loads(done.stdout)["perplexity"]
    tap.say(abs(said / mine - 1) <= SHARE, title)
    print(f"# longleaf ppl: {said:.4f}")


def gap(logits, better, worse):
    return logits[better] - logits[worse]


def explain(arguments, library, model, prompt, mine, peer):
    """Where two texts part, how far apart llama.cpp's logits of both tokens are, and the reference's verdict."""
    import theirs
    at = next(i for i, (a, b) in enumerate(zip(mine, peer)) if a != b)
    prefix = prompt + peer[:at]
    their_model = theirs.Model(arguments.model)
    their_session = theirs.Session(their_model, arguments.context, arguments.threads)
    their_session.extend(prefix)
    their_gap = float(gap(their_session.logits(), peer[at], mine[at]))
    their_session.close()
    their_model.close()
    text = f"parts at token {at}, where llama.cpp puts its token {their_gap:+.3f} logits before ours"
    session = ours.Session(model, arguments.context)
    session.sync(prefix)
    our_gap = gap(session.logits(), mine[at], peer[at])
    text += f", we ours {our_gap:+.3f} before its"
    session.close()
    if arguments.reference:
        engine = ours.Engine(library, 1, "reference")
        plain = ours.Model(engine, arguments.model)
        session = ours.Session(plain, arguments.context, ours.F32)
        session.sync(prefix)
        text += f"; the reference puts ours {gap(session.logits(), mine[at], peer[at]):+.3f} before its"
        for part in (session, plain, engine):
            part.close()
    return max(their_gap, our_gap), text


def compare_greedy(tap, arguments, library, model, results):
    for prompt, (tokens, peer) in zip(PROMPTS, results["greedy"]):
        session = ours.Session(model, arguments.context)
        session.sync(tokens)
        mine = session.greedy(LENGTH)
        session.close()
        title = f"greedy text after {prompt[:40]!r} is llama.cpp's, or parts where two tokens are level"
        if mine == peer:
            tap.say(True, title)
            print(f"# {LENGTH} tokens equal")
            continue
        if len(mine) != len(peer):
            tap.say(False, f"{title}: {len(mine)} tokens came")
            continue
        apart, text = explain(arguments, library, model, tokens, mine, peer)
        tap.say(apart <= LEVEL_GAP, title)
        print("# " + text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True, help="liblongleaf.so to be tried")
    parser.add_argument("--program", help="longleaf, whose ppl is compared as well")
    parser.add_argument("--model", required=True)
    parser.add_argument("--context", type=int, default=2048)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--prompts", type=int, default=len(PROMPTS))
    parser.add_argument("--peer-cache", help="file that keeps llama.cpp's results for the next run")
    parser.add_argument("--peer-only", action="store_true", help="fill --peer-cache and stop")
    parser.add_argument("--reference", action="store_true", help="ask the reference device where texts part (slow)")
    parser.add_argument("--work", default=".", help="folder for a passing text file")
    arguments = parser.parse_args()
    results = peer_results(arguments)
    if arguments.peer_only:
        for name, found in results["texts"].items():
            print(name, found if isinstance(found, str) else f"{len(found[0])} tokens, {perplexity(found[1]):.4f}")
        return 0
    tap = Tap()
    library = ours.Library(arguments.library)
    engine = ours.Engine(library, arguments.threads, "cpu")
    print(f"# longleaf {library.version()}, {engine.device()}")
    model = ours.Model(engine, arguments.model)
    compare_perplexity(tap, arguments, model, results)
    compare_greedy(tap, arguments, library, model, results)
    model.close()
    engine.close()
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
