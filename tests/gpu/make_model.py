"""Writes a GGUF model of a real shape with random weights, for benchmarks: whole, valid, and made in seconds.

SPDX-License-Identifier: Apache-2.0

usage: make_model.py SHAPE TYPE FILE     SHAPE: llama-8b, mpt-7b, llama-1b    TYPE: bf16, q8_0, q4_k_m
The weights are cut at random places from a bank of random blocks whose scales make activations stay finite; the
mixture of q4_k_m is that of 8B models: Q6_K for the output and for half of the layers' values and down
projections, Q4_K elsewhere. Needs numpy.
"""
import struct
import sys

import numpy

SHAPES = {
    "llama-8b": dict(arch="llama", width=4096, ffn=14336, layers=32, heads=32, kv_heads=8, vocabulary=128256, base=500000.0),
    "llama-1b": dict(arch="llama", width=2048, ffn=8192, layers=16, heads=32, kv_heads=8, vocabulary=32000, base=500000.0),
    "mpt-7b": dict(arch="mpt", width=4096, ffn=16384, layers=32, heads=32, kv_heads=32, vocabulary=50432),
}
F32, Q8_0, Q4_K, Q6_K, BF16 = 0, 8, 12, 14, 30  # GGUF's numbers
BLOCKS = {F32: (1, 4), BF16: (1, 2), Q8_0: (32, 34), Q4_K: (256, 144), Q6_K: (256, 210)}  # numbers, bytes
U32, F32_KEY, TEXT, ARRAY, I32 = 4, 6, 8, 9, 5
BANK_BYTES = 48 << 20
MERGES = [("\u0120", "t"), ("h", "e"), ("i", "n"), ("\u0120t", "he"), ("e", "r"), ("o", "n"), ("\u0120", "a"), ("r", "e")]


def bank(kind, deviation, random):
    """Random blocks of a type, as bytes."""
    numbers, size = BLOCKS[kind]
    if kind == BF16:
        values = random.standard_normal(BANK_BYTES // 2, dtype=numpy.float32) * deviation
        return (values.view(numpy.uint32) >> 16).astype(numpy.uint16).tobytes()
    blocks = random.integers(0, 256, (BANK_BYTES // size, size), dtype=numpy.uint8)

    def scale(at, value):
        blocks[:, at:at + 2] = (random.uniform(0.7, 1.3, len(blocks)) * value).astype(numpy.float16)[:, None].view(numpy.uint8)
    if kind == Q8_0:
        scale(0, deviation / 74)
    elif kind == Q4_K:  # six-bit scales times codes 0 … 15, less a minimum that makes the mean about zero
        scale(0, deviation / (4.6 * 31))
        scale(2, deviation * 7.5 / (4.6 * 31))
    else:
        blocks[:, 192:208] = random.integers(-80, 80, (len(blocks), 16), dtype=numpy.int8).view(numpy.uint8)
        scale(208, deviation / (18 * 46))
    return blocks.tobytes()


def byte_letters():
    extra, letters = 256, []
    for byte in range(256):
        plain = 33 <= byte <= 126 or 161 <= byte <= 172 or byte >= 174
        letters.append(chr(byte if plain else extra))
        extra += not plain
    return letters


def tokens_of(count):
    tokens = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"] + byte_letters() + ["".join(pair) for pair in MERGES]
    return tokens + [f"[PAD{i}]" for i in range(len(tokens), count)]


def text(value):
    data = value.encode("utf-8")
    return struct.pack("<Q", len(data)) + data


def key(name, kind, value):
    head = text(name) + struct.pack("<I", kind)
    if kind == TEXT:
        return head + text(value)
    return head + struct.pack("<I" if kind == U32 else "<f", value)


def texts(name, values):
    return text(name) + struct.pack("<IIQ", ARRAY, TEXT, len(values)) + b"".join(text(v) for v in values)


def metadata(shape):
    arch, count = shape["arch"], shape["vocabulary"]
    tokens = tokens_of(count)
    kinds = [3] * 3 + [1] * (256 + len(MERGES))
    kinds += [5] * (count - len(kinds))
    keys = [key("general.architecture", TEXT, arch), key("general.name", TEXT, "Random"),
            key(f"{arch}.block_count", U32, shape["layers"]), key(f"{arch}.context_length", U32, 262144),
            key(f"{arch}.embedding_length", U32, shape["width"]), key(f"{arch}.feed_forward_length", U32, shape["ffn"]),
            key(f"{arch}.attention.head_count", U32, shape["heads"]),
            key(f"{arch}.attention.head_count_kv", U32, shape["kv_heads"])]
    if arch == "llama":
        keys += [key("llama.attention.layer_norm_rms_epsilon", F32_KEY, 1e-5), key("llama.rope.freq_base", F32_KEY, shape["base"]),
                 key("llama.rope.dimension_count", U32, shape["width"] // shape["heads"]), key("llama.vocab_size", U32, count)]
    else:
        keys += [key("mpt.attention.layer_norm_epsilon", F32_KEY, 1e-5), key("mpt.attention.max_alibi_bias", F32_KEY, 8.0)]
    keys += [key("tokenizer.ggml.model", TEXT, "gpt2"), key("tokenizer.ggml.pre", TEXT, "smollm" if arch == "llama" else "mpt"),
             texts("tokenizer.ggml.tokens", tokens), texts("tokenizer.ggml.merges", [" ".join(pair) for pair in MERGES]),
             text("tokenizer.ggml.token_type") + struct.pack("<IIQ", ARRAY, I32, count) + struct.pack(f"<{count}i", *kinds),
             key("tokenizer.ggml.bos_token_id", U32, 1), key("tokenizer.ggml.eos_token_id", U32, 2)]
    return keys


def tensors(shape, kind):
    """(name, columns, rows or None, type)"""
    width, ffn, layers = shape["width"], shape["ffn"], shape["layers"]
    kv = width // shape["heads"] * shape["kv_heads"]

    def better(layer):  # half of the layers: the ends, and every third between
        mixed = layer < layers // 8 or layer >= 7 * layers // 8 or (layer - layers // 8) % 3 == 2
        return Q6_K if kind == Q4_K and mixed else kind
    yield "token_embd.weight", width, shape["vocabulary"], kind
    yield "output_norm.weight", width, None, F32
    if shape["arch"] == "llama":
        yield "output.weight", width, shape["vocabulary"], Q6_K if kind == Q4_K else kind
    for i in range(layers):
        yield f"blk.{i}.attn_norm.weight", width, None, F32
        yield f"blk.{i}.ffn_norm.weight", width, None, F32
        if shape["arch"] == "llama":
            yield f"blk.{i}.attn_q.weight", width, width, kind
            yield f"blk.{i}.attn_k.weight", width, kv, kind
            yield f"blk.{i}.attn_v.weight", width, kv, better(i)
            yield f"blk.{i}.ffn_gate.weight", width, ffn, kind
        else:
            yield f"blk.{i}.attn_qkv.weight", width, width + 2 * kv, better(i)
        yield f"blk.{i}.attn_output.weight", width, width, kind
        yield f"blk.{i}.ffn_up.weight", width, ffn, kind
        yield f"blk.{i}.ffn_down.weight", ffn, width, better(i)


def size_of(columns, rows, kind):
    numbers, size = BLOCKS[kind]
    return columns // numbers * size * (rows or 1)


def write_weight(file, blocks, size, kind, random):
    unit = BLOCKS[kind][1]
    while size > 0:
        begin = int(random.integers(0, len(blocks) // unit // 2)) * unit
        run = min(size, len(blocks) - begin) // unit * unit
        file.write(memoryview(blocks)[begin:begin + run])
        size -= run


def main(name, type_name, path):
    shape, kind = SHAPES[name], {"bf16": BF16, "q8_0": Q8_0, "q4_k_m": Q4_K}[type_name]
    random = numpy.random.default_rng(4)
    listed, offset, infos = list(tensors(shape, kind)), 0, []
    for tensor, columns, rows, dtype in listed:
        dims = [columns] + ([rows] if rows else [])
        infos.append(text(tensor) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, dtype, offset))
        offset += (size_of(columns, rows, dtype) + 31) // 32 * 32
    keys, banks = metadata(shape), {}
    with open(path, "wb") as file:
        file.write(b"GGUF" + struct.pack("<IQQ", 3, len(listed), len(keys)) + b"".join(keys) + b"".join(infos))
        file.write(b"\0" * (-file.tell() % 32))
        begin = file.tell()
        for tensor, columns, rows, dtype in listed:
            file.write(b"\0" * (-(file.tell() - begin) % 32))
            if dtype == F32:
                file.write((1 + 0.1 * random.standard_normal(columns)).astype(numpy.float32).tobytes())
                continue
            if dtype not in banks:
                banks[dtype] = bank(dtype, 1.0 / shape["width"] ** 0.5, random)
            write_weight(file, banks[dtype], size_of(columns, rows, dtype), dtype, random)
        file.write(b"\0" * (-(file.tell() - begin) % 32))
    print(f"{path}: {name}, {type_name}, {offset / 2 ** 30:.2f} GiB")


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in SHAPES or sys.argv[2] not in ("bf16", "q8_0", "q4_k_m"):
        sys.exit(__doc__)
    main(*sys.argv[1:])
