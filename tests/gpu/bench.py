"""Times the attention kernels beside their peers in one run and prints the goals' ratios.

SPDX-License-Identifier: Apache-2.0

usage: bench.py LIBRARY [--json FILE] [--only TEXT] [--seconds N]
Peers: PyTorch's SDPA with cuDNN, flex_attention with ALiBi, cuDNN's own ALiBi (when the cudnn frontend
is there). All ways of one row are timed alternately (A-B-A-B); a figure is a median of rounds, by CUDA
events around captured graphs where capture works. Data are normal(0, 1) in bf16, 32 query heads.
"""
import argparse
import json
import math
import statistics
import sys
import time

import torch

import kernels
import peers

HEADS = 32
EPS = 2.0 ** -24


def captured(way):
    """The way as a graph of as many calls as take about 2 ms, so that launches are hidden."""
    for _ in range(2):
        way()
    torch.cuda.synchronize()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    way()
    end.record()
    torch.cuda.synchronize()
    count = max(1, min(50, int(2.0 / max(begin.elapsed_time(end), 1e-3))))
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            for _ in range(count):
                way()
    except RuntimeError:
        torch.cuda.synchronize()
        return (lambda: [way() for _ in range(count)]), count
    return graph.replay, count


def alternate(ways, rounds=7):
    """{name: milliseconds} of the ways, timed in turns."""
    ready = {name: captured(way) for name, way in ways.items()}
    times = {name: [] for name in ways}
    for round_ in range(rounds + 1):
        for name, (replay, count) in ready.items():
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            replay()
            end.record()
            torch.cuda.synchronize()
            if round_ > 0:
                times[name].append(begin.elapsed_time(end) / count)
    return {name: statistics.median(t) for name, t in times.items()}


def normal(*shape):
    return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)


def prefill_row(lib, dim, length, with_flex):
    q, k, v = (normal(length, HEADS, dim) for _ in range(3))
    mine = lambda **options: kernels.Attention(lib, q, k, v, [(0, length)], **options)
    ways = {"causal": mine(), "alibi": mine(alibi=True), "reach": mine(alibi=True, reach=EPS),
            "alibi+window": mine(alibi=True, window=4096), "mma causal": mine(kernel="mma"),
            "mma reach": mine(alibi=True, reach=EPS, kernel="mma")}
    same = agreement(ways["alibi"](), ways["reach"]())
    ways.update(peers.prefill(q, k, v, kernels.slopes(HEADS), with_flex))
    error = peers.difference(ways["causal"], ways.get("sdpa cudnn"))
    return {"times": alternate(ways), "skipping": same, "difference from cudnn": error}


def agreement(full, skipping):
    full, skipping = full.float(), skipping.float()
    largest = full.abs().amax(-1, keepdim=True)
    ulp = torch.exp2(torch.floor(torch.log2(largest)) - 7)
    return {"equal": (full == skipping).float().mean().item(), "most ulps": ((full - skipping).abs() / ulp).max().item()}


def reach_row(lib, dim, length):
    """Lengths at which the full triangle would take too long to time here."""
    q, k, v = (normal(length, heads, dim) for heads in (HEADS, 8, 8))
    return {"times": alternate({"reach": kernels.Attention(lib, q, k, v, [(0, length)], alibi=True, reach=EPS)}, 5)}


def chunk_row(lib, dim, length, rows):
    """A short query block against a long cache."""
    q, k, v = normal(rows, HEADS, dim), normal(length, 8, dim), normal(length, 8, dim)
    mine = lambda **options: kernels.Attention(lib, q, k, v, [(length - rows, rows)], **options)
    return {"times": alternate({"causal": mine(), "alibi": mine(alibi=True), "reach": mine(alibi=True, reach=EPS)})}


def decode_row(lib, batch, length, with_flex):
    dim, kv_heads = 128, 8
    q, k, v = normal(batch, HEADS, dim), normal(batch * length, kv_heads, dim), normal(batch * length, kv_heads, dim)
    mine = lambda **options: kernels.Attention(lib, q, k, v, [(length - 1, 1)] * batch, **options)
    ways = {"plain": mine(), "alibi": mine(alibi=True), "reach": mine(alibi=True, reach=EPS)}
    ways.update(peers.decode(q, k, v, batch, kernels.slopes(HEADS), with_flex))
    return {"times": alternate(ways), "bytes": batch * length * kv_heads * dim * 4}


def read_ceiling():
    x = torch.empty(2 ** 30, dtype=torch.int64, device="cuda").random_()
    out = torch.empty((), dtype=torch.int64, device="cuda")
    time_ms = alternate({"sum": lambda: torch.sum(x, dim=0, out=out), "max": lambda: x.max()})
    return 8 * 2 ** 30 / min(time_ms.values()) / 1e6


def extra_memory(lib, length):
    """Bytes that a call takes above its inputs and output, as a share of the output."""
    q, k, v = (normal(length, HEADS, 128) for _ in range(3))
    call = kernels.Attention(lib, q, k, v, [(0, length)], alibi=True, reach=EPS)
    small = sum(t.numel() * t.element_size() for t in (call.norms, call.pages, call.partial, call.tickets, call.tiles,
                                                       call.sequences))
    return small / (call.out.numel() * 2)


def rows_to_run():
    for dim in (128, 64):
        for length in (2048, 8192, 32768, 65536):
            flex = length in ((8192, 32768, 65536) if dim == 128 else (8192, 32768))
            yield f"prefill D={dim} L={length}", lambda lib, d=dim, n=length, f=flex: prefill_row(lib, d, n, f)
    yield "prefill D=128 L=131072 (8 KV heads)", lambda lib: reach_row(lib, 128, 131072)
    for rows in (64, 512, 2048):
        yield f"chunk D=128 rows={rows} L=65536 (8 KV heads)", lambda lib, r=rows: chunk_row(lib, 128, 65536, r)
    for batch, length in ((1, 4096), (8, 4096), (32, 4096), (1, 32768), (8, 32768), (32, 32768), (1, 131072), (8, 131072)):
        flex = (batch, length) in ((8, 32768), (32, 4096))
        yield f"decode B={batch} L={length}", lambda lib, b=batch, n=length, f=flex: decode_row(lib, b, n, f)


def print_row(name, row):
    flops = None
    if name.startswith("prefill"):
        dim, length = (int(word.split("=")[1]) for word in name.split()[1:3])
        flops = 2 * length * length * HEADS * dim
    print(f"{name}" + "".join(f"; {key}: {value}" for key, value in row.items() if key not in ("times", "bytes")))
    for way, ms in row["times"].items():
        rate = f"{flops / ms / 1e9:9.0f} TFLOP/s" if flops else f"{row['bytes'] / ms / 1e6:9.0f} GB/s" if "bytes" in row else ""
        print(f"    {way:24s} {ms:10.4f} ms {rate}")
    sys.stdout.flush()


def goals(rows, ceiling):
    """Lines of (goal, where, ratio) from what was timed."""
    def ms(row, way):
        return rows.get(row, {}).get("times", {}).get(way, math.nan)

    lines = []
    for dim in (128, 64):
        for length in (8192, 32768, 65536):
            row = f"prefill D={dim} L={length}"
            where = f"D={dim} {length // 1024}k"
            lines += [("G1 ALiBi, full, against flex ALiBi", where, ms(row, "flex alibi") / ms(row, "alibi"), "1.0 / 1.3"),
                      ("G2 ALiBi, full, against cuDNN ALiBi", where, ms(row, "cudnn alibi") / ms(row, "alibi"), "0.75 / 1.0"),
                      ("G3 causal against cuDNN", where, ms(row, "sdpa cudnn") / ms(row, "causal"), "0.7 / 0.95"),
                      ("G4 own ALiBi time over own causal", where, ms(row, "alibi") / ms(row, "causal"), "<= 1.20 / 1.08"),
                      ("G5 skipping against flex ALiBi, full", where, ms(row, "flex alibi") / ms(row, "reach"),
                       {8192: "1.8 / 2.6", 32768: "4 / 7", 65536: "8 / 14"}[length]),
                      ("G8 ALiBi + window against cuDNN's", where, ms(row, "cudnn alibi+window") / ms(row, "alibi+window"),
                       "0.75 / 1.0")]
        lines.append(("G7 64k over 32k with skipping", f"D={dim}",
                      ms(f"prefill D={dim} L=65536", "reach") / ms(f"prefill D={dim} L=32768", "reach"), "<= 2.4 / 2.15"))
    for row, data in rows.items():
        if row.startswith("decode"):
            share = data["bytes"] / data["times"]["plain"] / 1e6 / ceiling
            if data["bytes"] >= 512 << 20:
                lines.append(("G9 decode, share of the read ceiling", row, share, "0.85 / 0.95"))
            lines.append(("G10 decode against SDPA cuDNN", row, ms(row, "sdpa cudnn") / ms(row, "plain"), "0.8 / 1.0 (batch 1)"))
            lines.append(("G11 ALiBi decode against flex ALiBi", row, ms(row, "flex alibi") / ms(row, "alibi"), "1.2 / 1.45"))
    lines.append(("G12 ALiBi decode, 128k over 32k, skipping", "batch 8",
                  ms("decode B=8 L=131072", "reach") / ms("decode B=8 L=32768", "reach"), "<= 1.5 / 1.15"))
    return [line for line in lines if not math.isnan(line[2])]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--json")
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=420, help="begin no row after this long")
    arguments = parser.parse_args()
    torch.manual_seed(time.time_ns() % 2 ** 32)
    began, lib, rows = time.monotonic(), kernels.load(arguments.library), {}
    ceiling = read_ceiling()
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}, "
          f"read ceiling {ceiling:.0f} GB/s; peers: {peers.available()}")
    for name, run in rows_to_run():
        if arguments.only not in name:
            continue
        if time.monotonic() - began > arguments.seconds:
            print(f"{name}: not run, the time is up")
            continue
        try:
            rows[name] = run(lib)
            print_row(name, rows[name])
        except (RuntimeError, torch.OutOfMemoryError) as error:
            print(f"{name}: FAILED: {str(error).splitlines()[0]}")
        torch.cuda.empty_cache()
    memory = extra_memory(lib, 65536)
    lines = goals(rows, ceiling) + [("G13 memory beyond the output, share of it", "64k", memory, "<= 0.01")]
    print("\ngoal; where; measured; first / full")
    for goal, where, ratio, bar in lines:
        print(f"{goal:42s} {where:24s} {ratio:8.3f}   {bar}")
    print(f"({time.monotonic() - began:.0f} s)")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"read ceiling": ceiling, "rows": rows, "goals": lines}, file, indent=1)


if __name__ == "__main__":
    main()
