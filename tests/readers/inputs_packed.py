# Inputs that hold others: DOCX, ODT, EPUB, PPTX, archives, folders; bombs and damage among them.
# SPDX-License-Identifier: Apache-2.0
import gzip
import io
import lzma
import os
import struct
import tarfile
import time
import zipfile
import zlib

from inputs import case, described, dice, in_order, put, refused, run, text

PROSE = "The glassmaker melts sand with soda and lime, and the furnace is never let out. "
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def pack(name, members):
    with zipfile.ZipFile(name, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, data in members.items():
            archive.writestr(member, data)
    return name


def docx(name, body, **more):
    members = {"[Content_Types].xml": "<Types/>", "word/document.xml":
               f'<?xml version="1.0"?><w:document {W}><w:body>{body}</w:body></w:document>'}
    for member, data in more.items():
        members[f"word/{member}.xml"] = data
    return pack(name, members)


def paragraph(words, style=""):
    properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f'<w:p>{properties}<w:r><w:t xml:space="preserve">{words}</w:t></w:r></w:p>'


@case(24, "DOCX: headings, tables, insertions in, deletions and field codes out, notes kept, each once")
def docx_changes():
    styles = (f'<w:styles {W}><w:style w:styleId="Rubrik1"><w:name w:val="heading 1"/></w:style>'
              '<w:style w:styleId="Own"><w:basedOn w:val="Rubrik1"/></w:style>'
              '<w:style w:styleId="Titel"><w:name w:val="Title"/></w:style></w:styles>')
    notes = (f'<w:footnotes {W}><w:footnote w:type="separator" w:id="0"><w:p/></w:footnote>'
             f'<w:footnote w:id="2">{paragraph("As every furnace man knows.")}</w:footnote></w:footnotes>')
    body = (paragraph("On Glass", "Titel") + paragraph("Making", "Rubrik1") +
            '<w:p><w:r><w:t>Sand is </w:t></w:r><w:ins w:id="1"><w:r><w:t>slowly </w:t></w:r></w:ins>'
            '<w:del w:id="2"><w:r><w:delText>quickly </w:delText></w:r></w:del><w:r><w:t>molten.</w:t></w:r>'
            '<w:r><w:footnoteReference w:id="2"/></w:r></w:p>' + paragraph("Colours", "Own") +
            '<w:p><w:r><w:instrText>PAGEREF x</w:instrText></w:r><w:r><w:t>Cobalt</w:t><w:tab/><w:t>is blue.</w:t></w:r></w:p>'
            '<mc:AlternateContent xmlns:mc="m"><mc:Choice>' + paragraph("In a box.") + '</mc:Choice><mc:Fallback>' +
            paragraph("In a box.") + '</mc:Fallback></mc:AlternateContent>'
            f'<w:tbl><w:tr><w:tc>{paragraph("metal")}</w:tc><w:tc>{paragraph("colour")}</w:tc></w:tr>'
            f'<w:tr><w:tc>{paragraph("iron")}</w:tc><w:tc>{paragraph("green")}</w:tc></w:tr></w:tbl>'
            '<w:p><w:pPr><w:numPr/></w:pPr><w:r><w:t>one</w:t></w:r></w:p><w:p><w:pPr><w:numPr/></w:pPr><w:r><w:t>two</w:t></w:r></w:p>')
    docx("a.docx", body, styles=styles, footnotes=notes)
    got = described("a.docx")
    in_order(got["text"], "# On Glass", "# Making", "Sand is slowly molten.[note 2]", "# Colours", "Cobalt is blue.",
             "In a box.", "metal\tcolour\niron\tgreen", "- one\n- two", "[note 2] As every furnace man knows.")
    assert "quickly" not in got["text"] and "PAGEREF" not in got["text"] and got["text"].count("In a box") == 1
    assert got["kind"] == "docx" and any("deletion" in note for note in got["notes"])


@case("", "ODT: headings, lists, tables, notes; tracked deletions out")
def odt():
    spaces = " ".join(f'xmlns:{p}="urn:oasis:names:tc:opendocument:xmlns:{n}:1.0"'
                      for p, n in (("office", "office"), ("text", "text"), ("table", "table")))
    content = (f'<?xml version="1.0"?><office:document-content {spaces}><office:body><office:text>'
               '<text:tracked-changes><text:changed-region><text:deletion><text:p>quickly</text:p></text:deletion>'
               '</text:changed-region></text:tracked-changes><text:h text:outline-level="1">Making</text:h>'
               '<text:p>Sand<text:s text:c="3"/>is molten<text:note><text:note-citation>1</text:note-citation><text:note-body>'
               '<text:p>slowly</text:p></text:note-body></text:note>.</text:p><text:list><text:list-item><text:p>one</text:p>'
               '</text:list-item><text:list-item><text:p>two</text:p></text:list-item></text:list><table:table>'
               '<table:table-row><table:table-cell><text:p>iron</text:p></table:table-cell><table:table-cell>'
               '<text:p>green</text:p></table:table-cell></table:table-row></table:table></office:text></office:body>'
               '</office:document-content>')
    pack("a.odt", {"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": content})
    got = described("a.odt")
    in_order(got["text"], "# Making", "Sand is molten [note: slowly] .", "- one\n- two", "iron\tgreen")
    assert "quickly" not in got["text"] and got["kind"] == "odt"


def epub(name, chapters, spine=None, **more):
    spine = spine or list(chapters)
    items = "".join(f'<item id="{c}" href="{c}.xhtml" media-type="application/xhtml+xml"/>' for c in chapters)
    refs = "".join(f'<itemref idref="{c}"/>' for c in ["nav"] + spine)
    opf = (f'<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="d"><dc:title>A Book on Glass</dc:title>'
           f'</metadata><manifest><item id="nav" href="nav.xhtml" properties="nav"/>{items}</manifest>'
           f'<spine>{refs}</spine></package>')
    members = {"mimetype": "application/epub+zip", "META-INF/container.xml":
               '<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>',
               "OEBPS/book.opf": opf, "OEBPS/nav.xhtml": "<html><body><nav>Chapter list</nav></body></html>"}
    for chapter, body in chapters.items():
        if body is not None:
            members[f"OEBPS/{chapter}.xhtml"] = (f'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head>'
                                                 f'<title/><script src="x"/></head><body>{body}</body></html>')
    members.update(more)
    return pack(name, members)


@case(25, "EPUB: chapters in the order of the spine, navigation out, a missing chapter skipped by name")
def epub_order():
    epub("a.epub", {"zwei": "<h1>Second</h1><p>Iron.</p>", "eins": "<h1>First</h1><p>Sand &amp; soda.</p>", "gone": None},
         ["eins", "gone", "zwei"])
    got = described("a.epub", code=3)
    in_order(got["text"], "# First", "Sand & soda.", "# Second", "Iron.")
    assert "Chapter list" not in got["text"] and got["title"] == "A Book on Glass" and got["skipped"] == 1
    assert any("gone.xhtml" in note and "skipped" in note for note in got["notes"]), got["notes"]
    assert [s["title"] for s in got["sections"]] == ["A Book on Glass", "First", "Second"]
    assert [s.get("part") for s in got["sections"][1:]] == ["OEBPS/eins.xhtml", "OEBPS/zwei.xhtml"], got["sections"]


@case(25, "an EPUB whose spine names a chapter again and again is read once, and its text stays within the limit")
def epub_repeats():
    epub("a.epub", {"one": "<h1>First</h1><p>" + PROSE + "</p>", "two": "<p>Iron.</p>"}, ["one"] * 5000 + ["two", "one"])
    got = described("a.epub")
    assert got["text"].count("glassmaker") == 1 and "Iron." in got["text"]
    assert any("again 5000 times" in note for note in got["notes"]), got["notes"]


@case("", "a table inside of a cell stays in its cell")
def nested_tables():
    inner = f'<w:tbl><w:tr><w:tc>{paragraph("x")}</w:tc><w:tc>{paragraph("y")}</w:tc></w:tr></w:tbl>'
    docx("a.docx", f'<w:tbl><w:tr><w:tc>{paragraph("metal")}</w:tc><w:tc>{inner}{paragraph("z")}</w:tc></w:tr>'
                   f'<w:tr><w:tc>{paragraph("iron")}</w:tc><w:tc>{paragraph("green")}</w:tc></w:tr></w:tbl>' + paragraph("After."))
    assert text("a.docx").out == "metal\tx y z\niron\tgreen\n\nAfter.\n", text("a.docx").out


@case("", "PPTX: slides in order as pages, titles as headings, tables, speaker notes, hidden slides out")
def pptx():
    a = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
    rels = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"

    def shape(kind, *lines):
        rows = "".join(f"<a:p><a:r><a:t>{line}</a:t></a:r></a:p>" for line in lines)
        return f'<p:sp><p:nvSpPr><p:nvPr><p:ph type="{kind}"/></p:nvPr></p:nvSpPr><p:txBody>{rows}</p:txBody></p:sp>'

    def slide(body, more=""):
        return f'<p:sld {a} {more}><p:cSld><p:spTree>{body}</p:spTree></p:cSld></p:sld>'
    pack("a.pptx", {
        "ppt/presentation.xml": f'<p:presentation {a}><p:sldIdLst><p:sldId id="256" r:id="rId2"/><p:sldId id="257" r:id="rId1"/>'
                                '<p:sldId id="258" r:id="rId3"/></p:sldIdLst></p:presentation>',
        "ppt/_rels/presentation.xml.rels": '<Relationships>' + "".join(
            f'<Relationship Id="rId{i}" Type="{rels}/slide" Target="slides/slide{i}.xml"/>' for i in (1, 2, 3)) + '</Relationships>',
        "ppt/slides/slide1.xml": slide(shape("title", "Colours") + shape("body", "Cobalt is blue.", "Iron is green.")),
        "ppt/slides/slide2.xml": slide(shape("ctrTitle", "On Glass") + shape("sldNum", "7") + shape("subTitle", "An introduction")),
        "ppt/slides/_rels/slide2.xml.rels": f'<Relationships><Relationship Id="rId1" Type="{rels}/notesSlide" Target="../notesSlides/notesSlide1.xml"/></Relationships>',
        "ppt/notesSlides/notesSlide1.xml": f'<p:notes {a}><p:cSld><p:spTree>{shape("body", "Welcome them.")}</p:spTree></p:cSld></p:notes>',
        "ppt/slides/slide3.xml": slide(shape("title", "Secret"), 'show="0"')})
    got = described("a.pptx")
    in_order(got["text"], "## On Glass", "An introduction", "Notes:", "Welcome them.", "## Colours", "Cobalt is blue.\nIron is green.")
    assert "Secret" not in got["text"] and "7" not in got["text"] and got["pages"] == 3
    colours = [s for s in got["sections"] if s["title"] == "Colours"][0]
    assert colours["first_page"] == 2 and colours["part"] == "ppt/slides/slide1.xml", got["sections"]


@case(26, "ZIP bombs are stopped while they unpack, whatever sizes they declare", long=True)
def bombs():
    zeros = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = b"0" * (1 << 20)
    data = b"".join(zeros.compress(block) for _ in range(1200)) + zeros.flush()
    local = struct.pack("<4sHHHHHIIIHH", b"PK\3\4", 20, 0, 8, 0, 0, 0, len(data), 1000, 5, 0) + b"a.txt"
    central = struct.pack("<4sHHHHHHIIIHHHHHII", b"PK\1\2", 20, 20, 0, 8, 0, 0, 0, len(data), 1000, 5, 0, 0, 0, 0, 0, 0) + b"a.txt"
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 1, 1, len(central), len(local) + len(data), 0)
    put("bomb.zip", local + data + central + end)
    started = time.monotonic()
    got = run("text", "bomb.zip")
    assert got.code == 6 and ("unpack" in got.err or "bomb.zip" in got.err) and not got.out, got
    assert time.monotonic() - started < 60
    with zipfile.ZipFile("word.docx", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        with archive.open("word/document.xml", "w") as member:
            for _ in range(1100):
                member.write(block)
    refused("unpacks to more than", "word.docx")


@case(26, "an archive of too many members is refused", long=True)
def many_members():
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        for i in range(100100):
            archive.addfile(tarfile.TarInfo(f"{i}"))
    put("many.tar.gz", data.getvalue())
    refused("more than 100000 files", "many.tar.gz")


@case(27, "XML entities and external ones are refused, deep elements too")
def entities():
    laugh = '<!DOCTYPE d [<!ENTITY a "ha">' + "".join(
        f'<!ENTITY {chr(98 + i)} "{("&" + chr(97 + i) + ";") * 10}">' for i in range(9)) + "]>"
    pack("laugh.docx", {"word/document.xml": f'{laugh}<w:document {W}><w:body>{paragraph("&j;")}</w:body></w:document>'})
    refused("declares entities", "laugh.docx")
    outside = '<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
    pack("outside.docx", {"word/document.xml": f'{outside}<w:document {W}><w:body>{paragraph("&x;")}</w:body></w:document>'})
    refused("declares entities", "outside.docx")
    pack("deep.docx", {"word/document.xml": f'<w:document {W}>' + "<w:p>" * 5000 + "</w:p>" * 5000 + "</w:document>"})
    refused("deep.docx", "deep.docx")
    pack("cut.docx", {"word/document.xml": f'<w:document {W}><w:body>{paragraph(PROSE)}'})
    refused("damaged", "cut.docx")


@case(27, "XML in a broken encoding is refused with one sentence, and the library under it prints nothing")
def broken_encoding():
    broken = b"\xff\xfe" + f'<w:document {W}><w:body>'.encode("utf-16-le") + b"\x00\xdc\x00\xd8\x00\x00" * 3000
    pack("a.docx", {"word/document.xml": broken})
    refused("damaged", "a.docx")


@case(38, "a folder: sorted, .gitignore and its negations honoured in each folder, .git and binaries out")
def folder():
    put("src/b.py", "import os\n\ndef melt(sand):\n    return sand\n\n\nclass Oven:\n    def heat(self):\n        pass\n")
    put("src/a.c", "/* Glass. */\nstatic int melt(int sand)\n{\n    return sand;\n}\n")
    put("src/.gitignore", "*.log\n!keep.log\n/build/\ndoc/**/draft?.txt\n# a comment\n")
    put("src/x.log", "ignored one\n")
    put("src/keep.log", "kept all the same\n")
    put("src/build/out.txt", "ignored two\n")
    put("src/deep/build/out.txt", "not ignored\n")
    put("src/deep/.gitignore", "!y.log\nz.txt\n")
    put("src/deep/y.log", "kept below\n")
    put("src/deep/z.txt", "ignored three\n")
    put("src/doc/a/b/draft1.txt", "ignored four\n")
    put("src/.git/config", "ignored five\n")
    put("src/picture.png", b"\x89PNG\r\n\x1a\n" + dice.randbytes(200))
    put("src/program", b"\x7fELF" + dice.randbytes(200))
    put("src/noise.bin", dice.randbytes(4000))
    put("src/package-lock.json", "{}")
    put("src/empty.py", "")
    os.symlink("..", "src/loop")
    got = described("src")
    names = [file["name"] for file in got["files"]]
    assert names == ["src/.gitignore", "src/a.c", "src/b.py", "src/deep/.gitignore", "src/deep/build/out.txt", "src/deep/y.log",
                     "src/keep.log"], names
    assert "ignored" not in got["text"].replace("not ignored", "")
    note = " ".join(got["notes"])
    assert "3 binary files" in note and "1 lock file" in note and "1 link" in note and "entries that .gitignore" in note, note
    titles = [s["title"] for s in got["sections"]]
    assert "def melt(sand)" in titles and "class Oven" in titles and "static int melt(int sand)" in titles, titles


@case(38, "an archive's own .gitignore files hold in it as they do in the folder that it was made of")
def ignored_in_archives():
    files = {".gitignore": "*.secret\nbuild/\n/top.txt\n", "a.txt": "one", "b.secret": "gone one", "top.txt": "gone two",
             "build/o.txt": "gone three", "-x/c.secret": "gone four", "-x/d.txt": "two", "sub/.gitignore": "!kept.secret\n",
             "sub/kept.secret": "three", "sub/top.txt": "four", "sub/e.secret": "gone five", "sub/build/k/p.txt": "gone six",
             "subway/q.secret": "gone seven", "subway/r.txt": "five"}
    for prefix in ("", "p/"):
        order = list(files)
        dice.shuffle(order)
        with zipfile.ZipFile("files.zip", "w") as packed:
            for name in order:
                packed.writestr(prefix + name, files[name])
        with tarfile.open("files.tar.gz", "w:gz") as packed:
            for name in order:
                entry = tarfile.TarInfo(prefix + name)
                entry.size = len(files[name])
                packed.addfile(entry, io.BytesIO(files[name].encode()))
        for archive in ("files.zip", "files.tar.gz"):
            got = text(archive)
            in_order(got.out, "two", "one", "three", "four", "five")
            assert "gone" not in got.out and "left out 7 entries that .gitignore names" in got.err, got


@case(39, "one bad file in a folder is skipped by name and counted, and the rest is read; exit code 3")
def bad_file():
    put("d/good.txt", PROSE)
    put("d/zbad.pdf", b"%PDF-1.7\nnothing follows\n")
    pack("d/bad.docx", {"word/document.xml": "<w:document"})
    put("d/blank.txt", "\n\n")
    if os.geteuid() != 0:
        put("d/locked.txt", PROSE)
        os.chmod("d/locked.txt", 0)
    got = described("d", code=3)
    assert PROSE in got["text"] and len(got["files"]) == 1 and got["skipped"] >= 2
    assert any("bad.docx" in note and "skipped" in note for note in got["notes"]), got["notes"]
    assert not any("blank" in note for note in got["notes"])
    got = run("text", "d/good.txt", "d/missing.txt")
    assert got.code == 6 and not got.out and "missing.txt" in got.err
    put("pictures/a.png", b"\x89PNG\r\n\x1a\n" + bytes(300))
    refused("pictures holds no file that can be read: it holds 1 binary file", "pictures")
    os.mkdir("hollow")
    refused("holds no file that can be read", "hollow")


@case(40, "pipes and sockets in a folder are not waited for")
def pipes_in_folder():
    put("d/a.txt", PROSE)
    os.mkfifo("d/pipe")
    got = text("d", timeout=20)
    assert got.out == PROSE and "1 pipe" in got.err


@case("", "archives: ZIP, tar in any packing, single packed files; members are files with names")
def archives():
    for name, mode in (("a.tar", "w"), ("a.tar.gz", "w:gz"), ("a.tar.xz", "w:xz"), ("a.tar.bz2", "w:bz2")):
        with tarfile.open(name, mode) as archive:
            for member, data in (("x/one.txt", PROSE), ("x/../../two.md", "# Two\n\nIron.\n"), ("x/noise", "\0\1\2\3" * 90)):
                info = tarfile.TarInfo(member)
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data.encode()))
        got = described(name)
        assert [f["name"] for f in got["files"]] == [f"{name}/x/../../two.md", f"{name}/x/one.txt"], got["files"]
        assert PROSE in got["text"] and "Iron." in got["text"]
    pack("b.zip", {"a/Größe.txt": PROSE, "page.html": "<p>From HTML</p>"})
    got = described("b.zip")
    in_order(got["text"], PROSE, "From HTML")
    pack("c.zip", {"z.txt": "Third.", "b/two.txt": "Second.", "b.txt": "Between.", "a/one.txt": "First."})
    in_order(text("c.zip").out, "First.", "Second.", "Between.", "Third.")
    pack("pictures.zip", {"a.png": b"\x89PNG\r\n\x1a\n" + bytes(300), "b.png": b"\x89PNG\r\n\x1a\n" + bytes(300)})
    refused("nothing in pictures.zip could be read: it holds 2 binary files", "pictures.zip")
    put("notes.txt.gz", gzip.compress(PROSE.encode()))
    got = described("notes.txt.gz")
    assert got["text"] == PROSE and got["files"][0]["name"] == "notes.txt"
    put("notes.txt.xz", lzma.compress(PROSE.encode()))
    assert text("notes.txt.xz").out == PROSE
    put("cut.zip", open("b.zip", "rb").read()[:60])
    refused("cut.zip", "cut.zip")


@case(42, "the content decides: a DOCX called .txt, a text called .pdf, an XLSX is refused with advice")
def wrong_names():
    docx("a.txt", paragraph("From Word."))
    assert text("a.txt").out == "From Word.\n"
    put("b.pdf", PROSE)
    assert text("b.pdf").out == PROSE
    pack("c.xlsx", {"xl/workbook.xml": "<workbook/>"})
    refused("CSV", "c.xlsx")
