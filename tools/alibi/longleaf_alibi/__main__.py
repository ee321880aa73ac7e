"""Turns a rotary model of the llama family into an ALiBi adapter for longleaf: prepare, train, evaluate, export.
SPDX-License-Identifier: Apache-2.0"""
import argparse
import json
import os
import sys
import time

import torch

from . import text as texts
from .adapter import read_adapter, write_adapter
from .base import MATRICES, open_base
from .evaluate import evaluate, proven_length, save_results, table_of
from .fault import Fault
from .model import Runner, Student
from .phases import RECIPE
from .rows import Rows
from .train import Trainer, resume, settings_of, slope_table

UNFINISHED = 3


def say(*words):
    print(time.strftime("%H:%M:%S"), *words, file=sys.stderr, flush=True)


def ranks_of(given):
    """64, or attn_q=96,attn_k=48,… ; 64 for what is not named."""
    try:
        if given.isdigit() and int(given) > 0:
            return dict.fromkeys(MATRICES, int(given))
        ranks = {name: int(value) for name, value in (part.split("=") for part in given.split(","))}
    except ValueError:
        ranks = {"": 0}
    if any(name not in MATRICES or rank < 1 for name, rank in ranks.items()):
        raise Fault(f"“{given}” are no ranks; write 64, or attn_q=96,attn_k=48,attn_v=96,attn_output=128")
    return {**dict.fromkeys(MATRICES, 64), **ranks}


def device_of(options):
    name = options.device or ("cuda" if torch.cuda.is_available() else "cpu")
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise Fault("there is no CUDA device here; leave --device out, or give cpu")
    if options.threads:
        torch.set_num_threads(options.threads)
    return torch.device(name)


def base_of(options):
    device = device_of(options)
    dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
    base = open_base(options.model)
    say(f"{base.shape.name}: {base.shape.layers} layers of {base.shape.heads} heads, on {device}")
    return base.to(device, dtype)


def runner_of(options, base, student):
    return Runner(base, student, options.teach or base.shape.context, getattr(options, "recompute", False))


def load_student(options, base):
    """The student of an adapter, of a run's state, or untrained with the slopes of the state."""
    if options.adapter:
        table, ranks, fill = read_adapter(options.adapter, base)
        student = Student(base, table, ranks)
        fill(student)
        return student
    path = os.path.join(options.out, "state.pt")
    if not os.path.exists(path):
        raise Fault(f"{path} is missing: train first, or name an adapter with --adapter")
    state = torch.load(path, map_location="cpu", weights_only=True)
    student = Student(base, state["table"], ranks_of(state["settings"]["rank"]))
    student.load_state_dict(state["student"])
    return student


def train(options):
    options.end = time.monotonic() + (options.stop_after or 1e12)
    phases = options.phase or RECIPE
    os.makedirs(options.out, exist_ok=True)
    base, rows = base_of(options), Rows(options.tokens, options.seed)
    state = resume(base, rows, phases, options)
    if state is None and options.adapter:
        student = load_student(options, base)
    else:
        table = state["table"] if state else slope_table(base, rows, options, say)
        student = Student(base, table, ranks_of(options.rank), options.seed)
    say(f"{sum(p.numel() for p in student.parameters()):,} numbers to train")
    trainer = Trainer(runner_of(options, base, student), rows, phases, options,
                      settings_of(base, rows, phases, options), say)
    if state:
        trainer.restore(state)
        say(f"going on at step {trainer.at['step']} of phase {trainer.at['phase'] + 1}")
    if trainer.run():
        say("trained")
        return 0
    say("stopped; the state is saved: the same command goes on")
    return UNFINISHED


def measure(options):
    base = base_of(options)
    student = load_student(options, base)
    runner = runner_of(options, base, student)
    results = evaluate(runner, options.tokens[0], options.length, options.window, say)
    results["proven"] = proven_length(results)
    results["bytes"] = os.path.getsize(options.adapter) if options.adapter else None
    results["base"] = base.identity
    save_results(options.results or os.path.join(options.out, "evaluation.json"), results)
    print(table_of(results))
    print(f"\none pass holds up to {results['proven']} tokens (within 5 % of fresh windows of {options.window})")
    return 0


def export(options):
    base = base_of(options)
    student = load_student(options, base)
    proven, evidence = min(2048, base.shape.context), "none: not measured"
    if options.results:
        with open(options.results, encoding="utf-8") as file:
            results = json.load(file)
        if results.get("base") != base.identity:
            raise Fault(f"{options.results} was measured on another base")
        proven = max(1, results["proven"])
        evidence = f"one pass within 5 % of fresh windows of {results['window']} up to {proven} tokens"
    size = write_adapter(options.to, base, student, options.type, proven, evidence,
                         os.path.basename(options.base_file or ("" if os.path.isdir(options.model) else options.model)))
    say(f"{options.to}: {size:,} bytes, proven up to {proven} tokens")
    return 0


def report(options):
    """The curve of size against perplexity, one line for each evaluation."""
    print("| evaluation | bytes | proven | student / base by position |\n|---|---|---|---|")
    for path in options.results:
        with open(path, encoding="utf-8") as file:
            results = json.load(file)
        mean = results["mean"]
        ratio = [f"{2.718281828459045 ** (s - b):.3f}" for s, b in zip(mean["student"], mean["base in windows"])]
        print(f"| {os.path.basename(path)} | {results['bytes'] or '–'} | {results['proven']} | {' '.join(ratio)} |")
    return 0


def common(parser, trains=False):
    parser.add_argument("-m", "--model", required=True, help="the base: a GGUF file or a Hugging Face folder")
    parser.add_argument("--tokens", action="append", help="a folder made by prepare; FOLDER:SHARE to mix several")
    parser.add_argument("--out", default=".", help="the run's folder: state, log, evaluation")
    parser.add_argument("--adapter", help="begin with this adapter instead of the run's state")
    parser.add_argument("--device", help="cpu, cuda or cuda:N (default: the card if there is one)")
    parser.add_argument("--threads", type=int, default=0, help="processor threads")
    parser.add_argument("--teach", type=int, default=0, help="tokens the base sees at once (default: its context)")


def parser_of():
    parser = argparse.ArgumentParser(prog="longleaf-alibi", description=__doc__.split("\n", maxsplit=1)[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    p = verbs.add_parser("prepare", help="documents to tokens")
    p.add_argument("-m", "--model", required=True)
    p.add_argument("--longleaf", default="longleaf", help="the longleaf program, which reads and tokenizes")
    p.add_argument("--out", required=True)
    p.add_argument("--held", action="append", help="a document to hold out; may be given several times")
    p.add_argument("--held-one-in", type=int, default=0, help="hold out one document in N by its content's hash")
    p.add_argument("--end", type=int, default=0, help="the id of the end-of-text token (default 0)")
    p.add_argument("--least", type=int, default=200, help="leave shorter documents out (bytes of text)")
    p.add_argument("--most", type=int, default=0, help="stop after so many tokens")
    p.add_argument("--special", action="store_true", help="control tokens written in the text are such, as in chats")
    p.add_argument("--pack", action="store_true", help="write xz files, for carrying")
    p.add_argument("text", nargs="+", help="files and folders")
    p = verbs.add_parser("train", help="train the adapter; the same command goes on where it was cut")
    common(p)
    p.add_argument("--phase", action="append", help="KIND:ROWSxTOKENS:STEPS|SECONDSs:RATE[..RATE]; several, in "
                   "order (default: " + " ".join(RECIPE) + ")")
    p.add_argument("--rank", default="64", help="of the factors: N, or attn_q=N,attn_k=N,…")
    p.add_argument("--slopes", choices=["fit", "standard"], default="fit")
    p.add_argument("--fit-rows", type=int, default=4)
    p.add_argument("--fit-length", type=int, default=1024)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--every", type=int, default=50, help="steps between lines of the log")
    p.add_argument("--save-every", type=float, default=120.0, help="seconds between states")
    p.add_argument("--stop-after", type=float, default=0.0, help="save and leave with code 3 after so many seconds")
    p.add_argument("--stop-steps", type=int, default=0, help="the same after so many steps")
    p.add_argument("--recompute", action="store_true", help="less memory, about a third slower")
    p = verbs.add_parser("evaluate", help="perplexity by position on held-out text")
    common(p)
    p.add_argument("--length", type=int, default=8192)
    p.add_argument("--window", type=int, default=2048)
    p.add_argument("--results", help="where to write (default: evaluation.json in --out)")
    p = verbs.add_parser("export", help="write the adapter's GGUF file")
    common(p)
    p.add_argument("--to", required=True)
    p.add_argument("--type", choices=["f32", "f16", "q8_0"], default="q8_0")
    p.add_argument("--base-file", help="the base's file name beside the adapter (default: that of -m)")
    p.add_argument("--results", help="an evaluation, which says how far one pass is proven")
    p = verbs.add_parser("report", help="a table of several evaluations")
    p.add_argument("results", nargs="+")
    return parser


def main(arguments=None):
    options = parser_of().parse_args(arguments)
    if options.verb in ("train", "evaluate") and not options.tokens:
        say("name a folder of tokens with --tokens")
        return 2
    try:
        if options.verb == "prepare":
            texts.prepare(options, say)
            return 0
        return {"train": train, "evaluate": measure, "export": export, "report": report}[options.verb](options)
    except Fault as fault:
        say(fault)
        return 1


if __name__ == "__main__":
    sys.exit(main())
