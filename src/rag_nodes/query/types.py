"""Results of a query: hits, sources, citations, the answer that ties them together, its events."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, NamedTuple

from rag_nodes.core.keywords import checks_keywords
from rag_nodes.query.cited import Citation, OtherPlace
from rag_nodes.store import Hit
from rag_nodes.text.spans import Span

if TYPE_CHECKING:
    from rag_nodes.core.errors import RagNodesError


class Mark(NamedTuple):
    """Brackets of an answer that name sources.

    Attributes:
        start: offset of the opening bracket in the answer.
        end: offset one past the closing one.
        numbers: of the sources, in the order they are named, each once.
    """

    start: int
    end: int
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Characters that the model reads because of a hit; no two excerpts share any.

    Attributes:
        hit: what was found; the characters are those of `hit.read`.
        start: offset of the first one inside `hit.read.text`.
        end: offset one past the last.
        tokens: their tokens, and those of the lead.
        lead: line `Table: A | B` that is read before characters that begin inside a table; "" if
            there is none, or the source has it already.
    """

    hit: Hit
    start: int
    end: int
    tokens: int
    lead: str = ""

    @property
    def text(self) -> str:
        """The characters themselves."""
        return self.hit.read.text[self.start : self.end]

    @property
    def span(self) -> Span | None:
        """Their offsets in the document; None where these are unknown."""
        base = self.hit.read.start_char_idx
        return None if base is None else Span(base + self.start, base + self.end)

    def as_dict(self) -> dict[str, Any]:
        """Plain data for `--json`, REST and exports."""
        start, end = self.span or (None, None)
        return {"rank": self.hit.rank, "start": start, "end": end, "tokens": self.tokens}


@dataclass(frozen=True, slots=True)
class Source:
    """One numbered block of the prompt: what is read of the same page of the same file.

    Attributes:
        number: the n of `[Source n - Page p]`, counted from 1.
        hits: the hits whose text is in it, in document order.
        text: what the model reads: the excerpts, with marks where text between them is left out,
            and names of columns before rows that have lost them.
        label: `Source n - Page p`, or `Source n - <heading or file>` where there are no pages.
        tokens: tokens of the excerpts.
        excerpts: the document's own characters in it, in document order.
        copies: hits of other documents of which nothing is read, as this source says the same.
    """

    number: int
    hits: tuple[Hit, ...]
    text: str
    label: str
    tokens: int
    excerpts: tuple[Excerpt, ...] = ()
    copies: tuple[Hit, ...] = ()

    @property
    def also(self) -> tuple[OtherPlace, ...]:
        """Places in other documents that say the same as the text, or sentences of it."""
        nodes = (node for excerpt in self.excerpts for node in excerpt.hit.also)
        return tuple(dict.fromkeys(OtherPlace.of(node, 0, len(node.text)) for node in nodes))

    def as_dict(self) -> dict[str, Any]:
        """Plain data for `--json`, REST and exports."""
        names = (item.name for item in fields(self) if item.name not in {"hits", "copies"})
        plain = {name: _plain(getattr(self, name)) for name in names}
        return {**plain, "also": [asdict(place) for place in self.also]}


@checks_keywords
@dataclass(frozen=True, slots=True)
class Answer:
    """An answer with its evidence.

    Attributes:
        question: as it was searched for; a follow-up question stands alone here.
        text: the answer; source numbers appear as `[Source n]`.
        kind: "generated" by an LLM, "extract" made of the documents' own sentences, "retrieval"
            when only retrieval was asked for, or "nothing" when no passage answers.
        citations: the cited sources only, in order of first mention.
        unknown_sources: numbers the text cites that were never given to the model.
        hits: everything retrieved, in rank order.
        sources: the numbered blocks that were given to the model.
        left_out: hits that were asked for and did not fit the token budget.
        context_tokens: tokens of the documents' text in all sources together, names of columns
            included, never more than the budget; labels of sources and marks of gaps belong to the
            prompt and are not counted.
        seconds: wall-clock time per stage: "embed", "retrieve", "answer", and "first_token" from
            asking the model to its first text, where the answer was streamed.
        embedding_model: name of the model that embedded the question.
        answer_model: name of the LLM, or "extractive".
        left_out_tokens: tokens of those hits.
        unsearched: chunks that a keyword search could not find, because another program stored
            them without a keyword vector; 0 in other modes, which search all.
        context_truncated: True if the last hit that is read is truncated to the token budget.
        truncated: the LLM stopped in the middle, at its limit of output tokens.
        budget: context tokens that were allowed in the end, after widening and fitting to the
            model's window; None for no limit.
        mode: how it was searched: "sparse" by words, "dense" by an embedding, "hybrid" by both; ""
            where a query engine of LlamaIndex answered.
        widening: how much more was retrieved than by default, and why, such as "budget 3000 instead
            of 1500: asks for steps"; "" for no more.
        cached: the question's embedding came from the cache.
        tokens_in: tokens of the prompt; 0 where no LLM was asked.
        tokens_out: tokens of the LLM's answer.
        tokens_estimated: both were counted here because the API did not say.
        embedding_tokens: tokens of the question that a model was asked to embed, counted here; 0
            where it was known or runs offline. A comparison asks once for all its columns.
        embedding_cost: US dollars for them; None when the price is unknown.
        marks: where the text names sources; every other bracket is the documents' own text.
        cost: US dollars of the LLM by the price table; 0 where none was asked; None when its
            price is unknown.
    """

    question: str
    text: str
    kind: str
    citations: tuple[Citation, ...]
    unknown_sources: tuple[int, ...]
    hits: tuple[Hit, ...]
    sources: tuple[Source, ...]
    left_out: int
    context_tokens: int
    seconds: dict[str, float] = field(default_factory=dict)
    embedding_model: str = ""
    answer_model: str = ""
    left_out_tokens: int = 0
    context_truncated: bool = False
    budget: int | None = None
    mode: str = ""
    widening: str = ""
    cached: bool = False
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_estimated: bool = False
    cost: float | None = 0.0
    marks: tuple[Mark, ...] = ()
    embedding_tokens: int = 0
    embedding_cost: float | None = 0.0
    unsearched: int = 0
    truncated: bool = False

    @property
    def widened(self) -> bool:
        """More was retrieved than by default, since the question asks for steps."""
        return bool(self.widening)

    def read_of(self, hit: Hit) -> tuple[Excerpt, ...]:
        """Return the excerpts that are read because of a hit, in document order.

        Nothing where it is over the budget or its text is read because of better hits.
        """
        excerpts = (excerpt for source in self.sources for excerpt in source.excerpts)
        return tuple(excerpt for excerpt in excerpts if excerpt.hit.rank == hit.rank)

    def hit_of(self, citation: Citation) -> Hit | None:
        """The hit that a citation quotes: of several passages of a chunk the one that holds it."""
        same = [hit for hit in self.hits if hit.node.node_id == citation.node_id]
        start = citation.start
        holding = (hit for hit in same if start is not None and _holds(hit, start))
        return next(holding, same[0] if same else None)

    def as_dict(self) -> dict[str, Any]:
        """Plain data for `--json`, REST and exports."""
        plain = {item.name: _plain(getattr(self, item.name)) for item in fields(self)}
        return {**plain, "widened": self.widened}


def _plain(value: Any) -> Any:
    if isinstance(value, Mark):
        return {**value._asdict(), "numbers": list(value.numbers)}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return dict(value)
    return value.as_dict() if hasattr(value, "as_dict") else value


def _holds(hit: Hit, offset: int) -> bool:
    start, end = hit.read.start_char_idx, hit.read.end_char_idx
    return start is not None and end is not None and start <= offset < end


@dataclass(frozen=True, slots=True)
class Retrieved:
    """Chunks that were found, always the first event.

    Attributes:
        hits: in rank order; empty when nothing was found.
        sources: the numbered blocks the answer may cite.
    """

    hits: tuple[Hit, ...]
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class Delta:
    """The next piece of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True)
class CitationSeen:
    """The answer names a source for the first time; comes once its bracket has closed."""

    citation: Citation


@dataclass(frozen=True, slots=True)
class UnknownSource:
    """The answer names a source that was never given to the model."""

    number: int


@dataclass(frozen=True, slots=True)
class Finished:
    """The whole answer, the last event where all went well."""

    answer: Answer


@dataclass(frozen=True, slots=True)
class Failed:
    """Error in place of an answer, the last event instead of `Finished`.

    Attributes:
        error: one of ours, with its remedy.
        text: what of the answer had arrived.
    """

    error: RagNodesError
    text: str = ""


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The caller wanted no more of this column, the last event instead of `Finished`.

    Attributes:
        text: what of the answer had arrived.
    """

    text: str = ""


Event = Retrieved | Delta | CitationSeen | UnknownSource | Finished | Failed | Cancelled
"""Any of them."""
Last = (Finished, Failed, Cancelled)
"""Nothing follows one of these."""
