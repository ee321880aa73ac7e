"""Vocabularies just large enough for a loader: printable ASCII, a few merges, control tokens.
SPDX-License-Identifier: Apache-2.0
"""
import gguf

PRINTABLE = [chr(c) for c in range(33, 127)]
NORMAL, UNKNOWN, CONTROL, BYTE = (int(gguf.TokenType[n]) for n in ("NORMAL", "UNKNOWN", "CONTROL", "BYTE"))


def add_bpe(writer):
    """Byte-level BPE without the bytes above ASCII; Ċ and Ġ are newline and space. Returns its size."""
    tokens = ["<|end|>", "Ċ", "Ġ"] + PRINTABLE + ["th", "Ġt", "Ġth"]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([CONTROL] + [NORMAL] * (len(tokens) - 1))
    writer.add_token_merges(["t h", "Ġ t", "Ġ th"])
    writer.add_eos_token_id(0)
    writer.add_add_bos_token(False)
    return len(tokens)


def add_spm(writer):
    """SentencePiece with scores; the newline is the one byte token. Returns its size."""
    tokens = ["<pad>", "<eos>", "<bos>", "<unk>", "<0x0A>", "▁"] + PRINTABLE + ["th", "▁t", "▁th"]
    kinds = [CONTROL, CONTROL, CONTROL, UNKNOWN, BYTE] + [NORMAL] * (len(tokens) - 5)
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * 5 + [-float(i) for i in range(len(tokens) - 8)] + [-0.1, -0.2, -0.05])
    writer.add_token_types(kinds)
    writer.add_bos_token_id(2)
    writer.add_eos_token_id(1)
    writer.add_unk_token_id(3)
    writer.add_pad_token_id(0)
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(False)
    writer.add_add_space_prefix(False)
    return len(tokens)
