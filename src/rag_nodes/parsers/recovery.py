"""Words for how many chunks of another package's splitter were located in their document."""

from __future__ import annotations


def recovery_in_words(lost: int, chunks: int, *, always: bool = False) -> str:
    """`37 of 40 chunks found in their document (92.5 %)`; never 100 % by rounding.

    Nothing where none is lost, unless that is to be said `always`.
    """
    if not chunks or not (lost or always):
        return ""
    share = "100 %" if not lost else f"{min(99.9, 100 * (chunks - lost) / chunks):.1f} %"
    things = "chunk" if chunks == 1 else "chunks"
    rest = "; the others are cited without a place" if lost else ""
    return f"{chunks - lost:,} of {chunks:,} {things} found in their document ({share}){rest}"
