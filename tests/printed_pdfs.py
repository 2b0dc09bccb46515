"""PDF files in which each glyph is put at its place, and says what we like."""

from collections.abc import Sequence
from unicodedata import combining

from bad_pdfs import CATALOG, pdf

WIDTH = 0.5
"""Width of each glyph in font sizes; combining marks have none."""

Print = tuple[float, float, float, Sequence[str]]
"""Left edge, height from below, font size, and what each glyph from left to right says."""


def print_pdf(*prints: Print, content: bytes = b"") -> bytes:
    """Return a page of text; a glyph of several letters is a ligature."""
    characters = sorted({glyph for *_, glyphs in prints for glyph in glyphs})
    codes = {glyph: code for code, glyph in enumerate(characters, 33)}
    shown = b"".join(
        b"BT /F %f Tf %f %f Td <%b> Tj ET\n"
        % (size, x, y, "".join(f"{codes[glyph]:02x}" for glyph in glyphs).encode())
        for x, y, size, glyphs in prints
    )
    pairs = "".join(
        f"<{code:02x}> <{glyph.encode('utf-16-be').hex()}>\n" for glyph, code in codes.items()
    ).encode()
    cmap = (
        b"/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapType 2 def\n"
        b"1 begincodespacerange <00> <ff> endcodespacerange\n"
        b"%d beginbfchar\n%bendbfchar\nendcmap end end" % (len(codes), pairs)
    )
    widths = b" ".join(b"0" if combining(glyph[0]) else b"500" for glyph in characters)
    return pdf(
        CATALOG,
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R"
        b" /Resources << /Font << /F 5 0 R >> >> >>",
        stream(content + shown),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /FirstChar 33 /LastChar %d"
        b" /Widths [%b] /ToUnicode 6 0 R >>" % (32 + len(codes), widths),
        stream(cmap),
    )


def stream(content: bytes) -> bytes:
    """Return a stream object."""
    return b"<< /Length %d >>\nstream\n%b\nendstream" % (len(content), content)
