"""Draws how fast a long document is read and answered: rates of prefill and decode at every depth of an ALiBi model.

SPDX-License-Identifier: Apache-2.0

usage: plot.py PROGRAM SVG [--folder DIR] [--depths LIST] [--json FILE]
The model is mpt-7b of make_model.py, Q4_K_M, random weights. At each depth the program's bench reads 2048 tokens more
and then decodes 32; depths between are read on the way.
"""
import argparse
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
WIDTH, HEIGHT, LEFT, BOTTOM = 860, 360, 70, 50


def measure(program, model, depths):
    command = [program, "bench", "--device", "cuda", "--model", model, "--json", "--quiet", "--context", str(depths[-1] + 4096),
               "--set-meta", f"mpt.context_length=u32:{depths[-1] + 4096}", "--depths", ",".join(map(str, depths)),
               "--prefill", "2048", "-n", "32", "--repeat", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=400, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip()[-400:])
    rows = json.loads(done.stdout)["depths"]
    return [(row["depth"], row["prefill_rate"]["median"], row["decode_rate"]["median"]) for row in rows]


def panel(x, rows, column, title, unit, colour):
    """One plot: the measured line, from x to the right."""
    width, height = WIDTH // 2 - LEFT - 20, HEIGHT - BOTTOM - 50
    most, last = 1.15 * max(row[column] for row in rows), rows[-1][0]

    def at(depth, value):
        return f"{x + LEFT + width * depth / last:.1f},{40 + height * (1 - value / most):.1f}"
    parts = [f'<text x="{x + LEFT}" y="24" font-weight="bold">{title}</text>',
             f'<path d="M{at(0, most)} L{at(0, 0)} L{at(last, 0)}" fill="none" stroke="#444"/>',
             f'<path d="M' + " L".join(at(row[0], row[column]) for row in rows) + f'" fill="none" stroke="{colour}" stroke-width="2"/>']
    for row in rows:
        cx, cy = at(row[0], row[column]).split(",")
        parts.append(f'<circle cx="{cx}" cy="{cy}" r="3" fill="{colour}"/>')
    for i in range(5):
        value, depth = most * i / 4, last * i / 4
        cx, cy = at(0, value).split(",")
        parts.append(f'<text x="{float(cx) - 6}" y="{float(cy) + 4}" text-anchor="end">{value:.3g}</text>')
        cx, cy = at(depth, 0).split(",")
        parts.append(f'<text x="{cx}" y="{float(cy) + 18}" text-anchor="middle">{depth / 1024:.0f}k</text>')
    parts.append(f'<text x="{x + LEFT + width / 2}" y="{HEIGHT - 8}" text-anchor="middle">{unit} over tokens already read</text>')
    return parts


def draw(rows):
    seconds, spent = [], 0.0
    for i, row in enumerate(rows):
        if i > 0:
            before = rows[i - 1]
            spent += (row[0] - before[0]) * (1 / before[1] + 1 / row[1]) / 2
        seconds.append((row[0], spent))
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="12">',
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>']
    parts += panel(0, seconds, 1, "Reading a document", "seconds", "#1f6fb4")
    parts += panel(WIDTH // 2, rows, 2, "Answering", "tokens a second", "#c0392b")
    return "\n".join(parts + ["</svg>", ""]), spent


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("svg")
    parser.add_argument("--folder", default="/tmp/longleaf-speed")
    parser.add_argument("--depths", default="0,16384,32768,65536,98304,131072")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    os.makedirs(arguments.folder, exist_ok=True)
    model = os.path.join(arguments.folder, "mpt-q4.gguf")
    if not os.path.exists(model):
        subprocess.run([sys.executable, os.path.join(HERE, "make_model.py"), "mpt-7b", "q4_k_m", model], check=True)
    rows = measure(arguments.program, model, [int(depth) for depth in arguments.depths.split(",")])
    picture, seconds = draw(rows)
    with open(arguments.svg, "w", encoding="utf-8") as file:
        file.write(picture)
    for depth, prefill, decode in rows:
        print(f"{depth:7d} tokens read: {prefill:8.0f} tokens/s reading, {decode:6.1f} answering")
    print(f"a document of {rows[-1][0]} tokens is read in {seconds:.1f} s")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(rows, file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
