#!/bin/sh
# Writes docs/models.md: every architecture with the largest error that its test vectors saw.
# SPDX-License-Identifier: Apache-2.0
# usage: make_table.sh LOG > docs/models.md, where LOG is tests/engine/test_vectors.log of `make check`
set -eu
cat <<'END'
# Models

Every architecture is a row of `src/model/architecture.c`, held to double precision on tiny random models: the
files, the logits they must give and the scripts that made both are in `tests/vectors`. transformers in float64 is
the truth, where it has a class; NumPy models written from the published descriptions are it for mpt with a bias of
16, refact, baichuan with ALiBi and jais (`mpt_truth.py`, `alibi_truth.py`).

The numbers are the largest differences of logits seen over sequences of 1, 7, 40 and 200 tokens, as shares of
their range: plain loops, the processor's kernels, and the same with keys and values kept as F16. This page is
written by `tests/vectors/make_table.sh` from the log of `make check TESTS=tests/engine/test_vectors`.

| architecture | test model | plain loops | kernels | kernels, F16 cache |
| --- | --- | --- | --- | --- |
END
awk '/^# [a-z0-9-]+ on (reference|cpu): within/ {
    model = $2; place = $4 == "reference:" ? "plain" : seen[model]++ ? "half" : "kernels"
    value[model, place] = $6
    if (!(model in order)) { order[model] = ++count; name[count] = model }
}
END {
    for (i = 1; i <= count; i++) {
        family = name[i]; sub(/-.*/, "", family)
        printf "| %s | %s | %s | %s | %s |\n", family, name[i], value[name[i], "plain"], value[name[i], "kernels"],
            value[name[i], "half"]
    }
}' "$1"
cat <<'END'

llama-quantised holds one matrix of each older quantised type; there the kernels round activations to bytes.

What each family needs beside its row is read from its file: windows and their pattern, softcaps, scales, norms of
queries and keys, head counts of single layers, rotary scaling (none, linear, yarn, longrope, and Llama 3's divisors).
longrope's long factors serve sessions whose context is longer than the training before scaling, from their first
token on; a session never changes them. Files of falcon-rw need two keys that no converter writes:
`falcon.attention.max_alibi_bias` (f32, 8) and `falcon.use_parallel_residual` (bool, false). A baichuan file of neither
32 nor 40 layers needs `baichuan.attention.max_alibi_bias` (f32; 0 for rotary positions). `--set-meta` sets such
keys, and any other, without writing a file.

Chat templates are rendered by the engine itself; `tests/text/make_template_vectors.py` makes templates of every
construct and of the ways that ChatML, Llama 2 and 3, Gemma, Qwen 3, Phi 3, Mistral, Granite, Zephyr, DeepSeek and
Vicuna write turns, and jinja2's answers to them, which `tests/text/test_template` compares byte for byte.

## Adapters

`--adapter FILE[:SCALE]` puts a LoRA adapter over the model as it runs; given several times, they add up. The file is a
GGUF one with `general.type` "adapter" and `adapter.type` "lora", as llama.cpp's `convert_lora_to_gguf.py` writes it:
`NAME.lora_a` and `NAME.lora_b` for each matrix NAME, and `adapter.lora.alpha`. A product gains
scale · alpha / rank · b · (a · input), in FP32. `longleaf info FILE` describes an adapter.

Two things go beyond that format. `NAME.delta` is added to the vector NAME, a norm or a bias, times the scale. The
metadata `adapter.alibi.slopes`, FP32 numbers for the heads of the first layer, then the second and so on, turn a model's
rotary positions off and put ALiBi with these slopes in their place; `adapter.context_length` may say for how many
tokens it was trained.

An adapter for another architecture, with a tensor of another shape, or with one that changes nothing here (embeddings,
experts, an output tied to the embedding) is refused, with the tensor's name. Adapters run on the processor only.
END
