"""Hostile PDF files, made byte by byte: no PDF library would write them."""

import random
import zlib
from collections.abc import Iterator

SHOWN = b"BT /F 10 Tf 50 700 Td (Tea is kept in the larder.) Tj ET\n"
CATALOG = b"<< /Type /Catalog /Pages 2 0 R >>"
FONT = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"


def pdf(*objects: bytes) -> bytes:
    """A file of these objects, the first of which is the catalog, with a right xref table."""
    content = bytearray(b"%PDF-1.7\n")
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(content))
        content += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    table = len(content)
    content += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    content += b"".join(b"%010d 00000 n \n" % place for place in places)
    content += b"trailer\n<< /Size %d /Root 1 0 R >>\n" % (len(objects) + 1)
    return bytes(content + b"startxref\n%d\n%%%%EOF\n" % table)


def page_with_content(packed: bytes, *, count: int = 1, kids: bytes = b"3 0 R") -> bytes:
    """A page whose content is this deflated stream."""
    return pdf(
        CATALOG,
        b"<< /Type /Pages /Kids [%b] /Count %d >>" % (kids, count),
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R"
        b" /Resources << /Font << /F 5 0 R >> >> >>",
        b"<< /Filter /FlateDecode /Length %d >>\nstream\n%b\nendstream" % (len(packed), packed),
        FONT,
    )


def text_page() -> bytes:
    """A harmless page."""
    return page_with_content(zlib.compress(SHOWN))


def tree_first(count: int) -> bytes:
    """So many pages, the tree before them: what is cut off are pages, and nothing else."""
    kids = b" ".join(b"%d 0 R" % (2 * number + 4) for number in range(count))
    objects = [CATALOG, b"<< /Type /Pages /Kids [%b] /Count %d >>" % (kids, count), FONT]
    for number in range(count):
        content = SHOWN.replace(b"Tea", b"Tea number %d" % number)
        objects += [
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents %d 0 R"
            b" /Resources << /Font << /F 3 0 R >> >> >>" % (2 * number + 5),
            b"<< /Length %d >>\nstream\n%b\nendstream" % (len(content), content),
        ]
    return pdf(*objects)


def late_damage(number: int) -> bytes:
    """Three pages, of which an object is not where the table says, and a later empty page tree.

    A library that repairs the file when it meets the object finds the empty tree.
    """
    whole = tree_first(3)
    place = whole.index(b"\n%d 0 obj" % number) + 1
    moved = whole.replace(b"%010d 00000 n" % place, b"%010d 00000 n" % (place + 30))
    return moved + (
        b"\n7 0 obj\n<< /Type /Catalog /Pages 8 0 R >>\nendobj\n"
        b"8 0 obj\n<< /Type /Pages /Kids [] /Count 0 >>\nendobj\n"
        b"trailer\n<< /Size 9 /Root 7 0 R >>\n"
    )


def bomb(unit: bytes, times: int) -> bytes:
    """A page whose content is `unit` so many times, in a thousandth of the bytes."""
    packer = zlib.compressobj(9)
    # What is packed behind a full flush knows nothing of what stands before it.
    first, again = (packer.compress(unit) + packer.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    return page_with_content(first + again * (times - 1) + packer.flush())


def empty_pages(count: int) -> bytes:
    """A file of so many pages without content."""
    kids = b" ".join(b"%d 0 R" % (number + 3) for number in range(count))
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >>"
    pages = b"<< /Type /Pages /Kids [%b] /Count %d >>" % (kids, count)
    return pdf(CATALOG, pages, *[page] * count)


def mutations(whole: bytes, count: int, seed: int = 1) -> Iterator[bytes]:
    """Damaged copies of a file: cut off, bits flipped, zeros, pieces removed or repeated."""
    chance = random.Random(seed)  # noqa: S311 - damage, not secrets
    for number in range(count):
        start = chance.randrange(len(whole))
        stop = min(len(whole), start + chance.randrange(1, 400))
        kind = number % 5
        if kind == 0:
            yield whole[:start]
        elif kind == 1:
            copy = bytearray(whole)
            for _ in range(chance.randrange(1, 60)):
                copy[chance.randrange(len(copy))] ^= 1 << chance.randrange(8)
            yield bytes(copy)
        elif kind == 2:
            yield whole[:start] + bytes(stop - start) + whole[stop:]
        elif kind == 3:
            yield whole[:start] + whole[stop:]
        else:
            yield whole[:stop] + whole[start:]
