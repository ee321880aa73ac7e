"""Prepares text: any documents longleaf reads, without repetitions, as tokens of the base's own tokenizer.
SPDX-License-Identifier: Apache-2.0

A folder of tokens holds tokens.bin (the training text: unsigned 16- or 32-bit ids, each document closed by the
end-of-text token), held-NAME.bin for each document held out whole, and tokens.json, which says what they are.
A file may lie there as .xz instead."""
import hashlib
import json
import lzma
import os
import subprocess
import tempfile

import numpy as np

from .fault import Fault

LEAST_PARAGRAPH = 40  # bytes; shorter ones (headings, list items) may repeat


def find_files(paths):
    found = []
    for path in paths:
        if os.path.isdir(path):
            for folder, _, names in os.walk(path):
                found += [os.path.join(folder, name) for name in names if not name.startswith(".")]
        elif os.path.exists(path):
            found.append(path)
        else:
            raise Fault(f"{path}: no such file or folder")
    return sorted(set(found))


def run_longleaf(program, *arguments):
    try:
        done = subprocess.run([program, *arguments], capture_output=True, check=False)
    except OSError as problem:
        raise Fault(f"{program}: {problem.strerror}; name the program with --longleaf") from problem
    return done.returncode, done.stdout, done.stderr.decode("utf-8", "replace").strip()


class Unrepeated:
    """Drops paragraphs that came before, anywhere; licences and boilerplate would be learnt by heart."""

    def __init__(self):
        self.seen, self.kept, self.dropped = set(), 0, 0

    def __call__(self, text):
        parts = []
        for paragraph in text.split(b"\n\n"):
            key = hashlib.blake2b(b" ".join(paragraph.split()).lower(), digest_size=12).digest()
            if len(paragraph) >= LEAST_PARAGRAPH and key in self.seen:
                self.dropped += len(paragraph)
                continue
            self.seen.add(key)
            self.kept += len(paragraph)
            parts.append(paragraph)
        return b"\n\n".join(parts)


def _write_whole(path, data):
    with open(path + ".part", "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".part", path)


def tokens_of(program, model, text, special):
    with tempfile.NamedTemporaryFile(suffix=".txt") as file:
        file.write(text)
        file.flush()
        code, out, said = run_longleaf(program, "tokens", "-m", model, "--ids", "--kind", "text",
                                      *(["--special"] if special else []), file.name)
    if code:
        raise Fault(f"longleaf tokens failed: {said}")
    return np.array(out.split(), dtype=np.uint32)


def prepare(options, say):
    """Held-out documents are those named, or one in --held-one-in by its content's hash."""
    files, once = find_files(options.text), Unrepeated()
    named = {os.path.realpath(path) for path in find_files(options.held or [])}
    os.makedirs(options.out, exist_ok=True)
    train, held, skipped, total = [], {}, 0, 0
    for path in sorted(set(files) | set(find_files(options.held or [])), key=lambda p: os.path.realpath(p) not in named):
        code, text, said = run_longleaf(options.longleaf, "text", path)
        if code or len(text) < options.least:
            skipped += 1
            if code:
                say(f"{path} is left out: {said}")
            continue
        whole = hashlib.sha256(text).hexdigest()
        text = once(text)
        ids = tokens_of(options.longleaf, options.model, text, options.special)
        apart = os.path.realpath(path) in named or (
            options.held_one_in > 0 and int(whole[:8], 16) % options.held_one_in == 0)
        if apart:
            held[os.path.splitext(os.path.basename(path))[0]] = ids
        else:
            train.append(np.append(ids, np.uint32(options.end)))
            total += len(ids) + 1
        if options.most and total >= options.most:
            break
    if not train or not held:
        raise Fault("both training and held-out text are needed: name more documents, or some with --held")
    order = np.random.Generator(np.random.Philox(key=1)).permutation(len(train))
    everything = np.concatenate([train[i] for i in order])
    wide = max(int(everything.max()), max(int(h.max()) for h in held.values())) > 65535
    kind = np.uint32 if wide else np.uint16
    sizes = {"tokens.bin": len(everything)}
    _save(options, "tokens.bin", everything.astype(kind))
    for name, ids in held.items():
        sizes[f"held-{name}.bin"] = len(ids)
        _save(options, f"held-{name}.bin", ids.astype(kind))
    about = {"bits": 32 if wide else 16, "files": sizes, "documents": len(train), "left_out": skipped,
             "repeated_bytes": once.dropped, "kept_bytes": once.kept}
    _write_whole(os.path.join(options.out, "tokens.json"), json.dumps(about, indent=2).encode() + b"\n")
    say(f"{len(everything):,} tokens of {len(train)} documents, {len(held)} held out, {skipped} left out, "
        f"{once.dropped:,} bytes dropped as repeated")


def _save(options, name, values):
    path, data = os.path.join(options.out, name), values.tobytes()
    if options.pack:
        _write_whole(path + ".xz", lzma.compress(data, preset=6))
    else:
        _write_whole(path, data)


def read_tokens(folder, name):
    try:
        with open(os.path.join(folder, "tokens.json"), encoding="utf-8") as file:
            kind = np.uint32 if json.load(file)["bits"] == 32 else np.uint16
        path = os.path.join(folder, name)
        if os.path.exists(path):
            return np.fromfile(path, dtype=kind)
        with lzma.open(path + ".xz") as file:
            return np.frombuffer(file.read(), dtype=kind)
    except (OSError, ValueError, KeyError, lzma.LZMAError) as problem:
        raise Fault(f"{folder}: no readable {name} is there ({problem}); make it with `prepare`") from problem


def read_held(folder):
    names = sorted({name.removesuffix(".xz") for name in os.listdir(folder) if name.startswith("held-")})
    return {name[5:-4]: read_tokens(folder, name) for name in names}
