#!/bin/sh
# Writes docs/models.md: every architecture with the largest error that its test vectors saw.
# SPDX-License-Identifier: Apache-2.0
# usage: make_table.sh VECTORS FOLDERS > docs/models.md; these are the logs of `make check
# TESTS="tests/engine/test_vectors tests/engine/test_folders"`
set -eu
cat <<'END'
# Models

Every architecture is a row of `src/model/architecture.c`, held to double precision on tiny random models: the
files, the logits they must give and the scripts that made both are in `tests/vectors`. transformers in float64 is
the truth, where it has a class; NumPy models written from the published descriptions are it for mpt with a bias of
16, refact, baichuan with ALiBi and jais (`mpt_truth.py`, `alibi_truth.py`).

This page is written by `tests/vectors/make_table.sh` from the logs of
`make check TESTS="tests/engine/test_vectors tests/engine/test_folders"`.

## Families

Each row is a Hugging Face folder of a tiny model (BF16), as transformers writes it, in `tests/vectors/hf`. The numbers
are the largest differences of logits from double precision, as shares of their range: the folder run as it is by plain
loops and by the processor's kernels, the file that `longleaf convert` makes of it (its logits are the folder's, bit for
bit), and that file with weights as Q8_0 (F16 where rows are too short for its blocks). Token ids are those of the
tokenizers library (sentencepiece for baichuan and mistral-unigram) on 28 texts of many scripts, the template is the folder's own, and a
session saved and opened again computes nothing and has the same logits.

| family | architecture | plain loops | kernels | convert | quantize | token ids | template | session |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
END
awk '/^# (folder|convert|quantize|tokens|template|session) / {
    name = $3; sub(/:$/, "", name)
    if (!(name in order)) { order[name] = ++count; names[count] = name }
    if ($2 == "folder") { plain[name] = $5; fast[name] = $7 }
    if ($2 == "convert" || $2 == "quantize") value[name, $2] = $5
    if ($2 == "tokens") value[name, $2] = $4 " equal"
    if ($2 == "template" || $2 == "session") value[name, $2] = $4
}
END {
    architecture["mistral"] = architecture["mixtral"] = "llama"
    architecture["llama-unigram"] = architecture["mistral-unigram"] = "llama"
    architecture["falcon-rw"] = "falcon"
    for (i = 1; i <= count; i++) {
        n = names[i]
        printf "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", n, n in architecture ? architecture[n] : n, plain[n],
            fast[n], value[n, "convert"], value[n, "quantize"], value[n, "tokens"], value[n, "template"],
            value[n, "session"]
    }
}' "$2"
cat <<'END'

## Settings

GGUF files of tiny models with settings that families share or differ in. The numbers are the largest differences of
logits over sequences of 1, 7, 40 and 200 tokens: plain loops, the processor's kernels, and the same with keys and
values kept as F16.

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
keys, and any other, without writing a file; `longleaf convert` writes them.

Mixtures of experts (mixtral, whose files are of the architecture llama, and qwen3moe) run on the processor: each token
is given to the experts of the greatest scores, whose shares are made to sum to 1 unless the file says
`expert_weights_norm = false`; their sum is taken in the order of the experts, so that it does not depend on what else
is computed. Files in which every expert is a tensor of its own (before April 2024) are refused with the advice to convert
again, and devices other than the processor refuse such models in a sentence.

`--rope-scaling`, `--rope-factor`, `--rope-base` and `--rope-original` put another scaling of rotary positions in place
of the file's; `--alibi-max-bias` sets what ALiBi's slopes are made from, and `--alibi-stretch X` divides its distances
by X (position interpolation). Each is refused for a model that has no such positions.

Tokenizers are byte-level BPE (`gpt2`, with the rules of the named pre-tokenizer), SentencePiece's BPE (`llama`) and its
unigram model (`t5`). The last cuts a text into the pieces whose scores sum to most, in double precision, as the tokenizers
library and llama.cpp do; sentencepiece itself adds in single precision, so that where two cuts score the same (a long run
of spaces) it may take the other. Text is changed first by the file's own table (`precompiled_charsmap`, NFKC and its
like), always by the longest rule that fits. Bytes that are no UTF-8 stay bytes where the vocabulary has tokens for them,
where sentencepiece puts U+FFFD.

Chat templates are rendered by the engine itself; `tests/text/make_template_vectors.py` makes templates of every
construct and of the ways that ChatML, Llama 2 and 3, Gemma, Qwen 3, Phi 3, Mistral, Granite, Zephyr, DeepSeek and
Vicuna write turns, and jinja2's answers to them, which `tests/text/test_template` compares byte for byte.

## Lookup

`--lookup` guesses what comes next from what the text said before: where its last three tokens stood already, the
tokens behind them are drafted, up to 15, and one step of the model tells which of them it would have said itself. What
comes is the same, byte for byte, sampled with a seed or not, because each token is still picked from the model's own
numbers, and on the processor those do not depend on how many tokens a step holds. Drafts grow while they come
true, and are left out for a while when they do not. `tests/bench/lookup.py` measures what that gains and costs.

`sum` and `ask` have no such option, because there it would gain next to nothing: their windows run side by side, and
a step of several sequences costs about as much as it has tokens (with the default model 8 take 2.3 times as long as 3). On the
GPL (19 windows, 1,306 tokens written), drafts would have made 954 steps of a sequence in place of 1,306, with 1,576
tokens computed in place of 1,306; in `ask` (119 tokens) 84 steps, with 129 tokens.

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
experts and what chooses among them, an output tied to the embedding) is refused, with the tensor's name. Adapters run on the processor only.
END
