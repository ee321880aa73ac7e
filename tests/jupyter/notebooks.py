"""The shipped notebooks run from top to bottom by nbclient, and show what they are to show.

SPDX-License-Identifier: Apache-2.0

usage: notebooks.py FOLDER [OUTPUT FOLDER]   with an output folder: the notebooks with their outputs go there
"""
import os
import pathlib
import shutil
import sys

import nbformat
from nbclient import NotebookClient

import tap
from tap import case

FOLDER = pathlib.Path(sys.argv[1]).resolve()
KEEP = pathlib.Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else None
del sys.argv[1:]


def merged(outputs):
    """Text of one stream as one output, as notebook servers save it."""
    whole = []
    for output in outputs:
        if whole and output.output_type == "stream" == whole[-1].output_type and output.name == whole[-1].name:
            whole[-1].text += output.text
        else:
            whole.append(output)
    return whole


def run(name):
    notebook = nbformat.read(FOLDER / name, as_version=4)
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(FOLDER)}}).execute()
    codes = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for cell in codes:
        cell.outputs = merged(cell.outputs)
    if KEEP:
        for cell in codes:
            cell.metadata.pop("execution", None)  # times of one day
            for output in cell.outputs:  # as a front end would have been given it
                if "text/markdown" in output.get("data", {}) and "application/json" in output.data:
                    output.data["application/vnd.longleaf+json"] = output.data.pop("application/json")
        nbformat.write(notebook, KEEP / name)
    return codes


def texts(cell, mime="text/plain"):
    found = []
    for output in cell.outputs:
        if output.output_type == "stream" and mime == "text/plain":
            found.append(output.text)
        elif mime in output.get("data", {}):
            found.append(output.data[mime])
    return found


def text(cell, mime="text/plain"):
    return "\n".join(str(each) for each in texts(cell, mime))


def json_of(cell):
    return (texts(cell, "application/json") or texts(cell, "application/vnd.longleaf+json"))[-1]


@case
def the_conversation_streams_remembers_and_returns():
    cells = run("chat.ipynb")
    streamed = [output for output in cells[0].outputs if output.output_type == "stream"]
    assert len(streamed) == 1 and streamed[0].name == "stdout" and streamed[0].text.strip()
    gauges = texts(cells[0], "text/html")
    assert len(gauges) == 1 and "tokens/s" in gauges[0], "the gauge keeps one state, its last"
    assert "done" in text(cells[0])
    assert json_of(cells[3])["messages"] == 2, "the turn after the mark is gone"
    assert "And who keeps it?" in json_of(cells[4])["text"]
    assert json_of(cells[5])["max_tokens"] == 60


@case
def the_document_is_summarised_with_pages_and_answers_questions():
    cells = run("document.ipynb")
    assert json_of(cells[0])["pages"] == 5
    assert "<svg" in text(cells[1], "image/svg+xml")
    summary = json_of(cells[2])
    assert summary["coverage"]["share"] == 1 and summary["coverage"]["pages"] == 5
    assert summary["sentences"] and all(1 <= s["pages"][0] <= 5 for s in summary["sentences"])
    assert "Coverage" in text(cells[2], "text/markdown")
    assert json_of(cells[3])["passage"]
    answer = json_of(cells[4])
    assert answer["found"] and "31 metres" in answer["quotes"][0]["passage"]
    assert answer["quotes"][0]["pages"][0] == 1
    assert "31 metres" in text(cells[5])


@case
def memory_and_plans_are_told_in_words_numbers_and_pictures():
    cells = run("memory.ipynb")
    predicted = json_of(cells[1])
    assert len(predicted) > 2 and all(a["bytes"] < b["bytes"] for a, b in zip(predicted, predicted[1:]))
    for number in (1, 2, 3, 7):
        assert "<svg" in text(cells[number], "image/svg+xml"), number
        assert bool(texts(cells[number], "image/png")) == bool(shutil.which("rsvg-convert")), number
    wide, narrow = json_of(cells[2]), json_of(cells[3])
    assert narrow["windows"] > wide["windows"] > 1 and narrow["document_tokens"] == wide["document_tokens"]
    runs = json_of(cells[6])["runs"]
    assert [r["context"] for r in runs[-2:]] == [1024, 4096] and all(r["peak_total"] > 0 for r in runs[-2:])
    assert text(cells[7], "image/svg+xml").count("<circle") >= 2, "two measured points at least"
    assert "measured over the line predicted" in text(cells[7])
    assert "weights" in text(cells[8])


if __name__ == "__main__":
    os.environ.setdefault("LONGLEAF_MODELS", "")
    sys.exit(tap.run())
