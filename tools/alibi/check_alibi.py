"""Checks the ALiBi tool on a tiny model: resuming, training, the adapter in the engine, what it refuses.
SPDX-License-Identifier: Apache-2.0

Speaks TAP. The text is drawn anew each time; the seed is printed."""
import argparse
import contextlib
import ctypes
import io
import itertools
import json
import os
import random
import shutil
import subprocess
import sys

import numpy as np
import ours
import torch
import torch.nn.functional as F
from longleaf_alibi.__main__ import main as main_of_tool
from longleaf_alibi.attention import BLOCK, NEGLIGIBLE, alibi_bias, blocks
from longleaf_alibi.base import open_base
from longleaf_alibi.adapter import read_adapter
from longleaf_alibi.evaluate import edges_up_to, proven_length
from longleaf_alibi.loss import Divergence
from longleaf_alibi.model import Runner, Student
from longleaf_alibi.phases import read_phase
from longleaf_alibi.slopes import assign, standard_slopes
from longleaf_alibi.text import read_held, read_tokens

PHASES = ["--phase", "match:4x48:25:1e-2..3e-3", "--phase", "logits:4x48:50:1e-2..1e-3"]
count, failed = 0, 0


def case(good, name, note=""):
    global count, failed
    count += 1
    failed += not good
    print(f"{'ok' if good else 'not ok'} {count} - {name}")
    if note and not good:
        print("\n".join("# " + line for line in str(note).splitlines()[-30:]))
    sys.stdout.flush()


def tool(*arguments, expect=0):
    """In this process: importing PyTorch anew for each would take most of the time."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = main_of_tool(list(arguments))
    if code != expect:
        case(False, f"{arguments[0]} ends with {expect}", f"it ended with {code}\n{said.getvalue()}")
    return said.getvalue()


def write_text(folder, draw):
    words = ["".join(draw.choice("etaoinshrdlu") for _ in range(draw.randint(2, 7))) for _ in range(60)]
    boiler = "This paragraph stands in every document alike, as licences do, and must be learnt once only."
    os.makedirs(folder)
    for name in [f"doc{i}" for i in range(5)] + ["kept"]:
        parts = [" ".join(draw.choice(words) for _ in range(60)) + "." for _ in range(14)]
        with open(os.path.join(folder, name + ".txt"), "w", encoding="utf-8") as file:
            file.write("\n\n".join([boiler, *parts]))


def engine_logits(options, adapter, tokens):
    library = ours.Library(options.library)
    engine = ours.Engine(library, 1, "cpu")
    given = library.options(ours.ModelOptions, "ll_model_options_init")
    one = (ours.Adapter * 1)(ours.Adapter(adapter.encode(), 1.0))
    given.adapters, given.adapter_count = ctypes.cast(one, ctypes.c_void_p), 1
    model = ours.Model(engine, options.base, given)
    session = ours.Session(model, 256, ours.F32)
    rows = []
    for end in (len(tokens) // 2, len(tokens)):
        session.sync(tokens[:end])
        rows.append(np.array(session.logits(), dtype=np.float64))
    session.close(), model.close(), engine.close()
    return rows


def pieces_hold(draw):
    """The parts that have a short definition of their own."""
    case(standard_slopes(8) == [2.0 ** -i for i in range(1, 9)] and len(set(standard_slopes(9))) == 9,
         "the standard slopes are the paper's")
    n = 5
    cost = [[draw.random() for _ in range(n)] for _ in range(n)]
    best = min(sum(cost[i][p[i]] for i in range(n)) for p in itertools.permutations(range(n)))
    case(abs(sum(cost[i][c] for i, c in enumerate(assign(cost))) - best) < 1e-9,
         "slopes go to heads at the least cost of all orders")
    slopes, tokens = torch.tensor([0.5, 2.0 ** -4, 2.0 ** -8]), 16 * BLOCK
    mask, bias = blocks(slopes, tokens).to_dense()[0].bool(), alibi_bias(slopes, 0, tokens, torch.float32)
    best = bias.view(3, 16, BLOCK, 16, BLOCK).amax((2, 4))
    case(bool((mask == (best > -NEGLIGIBLE)).all()) and 0 < int(mask[0].sum()) < int(mask[2].sum()),
         "on a card the blocks left out are those whose every bias is negligible")
    given = torch.randn(50, 8, dtype=torch.float64, requires_grad=True)
    wanted, output = torch.randn(50, 8, dtype=torch.float64), torch.randn(31, 8, dtype=torch.float64)
    whole = F.kl_div(F.log_softmax(given @ output.T, -1), F.log_softmax(wanted @ output.T, -1), log_target=True,
                     reduction="batchmean")
    whole.backward()
    loss, gradient = Divergence(output, False)(given.detach(), wanted)
    case(abs(float(loss - whole.detach())) < 1e-5 and float((gradient - given.grad).abs().max()) < 1e-6,
         "the divergence and its gradient in pieces are those of the whole")
    results = {"edges": edges_up_to(4096), "mean": {"student": [2.0, 2.0, 2.0, 2.2],
                                                    "student in windows": [2.0, 2.0, 1.96, 2.0]}}
    case(proven_length(results) == 2048, "one pass is proven up to the first bucket that is worse by 5 %")


def resumes(options, tokens, folder, draw):
    base = ["-m", options.base, "--tokens", tokens, "--rank", "12", "--device", "cpu", "--threads", "1",
            "--fit-rows", "2", "--fit-length", "64", "--every", "10", *PHASES]
    whole, cut = os.path.join(folder, "whole"), os.path.join(folder, "cut")
    tool("train", *base, "--out", whole)
    stops = sorted(draw.sample(range(1, 40), 2))
    for steps in stops:
        tool("train", *base, "--out", cut, "--stop-steps", str(steps), expect=3)
    tool("train", *base, "--out", cut)
    one, two = (torch.load(os.path.join(d, "state.pt"), weights_only=True) for d in (whole, cut))
    same = all(torch.equal(one["student"][n], two["student"][n]) for n in one["student"])
    case(same and one["table"] == two["table"] and one["at"]["tokens"] == two["at"]["tokens"],
         "a run that was cut twice ends with the same bits as one at once", f"after {stops} steps")
    said = tool("train", *base, "--out", cut, "--seed", "9", expect=1)
    case("another seed" in said, "a state is not taken up with other settings", said)
    return base, whole


def learns(options, base, whole, tokens, folder):
    fresh = os.path.join(folder, "fresh.gguf")
    adapter, plain = os.path.join(folder, "a.gguf"), os.path.join(folder, "plain.gguf")
    tool("train", *base[:-4], "--phase", "logits:1x16:1:0", "--out", os.path.join(folder, "untrained"))
    tool("export", *base[:2], "--device", "cpu", "--out", os.path.join(folder, "untrained"), "--to", fresh)
    tool("export", *base[:2], "--device", "cpu", "--out", whole, "--to", adapter)
    tool("export", *base[:2], "--device", "cpu", "--out", whole, "--to", plain, "--type", "f32")
    base_model = open_base(options.base).to(torch.device("cpu"), torch.float32)
    held = torch.from_numpy(read_held(tokens)["kept"][:160].astype(np.int64)).view(2, 80)
    distance = {}
    for path in (fresh, adapter, plain):
        table, ranks, fill = read_adapter(path, base_model)
        student = Student(base_model, table, ranks)
        fill(student)
        runner = Runner(base_model, student, 64)
        with torch.no_grad():
            distance[path] = float(Divergence(base_model.output, False)(
                runner.pupil(held).flatten(0, 1), runner.teacher_whole(held).flatten(0, 1))[0])
    case(distance[adapter] < 0.7 * distance[fresh], "training brings the student nearer to the base on held-out text",
         distance)
    case(abs(distance[adapter] - distance[plain]) < 0.05 * distance[fresh],
         "eight-bit factors keep what 32-bit ones hold", distance)
    return runner, plain, table


def runs_in_the_engine(options, runner, adapter, table, tokens):
    ids = [int(t) for t in read_tokens(tokens, "tokens.bin")[:120]]
    with torch.no_grad():
        hidden = runner.pupil(torch.tensor([ids]))
        wanted = F.linear(hidden[0], runner.base.output).double().numpy()
    worst = 0.0
    for at, row in zip((len(ids) // 2, len(ids)), engine_logits(options, adapter, ids)):
        spread = wanted[at - 1].max() - wanted[at - 1].min()
        worst = max(worst, float(np.abs(row - wanted[at - 1]).max()) / spread)
    print(f"# the engine is within {worst:.1e} of PyTorch, as a share of the logits' range")
    case(worst < 2e-5, "the engine computes the student's logits")
    heads = runner.base.shape.heads
    case(all(sorted(row) == sorted(standard_slopes(heads)) for row in table),
         "every layer has each standard slope once")
    shown = subprocess.run([options.program, "info", adapter], capture_output=True, text=True, check=False).stdout
    case(f"ALiBi with {heads * runner.base.shape.layers} slopes" in shown, "longleaf info knows the adapter", shown)


def measures(options, tokens, folder, whole):
    adapter = os.path.join(folder, "a.gguf")
    out = tool("evaluate", "-m", options.base, "--device", "cpu", "--tokens", tokens, "--adapter", adapter, "--length",
               "256", "--window", "64", "--out", folder)
    case("student in windows" in out and "one pass holds up to" in out, "evaluate prints perplexity by position", out)
    proven = os.path.join(folder, "proven.gguf")
    tool("export", "-m", options.base, "--device", "cpu", "--out", whole, "--to", proven, "--results",
         os.path.join(folder, "evaluation.json"))
    said = tool("report", os.path.join(folder, "evaluation.json"))
    case("evaluation.json" in said, "report sets sizes beside perplexities", said)


def stands_for_a_model(options, folder):
    """Base and adapter in one models folder: the adapter's name is a model's."""
    models = os.path.join(folder, "models")
    os.makedirs(models)
    shutil.copy(options.base, models)
    shutil.copy(os.path.join(folder, "proven.gguf"), os.path.join(models, "student.gguf"))
    around = {**os.environ, "LONGLEAF_MODELS": models}

    def said(*arguments):
        return subprocess.run([options.program, *arguments], capture_output=True, text=True, env=around,
                              check=False).stdout

    text = os.path.join(folder, "text", "kept.txt")
    listed, named = said("models", "list"), said("ppl", "--json", "-m", "student", "-c", "128", text)
    given = said("ppl", "--json", "-m", options.base, "--adapter", os.path.join(models, "student.gguf"), "-c", "128",
                 text)
    case("over llama-grouped.gguf" in listed, "longleaf models says what an adapter goes over", listed)
    case(named == given != "", "an adapter's name stands for the base under it", named + given)
    proven = json.loads(open(os.path.join(folder, "evaluation.json"), encoding="utf-8").read())["proven"]
    trained = json.loads(said("tokens", "--json", "-m", "student", text))["trained_context"]
    case(trained == max(1, proven), "the engine takes the proven length for the context", f"{trained}, {proven}")


def refuses(options, folder):
    wrong = [(["train", "-m", options.base, "--tokens", folder], "no readable tokens.bin"),
             (["train", "-m", "/nonexistent", "--tokens", folder], "no such file"),
             (["export", "-m", options.base, "--out", folder, "--to", "x"], "train first")]
    for arguments, fragment in wrong:
        said = tool(*arguments, expect=1)
        case(fragment in said and "Traceback" not in said, f"{arguments[0]} refuses in a sentence: {fragment}", said)
    try:
        read_phase("logits:4x4")
        case(False, "a phase that is none is refused")
    except Exception as problem:  # noqa: BLE001 - its words are compared
        case("is no phase" in str(problem), "a phase that is none is refused", problem)


def main():
    parser = argparse.ArgumentParser()
    for name in ("program", "library", "base", "work"):
        parser.add_argument("--" + name, required=True)
    options = parser.parse_args()
    seed = int(os.environ.get("LL_SEED", random.SystemRandom().randrange(1 << 30)))
    print(f"# seed {seed}")
    draw = random.Random(seed)
    torch.manual_seed(seed)
    text, tokens = (os.path.join(options.work, name) for name in ("text", "tokens"))
    write_text(text, draw)
    said = tool("prepare", "-m", options.base, "--longleaf", options.program, "--out", tokens, "--held",
                os.path.join(text, "kept.txt"), "--pack", text)
    made = read_tokens(tokens, "tokens.bin")
    case(len(made) > 2000 and list(read_held(tokens)) == ["kept"] and " 0 bytes dropped" not in said,
         "documents become tokens, one is held out, what repeats is dropped", said)
    pieces_hold(draw)
    base, whole = resumes(options, tokens, options.work, draw)
    runner, adapter, table = learns(options, base, whole, tokens, options.work)
    runs_in_the_engine(options, runner, adapter, table, tokens)
    measures(options, tokens, options.work, whole)
    stands_for_a_model(options, options.work)
    refuses(options, options.work)
    print(f"1..{count}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
