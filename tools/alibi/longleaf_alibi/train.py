"""Trains the student phase by phase; cut anywhere, it goes on from the last state with the same rows.
SPDX-License-Identifier: Apache-2.0"""
import json
import os
import signal
import time

import torch
import torch.nn.functional as F

from .attention import rotary_table
from .fault import Fault
from .loss import Divergence
from .phases import read_phase
from .slopes import fit_slopes, standard_slopes
from .state import load_state, save_state

UNTIMED = 3  # steps after a start that the clock leaves out: compilation


class Asked:
    """Whether somebody asked to stop: the step is finished, the state written."""

    def __init__(self):
        self.stop = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._note)

    def _note(self, number, frame):
        self.stop = True


def new_optimizer(student):
    return torch.optim.AdamW(student.parameters(), lr=0.0, betas=(0.9, 0.95), weight_decay=0.0, eps=1e-10)


class Trainer:
    def __init__(self, runner, rows, phases, options, settings, say):
        self.runner, self.rows, self.options, self.settings, self.say = runner, rows, options, settings, say
        self.student = runner.student
        self.phases = [read_phase(text) for text in phases]
        self.divergence = Divergence(runner.base.output, runner.card)
        self.path = os.path.join(options.out, "state.pt")
        self.at = {"phase": 0, "step": 0, "seconds": 0.0, "tokens": 0}
        self.optimizer = new_optimizer(self.student)
        self.asked, self.saved, self.taken = Asked(), time.monotonic(), 0

    # ---- state ----

    def restore(self, state):
        self.at = dict(state["at"])
        self.student.load_state_dict(state["student"])
        self.optimizer.load_state_dict(state["optimizer"])

    def save(self):
        save_state(self.path, {"settings": self.settings, "at": self.at, "table": self.student.table,
                               "student": self.student.state_dict(), "optimizer": self.optimizer.state_dict()})
        self.saved = time.monotonic()

    # ---- steps ----

    def match_step(self, tokens):
        runner, shape, total = self.runner, self.runner.base.shape, 0.0
        cos, sin = rotary_table(shape, tokens.shape[1], runner.device, runner.dtype)
        x = F.embedding(tokens, runner.base.embedding)
        for i, layer in enumerate(runner.base.layers):
            x, error = runner.match_block(x, layer, self.student.factors(i), cos, sin, self.student.slopes[i],
                                          runner.mask(i, tokens.shape[1]), shape)
            error.backward()
            total = total + error.detach()
        return total / shape.layers

    def logits_step(self, tokens):
        wanted = self.runner.teacher(tokens).flatten(0, 1)
        given = self.runner.pupil(tokens)
        loss, gradient = self.divergence(given.detach().flatten(0, 1), wanted)
        given.backward(gradient.view_as(given))
        return loss

    def step(self, phase):
        tokens = self.rows.batch(self.at["phase"], self.at["step"], phase.rows, phase.length, self.runner.device)
        rate = phase.rate(self.at["step"], self.at["seconds"])
        loss = self.match_step(tokens) if phase.kind == "match" else self.logits_step(tokens)
        torch.nn.utils.clip_grad_norm_(self.student.parameters(), 1.0)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.at["step"] += 1
        self.at["tokens"] += tokens.numel()
        return loss

    # ---- phases ----

    def report(self, phase, losses, began, step, tokens):
        loss = float(torch.stack(losses).mean())
        if not loss < 1e4:
            raise Fault(f"the loss of phase {phase.text} became {loss}; lower its rate")
        rate = tokens / max(1e-9, time.monotonic() - began)
        done = phase.share(self.at["step"], self.at["seconds"])
        with open(os.path.join(self.options.out, "log.jsonl"), "a", encoding="utf-8") as log:
            log.write(json.dumps({**self.at, "phase_text": phase.text, "loss": loss, "tokens_s": rate}) + "\n")
        self.say(f"{phase.text}  {100 * done:3.0f} %  step {step}  loss {loss:.4f}  {rate:,.0f} tokens/s")

    def run_phase(self, phase):
        losses, steps, mark, seen = [], 0, time.monotonic(), 0
        while phase.share(self.at["step"], self.at["seconds"]) < 1.0:
            began = time.monotonic()
            losses.append(self.step(phase).detach())
            steps, seen = steps + 1, seen + phase.rows * phase.length
            if steps % 8 == 0 or not self.runner.card:
                losses[-1].item()  # the card's queue is emptied, so that the clock tells the truth
            if steps > UNTIMED:
                self.at["seconds"] += time.monotonic() - began
            if steps == UNTIMED:
                mark, seen = time.monotonic(), 0
            if steps % self.options.every == 0 and seen:
                self.report(phase, losses, mark, self.at["step"], seen)
                losses, mark, seen = [], time.monotonic(), 0
            self.taken += 1
            if self.asked.stop or self.taken == self.options.stop_steps or time.monotonic() > self.options.end:
                return False
            if time.monotonic() - self.saved > self.options.save_every:
                self.save()
        if losses and seen:
            self.report(phase, losses, mark, self.at["step"], seen)
        return True

    def run(self):
        """False: stopped before the end; the state says where."""
        while self.at["phase"] < len(self.phases):
            phase = self.phases[self.at["phase"]]
            if not self.run_phase(phase):
                self.save()
                return False
            following = self.at["phase"] + 1
            self.at.update(phase=following, step=0, seconds=0.0)
            if following < len(self.phases) and self.phases[following].kind != phase.kind:
                self.optimizer = new_optimizer(self.student)
            self.save()
        return True


def slope_table(base, rows, options, say):
    if options.slopes == "standard":
        return [standard_slopes(base.shape.heads) for _ in range(base.shape.layers)]
    tokens = rows.batch(1 << 20, 0, options.fit_rows, options.fit_length, base.embedding.device)
    table, before, after = fit_slopes(base, tokens)
    say(f"slopes fitted to heads: mean divergence {before:.2f} nats in the standard order, {after:.2f} now")
    return table


def settings_of(base, rows, phases, options):
    return {"base": base.identity, "text": rows.identity(), "phases": phases, "rank": options.rank,
            "slopes": options.slopes, "seed": options.seed, "teach": options.teach}


def resume(base, rows, phases, options):
    return load_state(os.path.join(options.out, "state.pt"), settings_of(base, rows, phases, options))
