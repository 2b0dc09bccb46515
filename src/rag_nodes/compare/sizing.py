"""Columns at one mean size: with larger chunks a column differs in size, not in how it cuts."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.storage.kvstore import SimpleKVStore

from rag_nodes.errors import CancelledError, ConfigurationError
from rag_nodes.evaluation.sizes import TOLERANCE, matched
from rag_nodes.keys import words_of
from rag_nodes.metadata import PAGE_STARTS
from rag_nodes.pipeline import Progress
from rag_nodes.readers import Limits, listed, read_listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from llama_index.core.schema import Document

    from rag_nodes.parsers import SpanNodeParser
    from rag_nodes.pipeline import ParserOutcome
    from rag_nodes.pipeline.build import Parse
    from rag_nodes.readers import Exclusion, ReadResult, Skipped

logger = logging.getLogger(__name__)

EQUAL_SIZE = 200
"""Tokens of a chunk on average where columns are compared at one size and nobody says at which."""

FIRST = 300_000
"""Characters of the first documents, on which sizes are found."""


def documents_in(
    paths: Iterable[str | Path],
    limits: Limits | None,
    results: list[ReadResult] | None = None,
    exclude: Exclusion | None = None,
    skipped: Skipped | None = None,
) -> Iterator[Document]:
    """Read the documents of files and folders.

    Args:
        paths: files and folders.
        limits: what one file may cost; None for the defaults.
        results: gets each result, also of files that cannot be read.
        exclude: see `listed`.
        skipped: see `listed`.
    """
    for file in listed(map(Path, paths), exclude=exclude, skipped=skipped):
        for one in read_listed(file, limits=limits or Limits()):
            if results is not None:
                results.append(one)
            if one.document:
                yield one.document


def beginnings(documents: Iterable[Document]) -> Iterator[Document]:
    """The first documents, as many as have `FIRST` characters together, and no more of one."""
    characters = 0
    for given in documents:
        one, characters = given, characters + len(given.text)
        if len(given.text) > FIRST:
            starts = one.metadata.get(PAGE_STARTS)
            known = {PAGE_STARTS: [at for at in starts if at < FIRST]} if starts else {}
            metadata = {**one.metadata, **known}
            one = type(one)(text=one.text[:FIRST], id_=one.id_, metadata=metadata)
        if one.text.strip():
            yield one
        if characters >= FIRST:
            return


class EqualSize:
    """Parsers at one mean size, found on the first documents they are to cut.

    Args:
        target: tokens of a chunk on average.

    Attributes:
        target: as given.
        parsers: at that size, by name; of one that cannot have it the nearest there is, or the
            parser as it was given. Empty until `find`.

    Raises:
        ConfigurationError: `target` is below 1.
    """

    def __init__(self, target: int) -> None:
        if target < 1:
            raise ConfigurationError(f"equal_size must be at least 1 token, not {target}")
        self.target = target
        self.parsers: dict[str, SpanNodeParser] = {}
        self._remarks: dict[str, str] = {}

    def find(
        self,
        parsers: Mapping[str, SpanNodeParser],
        documents: Iterable[Document],
        *,
        cut: Parse | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> dict[str, SpanNodeParser]:
        """Size the parsers, unless that was done before: chunks that are stored keep their size.

        Args:
            parsers: by name.
            documents: on whose `beginnings` the mean is measured; without any the parsers stay as
                they are.
            cut: makes the nodes of a document; None to have the parser do it.
            progress: told the name of each parser as it is begun.

        Raises:
            CancelledError: `cut` was cancelled.
        """
        seen = [] if self.parsers else [*beginnings(documents)]
        if not seen:
            return self.parsers or dict(parsers)
        for name, parser in parsers.items():
            if progress is not None:
                progress(Progress("size", name, 0))
            self.parsers[name] = self._sized(name, parser, seen, cut)
        return self.parsers

    def remark(self, outcome: ParserOutcome) -> ParserOutcome:
        """What a parser made, with why its mean is another than was asked for, if it is."""
        if not outcome.chunks or abs(outcome.mean_tokens / self.target - 1) <= TOLERANCE:
            return outcome
        why = self._remarks.get(outcome.parser) or "sized on the first documents only"
        return replace(outcome, size_remark=f"not {self.target} tokens on average: {why}")

    def _sized(
        self, name: str, parser: SpanNodeParser, documents: Sequence[Document], cut: Parse | None
    ) -> SpanNodeParser:
        try:
            found = matched(_remembering(parser), documents, self.target, cut=cut)
        except CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - another's splitter may raise anything
            why = words_of(error)
            logger.info("%s cannot be sized: %s", name, why)
            self._remarks[name] = f"it keeps its own size ({why})"
            return parser
        sized = found.parser.model_copy(update=_models_of(parser))
        for other, taken in self.parsers.items():
            if taken.fingerprint == sized.fingerprint:
                self._remarks[name] = f"at that size it is the same as {other}, so it keeps its own"
                return parser
        if not found.reached:
            self._remarks[name] = "it cannot have that size here"
        return sized


def _models_of(parser: SpanNodeParser) -> dict[str, BaseEmbedding]:
    """The embedding models that a parser was given as objects, by field."""
    fields = {name: getattr(parser, name) for name in type(parser).model_fields}
    return {name: one for name, one in fields.items() if isinstance(one, BaseEmbedding)}


def _remembering(parser: SpanNodeParser) -> SpanNodeParser:
    """The same parser, whose models are asked for no sentence twice: every size has the same."""
    models = {
        name: model.model_copy(update={"embeddings_cache": SimpleKVStore()})
        for name, model in _models_of(parser).items()
    }
    return parser.model_copy(update=models) if models else parser
