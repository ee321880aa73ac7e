"""The few words a Python test needs to speak TAP: cases are functions named as sentences.

SPDX-License-Identifier: Apache-2.0
"""
import os
import sys
import traceback

CASES = []
LONG = bool(os.environ.get("LL_LONG"))


class Skip(Exception):
    """Raised by a case that does not apply, with the reason."""


def case(function):
    CASES.append(function)
    return function


def run(*arguments):
    """Runs all cases, or those that the command line names a part of."""
    wanted = sys.argv[1:]
    failed = 0
    chosen = [each for each in CASES if not wanted or any(part in each.__name__ for part in wanted)]
    for number, function in enumerate(chosen, 1):
        name = function.__name__.replace("_", " ")
        try:
            function(*arguments)
            print(f"ok {number} - {name}", flush=True)
        except Skip as reason:
            print(f"ok {number} - {name} # SKIP {reason}", flush=True)
        except Exception:  # a case that fails in any way fails; the others still run
            failed += 1
            print(f"not ok {number} - {name}", flush=True)
            for line in traceback.format_exc(limit=4).splitlines():
                print(f"# {line}", flush=True)
    print(f"1..{len(chosen)}", flush=True)
    return 1 if failed else 0
