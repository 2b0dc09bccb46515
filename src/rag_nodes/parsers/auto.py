"""Picks a way of cutting for each document, and says why."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any, Self

from llama_index.core.bridge.pydantic import Field, PrivateAttr
from llama_index.core.schema import BaseNode

from rag_nodes import metadata as keys
from rag_nodes.errors import ConfigurationError
from rag_nodes.parsers.auto_rules import SEMANTIC, rule_for
from rag_nodes.parsers.auto_signals import Signals, measures_of, sample_of, signals_of
from rag_nodes.parsers.base import SpanNodeParser
from rag_nodes.parsers.heading import HeadingHierarchyNodeParser
from rag_nodes.parsers.origins import origins_of
from rag_nodes.parsers.overlap import TokenOverlapNodeParser
from rag_nodes.parsers.recursive import RecursiveNodeParser
from rag_nodes.parsers.semantic import SemanticNodeParser
from rag_nodes.parsers.sentence import SentenceNodeParser
from rag_nodes.parsers.sizes import LEAST_TOKENS
from rag_nodes.parsers.source import Cut, SourceText

WHOLE = "whole"
"""The choice for a document that is short enough to stay one node."""

_STRATEGIES: Mapping[str, type[SpanNodeParser]] = MappingProxyType(
    {
        "heading": HeadingHierarchyNodeParser,
        "token-overlap": TokenOverlapNodeParser,
        "sentence": SentenceNodeParser,
        "recursive": RecursiveNodeParser,
        SEMANTIC: SemanticNodeParser,
    }
)
_DEFAULT = ("heading", "token-overlap", "sentence", "recursive")
_SHARED = ("chunk_size", "min_chunk_size", "chunk_overlap", "tokenizer", "language")
"""Options every candidate takes from this parser, where it has them."""
_FIXED: Mapping[str, Any] = MappingProxyType({"unit": "tokens", "whole_document_below": 0})
"""Options that make the sizes of all candidates comparable."""
_MARGIN = 0.1
"""By how much the parser a rule names may score under the best one."""


def _default_candidates() -> dict[str, dict[str, Any]]:
    return {name: {} for name in _DEFAULT}


@dataclass(frozen=True, slots=True)
class Decision:
    """What was picked for a document, and why.

    Attributes:
        chosen: name of the candidate; "whole" for a document kept as one node.
        reasons: sentences that lead from the signals to the choice.
        signals: what was seen in the document, by name.
        scores: how well each candidate that was tried suits the document, 0 to 1.
    """

    chosen: str
    reasons: tuple[str, ...]
    signals: dict[str, float]
    scores: dict[str, float]

    def __str__(self) -> str:
        scores = ", ".join(f"{name} {score:.2f}" for name, score in self.scores.items())
        return f"{self.chosen}: {' '.join(self.reasons)}" + (f" [{scores}]" if scores else "")


class AutoNodeParser(SpanNodeParser):
    """Picks the parser that suits each document, without labels or a model (S3-25, S3-26).

    Rules look at headings, speakers, paragraphs and sentences and name a parser; each candidate
    then cuts the document, or a sample of a long one, and is scored by what needs no question:
    sizes kept, cuts at sentence ends, tables and code left whole, headings at the front of nodes,
    little repeated. The named parser is taken unless another scores clearly better. The choice
    and its numbers are in every node's metadata and in `explain`.

    Grouping by meaning costs embeddings and brought no consistent gain where it was measured, so
    it is a candidate only where you name it: `candidates={"semantic": {}, "heading": {}, ...}`.

    Args:
        chunk_size: tokens a node may hold, whichever parser is picked.
        min_chunk_size: tokens a node should hold, where the parser that is picked has a least.
        chunk_overlap: tokens neighbours may share, where the parser that is picked overlaps.
        whole_document_below: a document with fewer tokens stays one node; 0 turns it off.
        candidates: what may be picked: "heading", "token-overlap", "sentence", "recursive" or
            "semantic", each with options of its class as plain data. Sizes are set here.

    Raises:
        ConfigurationError: a candidate or one of its options is unknown, none is named, or sizes
            contradict each other.

    Example:
        >>> AutoNodeParser(whole_document_below=0).explain("Tea is hot. " * 200).chosen
        'token-overlap'
    """

    chunk_size: int = Field(default=750, ge=LEAST_TOKENS)
    min_chunk_size: int = Field(default=100, ge=0)
    chunk_overlap: int = Field(default=100, ge=0)
    whole_document_below: int = Field(default=500, ge=0)
    candidates: dict[str, dict[str, Any]] = Field(default_factory=_default_candidates)
    _parsers: dict[str, SpanNodeParser] = PrivateAttr(default_factory=dict)

    def _check(self) -> None:
        if not self.candidates:
            raise ConfigurationError(f"candidates is empty; name some of: {_known()}")
        for name, options in self.candidates.items():
            self._parsers[name] = self._candidate(name, options)

    def _candidate(self, name: str, options: Mapping[str, Any]) -> SpanNodeParser:
        strategy = _STRATEGIES.get(name)
        if strategy is None:
            raise ConfigurationError(f"unknown candidate {name!r}; name some of: {_known()}")
        clash = sorted({*_SHARED, *_FIXED}.intersection(options))
        if clash:
            raise ConfigurationError(
                f"candidate {name!r} must not set {', '.join(clash)}; it is the same for all "
                "candidates: set sizes, tokenizer and language on AutoNodeParser"
            )
        given = {**{option: getattr(self, option) for option in _SHARED}, **_FIXED}
        own = {key: value for key, value in given.items() if key in strategy.model_fields}
        return strategy(**{**own, **options})

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
        """The parser `to_dict` described.

        Raises:
            ConfigurationError: the data was written by a version that cut differently.
        """
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
            return self._decide(self._source(text))[0]
        (origin,) = origins_of([text])
        return self._decide(self._source_of(origin))[0]

    def spans(self, source: SourceText) -> Iterator[Cut]:
        """The cuts of the parser that suits the text."""
        decision, cuts = self._decide(source)
        if cuts is None:
            cuts = list(self._parsers[decision.chosen].spans(source))
        yield from _marked(cuts, decision)

    async def aspans(self, source: SourceText) -> list[Cut]:
        """The same cuts; the parser that is picked is awaited."""
        decision, cuts = await asyncio.to_thread(self._decide, source)
        if cuts is None:
            cuts = await self._parsers[decision.chosen].aspans(source)
        return list(_marked(cuts, decision))

    def _decide(self, source: SourceText) -> tuple[Decision, list[Cut] | None]:
        """The decision, and the cuts where trying the candidates has already made them."""
        packer = source.packer
        if packer.start == packer.end:
            return Decision(WHOLE, ("The document is blank.",), {}, {}), []
        tokens = packer.count(packer.start, packer.end)
        if tokens < self.whole_document_below and tokens <= self.chunk_size:
            reason = f"{tokens} tokens are under {self.whole_document_below}."
            facts = {keys.WHOLE_DOCUMENT: True}
            decision = Decision(WHOLE, (reason,), {"tokens": tokens}, {})
            return decision, [Cut(packer.start, packer.end, facts)]
        sample = sample_of(source, encoding=self.tokenizer, language=packer.language)
        tried = {
            name: list(parser.spans(sample))
            for name, parser in self._parsers.items()
            if name != SEMANTIC
        }
        decision = self._judge(signals_of(packer, sample.packer), sample, tried)
        return decision, tried.get(decision.chosen) if sample is source else None

    def _judge(
        self, signals: Signals, sample: SourceText, tried: Mapping[str, list[Cut]]
    ) -> Decision:
        scores = {
            name: measures_of(sample, cuts, self.min_chunk_size, self.chunk_size).score
            for name, cuts in tried.items()
        }
        chosen, reason = rule_for(signals, self._parsers, self.chunk_size)
        reasons = [reason]
        best = max(scores, key=lambda name: scores[name], default=SEMANTIC)
        if not chosen:
            chosen = best
            reasons = ["No rule names a candidate, so the best score decides."]
        elif chosen in scores and scores[chosen] < scores[best] - _MARGIN:
            reasons.append(f"But {best} scores {scores[best]:.2f}, {chosen} {scores[chosen]:.2f}.")
            chosen = best
        return Decision(chosen, tuple(reasons), asdict(signals), scores)


def _known() -> str:
    return ", ".join(_STRATEGIES)


def _marked(cuts: Iterable[Cut], decision: Decision) -> Iterator[Cut]:
    said = str(decision)
    for cut in cuts:
        yield Cut(cut.start, cut.end, {**cut.facts, keys.DECISION: said})
