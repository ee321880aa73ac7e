"""Holds the memory that the verb plan predicts to what the driver says was taken.

SPDX-License-Identifier: Apache-2.0

usage: plan.py PROGRAM [--models LIST] [--folder DIR]     LIST: names of speed.py's models (default 8b-q4,mpt-q4)
Each model is read with random tokens at several contexts and types of keys; the most memory in use on the card, less
what was in use before, stands beside the plan's total.
"""
import argparse
import json
import os
import subprocess
import sys

import speed

CASES = [(4096, "f16"), (16384, "f16"), (32768, "f16"), (32768, "q8_0")]


def planned(program, model, context, kv):
    command = [program, "plan", "--json", "--quiet", "--device", "cuda", "--context", str(context), "--kv", kv, "--model", model]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip()[-300:])
    need = [n for n in json.loads(done.stdout)["needs"] if n["context"] == context and n["kv"] == kv]
    return need[0]["total"] / 2 ** 20


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--models", default="8b-q4,mpt-q4")
    parser.add_argument("--folder", default="/tmp/longleaf-speed")
    arguments = parser.parse_args()
    os.makedirs(arguments.folder, exist_ok=True)
    print("| model, context, keys | plan, MiB | driver, MiB | plan over driver |\n|---|---|---|---|")
    failed = 0
    for name in arguments.models.split(","):
        path = os.path.join(arguments.folder, name + ".gguf")
        if not os.path.exists(path):
            subprocess.run([sys.executable, os.path.join(speed.HERE, "make_model.py"), *speed.MODELS[name], path], check=True)
        for context, kv in CASES:
            try:
                plan = planned(arguments.program, path, context, kv)
                with speed.Peak() as peak:
                    subprocess.run([arguments.program, "bench", "--device", "cuda", "--model", path, "--json", "--quiet", "--kv", kv,
                                    "--context", str(context), "--depths", "0", "--prefill", str(context - 64), "-n", "32", "--repeat", "1"],
                                   capture_output=True, text=True, timeout=120, check=True)
                print(f"| {name}, {context}, {kv} | {plan:.0f} | {peak.mib:.0f} | {plan / peak.mib:.3f} |")
            except (RuntimeError, subprocess.SubprocessError, IndexError) as error:
                print(f"| {name}, {context}, {kv} | failed: {error} | | |")
                failed = 1
            sys.stdout.flush()
    return failed


if __name__ == "__main__":
    sys.exit(main())
