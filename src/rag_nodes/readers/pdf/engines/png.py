"""Pixels in, a PNG file out."""

from __future__ import annotations

import struct
import zlib

_LEVEL = 6
"""Level of compression; higher levels take longer and save little on a page of text."""


def png_of(samples: bytes, width: int, height: int, stride: int) -> bytes:
    """Return a PNG file of pixels.

    Args:
        samples: red, green and blue of each pixel, row by row, a byte each.
        width: pixels of a row.
        height: rows.
        stride: bytes from the start of a row to that of the next.
    """
    # Each row begins with the number of its filter: 0 for none.
    rows = b"".join(
        b"\0" + samples[at : at + 3 * width] for at in range(0, stride * height, stride)
    )
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)  # 8 bits a colour, RGB
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, _LEVEL)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*chunk) for chunk in chunks)


def _chunk(kind: bytes, content: bytes) -> bytes:
    check = zlib.crc32(kind + content)
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", check)
