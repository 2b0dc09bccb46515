"""Retrieved pieces of documents to runs of text without gaps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple


class Run(NamedTuple):
    """Retrieved text without a gap.

    Attributes:
        document: where it is from.
        start: its first character there.
        text: the characters themselves.
    """

    document: str
    start: int
    text: str


def joined_runs(pieces: Iterable[Run]) -> list[Run]:
    """Pieces of documents that overlap, or have nothing between them, as one run each.

    In the order of the documents' first pieces, and of the places in them.
    """
    by_document: dict[str, list[Run]] = {}
    for piece in pieces:
        by_document.setdefault(piece.document, []).append(piece)
    found: list[Run] = []
    for own in by_document.values():
        found += _joined(sorted(own, key=lambda piece: (piece.start, -len(piece.text))))
    return found


def _joined(pieces: Sequence[Run]) -> Iterator[Run]:
    first, end, texts = pieces[0], pieces[0].start, [""]
    for piece in pieces:
        if piece.start > end:
            yield first._replace(text="".join(texts))
            first, end, texts = piece, piece.start, []
        if piece.start + len(piece.text) > end:
            texts.append(piece.text[end - piece.start :])
            end = piece.start + len(piece.text)
    yield first._replace(text="".join(texts))
