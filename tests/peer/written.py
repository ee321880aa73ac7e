#!/usr/bin/env python3
"""Files that longleaf writes, read by others: every tensor by gguf, the logits by llama.cpp.
SPDX-License-Identifier: Apache-2.0

    written.py LIBRARY LONGLEAF MODEL.gguf [FOLDER...]

LIBRARY is liblongleaf.so, LONGLEAF the program. MODEL.gguf is quantised to every type, each Hugging Face FOLDER
converted as F32 and as Q8_0. A line for each file: the largest difference of a tensor from what the source
holds (as gguf takes both apart, a share of the tensor's range), and of the logits of a sentence in
llama.cpp from ours (a share of their range), and whether both would go on with the same token. Exits 1 where
gguf or llama.cpp does not read a file, or the logits are further apart than both round (5 %: products of weights
in blocks round what they are multiplied with to bytes; 0.1 % where they do not). Texts of folders are short
enough for llama.cpp, which knows no windows in files of the architecture llama.
"""
import os
import subprocess
import sys
import tempfile

import gguf
import numpy as np

import ours
import theirs

TYPES = ["Q8_0", "Q6_K", "Q5_K", "Q4_K", "Q5_1", "Q5_0", "Q4_1", "Q4_0", "BF16", "F16", "F32"]
TEXT = "The longleaf pine grows for ninety years before it stands at its full height, and then for two hundred more."
SHORT = "A pine tree"
EXACT = {"F16", "F32"}
# Where llama.cpp computes something else than the folder's own library, or does not open so small a vocabulary.
OTHER = {
    "baichuan": "it gives a model of 2 layers no positions",
    "falcon-rw": "it has no such family",
    "gemma2": "it takes the attention's scale from the size of a head, not from the file's query_pre_attn_scalar",
    "phi3": "it asks for the token <|endoftext|> of every file named phi3",
}
F32 = 0  # of ll_dtype, and of ggml_type


def values(tensor):
    return gguf.quants.dequantize(tensor.data, tensor.tensor_type).reshape(-1)


def tensor_error(path, source):
    """Of all tensors of the file, each found in the source under its name."""
    known = {t.name: t for t in gguf.GGUFReader(source).tensors}
    worst = 0.0
    for tensor in gguf.GGUFReader(path).tensors:
        want, got = values(known[tensor.name]), values(tensor)
        assert want.shape == got.shape, tensor.name
        worst = max(worst, float(np.abs(want - got).max() / max(np.ptp(want), 1e-30)))
    return worst


def our_logits(engine, path, text):
    model = ours.Model(engine, path)
    tokens = model.tokenize(text, True)
    session = ours.Session(model, 256, F32)
    session.sync(tokens)
    logits = np.array(session.logits())
    session.close()
    model.close()
    return tokens, logits


def their_logits(path, tokens):
    model = theirs.Model(path)
    session = theirs.Session(model, 256, 1, F32)
    session.extend(tokens)
    logits = session.logits().copy()
    session.close()
    model.close()
    return logits


def compare(engine, name, path, source, bound):
    tokens, mine = our_logits(engine, path, TEXT if source else SHORT)
    tensors = len(gguf.GGUFReader(path).tensors)
    known = OTHER.get(name.split()[0])
    if known:
        print(f"{name}: {tensors} tensors read, not compared with llama.cpp: {known}", flush=True)
        return True
    other = their_logits(path, tokens)
    apart = float(np.abs(mine - other).max() / np.ptp(other))
    error = f"tensors {tensor_error(path, source):.1e}, " if source else ""
    print(f"{name}: {error}logits {apart:.1e}, next token {'the same' if mine.argmax() == other.argmax() else 'ANOTHER'}",
          flush=True)
    return apart <= bound


def main():
    library, program, model, *folders = sys.argv[1:]
    engine = ours.Engine(ours.Library(os.path.abspath(library)), 2, "cpu")
    good = True
    with tempfile.TemporaryDirectory() as place:
        for kind in TYPES:
            path = os.path.join(place, kind + ".gguf")
            subprocess.run([program, "quantize", "-q", model, path, kind], check=True)
            good &= compare(engine, kind, path, model, 1e-3 if kind in EXACT else 0.05)
            os.remove(path)
        for folder in folders:
            for kind in ("F32", "Q8_0"):
                path = os.path.join(place, "converted.gguf")
                subprocess.run([program, "convert", "-q", folder, path, kind], check=True)
                good &= compare(engine, f"{os.path.basename(folder)} {kind}", path, None, 0.05)
                os.remove(path)
    engine.close()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
