#!/usr/bin/env python3
"""longleaf beside llama.cpp: the same model, threads and context, measured in turn in one run.
SPDX-License-Identifier: Apache-2.0

    python3 tests/bench/bench_peer.py --model MODEL.gguf --threads 2

Needs llama-cpp-python (pip install llama-cpp-python==0.3.36, built natively) and liblongleaf.so from the
build folder (--library). Each repetition starts a fresh process of one engine, then of the other
(A-B-A-B ...), so that drifts of the machine meet both. Shown are medians, their ratio (above 1: longleaf
is better) and the range of each. It is a measurement, not a test: nothing fails when it is slow.

Rows: prefill of 512 and 2048 tokens; 128 tokens decoded greedily at depth 16, 512 and 2048; start (a whole
process, from nothing to the first token after a prompt of 20 tokens); peak resident memory of the process
that ran the rows above, and the part of it that came after the interpreter had its modules. --cache q8_0
keeps keys and values in eight bits in both engines. --busy N runs N processes of equal priority beside
each that only count, as a browser or a compiler would.
"""
import argparse
import csv
import json
import os
import resource
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "peer"))

DECODED = 128
START_PROMPT = 20


# ---- one engine, in a process of its own ----------------------------------------------------------

def tokens_for_bench(count, vocabulary):
    """The same ids for both engines, spread over the vocabulary by a fixed rule."""
    state, out = 12345, []
    for _ in range(count):
        state = (state * 1103515245 + 12345) % 2147483648
        out.append(100 + state // 8 % (vocabulary - 200))
    return out


class Ours:
    def __init__(self, arguments):
        import ours
        self.part, self.arguments = ours, arguments

    def open(self):
        a = self.arguments
        self.engine = self.part.Engine(self.part.Library(a.library), a.threads, "cpu")
        self.model = self.part.Model(self.engine, a.model)

    def session(self, context):
        kind = self.part.Q8_0 if self.arguments.cache == "q8_0" else self.part.F16
        return self.part.Session(self.model, context, kind)

    @staticmethod
    def extend(session, tokens):
        session.sync(tokens)

    def name(self):
        return f"longleaf {self.engine.library.version()}, {self.engine.device()}"


class Theirs:
    def __init__(self, arguments):
        import theirs
        self.part, self.arguments = theirs, arguments

    def open(self):
        self.model = self.part.Model(self.arguments.model)

    def session(self, context):
        kind = {"cache_type": self.part.ll.GGML_TYPE_Q8_0} if self.arguments.cache == "q8_0" else {}
        return self.part.Session(self.model, context, self.arguments.threads, **kind)

    @staticmethod
    def extend(session, tokens):
        session.extend(tokens)

    def name(self):
        import llama_cpp
        return f"llama-cpp-python {llama_cpp.__version__}"


def resident():
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize()


def timed(clock, function, *arguments):
    began = clock()
    function(*arguments)
    return clock() - began


def child_speed(engine, arguments):
    before = resident()
    engine.open()
    context = max(arguments.prefill + arguments.depths) + DECODED + 32
    results = {"name": engine.name()}
    clock = time.process_time if arguments.cpu_time else time.perf_counter
    session = engine.session(context)
    engine.extend(session, tokens_for_bench(64, arguments.vocabulary)) # touches every weight once
    session.close()
    for count in arguments.prefill:
        session = engine.session(context)
        tokens = tokens_for_bench(count, arguments.vocabulary)
        results[f"prefill {count}"] = count / timed(clock, engine.extend, session, tokens)
        session.close()
    for depth in arguments.depths:
        session = engine.session(context)
        engine.extend(session, tokens_for_bench(depth, arguments.vocabulary))
        results[f"decode at {depth}"] = DECODED / timed(clock, session.greedy, DECODED)
        session.close()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    results["peak memory"] = peak / 2**20
    results["of it the engine's"] = (peak - before) / 2**20
    return results


def child_start(engine, arguments):
    engine.open()
    session = engine.session(512)
    engine.extend(session, tokens_for_bench(START_PROMPT, arguments.vocabulary))
    session.greedy(1)
    print("first token", flush=True)
    os._exit(0) # closing down is not part of the row


# ---- the runs in turn -------------------------------------------------------------------------------

def busy_seconds():
    """Seconds that all cores together have worked since boot."""
    with open("/proc/stat", encoding="ascii") as stat:
        fields = [int(x) for x in stat.readline().split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")


def run_child(arguments, which, what):
    command = [sys.executable, os.path.abspath(__file__), "--child", which, what, "--model", arguments.model,
               "--library", arguments.library, "--threads", str(arguments.threads),
               "--vocabulary", str(arguments.vocabulary), "--cache", arguments.cache,
               *(["--cpu-time"] if arguments.cpu_time else []),
               "--prefill", *map(str, arguments.prefill), "--depths", *map(str, arguments.depths)]
    counting = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(arguments.busy)]
    busy, own = busy_seconds(), resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    try:
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    finally:
        took = time.perf_counter() - began
        for process in counting:
            process.kill()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - own.ru_utime - own.ru_stime
    others = max(0.0, busy_seconds() - busy - used) / (took * os.cpu_count())
    return out, took, others


def measure(arguments):
    """{engine: {row: [values]}}, the engines' names, and the share of the machine that others used."""
    found, names, others = {"ours": {}, "theirs": {}}, {}, []
    for repetition in range(arguments.repeat):
        for which in ("ours", "theirs"):
            out, _, share = run_child(arguments, which, "speed")
            results = json.loads(out)
            names[which] = results.pop("name")
            _, took, _ = run_child(arguments, which, "start")
            results["start to first token"] = took
            others.append(share)
            for row, value in results.items():
                found[which].setdefault(row, []).append(value)
        print(f"repetition {repetition + 1} of {arguments.repeat} done, others used {others[-1]:.0%}",
              file=sys.stderr, flush=True)
    return found, names, others


UNITS = {"start to first token": "s", "peak memory": "MiB", "of it the engine's": "MiB"}


def summary(found):
    for row in found["ours"]:
        mine, peer = found["ours"][row], found["theirs"][row]
        a, b = statistics.median(mine), statistics.median(peer)
        unit = UNITS.get(row, "tokens/s")
        yield row, unit, a, min(mine), max(mine), b, min(peer), max(peer), a / b if unit == "tokens/s" else b / a


def show(found, names, others, arguments):
    clock = "processor" if arguments.cpu_time else "wall"
    beside = f"beside {arguments.busy} busy processes, " if arguments.busy else ""
    print(f"{names['ours']}\n{names['theirs']}\n{os.path.basename(arguments.model)}, {arguments.threads} threads, "
          f"{arguments.cache} cache, {beside}{arguments.repeat} repetitions, {clock} time; others used {min(others):.0%} to {max(others):.0%} "
          "of the cores")
    print(f"{'':22}{'longleaf':>26}{'llama.cpp':>28}{'ratio':>8}")
    for row, unit, a, low, high, b, peer_low, peer_high, ratio in summary(found):
        mine, peer = f"{a:.4g} ({low:.4g}-{high:.4g})", f"{b:.4g} ({peer_low:.4g}-{peer_high:.4g})"
        print(f"{row:22}{mine:>26}{peer:>28}{ratio:>8.2f}  {unit}")


def write_csv(found, path):
    with open(path, "w", newline="", encoding="ascii") as out:
        rows = csv.writer(out)
        rows.writerow(["row", "unit", "longleaf", "longleaf_min", "longleaf_max", "llama.cpp", "llama.cpp_min",
                       "llama.cpp_max", "ratio"])
        for row, unit, *values in summary(found):
            rows.writerow([row, unit, *(f"{v:.6g}" for v in values)])


def vocabulary_of(model):
    """The count of tokens, asked of llama.cpp in a process of its own."""
    code = ("import sys; sys.path.insert(0, sys.argv[1]); import theirs; print(theirs.Model(sys.argv[2]).size)")
    peer = os.path.join(HERE, "..", "peer")
    return int(subprocess.run([sys.executable, "-c", code, peer, model], check=True, capture_output=True,
                              text=True).stdout)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--library", default=".libs/liblongleaf.so", help="default: .libs/liblongleaf.so")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--prefill", type=int, nargs="+", default=[512, 2048])
    parser.add_argument("--depths", type=int, nargs="+", default=[16, 512, 2048])
    parser.add_argument("--cache", choices=["f16", "q8_0"], default="f16")
    parser.add_argument("--busy", type=int, default=0, metavar="N", help="beside N processes that only count")
    parser.add_argument("--cpu-time", action="store_true",
                        help="speeds by processor time, all threads together: of use on a busy machine, with "
                             "--threads 1 (start stays wall time)")
    parser.add_argument("--csv", help="also write the table here")
    parser.add_argument("--vocabulary", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    arguments = parse()
    if arguments.child:
        which, what = arguments.child
        engine = (Ours if which == "ours" else Theirs)(arguments)
        if what == "start":
            child_start(engine, arguments)
        print(json.dumps(child_speed(engine, arguments)))
        return
    arguments.vocabulary = arguments.vocabulary or vocabulary_of(arguments.model)
    found, names, others = measure(arguments)
    show(found, names, others, arguments)
    if arguments.csv:
        write_csv(found, arguments.csv)


if __name__ == "__main__":
    main()
