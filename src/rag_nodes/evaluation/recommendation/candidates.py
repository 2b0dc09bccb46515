"""What a sweep tries: parsers at sizes and overlaps, read by sentences or as whole chunks."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rag_nodes.errors import ConfigurationError
from rag_nodes.evaluation.columns import Variant
from rag_nodes.evaluation.sizes import overlapped, resized
from rag_nodes.parsers import as_parser, get_parser
from rag_nodes.parsers.presets import DEFAULT_PARSER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rag_nodes.parsers import SpanNodeParser
    from rag_nodes.query import QueryOptions
    from rag_nodes.query.options import Granularity
    from rag_nodes.store import SearchMode

OVERLAPS = (0.15,)
"""Shares of a chunk that neighbours have in common, tried beside none."""
STANDARD_SIZE = 200
"""Tokens of a chunk of the preset `DEFAULT_PARSER`, which is recursive: what stands where the data
cannot tell, as it loses least over many corpora. Where sentences are read, all parsers are tried at
this size: others hardly differ."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way of cutting and reading, with one configuration.

    Attributes:
        preset: name of the parser as it was given.
        parser: how it cuts.
        options: how is searched and what is read.
        size: tokens of a chunk at most; None for a parser whose size cannot be changed.
        overlap: tokens that neighbours share; None where the parser has its own idea of that.
        mode: how or by which embedding is searched, where that differs from the rest of the sweep;
            "" where not.
    """

    preset: str
    parser: SpanNodeParser
    options: QueryOptions
    size: int | None = None
    overlap: int | None = None
    mode: str = ""

    @property
    def name(self) -> str:
        """Unique in a sweep: "recursive 200/30", with overlap, "recursive 200 by sentences"."""
        size = "" if self.size is None else f" {self.size}"
        shared = f"/{self.overlap}" if self.overlap else ""
        read = " by sentences" if self.options.granularity == "sentences" else ""
        return f"{self.preset}{size}{shared}{read}{f', {self.mode}' if self.mode else ''}"

    @property
    def variant(self) -> Variant:
        """The same as a row of an evaluation."""
        return Variant(self.name, "own", self.parser, options=self.options)


def standard(options: QueryOptions) -> Candidate:
    """The candidate that stands where the data cannot tell: what is done where nothing is said."""
    usual: Granularity = "sentences" if options.reads_sentences else "chunks"
    own = replace(options, granularity=usual)
    return Candidate("recursive", get_parser(DEFAULT_PARSER), own, STANDARD_SIZE, 0)


def at_sizes(
    parsers: Mapping[str, object], sizes: Sequence[int], options: QueryOptions
) -> list[Candidate]:
    """Each parser at each size without overlap, the standard first and what is like it next.

    A parser whose size cannot be changed is one candidate at its own options. Where nothing is said
    of what is read, each parser is also tried by sentences.

    Args:
        parsers: by name: ours, and splitters of other packages.
        sizes: in tokens.
        options: how is searched.

    Raises:
        ConfigurationError: there is nothing to try, or one is no splitter.
    """
    if not parsers:
        raise ConfigurationError("nothing to try: name at least one parser")
    first = standard(options)
    found = []
    for granularity, tried in _ways(options, sizes):
        own = replace(options, granularity=granularity)
        found += [one for name, given in parsers.items() for one in _sized(name, given, tried, own)]
    found.sort(key=lambda one: abs((one.size or STANDARD_SIZE) - STANDARD_SIZE))
    return [first, *(one for one in found if one.name != first.name)]


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
            yield replace(candidate, parser=overlapped(candidate.parser, tokens), overlap=tokens)


def with_modes(candidate: Candidate, modes: Sequence[SearchMode]) -> Iterator[Candidate]:
    """The same candidate, searched in other ways than it is."""
    for mode in modes:
        if mode != candidate.options.mode:
            yield replace(candidate, options=replace(candidate.options, mode=mode), mode=mode)


def with_vectors(candidate: Candidate, vectors: Sequence[str]) -> Iterator[Candidate]:
    """The same candidate, searched by other embeddings of its chunks than it is."""
    for vector in dict.fromkeys(vectors):
        if vector != candidate.options.vector:
            options = replace(candidate.options, vector=vector)
            said = ", ".join(filter(None, (candidate.mode, f"by {vector}")))
            yield replace(candidate, options=options, mode=said)


def _ways(
    options: QueryOptions, sizes: Sequence[int]
) -> Iterator[tuple[Granularity, Sequence[int]]]:
    """What is read, and at which sizes that is tried."""
    if options.granularity is not None:
        yield options.granularity, sizes
        return
    if options.reads_sentences:
        yield "sentences", (STANDARD_SIZE,)
    yield "chunks", sizes


def _sized(
    name: str, given: object, sizes: Sequence[int], options: QueryOptions
) -> Iterator[Candidate]:
    parser = as_parser(given)
    some = False
    for size in sizes:
        with suppress(ConfigurationError):  # a size that it cannot have is none of its candidates
            sized = resized(parser, size)
            some = True
            yield _without_overlap(Candidate(name, sized, options, size))
    if not some:
        yield Candidate(name, parser, options)


def _without_overlap(candidate: Candidate) -> Candidate:
    try:
        return replace(candidate, parser=overlapped(candidate.parser, 0), overlap=0)
    except ConfigurationError:
        return candidate
