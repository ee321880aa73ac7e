# Times the reading of documents: a PDF beside MuPDF, a 200 MB log and a line of 50 MB with their peak memory.
# SPDX-License-Identifier: Apache-2.0
#
# usage: readers_speed.py LONGLEAF FILE.pdf   Needs mutool (package mupdf-tools) for the comparison.
import os
import shutil
import subprocess
import sys
import tempfile
import time

ROUNDS = 5


def measure(*command):
    """Seconds of processor time, children's too, wall clock, and peak memory in MiB."""
    started = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    assert status == 0, (command, status)
    return usage.ru_utime + usage.ru_stime, time.monotonic() - started, usage.ru_maxrss / 1024


def compare(longleaf, pdf):
    if not shutil.which("mutool"):
        print("mutool is not installed: no comparison")
        return
    walls = {"longleaf": [], "mutool": []}
    for _ in range(ROUNDS):  # in turn, so that both meet the same load
        walls["longleaf"].append(measure(longleaf, "text", pdf)[1])
        walls["mutool"].append(measure("mutool", "draw", "-q", "-F", "txt", pdf)[1])
    ours, theirs = (sorted(walls[name])[ROUNDS // 2] for name in ("longleaf", "mutool"))
    print(f"{pdf}: longleaf {ours:.2f} s, mutool {theirs:.2f} s, ratio {ours / theirs:.2f} (median of {ROUNDS}; bar 3)")


def report(longleaf, name, bar):
    processor, wall, peak = measure(longleaf, "text", name)
    size = os.path.getsize(name)
    print(f"{os.path.basename(name)}: {size / 1e6:.0f} MB in {wall:.1f} s wall, {processor:.1f} s of processor, "
          f"peak {peak:.0f} MiB{bar}")


def main():
    longleaf, pdf = os.path.abspath(sys.argv[1]), sys.argv[2]
    compare(longleaf, pdf)
    with tempfile.TemporaryDirectory() as folder:
        log, line = os.path.join(folder, "app.log"), os.path.join(folder, "line.txt")
        with open(log, "w") as file:
            number = 0
            while file.tell() < 200_000_000:
                file.write("".join(f"2026-11-30 12:{i // 60 % 60:02}:{i % 60:02} INFO worker-{i % 7} served /page/{i} in "
                                   f"{i % 90} ms\n" for i in range(number, number + 20000)))
                number += 20000
        report(longleaf, log, " (bar 600)")
        with open(line, "w") as file:
            file.write("The glassmaker melts sand with soda and lime. " * (50_000_000 // 46))
        report(longleaf, line, "")


main()
