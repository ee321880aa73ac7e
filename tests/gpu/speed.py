"""Times whole models through the program and sets them against the card's ceilings and llama.cpp's recorded figures.

SPDX-License-Identifier: Apache-2.0

usage: speed.py PROGRAM [--models LIST] [--folder DIR] [--json FILE] [--seconds N]
LIST: names of the table MODELS below, separated by commas. Models of a real shape with random weights are made by
make_model.py in DIR (default /tmp/longleaf-speed) and removed. Ceilings (memory reading, bf16 products of 4096 rows,
pinned copies) are measured by PyTorch in the same run. llama.cpp's figures were recorded on one H200 on 2026-11-30
(ggml 0.25.3, flash attention on): they are anchors, not of this run.
"""
import argparse
import json
import os
import subprocess
import sys
import threading
import time

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
GIB = 2 ** 30
# bytes: of all weights but the embedding table, which decoding does not read
MODELS = {
    "8b-q4": ("llama-8b", "q4_k_m"), "8b-q8": ("llama-8b", "q8_0"), "8b-bf16": ("llama-8b", "bf16"),
    "mpt-q4": ("mpt-7b", "q4_k_m"),
}
LLAMA_CPP = {  # tokens/s: prefill by prompt, decode by depth; peak MiB by prompt
    "8b-bf16": {"prefill": {4096: 26920, 32768: 15158}, "decode": {0: 209.9, 4096: 199.6, 32768: 151.7}, "peak": {4096: 15793, 32768: 19377}},
    "8b-q8": {"prefill": {4096: 11293, 32768: 8722}, "decode": {0: 248.0, 4096: 231.3, 32768: 170.3}, "peak": {4096: 8985, 32768: 12569}},
    "8b-q4": {"prefill": {4096: 9724, 32768: 7794}, "decode": {0: 267.6, 4096: 256.5, 32768: 183.3}, "peak": {4096: 5783, 32768: 9367}},
    "mpt-q4": {"prefill": {4096: 9431, 32768: 4257}, "decode": {0: 308.5, 4096: 268.6, 32768: 140.0}, "peak": {4096: 6645, 32768: 20981}},
}


def timed(work, rounds=5):
    work()
    torch.cuda.synchronize()
    times = []
    for _ in range(rounds):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        work()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) / 1e3)
    return sorted(times)[rounds // 2]


def ceilings():
    x = torch.empty(GIB, dtype=torch.int64, device="cuda").random_()
    out = torch.empty((), dtype=torch.int64, device="cuda")
    read = x.numel() * 8 / min(timed(lambda: torch.sum(x, dim=0, out=out)), timed(x.max))
    host = torch.empty(GIB, dtype=torch.uint8).pin_memory()
    copy = GIB / timed(lambda: x.view(torch.uint8)[:GIB].copy_(host, non_blocking=True))
    del x
    a = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
    products = 0.0
    total = 0.0
    for n in (6144, 4096, 28672):  # an 8B layer's: q, k, v; output; gate and up
        b = torch.randn(n, 4096, device="cuda", dtype=torch.bfloat16)
        total += timed(lambda b=b: [a @ b.T for _ in range(10)]) / 10
        products += 2 * 4096 * 4096 * n
    c, b = torch.randn(4096, 14336, device="cuda", dtype=torch.bfloat16), torch.randn(4096, 14336, device="cuda", dtype=torch.bfloat16)
    total += timed(lambda: [c @ b.T for _ in range(10)]) / 10
    products += 2 * 4096 * 14336 * 4096
    result = {"read": read, "copy": copy, "products": products / total}
    del a, b, c, host
    torch.cuda.empty_cache()
    return result


class Peak:
    """The most memory in use on the card while something runs, less what was in use before."""

    def __enter__(self):
        self.before = self.used()
        self.most, self.running = 0, True
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        return self

    @staticmethod
    def used():
        free, total = torch.cuda.mem_get_info()
        return total - free

    def watch(self):
        while self.running:
            self.most = max(self.most, self.used())
            time.sleep(0.002)

    def __exit__(self, *_):
        self.running = False
        self.thread.join()
        self.mib = (self.most - self.before) / 2 ** 20


def bench(program, model, depths, prefill, tokens, repeat, kv="f16"):
    command = [program, "bench", "--device", "cuda", "--model", model, "--json", "--quiet", "--kv", kv, "--depths",
               ",".join(map(str, depths)), "--prefill", str(prefill), "-n", str(tokens), "--repeat", str(repeat)]
    with Peak() as peak:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.returncode}: {done.stderr.strip()[-400:]}")
    return json.loads(done.stdout), peak.mib


def rates(result, kind):
    return {row["depth"]: row[kind]["median"] for row in result["depths"] if kind in row}


def time_model(program, name, path):
    size = os.path.getsize(path)
    row = {"bytes": size, "prefill": {}, "peak": {}, "decode": {}}
    result, peak = bench(program, path, [0], 4096, 64, 3)
    row["prefill"][4096], row["peak"][4096] = rates(result, "prefill_rate")[0], peak
    row["decode"].update(rates(result, "decode_rate"))
    row["load_seconds"] = result["load_seconds"]
    result, peak = bench(program, path, [0], 32768, 0, 2)
    row["prefill"][32768], row["peak"][32768] = rates(result, "prefill_rate")[0], peak
    result, _ = bench(program, path, [4096, 32768], 1, 64, 3)
    row["decode"].update(rates(result, "decode_rate"))
    if name in ("8b-q4", "mpt-q4"):
        result, _ = bench(program, path, [32768], 1, 64, 3, "q8_0")
        row["decode q8_0 KV"] = rates(result, "decode_rate")
    result, _ = bench(program, path, [0], 512, 0, 5)
    row["prefill"][512] = rates(result, "prefill_rate")[0]
    return row


def print_row(name, row, ceiling):
    peer = LLAMA_CPP[name]
    print(f"{name}: {row['bytes'] / GIB:.2f} GiB, loaded in {row['load_seconds']:.2f} s = {row['bytes'] / row['load_seconds'] / 1e9:.1f} GB/s "
          f"({row['bytes'] / row['load_seconds'] / ceiling['copy']:.2f} of the pinned rate)")
    for kind in ("prefill", "decode", "peak"):
        cells = [f"{at}: {value:.0f}" + (f" ({value / peer[kind][at]:.2f}x)" if at in peer[kind] else "") for at, value in sorted(row[kind].items())]
        print(f"    {kind:8s} " + ", ".join(cells))
    if "decode q8_0 KV" in row:
        print("    decode with q8_0 KV " + ", ".join(f"{at}: {value:.0f}" for at, value in row["decode q8_0 KV"].items()))
    sys.stdout.flush()


def goals(rows, ceiling):
    """(goal, measured, first, full)"""
    lines = []

    def against(goal, name, kind, at, first, full):
        if name in rows:
            lines.append((goal, rows[name][kind][at] / LLAMA_CPP[name][kind][at], first, full))

    if "8b-bf16" in rows:
        flops = 2 * 6.98e9  # of the layers' weights, a token
        lines.append(("G14 prefill 4096, BF16, share of the products' rate", rows["8b-bf16"]["prefill"][4096] * flops / ceiling["products"], 0.5, 0.75))
    against("G15 prefill 4096, Q4_K_M, against llama.cpp", "8b-q4", "prefill", 4096, 1.5, 3)
    against("G16 prefill 32k, BF16", "8b-bf16", "prefill", 32768, 1.0, 1.5)
    against("G16 prefill 32k, Q4_K_M", "8b-q4", "prefill", 32768, 1.5, 2.8)
    against("G17 ALiBi 7B, prefill 32k", "mpt-q4", "prefill", 32768, 2, 6)
    for name, table, first, full in (("8b-bf16", 2 * 128256 * 4096, 0.70, 0.85), ("8b-q8", 1.0625 * 128256 * 4096, 0.45, 0.70),
                                     ("8b-q4", 0.5625 * 128256 * 4096, 0.30, 0.55)):
        if name in rows:
            read = rows[name]["bytes"] - table
            lines.append((f"G18 decode, {name}, share of weights / read rate", rows[name]["decode"][0] * read / ceiling["read"], first, full))
    against("G19 decode at 32k, Q4", "8b-q4", "decode", 32768, 1.1, 1.9)
    for name in ("8b-q4",):
        if name in rows:
            lines.append(("G20 q8_0 KV decode at 32k against f16 KV", rows[name]["decode q8_0 KV"][32768] / rows[name]["decode"][32768], 1.0, 1.25))
    against("G21 ALiBi 7B decode at 32k", "mpt-q4", "decode", 32768, 1.2, 3)
    against("G22 peak memory, Q4, 4k (at most)", "8b-q4", "peak", 4096, 1.05, 1.0)
    against("G22 peak memory, Q4, 32k (at most)", "8b-q4", "peak", 32768, 1.05, 1.0)
    for name in ("8b-bf16",):
        if name in rows:
            lines.append(("G23 load, share of the pinned rate", rows[name]["bytes"] / rows[name]["load_seconds"] / ceiling["copy"], 0.35, 0.65))
    return lines


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--folder", default="/tmp/longleaf-speed")
    parser.add_argument("--json")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--seconds", type=float, default=400, help="begin no model after this long")
    arguments = parser.parse_args()
    began, rows = time.monotonic(), {}
    os.makedirs(arguments.folder, exist_ok=True)
    ceiling = ceilings()
    print(f"{torch.cuda.get_device_name()}: reading {ceiling['read'] / 1e9:.0f} GB/s, products {ceiling['products'] / 1e12:.0f} TFLOP/s, "
          f"pinned copies {ceiling['copy'] / 1e9:.1f} GB/s")
    for name in arguments.models.split(","):
        if time.monotonic() - began > arguments.seconds:
            print(f"{name}: not run, the time is up")
            continue
        path = os.path.join(arguments.folder, name + ".gguf")
        if not os.path.exists(path):
            subprocess.run([sys.executable, os.path.join(HERE, "make_model.py"), *MODELS[name], path], check=True)
        try:
            rows[name] = time_model(arguments.program, name, path)
            print_row(name, rows[name], ceiling)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            print(f"{name}: FAILED: {error}")
        if not arguments.keep:
            os.remove(path)
    print("\ngoal; measured; first / full")
    lines = goals(rows, ceiling)
    for goal, value, first, full in lines:
        print(f"{goal:52s} {value:7.3f}   {first} / {full}")
    print(f"({time.monotonic() - began:.0f} s)")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"ceilings": ceiling, "rows": rows, "goals": lines}, file, indent=1)
    return 0 if len(rows) == len(arguments.models.split(",")) else 1


if __name__ == "__main__":
    sys.exit(main())
