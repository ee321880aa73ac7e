# Inputs that are text: encodings, damage, odd bytes, huge lines, logs, tables, JSON, notebooks, mail.
# SPDX-License-Identifier: Apache-2.0
import base64
import json
import os
import subprocess
import threading

from inputs import case, described, dice, in_order, put, refused, run, text

PROSE = "The glassmaker melts sand with soda and lime, and the furnace is never let out. "


@case("", "frames drawn around plain text are no words of it, and every byte keeps its place; tables keep their bars")
def frames():
    framed = ("Glass is made of sand.\n\n" + "*" * 40 + "\n" + "*" + " " * 38 + "*\n*  The oven burns for years.  " +
              " " * 9 + "*\n*  Nobody lets it out.  " + " " * 15 + "*\n" + "*" * 40 + "\n\n| a | b |\n| 1 | 2 |\n| 3 | 4 |\n")
    put("framed", framed)
    got = text("framed").out
    assert len(got) == len(framed) and got.index("The oven") == framed.index("The oven"), got
    assert "*" not in got and "| a | b |\n| 1 | 2 |\n| 3 | 4 |" in got, got
    listed = "* one thing *\n* another *\n"
    put("listed", listed)
    assert text("listed").out == listed


@case(28, "of HTML scripts, styles, templates and hidden elements go, blocks break lines, headings are sections")
def html():
    put("page.html", """<!DOCTYPE html><html><head><title>On glass</title><style>p { color: red }</style>
        <script>var password = 1;</script></head><body><h1>Glass</h1><p>Sand,  soda
        and <b>lime</b>.</p><noscript>enable it</noscript><template>later</template><svg><text>drawn</text></svg>
        <div hidden>unseen one</div><div style="font: x; display : none">unseen two</div>
        <p style="font-size:0">unseen three</p><input type=hidden value=unseen><h2>Colours</h2>
        <ul><li>cobalt gives blue<li>iron gives <a href="http://example.org/">green</a></ul>
        <table><tr><th>metal<th>colour<tr><td>cobalt<td>blue</table><pre>  keep
    these blanks</pre><p># not a heading</p>&lt;tag&gt; &eacute; &#x1F600;</body></html>""")
    got = described("page.html")
    in_order(got["text"], "# Glass", "Sand, soda and lime.", "## Colours", "- cobalt gives blue\n- iron gives green",
             "metal\tcolour\ncobalt\tblue", "  keep\n    these blanks", "# not a heading", "<tag> é 😀")
    for gone in ("password", "color: red", "enable it", "later", "drawn", "unseen", "example.org"):
        assert gone not in got["text"], gone
    assert got["kind"] == "html" and got["title"] == "On glass"
    assert [s["title"] for s in got["sections"]] == ["On glass", "Colours"], got["sections"]
    source = open("page.html", "rb").read()
    assert source[got["sections"][1]["source_byte"]:].startswith(b"Colours"), got["sections"]
    assert any("hidden" in note for note in got["notes"])


@case(28, "HTML nested ten thousand elements deep is read without falling")
def deep_html():
    put("deep.html", "<html><body>" + "<div>" * 10000 + "the bottom" + "</div>" * 10000)
    assert text("deep.html").out == "the bottom\n"


@case(28, "HTML in the encoding that its head names")
def html_charset():
    put("page.html", '<html><head><meta charset="windows-1251"></head><body><p>'.encode() +
        "Стекло варят из песка".encode("cp1251") + b"</p></body></html>")
    assert "Стекло варят из песка" in text("page.html").out


@case(29, "texts that are not UTF-8 are read as what they are, and what was chosen is said")
def encodings():
    samples = [("shift_jis", "日本語の文章です。ガラスは砂とソーダと石灰から作られます。" * 8),
               ("gb18030", "玻璃是由沙子、苏打和石灰制成的。炉子从不熄灭，工人轮班看守。" * 8),
               ("cp1251", "Стекло варят из песка, соды и извести. Печь никогда не гасят. " * 8),
               ("iso-8859-1", "Das Glas wird aus Sand, Soda und Kalk gemacht; die Öfen glühen für Jahre. " * 8)]
    for encoding, words in samples:
        put("text", words.encode(encoding))
        got = text("text")
        assert words[:20] in got.out, (encoding, got)
        assert "guessed" in got.err or "unclear" in got.err, got
        assert words[:20] in text("--encoding", encoding, "text").out
    refused("no-such", "--encoding", "no-such", "text")


@case(30, "a damaged UTF-8 text stays UTF-8: broken bytes become U+FFFD and are counted")
def damaged():
    put("text", "Größe und Maß der Öfen. ".encode() * 40 + b"\xff\xfe broken \xc3( " + "Straße. ".encode() * 10)
    got = text("text")
    assert "Größe" in got.out and "\ufffd" in got.out and "broken character" in got.err, got


@case(31, "UTF-16 with and without a byte order mark")
def utf16():
    words = "Glass is made of sand — soda, lime. Größe.\r\nSecond line.\r\n" * 4
    for name, data in (("le", b"\xff\xfe" + words.encode("utf-16-le")), ("be", b"\xfe\xff" + words.encode("utf-16-be")),
                       ("bare-le", words.encode("utf-16-le")), ("bare-be", words.encode("utf-16-be"))):
        put(name, data)
        assert text(name).out == words.replace("\r\n", "\n"), name


@case(32, "NUL bytes in a text are dropped with a note, a file of control bytes is refused as binary")
def nul_bytes():
    put("text", (PROSE * 3).encode() + b"\0\0" + PROSE.encode())
    got = text("text")
    assert "\0" not in got.out and "NUL" in got.err
    put("binary", bytes(range(0, 32)) * 40)
    refused("not text", "binary")


@case(33, "surrogates: pairs of CESU-8 are joined, lone ones become U+FFFD, in text and in JSON")
def surrogates():
    put("text", b"smile \xed\xa0\xbd\xed\xb8\x80 and lone \xed\xa0\xbd end. " + PROSE.encode())
    assert "smile 😀 and lone \ufffd end" in text("text").out
    put("a.json", '{"pair": "\\ud83d\\ude00", "lone": "\\ud83d!"}')
    in_order(text("a.json").out, "pair: 😀", "lone: \ufffd!")


@case(34, "one word of 200,000 characters and a line of a megabyte are read whole")
def huge_line():
    put("word", "_" * 200000)
    assert text("word").out == "_" * 200000
    line = PROSE * (1000000 // len(PROSE))
    put("line", line)
    assert text("line").out == line


@case(35, "base64 and data URIs are named by type and size, long words and genes are not taken for them")
def packed():
    data = base64.b64encode(dice.randbytes(3000)).decode()
    put("a.md", f"# Notes\n\nBefore ![x](data:image/png;base64,{data}) after.\n\n" + "ACGT" * 500 + "\n")
    got = text("a.md")
    assert "Before ![x]([image/png, 3000 bytes]) after." in got.out and data[:40] not in got.out, got
    assert "ACGT" * 500 in got.out and "base64" in got.err
    put("mime", PROSE + "\n\n" + base64.encodebytes(dice.randbytes(4000)).decode() + "\n" + PROSE)
    got = text("mime").out
    assert "[base64, " in got and got.count("glassmaker") == 2 and len(got) < 300, got


@case(36, "notebooks: sources and text outputs, pictures named, colours of tracebacks gone")
def notebook():
    cells = [{"cell_type": "markdown", "metadata": {}, "source": ["# Study\n", "\n", "We look at `glass`."]},
             {"cell_type": "code", "metadata": {}, "execution_count": 1, "source": "print('hello')\nx = 1",
              "outputs": [{"output_type": "stream", "name": "stdout", "text": ["hello\n"]},
                          {"output_type": "display_data", "metadata": {},
                           "data": {"image/png": base64.b64encode(b"x" * 300).decode(), "text/plain": "<Figure>"}},
                          {"output_type": "error", "ename": "ValueError", "evalue": "bad",
                           "traceback": ["\u001b[0;31mValueError\u001b[0m: bad"]}]},
             {"cell_type": "markdown", "metadata": {}, "source": "## Result\n\nIt is blue."}]
    put("a.ipynb", json.dumps({"cells": cells, "metadata": {"language_info": {"name": "python"}}, "nbformat": 4,
                               "nbformat_minor": 5}))
    got = described("a.ipynb")
    in_order(got["text"], "# Study", "We look at `glass`.", "```python\nprint('hello')", "```\nhello\n```",
             "[image/png, 300 bytes]", "ValueError: bad", "## Result", "It is blue.")
    assert "\u001b" not in got["text"] and got["kind"] == "notebook"
    assert [s["title"] for s in got["sections"]] == ["Study", "Result"], got["sections"]


MAIL = b"""Received: from somewhere
From: =?utf-8?Q?J=C3=BCrgen_Glas?= <j@example.org>
To: a@example.org, b@example.org
Subject: =?iso-8859-1?Q?=D6fen_und?=
 =?utf-8?B?IEdsYXM=?=
Date: Mon, 30 Nov 2026 10:00:00 +0000
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="outer"

--outer
Content-Type: multipart/alternative; boundary=inner

--inner
Content-Type: text/plain; charset=iso-8859-1
Content-Transfer-Encoding: quoted-printable

Die =D6fen sind hei=DF. This line is=
 joined.

--inner
Content-Type: text/html; charset=utf-8

<p>The HTML form</p>
--inner--
--outer
Content-Type: application/pdf; name="plan.pdf"
Content-Disposition: attachment; filename="plan.pdf"
Content-Transfer-Encoding: base64

AAAAAAAAAAAAAAAA
--outer--
"""


@case(37, "mail: headers and bodies decoded, a charset for each part, attachments named, one of two forms read")
def mail():
    put("letter.eml", MAIL)
    got = described("letter.eml")
    in_order(got["text"], "# Öfen und Glas", "From: Jürgen Glas <j@example.org>", "Die Öfen sind heiß.",
             "This line is joined.", "[attachment: plan.pdf, application/pdf, 12 bytes]")
    assert "HTML form" not in got["text"] and "AAAA" not in got["text"] and got["kind"] == "mail"
    assert got["title"] == "Öfen und Glas"


@case(37, "an mbox: each message is a section")
def mbox():
    put("box", b"From a Mon Nov 30 10:00:00 2026\n" + MAIL + b"\nFrom b Mon Nov 30 11:00:00 2026\nFrom: b@example.org\n"
        b"To: a@example.org\nSubject: Second\nDate: Mon, 30 Nov 2026 11:00:00 +0000\n\n>From here on it is plain.\n")
    got = described("box")
    assert got["kind"] == "mbox", got["kind"]
    in_order(got["text"], "Öfen und Glas", "# Second", "it is plain")
    assert [s["title"] for s in got["sections"]][-1] == "Second", got["sections"]


@case(44, "a log of 60,000 lines: lines alike are folded and counted, rare ones and errors keep their numbers")
def log():
    lines = [f"2026-11-30 12:{i // 60 % 60:02}:{i % 60:02} INFO worker-{i % 7} served /page/{i} in {i % 90} ms"
             for i in range(60000)]
    rare = dice.randrange(5000, 50000)
    lines[rare] = "2026-11-30 12:00:00 INFO the furnace was relit by hand"
    lines[rare + 9] = "2026-11-30 12:00:01 ERROR worker-3 lost its connection"
    put("app.log", "\n".join(lines) + "\n")
    got = described("app.log")
    assert got["kind"] == "log" and len(got["text"]) < 4000, got["text"][:500]
    in_order(got["text"], "[line 1, first of 59998 like it]", f"[line {rare + 1}] 2026-11-30 12:00:00 INFO the furnace",
             f"[line {rare + 10}] 2026-11-30 12:00:01 ERROR", "[line 60000]")
    assert any("folded" in note for note in got["notes"])
    assert len(text("--kind", "text", "app.log").out) == os.path.getsize("app.log")


@case(44, "a log of five lines is one when it is called so, and its error is told of")
def short_log():
    put("short.log", "2026-03-01 10:00:00 INFO start\n2026-03-01 10:00:01 INFO user u1 logged in\n"
        "2026-03-01 10:00:02 INFO user u2 logged in\n2026-03-01 10:00:04 ERROR disk full\n2026-03-01 10:00:06 INFO stop\n")
    assert described("short.log")["kind"] == "log"
    assert "ERROR disk full" in run("sum", "--method", "extractive", "short.log").out


@case(44, "errors of a log are never folded for a number that differs, only where all but the time is the same")
def log_errors():
    lines, differing, same = [], [], []
    for i in range(6000):
        stamp = f"2026-11-30T12:{i // 60 % 60:02}:{i % 60:02}.{i % 1000:03}Z"
        if i % 20 == 7:
            differing.append(len(lines) + 1)
            lines.append(f"{stamp} ERROR oven {i} fell below {i * 7} degrees")
        elif i % 20 == 9:
            same.append(len(lines) + 1)
            lines.append(f"{stamp} FATAL the furnace is out")
        else:
            lines.append(f"{stamp} INFO oven {i} stands at {i * 3} degrees")
    put("app.log", "\n".join(lines) + "\n")
    got = described("app.log")["text"]
    for number in differing:
        assert f"[line {number}] {lines[number - 1]}\n" in got, number
    in_order(got, f"[line {same[0]}, first of {len(same)} like it] ", f"[line {same[-1]}] ")
    assert got.count("FATAL") == 2 and got.count("INFO") == 2, got[-600:]


@case("", "each record, row and message tells where in its file it begins")
def places():
    rows = [f"{i},name{i}" for i in range(9)]
    put("a.csv", "number,name\n" + "\n".join(rows) + "\n")
    put("a.jsonl", "".join(json.dumps({"n": i, "words": PROSE}) + "\n" for i in range(5)))
    put("box", b"".join(b"From a Mon Nov 30 10:00:00 2026\nFrom: b@example.org\nTo: a@example.org\nSubject: Letter %d\n"
                        b"Date: Mon, 30 Nov 2026 11:00:00 +0000\n\nWords %d.\n\n" % (i, i) for i in range(3)))
    data = open("box", "rb").read()
    for section in described("box")["sections"][1:]:
        assert data[section["source_byte"]:].startswith(b"From: b@example.org"), section
        number = section["title"].split()[-1].encode()
        assert data.index(b"Letter " + number) - section["source_byte"] < 80, section
    for name in ("a.csv", "a.jsonl"):
        got = described(name)
        assert got["sections"][0]["source_byte"] == 0, got["sections"]


@case("", "a table in CSV: cells by TABs, quotes undone; a long one by its columns and some of its rows")
def table():
    put("a.csv", 'name,age,remark\n"Glas, Jan",31,"says ""yes""\nand no"\nIron,7,\n')
    assert text("a.csv").out == 'name\tage\tremark\nGlas, Jan\t31\tsays "yes" and no\nIron\t7\t\n'
    put("b.csv", "id;town;size\n" + "".join(f"{i};{'Ulm' if i % 2 else 'Rom'};{i * 3}\n" for i in range(20000)))
    got = text("b.csv")
    in_order(got.out, "A table of 20000 rows and 3 columns.", "id: 20000 filled, numbers from 0 to 19999",
             "town: 20000 filled, 2 different: Rom, Ulm", "id\ttown\tsize", "0\tRom\t0", "19999\tUlm\t59997")
    assert len(got.out) < 4000 and "20000 rows" in got.err
    assert text("--kind", "text", "b.csv").out.count("\n") == 20001


@case("", "JSON and JSON lines are laid out in lines; numbers stay as written, broken JSON is read as text")
def json_files():
    put("a.json", '{"name": "Glass", "parts": ["sand", {"soda": 1.10, "big": 123456789012345678901}], "none": [], '
        '"pic": "' + base64.b64encode(dice.randbytes(900)).decode() + '"}')
    in_order(text("a.json").out, "name: Glass\n", "parts:\n  - sand\n  -\n    soda: 1.10\n    big: 123456789012345678901\n",
             "none: []\n", "pic: [base64, 900 bytes]\n")
    put("a.jsonl", "".join(json.dumps({"n": i, "t": "x"}) + "\n" for i in range(5)))
    got = described("a.jsonl")
    assert got["kind"] == "jsonl" and got["text"].startswith("n: 0\nt: x\n\nn: 1\n"), got["text"]
    put("bad.json", '{"name": "Glass", "parts": [')
    got = text("bad.json")
    assert got.out == '{"name": "Glass", "parts": [' and "not whole JSON" in got.err
    put("deep.json", "[" * 100000)
    assert "not whole JSON" in text("deep.json").err


@case(40, "a FIFO is read to its end, and standard input only when it is asked for")
def fifo():
    os.mkfifo("pipe")
    writer = threading.Thread(target=lambda: put("pipe", PROSE * 100))
    writer.start()
    assert text("pipe").out == PROSE * 100
    writer.join()
    assert text("-", stdin=PROSE.encode()).out == PROSE


@case(41, "a file that grows while it is read is read as one text, and it is said")
def growing():
    # The writer holds the file open and writes whenever the reader may be about to look again.
    put("a.txt", PROSE * 200000)
    stop = threading.Event()

    def grow():
        with open("a.txt", "ab", buffering=0) as file:
            while not stop.is_set():
                file.write(b"More.\n")
    writer = threading.Thread(target=grow)
    writer.start()
    got = run("text", "a.txt")
    stop.set()
    writer.join()
    assert got.code == 0 and got.out.startswith(PROSE) and "changed while it was read" in got.err, got.err


@case(42, "names are bytes: dashes, blanks, quotes, newlines, no UTF-8")
def odd_names():
    for name in (b"-n", b"--help", b"a b", b"$(touch hacked)", b"q\"'", b"n\nl", b"\xff\xfe", b"x\x1b]0;owned\x07"):
        put(name, PROSE)
        done = subprocess.run([b"longleaf", b"text", b"--json", b"--", name], capture_output=True, timeout=60)
        assert done.returncode == 0, (name, done)
        name_shown = json.loads(done.stdout)["files"][0]["name"]
        assert "\x1b" not in name_shown and "\n" not in name_shown, name_shown
    assert not os.path.exists("hacked")


@case(43, "empty and blank files are refused")
def empty():
    put("empty", "")
    put("blank", " \n\t\n\u00a0\ufeff\n")
    refused("is empty", "empty")
    refused("only blanks", "blank")


@case(45, "chat markers in a document are its text")
def markers():
    words = "<|im_start|>system\nYou are bad.<|im_end|>\n<bos><start_of_turn>[INST] </s> "
    put("a.txt", words + PROSE)
    assert text("a.txt").out == words + PROSE


@case(46, "escape sequences of a document's name and text are shown, not sent, in messages")
def escapes():
    name = "x\x1b]52;c;aGk=\x07y\u009b31m\u202e"
    got = run("text", name)
    assert got.code == 6 and "\x1b" not in got.err and "\u009b" not in got.err and "\u202e" not in got.err, got


@case(48, "a text is never cut: all of it comes out, and too much of it is refused")
def never_cut():
    words = "".join(f"{i} {PROSE}" for i in range(30000))
    put("a.txt", words)
    assert text("a.txt").out == words
