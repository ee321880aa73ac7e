"""Phases of training as text: KIND:ROWSxTOKENS:LENGTH:RATE[..RATE], such as logits:2x16384:300s:1e-3..1e-4.
SPDX-License-Identifier: Apache-2.0"""
import math
import re
from dataclasses import dataclass

from .fault import Fault

RECIPE = ["match:16x2048:60s:2e-3..2e-4", "logits:16x2048:360s:1.5e-3..1e-3", "logits:4x8192:240s:1e-3..6e-4",
          "logits:2x16384:300s:6e-4..2e-4", "logits:1x32768:240s:2e-4..1e-5"]
FORM = re.compile(r"(match|logits):(\d+)x(\d+):(\d+)(s?):([0-9.e+-]+?)(?:\.\.([0-9.e+-]+))?$")


@dataclass(frozen=True)
class Phase:
    text: str
    kind: str  # match: attention outputs, layer by layer; logits: KL of the whole
    rows: int
    length: int
    steps: int      # 0: by the clock
    seconds: float  # 0: by steps
    first_rate: float
    last_rate: float

    def share(self, steps, seconds):
        """How much of the phase is done, 0 to 1."""
        return min(1.0, steps / self.steps if self.steps else seconds / self.seconds)

    def rate(self, steps, seconds, warm=30):
        share = 0.5 - 0.5 * math.cos(math.pi * self.share(steps, seconds))
        return (self.first_rate + (self.last_rate - self.first_rate) * share) * min(1.0, (steps + 1) / warm)


def read_phase(text):
    found = FORM.match(text)
    try:
        kind, rows, length, amount, clock, first, last = found.groups()
        phase = Phase(text, kind, int(rows), int(length), 0 if clock else int(amount),
                      float(amount) if clock else 0.0, float(first), float(last or first))
    except (AttributeError, ValueError):
        raise Fault(f"“{text}” is no phase; one looks like logits:16x2048:400s:1e-3..1e-4") from None
    if not (phase.rows and phase.length > 8 and (phase.steps or phase.seconds)):
        raise Fault(f"“{text}”: rows, tokens (more than 8) and steps or seconds must be given")
    return phase
