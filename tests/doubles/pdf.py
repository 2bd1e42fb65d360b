"""PDF files made by hand: pages of lines in any script, with a map from glyphs to characters, as word processors do."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

FONT = (
    b"<< /Type /Font /Subtype /Type0 /BaseFont /Made /Encoding /Identity-H /DescendantFonts [4 0 R] /ToUnicode 5 0 R >>"
)
GLYPHS = (
    b"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Made /DW 600"
    b" /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> >>"
)


def make_pdf(*pages: Sequence[str], trailer: str = "") -> bytes:
    """A PDF with these lines on its pages; a page of no lines holds nothing. `trailer` is put into its trailer."""
    glyphs = {
        char: number for number, char in enumerate(sorted({c for page in pages for line in page for c in line}), 1)
    }
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        _pages(len(pages)),
        FONT,
        GLYPHS,
        _stream(_unicode_map(glyphs)),
    ]
    for number, lines in enumerate(pages):
        objects += [
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >>"
            b" /Contents %d 0 R >>" % (7 + 2 * number),
            _stream(_content(lines, glyphs)),
        ]
    return assembled(objects, trailer)


def assembled(objects: Sequence[bytes], trailer: str = "") -> bytes:
    """Numbered objects as a file, the first of them its root."""
    data = bytearray(b"%PDF-1.7\n")
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    begins = len(data)
    data += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    for place in places:
        data += b"%010d 00000 n \n" % place
    data += b"trailer\n<< /Size %d /Root 1 0 R %s >>\n" % (len(objects) + 1, trailer.encode())
    return bytes(data + b"startxref\n%d\n%%%%EOF\n" % begins)


def _pages(count: int) -> bytes:
    kids = " ".join(f"{6 + 2 * number} 0 R" for number in range(count))
    return f"<< /Type /Pages /Kids [{kids}] /Count {count} >>".encode()


def _stream(body: bytes) -> bytes:
    packed = zlib.compress(body)
    return b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(packed), packed)


def _content(lines: Sequence[str], glyphs: dict[str, int]) -> bytes:
    shown = [f"1 0 0 1 50 {800 - 14 * row} Tm <{_codes(line, glyphs)}> Tj" for row, line in enumerate(lines)]
    return "\n".join(["BT /F1 10 Tf", *shown, "ET"]).encode()


def _codes(line: str, glyphs: dict[str, int]) -> str:
    return "".join(f"{glyphs[char]:04X}" for char in line)


def _unicode_map(glyphs: dict[str, int]) -> bytes:
    pairs = [f"<{number:04X}> <{char.encode('utf-16-be').hex().upper()}>" for char, number in glyphs.items()]
    blocks = [pairs[at : at + 100] for at in range(0, len(pairs), 100)]
    lines = ["/CIDInit /ProcSet findresource begin", "12 dict begin", "begincmap"]
    lines += ["1 begincodespacerange", "<0000> <FFFF>", "endcodespacerange"]
    for block in blocks:
        lines += [f"{len(block)} beginbfchar", *block, "endbfchar"]
    return "\n".join([*lines, "endcmap", "end", "end"]).encode()
