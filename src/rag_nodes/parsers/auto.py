"""The preset and the size that a table has for the format of each document."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Self

from llama_index.core.bridge.pydantic import Field, PrivateAttr
from llama_index.core.schema import BaseNode

from rag_nodes.core import metadata as keys
from rag_nodes.core.errors import ConfigurationError
from rag_nodes.parsers.base import SpanNodeParser
from rag_nodes.parsers.heading import HeadingHierarchyNodeParser
from rag_nodes.parsers.sentence import SentenceNodeParser
from rag_nodes.parsers.sizes import MIN_TOKENS
from rag_nodes.parsers.source import ChunkSpan, SourceText, origins_of

WHOLE = "whole"
"""The choice for a document that is short enough to stay one node."""


class FormatEntry(NamedTuple):
    """A line of the table: what a format is called, and the preset and tokens it is split by."""

    words: str
    preset: str
    tokens: int


TABLE: Mapping[str, FormatEntry] = MappingProxyType(
    {
        "web": FormatEntry("a page of a website", "heading", 200),
        "conversation": FormatEntry("a conversation", "sentence", 500),
        "markdown": FormatEntry("Markdown", "heading", 200),
        "plain": FormatEntry("plain text", "heading", 200),
    }
)
"""By the figures of `benchmarks/auto_table.py`: see docs/reference/parsers.md."""
_CLASSES: Mapping[str, type[SpanNodeParser]] = MappingProxyType(
    {"heading": HeadingHierarchyNodeParser, "sentence": SentenceNodeParser}
)
_MOST_SHARED = 5
"""Divisor of a node smaller than requested: neighbours share at most one such part of it."""
_LONGEST_TOKEN = 128
"""Characters; a text of more per token than this need not be counted to be known as long."""
_BEGINNING = 12_000
"""Characters in which speakers are looked for."""
_SPEAKER = re.compile(
    r"(?:[*_\[(]*\d[\d:.,\])]*\s*)?[*_\[(]*([^\W\d_][\w .'-]{0,30})[*_\])]*:[*_]*\s"
)
"""A name and a colon at the start of a line, maybe after a time."""
_SPEAKERS = 0.3
"""Share of lines with a speaker from which a text is a conversation."""
_LEAST_RECORDS = 3
"""Blocks that all begin with the same label, which then is a field and no speaker."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The preset for a document, and the reason.

    Attributes:
        chosen: name of the preset; "whole" for a document kept as one node.
        reason: why, as one sentence.
        chunk_size: tokens a node may hold.
    """

    chosen: str
    reason: str
    chunk_size: int

    def __str__(self) -> str:
        return f"{self.chosen}: {self.reason}"


class AutoNodeParser(SpanNodeParser):
    """Splits each document by the preset and size of its format, without labels or a model.

    Conversations are split by sentences into up to 500 tokens, all else by headings into up to 200,
    and none are shared: what was measured on labelled sets. The choice and its reason are in every
    node's metadata and in `explain`.

    Args:
        chunk_size: maximum tokens of a node, for every preset.
        choose_size: True uses the size for the format of the document if it is below `chunk_size`;
            False always uses `chunk_size`.
        min_chunk_size: minimum tokens of a node, for presets that have a minimum; at most half of
            the chosen size.
        chunk_overlap: maximum tokens that neighbours share; at most a fifth of the chosen size if
            that is below `chunk_size`.
        whole_document_below: a document with fewer tokens stays one node; 0 turns it off.

    Raises:
        ConfigurationError: sizes contradict each other.

    Examples:
        >>> from rag_nodes import AutoNodeParser
        >>> AutoNodeParser(whole_document_below=0).explain("Tea is hot. " * 200).chosen
        'heading'
    """

    output_version: ClassVar[int] = 5
    """5: a table of formats."""

    chunk_size: int = Field(default=4000, ge=MIN_TOKENS)
    choose_size: bool = Field(default=True)
    min_chunk_size: int = Field(default=100, ge=0)
    chunk_overlap: int = Field(default=0, ge=0)
    whole_document_below: int = Field(default=500, ge=0)
    _parsers: dict[str, SpanNodeParser] = PrivateAttr(default_factory=dict)

    def _check(self) -> None:
        for entry in TABLE.values():
            size = self._size(entry)
            options: dict[str, Any] = {
                "chunk_size": size,
                "min_chunk_size": self.min_chunk_size,
                "chunk_overlap": self.chunk_overlap,
                "tokenizer": self.tokenizer,
                "language": self.language,
                "unit": "tokens",
            }
            if size < self.chunk_size:
                options["min_chunk_size"] = min(self.min_chunk_size, size // 2)
                options["chunk_overlap"] = min(self.chunk_overlap, size // _MOST_SHARED)
            fields = _CLASSES[entry.preset].model_fields
            own = {name: value for name, value in options.items() if name in fields}
            self._parsers[entry.preset] = _CLASSES[entry.preset](**own)

    def _size(self, entry: FormatEntry) -> int:
        return min(entry.tokens, self.chunk_size) if self.choose_size else self.chunk_size

    def to_dict(self, **kwargs: Any) -> dict[str, Any]:
        """Plain data, with the versions of the presets: their splits decide ours."""
        versions = {name: parser.output_version for name, parser in _CLASSES.items()}
        return {**super().to_dict(**kwargs), "preset_versions": versions}

    @classmethod
    def from_dict(cls, data: dict[str, Any], **kwargs: Any) -> Self:
        """The parser `to_dict` described, refused where a preset split differently then."""
        options = {**data, **kwargs}
        for name, version in options.pop("preset_versions", {}).items():
            if name in _CLASSES and _CLASSES[name].output_version != version:
                raise ConfigurationError(
                    f"preset '{name}' was saved by version {version}, which split differently "
                    f"from version {_CLASSES[name].output_version}; ingest again"
                )
        return super().from_dict(options)

    def explain(self, text: str | BaseNode) -> Decision:
        """The choice for a text or document, and why."""
        if isinstance(text, str):
            return self._decide(self._source(text))
        (origin,) = origins_of([text])
        return self._decide(self._source_of(origin))

    def spans(self, source: SourceText) -> Iterator[ChunkSpan]:
        """The splits of the preset for the format of the text."""
        decision, packer = self._decide(source), source.packer
        cuts: Iterable[ChunkSpan]
        if decision.chosen != WHOLE:
            cuts = self._parsers[decision.chosen].spans(source)
        elif packer.start < packer.end:
            cuts = [ChunkSpan(packer.start, packer.end, {keys.WHOLE_DOCUMENT: True})]
        else:
            cuts = []
        for cut in cuts:
            yield cut._replace(facts={**cut.facts, keys.DECISION: str(decision)})

    def _decide(self, source: SourceText) -> Decision:
        if not source.text.strip():
            return Decision(WHOLE, "The document is blank.", self.chunk_size)
        if not source.address and len(source.text) <= self.whole_document_below * _LONGEST_TOKEN:
            tokens = source.packer.count(source.packer.start, source.packer.end)
            if tokens < self.whole_document_below and tokens <= self.chunk_size:
                reason = f"{tokens} tokens are under {self.whole_document_below}."
                return Decision(WHOLE, reason, self.chunk_size)
        entry = TABLE[_format_of(source)]
        size = self._size(entry)
        reason = f"The document is {entry.words}, so nodes hold up to {size} tokens."
        return Decision(entry.preset, reason, size)


def _format_of(source: SourceText) -> str:
    """The line of the table for a text."""
    if source.address:
        return "web"
    if _is_conversation(source.text.lstrip()[:_BEGINNING]):
        return "conversation"
    return str(source.packer.text_format)


def _is_conversation(text: str) -> bool:
    """Return True if lines begin with speakers, and not with the fields of records."""
    lines = [line for line in text.splitlines() if line.strip()]
    share = sum(map(bool, map(_SPEAKER.match, lines))) / max(len(lines), 1)
    blocks = [
        match[1] for paragraph in re.split(r"\n\s*\n", text) if (match := _SPEAKER.match(paragraph))
    ]
    alike = Counter(blocks).most_common(1)
    is_records = len(blocks) >= _LEAST_RECORDS and alike[0][1] >= len(blocks) - 1
    return share >= _SPEAKERS and not is_records
