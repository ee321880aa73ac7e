#!/usr/bin/env python3
"""Makes vectors/dequant.inc: random blocks of every quantised type and what the `gguf` package makes of them.

SPDX-License-Identifier: Apache-2.0
Needs numpy and gguf (PyPI). Run from anywhere: the output lies beside this file.
"""
import pathlib
import numpy as np
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType as T
from gguf.quants import dequantize

# Offsets of the half-precision scales in a block: kept finite, so that values compare as bits.
HALVES = {
    T.Q4_0: [0], T.Q4_1: [0, 2], T.Q5_0: [0], T.Q5_1: [0, 2], T.Q8_0: [0],
    T.Q4_K: [0, 2], T.Q5_K: [0, 2], T.Q6_K: [208],
}


def random_blocks(rng, dtype, count):
    size = GGML_QUANT_SIZES[dtype][1]
    blocks = rng.integers(0, 256, (count, size), dtype=np.uint8)
    for offset in HALVES[dtype]:
        for block in blocks:
            half = np.array([rng.normal() * 2.0 ** rng.integers(-20, 6)], dtype=np.float16)
            block[offset:offset + 2] = half.view(np.uint8)
    return blocks


def lines(items, form, per_line):
    texts = [form % int(item) for item in items]
    return "\n".join("    " + " ".join(texts[i:i + per_line]) for i in range(0, len(texts), per_line))


def main():
    rng = np.random.default_rng(20240607)
    out = ["/* Made by tests/formats/make_vectors.py: random blocks, and the bits of their floats.",
           " * SPDX-License-Identifier: Apache-2.0 */"]
    rows = []
    for dtype in HALVES:
        count = 4 if GGML_QUANT_SIZES[dtype][0] == 32 else 2
        blocks = random_blocks(rng, dtype, count)
        floats = dequantize(blocks, dtype).astype(np.float32).ravel().view(np.uint32)
        name = dtype.name.lower()
        out.append(f"static const unsigned char {name}_blocks[] = {{\n{lines(blocks.ravel(), '0x%02x,', 16)}\n}};")
        out.append(f"static const uint32_t {name}_floats[] = {{\n{lines(floats, '0x%08x,', 8)}\n}};")
        rows.append(f"    {{DT_{dtype.name}, {name}_blocks, {name}_floats, {floats.size}}},")
    out.append("static const struct vector vectors[] = {\n" + "\n".join(rows) + "\n};")
    path = pathlib.Path(__file__).parent / "vectors" / "dequant.inc"
    path.write_text("\n".join(out) + "\n")


if __name__ == "__main__":
    main()
