"""Programs that people run notebooks with: jupyter_kernel_test's suite, nbconvert, papermill, jupyter-console.

SPDX-License-Identifier: Apache-2.0
"""
import importlib.util
import json
import os
import pathlib
import pty
import select
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import tap
from tap import Skip, case


def need(module, package):
    if importlib.util.find_spec(module) is None:
        raise Skip(f"this Python has no {module} (PyPI: {package})")


def notebook(folder, *codes):
    cells = [{"cell_type": "code", "id": f"c{n}", "metadata": {}, "source": code, "outputs": [],
              "execution_count": None} for n, code in enumerate(codes)]
    cells[0]["metadata"] = {"tags": ["parameters"]}
    spec = {"name": "longleaf", "display_name": "Longleaf", "language": "longleaf"}
    path = pathlib.Path(folder) / "in.ipynb"
    path.write_text(json.dumps({"cells": cells, "metadata": {"kernelspec": spec, "language_info": {"name": "longleaf"}},
                                "nbformat": 4, "nbformat_minor": 5}))
    return path


def call(*command, text=""):
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout + done.stderr


@case
def the_suite_of_jupyter_kernel_test_passes_and_skips_nothing_that_applies():
    need("jupyter_kernel_test", "jupyter-kernel-test")
    import jupyter_kernel_test

    class Suite(jupyter_kernel_test.KernelTests):
        kernel_name = "longleaf"
        language_name = "longleaf"
        file_extension = ".txt"
        code_hello_world = "%echo hello, world"
        code_stderr = "%echo --stderr something is wrong"
        completion_samples = [{"text": "%mod", "matches": ["%model"]},
                              {"text": "%params max_", "matches": ["max_tokens"]}]
        complete_code_samples = ["What is a tree?", "%memory", "%%summarize\ntext"]
        incomplete_code_samples = ["%%summarize", "and so on \\"]
        code_page_something = None  # no payloads: they are deprecated
        code_generate_error = "%nosuchmagic"
        code_execute_result = [{"code": "%mark", "result": "no point is marked; %mark NAME marks this one"}]
        code_display_data = [{"code": "%memory\n%echo x", "mime": "text/html"}]
        code_history_pattern = "%mar*"
        supported_history_operations = ("tail", "range", "search")
        code_inspect_sample = "%model"
        code_clear_output = ""

    result = unittest.TextTestRunner(verbosity=0, stream=sys.stderr).run(
        unittest.defaultTestLoader.loadTestsFromTestCase(Suite))
    assert result.wasSuccessful(), "\n".join(text for _, text in result.failures + result.errors)
    skipped = sorted(str(each).split()[0] for each, _ in result.skipped)
    assert skipped in (["test_clear_output", "test_pager"], ["test_pager"]), skipped
    assert result.testsRun > 10


@case
def nbconvert_executes_a_notebook():
    need("nbconvert", "nbconvert")
    with tempfile.TemporaryDirectory() as folder:
        path = notebook(folder, "%echo first", "%params max_tokens=5 gauge=off\nhello", "%memory")
        call(sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--output", "out.ipynb", str(path))
        cells = json.loads((pathlib.Path(folder) / "out.ipynb").read_text())["cells"]
        assert "".join(cells[0]["outputs"][0]["text"]) == "first\n"
        assert cells[1]["outputs"][0]["output_type"] == "stream"
        html = call(sys.executable, "-m", "nbconvert", "--to", "html", "--stdout", str(pathlib.Path(folder) / "out.ipynb"))
        assert "first" in html


@case
def papermill_sets_parameters_and_gets_the_same_notebook_twice():
    need("papermill", "papermill")
    with tempfile.TemporaryDirectory() as folder:
        path = notebook(folder, "# Parameters\nmax_tokens = 4\n", "%params gauge=off ignore_eos=on temp=0.9 seed=7\nhello",
                        "%params")
        outputs = []
        for name in ("a.ipynb", "b.ipynb"):
            call(sys.executable, "-m", "papermill", "--language", "python", "-p", "max_tokens", "17", "-k", "longleaf",
                 "--cwd", folder, str(path), f"{folder}/{name}")
            cells = json.loads((pathlib.Path(folder) / name).read_text())["cells"]
            outputs.append([[{k: v for k, v in o.items() if k != "metadata"} for o in c["outputs"]] for c in cells])
        assert outputs[0] == outputs[1]
        assert outputs[0][-1][0]["data"]["application/json"]["max_tokens"] == 17


@case
def jupyter_console_holds_a_conversation_and_is_left_with_exit():
    need("jupyter_console", "jupyter-console")
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [sys.executable, "-m", "jupyter_console", "--kernel", "longleaf", "--simple-prompt"])

    def until(words):
        seen, end = b"", time.time() + 60
        while words not in seen and time.time() < end:
            if select.select([terminal], [], [], 1)[0]:
                try:
                    seen += os.read(terminal, 65536)
                except OSError:
                    break  # the other side is gone
        assert words in seen, seen[-500:]
        return seen

    try:
        until(b"In [1]:")
        os.write(terminal, b"%echo in the console\n")
        assert b"\nin the console" in until(b"In [2]:")
        os.write(terminal, b"%nosuch\n")
        assert b"UsageError" in until(b"In [3]:")
        os.write(terminal, b"exit\n")
        until(b"Shutting down")
        assert os.waitpid(pid, 0)[1] == 0
        pid = 0
    finally:
        if pid:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


if __name__ == "__main__":
    sys.exit(tap.run())
