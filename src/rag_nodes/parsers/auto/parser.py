"""Picks a way of cutting for each document, and says why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Self

from llama_index.core.bridge.pydantic import Field, PrivateAttr
from llama_index.core.schema import BaseNode

from rag_nodes import metadata as keys
from rag_nodes.errors import ConfigurationError
from rag_nodes.parsers.auto.rules import (
    SEMANTIC,
    rules_of_sentences,
    rules_of_structure,
    sample_of,
    structure_of,
    with_sentences,
)
from rag_nodes.parsers.base import SpanNodeParser
from rag_nodes.parsers.heading import HeadingHierarchyNodeParser
from rag_nodes.parsers.overlap import TokenOverlapNodeParser
from rag_nodes.parsers.recursive import RecursiveNodeParser
from rag_nodes.parsers.semantic import SemanticNodeParser
from rag_nodes.parsers.sentence import SentenceNodeParser
from rag_nodes.parsers.sizes import MIN_TOKENS
from rag_nodes.parsers.source import ChunkSpan, SourceText, origins_of

WHOLE = "whole"
"""The choice for a document that is short enough to stay one node."""
WEB = "web"
"""The choice for a page of a website."""

_STRATEGIES: Mapping[str, type[SpanNodeParser]] = MappingProxyType(
    {
        "heading": HeadingHierarchyNodeParser,
        "token-overlap": TokenOverlapNodeParser,
        "sentence": SentenceNodeParser,
        "recursive": RecursiveNodeParser,
        WEB: HeadingHierarchyNodeParser,
        SEMANTIC: SemanticNodeParser,
    }
)
_KNOWN = ", ".join(_STRATEGIES)
_DEFAULT = ("heading", "token-overlap", "sentence", "recursive", WEB)
_SHARED = ("chunk_size", "min_chunk_size", "chunk_overlap", "tokenizer", "language")
"""Options every candidate takes from this parser, where it has them."""
_FIXED: Mapping[str, Any] = MappingProxyType({"unit": "tokens", "whole_document_below": 0})
"""Options that make the sizes of all candidates comparable."""
_SIZE = 200
"""Tokens of a node; what follows was measured, see benchmarks/results.md."""
_SIZES: Mapping[str, int] = MappingProxyType({"sentence": 500})
"""The same where people talk: what answers a question about a conversation is long."""
_MOST_SHARED = 5
"""Of a smaller node than was asked for, neighbours share at most one part in so many."""
_OF_WINDOWS = "In its beginning, middle and end: "
"""Before what was seen in windows, which is not true of the whole."""
_LONGEST_TOKEN = 128
"""Characters; a text of more per token than this need not be counted to be known as long."""


def _default_candidates() -> dict[str, dict[str, Any]]:
    return {name: {} for name in _DEFAULT}


@dataclass(frozen=True, slots=True)
class Decision:
    """What was picked for a document, and why.

    Attributes:
        chosen: name of the candidate; "whole" for a document kept as one node.
        reason: why, as one sentence.
        chunk_size: tokens a node may hold.
        signals: what was seen in the document, by name.
    """

    chosen: str
    reason: str
    chunk_size: int
    signals: dict[str, float]

    def __str__(self) -> str:
        return f"{self.chosen}: {self.reason}"


class AutoNodeParser(SpanNodeParser):
    """Picks the parser and the size that suit each document, without labels or a model.

    A page of a website, such as one of a crawl, is cut by its sections. Of
    any other document a few windows are looked at, and rules over its headings, records, tables,
    columns, speakers, paragraphs and sentences name a parser; that one alone then cuts the
    document. Up to 200 tokens go into a node, up to 500 where people talk, and none are shared:
    sizes that were measured on labelled sets. The choice and its reason are in every
    node's metadata and in `explain`.

    Grouping by meaning costs embeddings and brought no consistent gain where it was measured, so
    it is a candidate only where you name it: `candidates={"semantic": {}, "heading": {}, ...}`.

    Args:
        chunk_size: tokens a node may hold, whichever parser is picked; always kept.
        choose_size: whether less is taken where that suits the document; False for `chunk_size`.
        min_chunk_size: tokens a node should hold, where the parser that is picked has a least; at
            most half of the size that is chosen.
        chunk_overlap: tokens neighbours may share, where the parser that is picked overlaps; at
            most a fifth of a size that is chosen smaller than `chunk_size`.
        whole_document_below: a document with fewer tokens stays one node; 0 turns it off.
        candidates: what may be picked: "heading", "token-overlap", "sentence", "recursive", "web"
            or "semantic", each with options of its class as plain data. Sizes are set here.

    Raises:
        ConfigurationError: a candidate or one of its options is unknown, none is named, or sizes
            contradict each other.

    Examples:
        >>> from rag_nodes import AutoNodeParser
        >>> AutoNodeParser(whole_document_below=0).explain("Tea is hot. " * 200).chosen
        'token-overlap'
    """

    output_version: ClassVar[int] = 4
    """4: sizes as they were measured."""

    chunk_size: int = Field(default=4000, ge=MIN_TOKENS)
    choose_size: bool = Field(default=True)
    min_chunk_size: int = Field(default=100, ge=0)
    chunk_overlap: int = Field(default=0, ge=0)
    whole_document_below: int = Field(default=500, ge=0)
    candidates: dict[str, dict[str, Any]] = Field(default_factory=_default_candidates)
    _parsers: dict[str, SpanNodeParser] = PrivateAttr(default_factory=dict)

    def _check(self) -> None:
        if not self.candidates:
            raise ConfigurationError(f"candidates is empty; name some of: {_KNOWN}")
        for name, options in self.candidates.items():
            self._parsers[name] = self._candidate(name, options)

    def _candidate(self, name: str, options: Mapping[str, Any]) -> SpanNodeParser:
        strategy = _STRATEGIES.get(name)
        if strategy is None:
            raise ConfigurationError(f"unknown candidate {name!r}; name some of: {_KNOWN}")
        clash = sorted({*_SHARED, *_FIXED}.intersection(options))
        if clash:
            raise ConfigurationError(
                f"candidate {name!r} must not set {', '.join(clash)}; it is the same for all "
                "candidates: set sizes, tokenizer and language on AutoNodeParser"
            )
        given = {
            **{option: getattr(self, option) for option in _SHARED},
            **_FIXED,
            **self._sizes(name),
        }
        own = {key: value for key, value in given.items() if key in strategy.model_fields}
        return strategy(**{**own, **options})

    def _sizes(self, name: str) -> dict[str, int]:
        size = _SIZES.get(name, _SIZE)
        if not self.choose_size or size >= self.chunk_size:
            return {"split_only_if_over": self.chunk_size} if name == WEB else {}
        return {
            "chunk_size": size,
            "min_chunk_size": min(self.min_chunk_size, size // 2),
            "chunk_overlap": min(self.chunk_overlap, size // _MOST_SHARED),
        }

    def to_dict(self, **kwargs: Any) -> dict[str, Any]:
        """Plain data, with the versions of the candidates: their cuts decide ours."""
        versions = {
            name: _STRATEGIES[name].output_version
            for name in self.candidates
            if name in _STRATEGIES
        }
        return {**super().to_dict(**kwargs), "candidate_versions": versions}

    @classmethod
    def from_dict(cls, data: dict[str, Any], **kwargs: Any) -> Self:
        """The parser `to_dict` described, refused where a candidate cut differently then."""
        options = {**data, **kwargs}
        for name, version in options.pop("candidate_versions", {}).items():
            known = _STRATEGIES.get(name)
            if known and known.output_version != version:
                raise ConfigurationError(
                    f"candidate {name!r} version {version} is not {known.output_version}: "
                    "this configuration cut differently; ingest again"
                )
        return super().from_dict(options)

    def explain(self, text: str | BaseNode) -> Decision:
        """What would be picked for a text or document, and why; costs no embedding."""
        if isinstance(text, str):
            return self._decide(self._source(text))
        (origin,) = origins_of([text])
        return self._decide(self._source_of(origin))

    def spans(self, source: SourceText) -> Iterator[ChunkSpan]:
        """The cuts of the parser that suits the text."""
        decision, packer = self._decide(source), source.packer
        cuts: Iterable[ChunkSpan]
        if decision.chosen != WHOLE:
            cuts = self._parsers[decision.chosen].spans(source)
        elif packer.start < packer.end:
            cuts = [ChunkSpan(packer.start, packer.end, {keys.WHOLE_DOCUMENT: True})]
        else:
            cuts = []
        said = {keys.DECISION: str(decision)}
        for cut in cuts:
            yield cut._replace(facts={**cut.facts, **said})

    def _decide(self, source: SourceText) -> Decision:
        if not source.text.strip():
            return Decision(WHOLE, "The document is blank.", self.chunk_size, {})
        if source.address and WEB in self._parsers:
            return self._decision(WEB, "The document is a page of a website", {})
        if len(source.text) <= self.whole_document_below * _LONGEST_TOKEN:
            tokens = source.packer.count(source.packer.start, source.packer.end)
            if tokens < self.whole_document_below and tokens <= self.chunk_size:
                reason = f"{tokens} tokens are under {self.whole_document_below}."
                return Decision(WHOLE, reason, self.chunk_size, {"tokens": tokens})
        sample = sample_of(source, language=self.language)
        sizes = {name: self._size(name) for name in self._parsers}
        signals = structure_of(sample)
        found = [one for one in rules_of_structure(signals, sizes) if one[0] in sizes]
        if not found:
            signals = with_sentences(signals, sample)
            found = [one for one in rules_of_sentences(signals, sizes) if one[0] in sizes]
        found.append((next(iter(sizes)), "No rule names another candidate"))
        chosen, reason = found[0]
        seen = "" if sample is source else _OF_WINDOWS
        return self._decision(chosen, f"{seen}{reason}", asdict(signals))

    def _decision(self, chosen: str, reason: str, signals: dict[str, float]) -> Decision:
        size = self._size(chosen)
        return Decision(chosen, f"{reason}, so nodes hold up to {size} tokens.", size, signals)

    def _size(self, name: str) -> int:
        size: int = self._parsers[name].chunk_size  # type: ignore[attr-defined] # all have one
        return size
