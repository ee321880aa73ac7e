"""The adapter's file: GGUF with slopes, low-rank factors and deltas of norms, as the engine's --adapter reads it.
SPDX-License-Identifier: Apache-2.0"""
import os

import gguf
import numpy as np
import torch

from .base import MATRICES, NORMS
from .fault import Fault

TYPES = {"f32": gguf.GGMLQuantizationType.F32, "f16": gguf.GGMLQuantizationType.F16,
         "q8_0": gguf.GGMLQuantizationType.Q8_0}


def _put(writer, name, values, kind):
    """A row that no block of 32 divides stays in 16 bits."""
    values = np.ascontiguousarray(values, dtype=np.float32)
    if kind == "q8_0" and values.shape[-1] % 32:
        kind = "f16"
    writer.add_tensor(name, gguf.quants.quantize(values, TYPES[kind]), raw_dtype=TYPES[kind])


def write_adapter(path, base, student, kind, proven, evidence, base_file=""):
    """base_file: the base's name beside the adapter, which lets it be named as a model. proven: tokens in one pass that a measurement carries; evidence: which, in words."""
    writer = gguf.GGUFWriter(path + ".part", "llama")
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_name(f"{base.shape.name} ALiBi")
    writer.add_string("general.base_model.0.name", base.shape.name)
    writer.add_uint32("general.base_model.count", 1)
    writer.add_string("adapter.base_sha256", base.identity)
    if base_file:
        writer.add_string("adapter.base_file", base_file)
    writer.add_array("adapter.alibi.slopes", [float(s) for layer in student.table for s in layer])
    writer.add_uint32("adapter.context_length", proven)
    writer.add_string("adapter.alibi.evidence", evidence)
    for index in range(base.shape.layers):
        factors = student.factors(index)
        for name in MATRICES:
            a, b = (factors[f"{name}.{part}"].detach().cpu().float() for part in "ab")
            # Both factors of one size: eight-bit blocks then lose the least.
            balance = (b.norm() / a.norm()).sqrt() if b.norm() > 0 else torch.tensor(1.0)
            _put(writer, f"blk.{index}.{name}.weight.lora_a", (a * balance).numpy(), kind)
            _put(writer, f"blk.{index}.{name}.weight.lora_b", (b / balance).numpy(), kind)
        for name in NORMS:
            _put(writer, f"blk.{index}.{name}.weight.delta", factors[name].detach().cpu().numpy(), "f32")
    _put(writer, "output_norm.weight.delta", student.output_norm.detach().cpu().numpy(), "f32")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    os.replace(path + ".part", path)
    return os.path.getsize(path)


@torch.no_grad()
def read_adapter(path, base):
    """The slope table, the ranks, and a function that fills a student of these."""
    try:
        reader = gguf.GGUFReader(path)
        slopes = reader.fields["adapter.alibi.slopes"].contents()
        tensors = {t.name: torch.from_numpy(np.array(gguf.quants.dequantize(t.data, t.tensor_type), np.float32)
                                            .reshape(tuple(int(n) for n in t.shape[::-1]))) for t in reader.tensors}
    except Exception as problem:
        raise Fault(f"{path}: not a readable ALiBi adapter ({problem})") from problem
    heads = base.shape.heads
    if len(slopes) != heads * base.shape.layers:
        raise Fault(f"{path}: {len(slopes)} slopes, and the base has {heads * base.shape.layers} heads in all")
    table = [[float(s) for s in slopes[i * heads:(i + 1) * heads]] for i in range(base.shape.layers)]
    ranks = {name: tensors[f"blk.0.{name}.weight.lora_a"].shape[0] for name in MATRICES}

    def fill(student):
        with torch.no_grad():
            for index in range(base.shape.layers):
                factors = student.factors(index)
                for name in MATRICES:
                    for part in "ab":
                        factors[f"{name}.{part}"].copy_(tensors[f"blk.{index}.{name}.weight.lora_{part}"])
                for name in NORMS:
                    factors[name].copy_(tensors[f"blk.{index}.{name}.weight.delta"])
            student.output_norm.copy_(tensors["output_norm.weight.delta"])

    return table, ranks, fill
