"""Writes handbook.pdf from handbook.txt: one page for each form feed, plain text, no library needed.

SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import textwrap

HERE = pathlib.Path(__file__).parent
ESCAPES = str.maketrans({"(": "\\(", ")": "\\)", "\\": "\\\\"})


def page(text):
    """The drawing of one page: paragraphs broken into lines of at most 88 characters."""
    lines = []
    for paragraph in text.strip().split("\n\n"):
        lines += textwrap.wrap(" ".join(paragraph.split()), 88) + [""]
    shown = "".join("(%s) Tj T*\n" % line.translate(ESCAPES) for line in lines)
    return f"BT /F1 11 Tf 14 TL 60 780 Td\n{shown}ET".encode("latin-1")


def pdf(pages):
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"", b"<< /Type /Font /Subtype /Type1 /BaseFont /Times-Roman >>"]
    kids = []
    for text in pages:
        drawing = page(text)
        objects.append(b"<< /Length %d >>\nstream\n%b\nendstream" % (len(drawing), drawing))
        objects.append(b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R "
                       b"/Resources << /Font << /F1 3 0 R >> >> >>" % len(objects))
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<< /Type /Pages /Kids [%b] /Count %d >>" % (b" ".join(kids), len(kids))
    out, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    return out + (b"xref\n0 %d\n0000000000 65535 f \n%btrailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n"
                  % (len(objects) + 1, table, len(objects) + 1, len(out)))


if __name__ == "__main__":
    (HERE / "handbook.pdf").write_bytes(pdf((HERE / "handbook.txt").read_text().split("\f")))
