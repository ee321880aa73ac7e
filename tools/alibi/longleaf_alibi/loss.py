"""Losses over a large vocabulary, a bounded number of logits at a time.
SPDX-License-Identifier: Apache-2.0"""
import torch
import torch.nn.functional as F

LOGITS = 1 << 28  # at most so many at a time


def rows_at_once(vocabulary):
    return max(16, min(8192, LOGITS // vocabulary))


def _divergence(student, teacher, output):
    """The sum over tokens of KL(teacher || student), and its gradient for the student's last hidden row."""
    ours = F.log_softmax(F.linear(student, output).float(), -1)
    theirs = F.log_softmax(F.linear(teacher, output).float(), -1)
    share = theirs.exp()
    return (share * (theirs - ours)).sum(), (ours.exp() - share).to(student.dtype) @ output


class Divergence:
    def __init__(self, output, compiled):
        self.output = output
        self.step = torch.compile(_divergence) if compiled else _divergence

    @torch.no_grad()
    def __call__(self, student, teacher):
        """[tokens, width] twice -> the mean, and the gradient of the mean."""
        gradient, total = torch.empty_like(student), 0.0
        chunk = rows_at_once(self.output.shape[0])
        for at in range(0, student.shape[0], chunk):
            part, gradient[at:at + chunk] = self.step(student[at:at + chunk], teacher[at:at + chunk], self.output)
            total = total + part
        return total / student.shape[0], gradient / student.shape[0]


@torch.no_grad()
def surprise(hidden, output, wanted):
    """[tokens] of -log p(wanted)."""
    parts, chunk = [], rows_at_once(output.shape[0])
    for at in range(0, hidden.shape[0], chunk):
        logits = F.linear(hidden[at:at + chunk], output).float()
        parts.append(F.cross_entropy(logits, wanted[at:at + chunk], reduction="none"))
    return torch.cat(parts)
