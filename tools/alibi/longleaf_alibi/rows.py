"""Rows of training tokens: the row that a step sees depends on the seed and the step's number alone.
SPDX-License-Identifier: Apache-2.0"""
import hashlib

import numpy as np
import torch

from .fault import Fault
from .text import read_tokens


class Rows:
    """sources: folders with the share of each in a batch; shares are whole numbers of rows, rounded."""

    def __init__(self, folders, seed):
        self.seed, self.sources = seed, []
        for text in folders:
            folder, _, share = text.partition(":")
            tokens = read_tokens(folder, "tokens.bin")
            try:
                self.sources.append((tokens, float(share) if share else 1.0))
            except ValueError:
                raise Fault(f"{text}: after the colon stands the share of this text, a number") from None

    def identity(self):
        digest = hashlib.sha256()
        for tokens, share in self.sources:
            digest.update(f"{len(tokens)} {share} ".encode() + tokens[:65536].tobytes() + tokens[-65536:].tobytes())
        return digest.hexdigest()

    def batch(self, phase, step, rows, length, device):
        draw = np.random.Generator(np.random.Philox(key=self.seed, counter=[0, 0, phase, step]))
        shares = np.cumsum([share for _, share in self.sources])
        taken = []
        for _ in range(rows):
            source = int(np.searchsorted(shares, draw.random() * shares[-1], side="right"))
            tokens = self.sources[min(source, len(self.sources) - 1)][0]
            if len(tokens) <= length:
                raise Fault(f"the text has {len(tokens)} tokens, too few for rows of {length}")
            at = int(draw.integers(0, len(tokens) - length))
            taken.append(tokens[at:at + length].astype(np.int64))
        return torch.from_numpy(np.stack(taken)).to(device)
