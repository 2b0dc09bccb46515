"""The same strategy at another size, and the size at which its chunks have a given mean.

Most of what looks like a difference between strategies is one of size, so a comparison of
strategies has to be made at an equal mean size, not at equal options.
"""

from __future__ import annotations

import copy
from contextlib import suppress
from dataclasses import dataclass
from statistics import fmean, median, pstdev
from typing import TYPE_CHECKING, Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import BaseModel

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.import_paths import with_options
from rag_nodes.core.metadata import TOKEN_COUNT
from rag_nodes.evaluation.tables import ChunkStatistics
from rag_nodes.parsers import ForeignNodeParser, get_parser, leaf_nodes
from rag_nodes.text.tokens import count_tokens
from rag_nodes.text.tokens.encodings import DEFAULT_ENCODING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from llama_index.core.schema import BaseNode, Document

    from rag_nodes.parsers import SpanNodeParser

TOLERANCE = 0.03
"""By how much the mean size may miss its target."""
_TRIES = 14
"""Sizes that are tried; halving an interval 14 times leaves a ten-thousandth of it."""
_WIDEST = 64
"""Largest size option as a multiple of the target: some parsers never join short sections."""
_IN_PROPORTION = (
    "chunk_overlap",
    "min_chunk_size",
    "split_only_if_over",
    "whole_document_below",
)
"""Options that keep their share of the size."""


@dataclass(frozen=True, slots=True)
class Matched:
    """A parser whose mean is, of all sizes tried, the nearest to the target, in tokens.

    `size` is what `resized` was given for it.
    """

    parser: SpanNodeParser
    mean: float
    target: int
    size: int

    @property
    def reached(self) -> bool:
        """Return True if the mean is within `TOLERANCE` of the target."""
        return abs(self.mean / self.target - 1) <= TOLERANCE


def resized(parser: SpanNodeParser, tokens: int) -> SpanNodeParser:
    """The same strategy with chunks, or children of parents, of at most so many tokens.

    Overlap and least size keep their share of the size. Sizes in characters or sentences become
    sizes in tokens where the parser knows them.

    Raises:
        ConfigurationError: the parser has no size to change.
    """
    if isinstance(parser, ForeignNodeParser):
        return _resized_foreign(parser, tokens)
    options = _options_of(parser)
    name = parser.class_name()
    if "child_options" in options:
        child = get_parser(options["child"], **options["child_options"])
        sizes = _sizes({**dict(child), **options["child_options"]}, tokens, name)
        options["child_options"] = {**options["child_options"], **sizes}
        return type(parser)(**options)
    return type(parser)(**{**options, **_sizes(options, tokens, name)})


def without_overlap(parser: SpanNodeParser) -> SpanNodeParser:
    """The same strategy with nothing shared by neighbouring chunks, if that is known."""
    options = {} if isinstance(parser, ForeignNodeParser) else _options_of(parser)
    return type(parser)(**{**options, "chunk_overlap": 0}) if "chunk_overlap" in options else parser


def matched(parser: SpanNodeParser, documents: Sequence[Document], target: int) -> Matched:
    """Find the size at which a parser's chunks have a mean of `target` tokens, by bisection.

    Args:
        parser: any that has a size.
        documents: what it splits.
        target: tokens of a chunk on average.

    Returns:
        The nearest there is: chunks that end at headings or pages cannot have every size.

    Raises:
        ConfigurationError: the parser has no size to change.
    """
    low, high, size = 1, target * _WIDEST, round(target * 1.25)
    best: Matched | None = None
    refused = ConfigurationError(f"{parser.class_name()} has no chunks of {target} tokens")
    for _ in range(_TRIES):
        try:
            sized = resized(parser, size)
        except ConfigurationError as error:
            refused = error
            low, size = size, min(size * 2, (size + high) // 2)
            continue
        nodes = [node for document in documents for node in sized([document])]
        mean = mean_size(nodes, sized.tokenizer)
        if best is None or abs(mean - target) < abs(best.mean - target):
            best = Matched(sized, mean, target, size)
        if best.reached or high - low <= 1:
            break
        low, high = (size, high) if mean < target else (low, size)
        guess = round(size * target / mean) if mean else high
        size = guess if low < guess < high else (low + high) // 2
    if best is None:
        raise refused
    return best


def mean_size(nodes: Sequence[BaseNode], encoding: str = DEFAULT_ENCODING) -> float:
    """Tokens of a chunk on average; 0 without chunks. Parents are not found and do not count."""
    sizes = token_counts(nodes, encoding)
    return sum(sizes) / len(sizes) if sizes else 0.0


def token_counts(nodes: Sequence[BaseNode], encoding: str | None = DEFAULT_ENCODING) -> list[int]:
    """Tokens of each chunk's own text, in the encoding of budgets.

    `encoding` is that in which their parser counted tokens; None where nobody knows.
    """
    counted = encoding == DEFAULT_ENCODING
    return [
        node.metadata[TOKEN_COUNT]
        if counted and TOKEN_COUNT in node.metadata
        else count_tokens(node.get_content())
        for node in leaf_nodes(nodes)
    ]


def chunk_statistics(token_counts: Iterable[int]) -> ChunkStatistics:
    """Statistics of chunk sizes; all zero without chunks."""
    sizes = list(token_counts)
    if not sizes:
        return ChunkStatistics()
    return ChunkStatistics(
        chunks=len(sizes),
        tokens=sum(sizes),
        smallest=min(sizes),
        largest=max(sizes),
        mean=fmean(sizes),
        median=float(median(sizes)),
        deviation=pstdev(sizes),
    )


def _options_of(parser: SpanNodeParser) -> dict[str, Any]:
    """Return the options that make the same parser again, with models that are not serialised."""
    options = {}
    for name, field in type(parser).model_fields.items():
        value = getattr(parser, name)
        if not field.exclude or isinstance(value, BaseEmbedding):
            options[name] = value
    return options


def _sizes(options: dict[str, Any], tokens: int, name: str) -> dict[str, Any]:
    """Size options for chunks of so many tokens, in the proportions of those given."""
    size = options.get("chunk_size")
    if not isinstance(size, int):
        raise ConfigurationError(f"{name} has no chunk_size, so its chunks cannot be resized")
    if options.get("window") and options.get("unit") == "sentences":
        raise ConfigurationError(f"{name} finds single sentences, which have no size to change")
    changed: dict[str, Any] = {"chunk_size": tokens}
    for part in _IN_PROPORTION:
        if isinstance(options.get(part), int):
            changed[part] = min(tokens - 1, round(options[part] / size * tokens))
    if "unit" in options:
        changed["unit"] = "tokens"
    for chosen in ("scale_by_script", "choose_size"):
        if chosen in options:
            changed[chosen] = False
    return changed


def _resized_foreign(parser: ForeignNodeParser, tokens: int) -> ForeignNodeParser:
    """Another package's splitter with another size, of a path again one that a path names."""
    splitter = parser.splitter
    names = [name for name in ("chunk_size", "_chunk_size") if hasattr(splitter, name)]
    size = getattr(splitter, names[0], None) if names else None
    if not isinstance(size, int) or isinstance(size, bool):
        raise ConfigurationError(
            f"{parser.splitter_class} has no chunk_size, so its chunks cannot be resized"
        )
    changed = {names[0]: tokens}
    for name in ("chunk_overlap", "_chunk_overlap"):
        if isinstance(overlap := getattr(splitter, name, None), int):
            changed[name] = min(tokens - 1, round(overlap / size * tokens))
    if parser.path:
        named = {name.removeprefix("_"): value for name, value in changed.items()}
        with suppress(ConfigurationError):  # what has the attribute may not take it as an option
            return ForeignNodeParser(path=with_options(parser.path, **named))
    if isinstance(splitter, BaseModel):
        return ForeignNodeParser(splitter=splitter.model_copy(update=changed))
    copied = copy.copy(splitter)
    for name, value in changed.items():
        setattr(copied, name, value)
    return ForeignNodeParser(splitter=copied)
