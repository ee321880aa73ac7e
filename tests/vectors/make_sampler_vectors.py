"""Writes sampler.txt: random logits, settings, and the tokens that double-precision models of the rules draw.
SPDX-License-Identifier: Apache-2.0

The models are written from the published descriptions, by sorting everything: repetition penalty (Keskar et al.
2019), DRY and XTC (text-generation-webui's pull requests 5677 and 6335), nucleus (Holtzman et al. 2020), min-p
(Nguyen et al. 2024), locally typical (Meister et al. 2023), mirostat (Basu et al. 2021; version 2 as its authors'
program). Random numbers: SplitMix64 (Steele, Lea, Flood 2014), 53 bits each; candidates are drawn from the
likeliest down.
"""
import math
import random

import numpy as np

VOCABULARY, STEPS, MASK = 61, 20, (1 << 64) - 1
USUAL = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "repeat": 1.0, "presence": 0.0,
         "frequency": 0.0, "window": 64, "typical": 1.0, "xtc_probability": 0.0, "xtc_threshold": 0.1,
         "mirostat": 0, "tau": 5.0, "eta": 0.1, "dry": 0.0, "base": 1.75, "length": 2, "dry_window": 0, "bias": ""}


class Uniform:
    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        z ^= z >> 31
        return (z >> 11) * 2.0 ** -53


def penalise(logits, history, s):
    recent = history[-s["window"]:] if s["window"] else []
    for token in set(recent):
        logits[token] = logits[token] / s["repeat"] if logits[token] > 0 else logits[token] * s["repeat"]
        logits[token] -= s["presence"] + s["frequency"] * recent.count(token)


def dry(logits, history, s):
    """The published loop: every earlier place of the last token, read backwards."""
    recent = history[-s["dry_window"]:] if s["dry_window"] else history
    lengths = {}
    for i in range(len(recent) - 1):
        n = 0
        while n <= i and recent[i - n] == recent[-1 - n]:
            n += 1
        if n:
            lengths[recent[i + 1]] = max(n, lengths.get(recent[i + 1], 0))
    for token, n in lengths.items():
        if n >= s["length"]:
            logits[token] -= s["dry"] * s["base"] ** (n - s["length"])


def shares(logits, tokens, temperature):
    weights = np.exp((logits[tokens] - logits.max()) / temperature)
    return weights / weights.sum()


def cut(logits, s, uniform):
    """Tokens that stay, likeliest first."""
    tokens = np.array(sorted(range(VOCABULARY), key=lambda i: (-logits[i], i)))
    tokens = tokens[np.isfinite(logits[tokens])]
    if s["top_k"]:
        tokens = tokens[:s["top_k"]]
    if s["typical"] < 1:
        p = shares(logits, tokens, s["temperature"])
        near = np.abs(-np.log(p) + (p * np.log(p)).sum())
        order = np.lexsort((tokens, near))
        kept = order[:1 + int((np.cumsum(p[order]) < s["typical"]).sum())]
        tokens = tokens[np.sort(kept)]
    if s["top_p"] < 1:
        p = shares(logits, tokens, s["temperature"])
        tokens = tokens[:1 + int((np.cumsum(p) < s["top_p"]).sum())]
    if s["min_p"] > 0:
        p = shares(logits, tokens, s["temperature"])
        tokens = tokens[p >= s["min_p"] * p[0]]
    if s["xtc_probability"] > 0 and uniform.next() < s["xtc_probability"]:
        above = int((shares(logits, tokens, s["temperature"]) >= s["xtc_threshold"]).sum())
        tokens = tokens[max(0, above - 1):]
    return tokens


def draw(tokens, p, uniform):
    at = uniform.next() * p.sum()
    for token, share in zip(tokens, p):
        at -= share
        if at < 0:
            return int(token), share
    return int(tokens[-1]), p[-1]


def mirostat(logits, tokens, s, state, uniform):
    p = shares(logits, tokens, s["temperature"])
    if s["mirostat"] == 1:
        m = min(100, len(p))
        t = [math.log((i + 2) / (i + 1)) for i in range(m - 1)]
        b = [math.log(p[i] / p[i + 1]) for i in range(m - 1)]
        slope = sum(x * y for x, y in zip(t, b)) / sum(x * x for x in t)
        epsilon = slope - 1
        k = round(((epsilon * 2 ** state["mu"]) / (1 - len(p) ** -epsilon)) ** (1 / slope))
        k = max(1, min(k, len(p)))
        token, share = draw(tokens[:k], p[:k], uniform)
        surprise = -math.log2(share)
    else:
        kept = -np.log2(p) <= state["mu"]
        kept[0] = True
        left = p[kept] / p[kept].sum()
        token, share = draw(tokens[kept], left, uniform)
        surprise = -math.log2(share)
    state["mu"] -= s["eta"] * (surprise - s["tau"])
    return token


def run(s, logits_rows, history, seed):
    uniform, state, out = Uniform(seed), {"mu": 2 * s["tau"]}, []
    history = list(history)
    for row in logits_rows:
        logits = row.astype(np.float64)
        for part in s["bias"].split() if s["bias"] else []:
            token, by = part.split("=")
            logits[int(token)] += float(by)
        if s["window"] and (s["repeat"] != 1 or s["presence"] or s["frequency"]):
            penalise(logits, history, s)
        if s["dry"] > 0:
            dry(logits, history, s)
        if s["temperature"] == 0:
            token = int(np.argmax(logits))
        else:
            tokens = cut(logits, s, uniform)
            if s["mirostat"]:
                token = mirostat(logits, tokens, s, state, uniform)
            else:
                token = draw(tokens, shares(logits, tokens, s["temperature"]), uniform)[0]
        out.append(token)
        history.append(token)
    return out


CASES = [
    {"top_k": 7}, {"top_p": 0.8}, {"min_p": 0.15, "temperature": 1.5}, {"typical": 0.6},
    {"typical": 0.3, "temperature": 0.7}, {"top_k": 20, "typical": 0.9, "top_p": 0.9},
    {"xtc_probability": 0.5, "xtc_threshold": 0.05, "top_k": 30}, {"xtc_probability": 1.0, "top_k": 40},
    {"xtc_probability": 0.7, "xtc_threshold": 0.2, "min_p": 0.02, "temperature": 0.6},
    {"mirostat": 1, "tau": 3.0}, {"mirostat": 1, "tau": 1.5, "eta": 0.3, "temperature": 0.8},
    {"mirostat": 2, "tau": 3.0}, {"mirostat": 2, "tau": 1.0, "eta": 0.5, "temperature": 1.4},
    {"mirostat": 2, "tau": 2.0, "top_k": 10, "repeat": 1.2},
    {"repeat": 1.4, "presence": 0.2, "frequency": 0.3, "window": 9, "top_k": 12}, {"repeat": 1.3, "temperature": 0.0},
    {"dry": 0.8, "temperature": 0.0}, {"dry": 2.0, "base": 1.2, "length": 1, "top_k": 25},
    {"dry": 1.5, "dry_window": 12, "length": 3, "temperature": 0.0},
    {"bias": "3=5.5 17=-inf 40=-2", "top_k": 50}, {"bias": "8=100", "temperature": 0.0},
    {"bias": "5=1 9=-1", "repeat": 1.1, "dry": 0.5, "top_k": 30, "typical": 0.95, "top_p": 0.95, "min_p": 0.01,
     "xtc_probability": 0.3, "temperature": 0.9},
]


def main():
    rng = np.random.default_rng(20240917)
    pick = random.Random(5)
    with open("sampler.txt", "w") as out:
        out.write("# Made by make_sampler_vectors.py: settings, history, seed, then logits and the token of each step.\n")
        for case in CASES:
            s = {**USUAL, **case}
            for name, value in s.items(): # as the program holds them
                if isinstance(value, float):
                    s[name] = float(np.float32(value))
            few = s["dry"] > 0
            rows = [(rng.normal(0, 2.5, VOCABULARY)).round(2).astype(np.float32) for _ in range(STEPS)]
            if few: # a small alphabet repeats itself
                for row in rows:
                    row[6:] -= np.float32(6)
                    row[:] = row.round(2)
            history = [pick.randrange(5 if few else VOCABULARY) for _ in range(30)]
            seed = pick.getrandbits(60)
            tokens = run(s, rows, history, seed)
            settings = " ".join(f"{name}:{case[name]}" for name in case if name != "bias")
            out.write(f"case {settings}\nbias {s['bias']}\nseed {seed}\nhistory {' '.join(map(str, history))}\n")
            for row, token in zip(rows, tokens):
                out.write(f"{token} {' '.join(f'{x:.2f}' for x in row)}\n")


if __name__ == "__main__":
    main()
