# The frame of the tests of inputs: cases as functions, TAP out, helpers to run the program.
# SPDX-License-Identifier: Apache-2.0
#
# usage: inputs.py PART.py…   Each part defines cases with @case; each runs in a folder of its own.
import importlib.util
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import traceback

cases = []
seed = int(os.environ.get("LL_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 31)
dice = random.Random(seed)


class Skip(Exception):
    pass


def case(rows, name, long=False):
    """rows: numbers in the table of inputs, shown before the name. long: only run with LL_LONG set, and alone then."""

    def keep(function):
        if long == bool(os.environ.get("LL_LONG")):
            cases.append((f"{rows}: {name}" if rows else name, function))
        return function

    return keep


def need(program):
    if not shutil.which(program):
        raise Skip(f"{program} is not installed")


def put(name, data):
    if os.path.dirname(name):
        os.makedirs(os.path.dirname(name), exist_ok=True)
    with open(name, "wb") as file:
        file.write(data.encode() if isinstance(data, str) else data)
    return name


class Result:
    def __init__(self, done):
        self.code = done.returncode
        self.out = done.stdout.decode("utf-8", "surrogateescape")
        self.err = done.stderr.decode("utf-8", "surrogateescape")

    def json(self):
        return json.loads(self.out)

    def __repr__(self):
        return f"ended with {self.code}\n--- out\n{self.out[:3000]}\n--- err\n{self.err[:2000]}"


def run(*words, stdin=b"", env=None, timeout=120):
    done = subprocess.run(["longleaf", *words], input=stdin, capture_output=True, timeout=timeout,
                          env={**os.environ, **(env or {})})
    return Result(done)


def text(*names, code=0, **rest):
    """The text of the named files; the exit code must be the one given."""
    result = run("text", *names, **rest)
    assert result.code == code, result
    return result


def described(*names, code=0, **rest):
    return text("--json", *names, code=code, **rest).json()


def refused(fragment, *words, code=6, **rest):
    """Ends with the code, says nothing on standard output and one sentence that holds the fragment."""
    result = run("text", *words, **rest)
    lines = [line for line in result.err.splitlines() if ": note: " not in line]
    assert result.code == code and not result.out and len(lines) == 1, result
    assert fragment in lines[0], (fragment, lines[0])
    return result


def in_order(text, *pieces):
    at = 0
    for piece in pieces:
        found = text.find(piece, at)
        assert found >= 0, f"{piece!r} is not there, or not in order, in:\n{text[:3000]}"
        at = found + len(piece)


def main():
    sys.modules["inputs"] = sys.modules["__main__"]
    for part in sys.argv[1:]:
        spec = importlib.util.spec_from_file_location(os.path.basename(part)[:-3], part)
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
    print(f"# LL_SEED={seed}")
    home = os.getcwd()
    for number, (name, function) in enumerate(cases, 1):
        folder = tempfile.mkdtemp(dir=home)
        os.chdir(folder)
        try:
            function()
            print(f"ok {number} - {name}")
        except Skip as reason:
            print(f"ok {number} - {name} # SKIP {reason}")
        except Exception:
            for line in traceback.format_exc().splitlines()[-60:]:
                print(f"# {line}")
            print(f"not ok {number} - {name}")
        sys.stdout.flush()
        os.chdir(home)
        subprocess.run(["chmod", "-R", "u+rwX", folder], check=False)
        shutil.rmtree(folder, ignore_errors=True)
    print(f"1..{len(cases)}")
    return 0 if cases else 1


if __name__ == "__main__":
    sys.exit(main())
