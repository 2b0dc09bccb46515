"""What a sweep tries: parsers at several sizes, with and without overlap."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag_nodes.errors import ConfigurationError
from rag_nodes.evaluation.columns import Variant
from rag_nodes.evaluation.sizes import overlapped, resized
from rag_nodes.parsers import as_parser, get_parser
from rag_nodes.parsers.presets import DEFAULT_PARSER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rag_nodes.parsers import SpanNodeParser

SWEPT = ("recursive", "heading", "token-overlap", "semantic")
"""Presets that are tried unless it is said which."""
OVERLAPS = (0.15,)
"""Shares of a chunk that neighbours have in common, tried beside none."""
STANDARD_SIZE = 200
"""Tokens of a chunk of the preset `DEFAULT_PARSER`, which is recursive: what stands where the data
cannot tell, as it loses least over many corpora."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way of cutting with one configuration.

    Attributes:
        preset: name of the parser as it was given, which groups candidates.
        parser: how it cuts.
        size: tokens of a chunk at most; None for a parser whose size cannot be changed.
        overlap: tokens that neighbours share; None where the parser has its own idea of that.
    """

    preset: str
    parser: SpanNodeParser
    size: int | None = None
    overlap: int | None = None

    @property
    def name(self) -> str:
        """Unique in a sweep, such as "recursive 200" or, with overlap, "recursive 200/30"."""
        if self.size is None:
            return self.preset
        shared = f"/{self.overlap}" if self.overlap else ""
        return f"{self.preset} {self.size}{shared}"

    @property
    def variant(self) -> Variant:
        """The same as a row of an evaluation."""
        return Variant(self.name, "own", self.parser)


def standard() -> Candidate:
    """The candidate that stands where the data cannot tell."""
    parser = get_parser(DEFAULT_PARSER)
    return Candidate("recursive", parser, STANDARD_SIZE, 0)


def at_sizes(parsers: Mapping[str, object], sizes: Sequence[int]) -> list[Candidate]:
    """Each parser at each size without overlap, the standard first and what is like it next.

    A parser whose size cannot be changed is one candidate at its own options.

    Args:
        parsers: by name: ours, and splitters of other packages.
        sizes: in tokens.

    Raises:
        ConfigurationError: there is nothing to try, or one is no splitter.
    """
    if not parsers:
        raise ConfigurationError("nothing to try: name at least one parser")
    first = standard()
    found = [one for name, given in parsers.items() for one in _sized(name, given, sizes)]
    found.sort(key=lambda one: abs((one.size or STANDARD_SIZE) - STANDARD_SIZE))
    return [first, *(one for one in found if one.name != first.name)]


def _sized(name: str, given: object, sizes: Sequence[int]) -> Iterator[Candidate]:
    parser = as_parser(given)
    some = False
    for size in sizes:
        with suppress(ConfigurationError):  # a size that it cannot have is none of its candidates
            sized = resized(parser, size)
            some = True
            yield _without_overlap(name, sized, size)
    if not some:
        yield Candidate(name, parser)


def _without_overlap(name: str, parser: SpanNodeParser, size: int) -> Candidate:
    try:
        return Candidate(name, overlapped(parser, 0), size, 0)
    except ConfigurationError:
        return Candidate(name, parser, size)


def with_overlap(candidate: Candidate, shares: Sequence[float]) -> Iterator[Candidate]:
    """The same candidate with overlaps; nothing where its parser has none.

    Args:
        candidate: without overlap.
        shares: of the size.
    """
    if candidate.overlap is None or candidate.size is None:
        return
    for share in shares:
        tokens = round(share * candidate.size)
        if tokens > 0:
            parser = overlapped(candidate.parser, tokens)
            yield Candidate(candidate.preset, parser, candidate.size, tokens)
