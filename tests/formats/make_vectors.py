#!/usr/bin/env python3
"""Makes vectors/*.inc: random blocks and rows, and what the `gguf` package makes of them.

SPDX-License-Identifier: Apache-2.0
Needs numpy and gguf (PyPI). Run from anywhere: the output lies in vectors/ beside this file.
"""
import pathlib
import numpy as np
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType as T
from gguf.quants import dequantize, quantize

# Offsets of the half-precision scales in a block: kept finite, so that values compare as bits.
HALVES = {
    T.Q4_0: [0], T.Q4_1: [0, 2], T.Q5_0: [0], T.Q5_1: [0, 2], T.Q8_0: [0],
    T.Q4_K: [0, 2], T.Q5_K: [0, 2], T.Q6_K: [208],
    T.Q2_K: [80, 82], T.Q3_K: [108], T.IQ4_XS: [0], T.IQ4_NL: [0], T.MXFP4: [],
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


def array(c_type, name, items, form, per_line):
    return f"static const {c_type} {name}[] = {{\n{lines(items, form, per_line)}\n}};"


def write(name, purpose, parts):
    head = [f"/* Made by tests/formats/make_vectors.py: {purpose}.", " * SPDX-License-Identifier: Apache-2.0 */"]
    path = pathlib.Path(__file__).parent / "vectors" / name
    path.write_text("\n".join(head + parts) + "\n")


def dequant_vectors(rng):
    out, rows = [], []
    for dtype in HALVES:
        count = 4 if GGML_QUANT_SIZES[dtype][0] == 32 else 2
        blocks = random_blocks(rng, dtype, count)
        floats = dequantize(blocks, dtype).astype(np.float32).ravel().view(np.uint32)
        name = dtype.name.lower()
        out.append(array("unsigned char", f"{name}_blocks", blocks.ravel(), "0x%02x,", 16))
        out.append(array("uint32_t", f"{name}_floats", floats, "0x%08x,", 8))
        rows.append(f"    {{DT_{dtype.name}, {name}_blocks, {name}_floats, {floats.size}}},")
    out.append("static const struct vector vectors[] = {\n" + "\n".join(rows) + "\n};")
    write("dequant.inc", "random blocks, and the bits of their floats", out)


def quantize_vectors(rng):
    """The package quantises only the types with blocks of 32."""
    values = (rng.normal(size=(4, 32)) * 2.0 ** rng.integers(-12, 4, (4, 1))).astype(np.float32)
    values[3, 7:] = 0
    out, rows = [array("uint32_t", "source_bits", values.ravel().view(np.uint32), "0x%08x,", 8)], []
    for dtype in (T.Q4_0, T.Q4_1, T.Q5_0, T.Q5_1, T.Q8_0):
        name = f"{dtype.name.lower()}_wanted"
        out.append(array("unsigned char", name, quantize(values, dtype).ravel(), "0x%02x,", 16))
        rows.append(f"    {{DT_{dtype.name}, {name}, sizeof {name}}},")
    out.append("static const struct vector vectors[] = {\n" + "\n".join(rows) + "\n};")
    write("quantize.inc", "the bits of random floats, and the blocks they become", out)


def main():
    dequant_vectors(np.random.default_rng(20240607))
    quantize_vectors(np.random.default_rng(20240608))


if __name__ == "__main__":
    main()
