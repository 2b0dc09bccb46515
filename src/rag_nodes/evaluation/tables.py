"""Parts of a report as plain data: its data, its settings, its decision, its rows, its judge."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from pydantic import JsonValue

from rag_nodes.evaluation.dataset import NotLocated
from rag_nodes.evaluation.sign_flips import Interval

Grade = Literal["documents like these", "these documents", "likely", "not shown", "drafts", "alone"]
"""Grade of a choice. "documents like these" and "these documents" are sure: one setting may be best
there, or those that may be differ by no more than three points. "likely": best by keywords of
passages, where there is no question and none finds as much. "not shown": several settings may be
best. "drafts": nobody has accepted a question. "alone": there is no choice."""


@dataclass(frozen=True, slots=True)
class ReportDataset:
    """Documents and questions of an evaluation, as its report names them.

    Attributes:
        name: of the data.
        fingerprint: the same for the same documents and questions.
        documents: how many.
        questions: how many were asked.
        drafts: how many of them nobody has accepted.
        unaccepted: drafts that were left out because other questions are accepted.
        repeated: questions that were left out because they ask the same as another.
        probed: characters of the passages whose keywords are asked; 0 for questions.
        not_located: questions that were left out because their answer has no place.
        left_out: entries of a file that are no question to measure with, by reason.
    """

    name: str
    fingerprint: str
    documents: int
    questions: int
    drafts: int
    unaccepted: int
    repeated: int
    probed: int
    not_located: tuple[NotLocated, ...]
    left_out: dict[str, int]


@dataclass(frozen=True, slots=True)
class ReportSettings:
    """Everything that has to be equal to get the same numbers from the same data.

    Attributes:
        measure: the main measure.
        budget: tokens of context at which misses are explained.
        budgets: all that were measured, in tokens.
        ks: numbers of chunks of measures such as hit@5.
        sizes: chunk sizes of the size curve, in tokens.
        target: mean size of the comparison at equal size, in tokens; None for none.
        chosen_from: what is decided between: "columns", or each of them at each of the "sizes".
        mode: how it was searched: sparse, dense, hybrid, or own where a column finds as it stands.
        granularity: what was read for the decision: "sentences", whole "chunks", or both where
            columns differ.
        draws: random sign flips that intervals come from.
        seed: random seed of the sign flips.
        models: what ran.
        python: its version.
        versions: of the packages that can change the numbers.
    """

    measure: str
    budget: int
    budgets: tuple[int, ...]
    ks: tuple[int, ...]
    sizes: tuple[int, ...]
    target: int | None
    chosen_from: str
    mode: str
    granularity: str
    draws: int
    seed: int
    models: str
    python: str
    versions: dict[str, str]


@dataclass(frozen=True, slots=True)
class ReportDecision:
    """Recommendation of a report.

    Attributes:
        take: name of the row with the largest estimate, of those of role "own"; None if there is
            nothing to choose.
        tokens: mean size of its chunks; None where that is not known.
        grade: how sure the choice is.
        words: the sentence.
        cost: what it takes to have it in a store; "" where that is not known.
        more_questions: about how many further questions would settle the choice, in 80 of 100
            tries; 0 if it is settled.
        preset: the row as it is typed after `--parser`; "" if it cannot be typed.
        parser: the same as data for `load_parser`, without its model; empty for a collection, an
            engine, a search with a reranker, and what `preset` cannot name.
        query: options of `QueryOptions` with which it was measured, where they differ from the
            defaults.
        search_ms: median time of one of its searches in this run, in milliseconds; in no JSON.
        certainty: the grade in a sentence, and how the rows search and read if they do not do so
            alike; "" in reports of earlier versions.
        may_cost: by how much another row may be better at most, from 0 to 1, in these documents;
            None if nothing was compared.
        other: name of the row for the other reading, whole chunks or selected sentences; "" if it
            is the same row, or none was measured.
    """

    take: str | None
    tokens: int | None
    grade: Grade
    words: str
    cost: str = ""
    more_questions: int = 0
    preset: str = ""
    parser: dict[str, JsonValue] = field(default_factory=dict)
    query: dict[str, JsonValue] = field(default_factory=dict)
    search_ms: float | None = None
    certainty: str = ""
    may_cost: float | None = None
    other: str = ""

    @property
    def headline(self) -> tuple[str, str]:
        """The first sentence of the words, and the others."""
        first, dot, others = self.words.partition(". ")
        return f"{first}{dot.strip()}", others

    @property
    def costs(self) -> str:
        """Space and time of what is taken, in sentences; "" if they are not known."""
        took = f"A search took {self.search_ms:.1f} ms here." if self.search_ms else ""
        return " ".join(filter(None, (self.cost, took)))

    @property
    def said(self) -> tuple[str, ...]:
        """All of it in sentences, the grade first."""
        return tuple(filter(None, (self.certainty, self.words, self.costs)))


@dataclass(frozen=True, slots=True)
class Effect:
    """Difference that a way of reading or searching makes, on average over `columns` of them.

    Attributes:
        of: the way, such as "reading sentences" or "hybrid search".
        over: the one that it is compared with.
        gap: `of` minus `over`, of the main measure, in these documents.
        columns: number of columns that were measured both ways.
        words: what this says, for people.
    """

    of: str
    over: str
    gap: Interval
    columns: int
    words: str


@dataclass(frozen=True, slots=True)
class ReportDocument:
    """A document by id and name, and how many characters it has."""

    id: str
    name: str
    characters: int


@dataclass(frozen=True, slots=True)
class GoldQuote:
    """A passage of an answer: the id of its document, its offsets there, and its text."""

    document: str
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class TextAround:
    """The text around the first passage of an answer, from an offset of its document on."""

    document: str
    start: int
    text: str


@dataclass(frozen=True, slots=True)
class ReportQuestion:
    """A question that was asked.

    Attributes:
        id: unique in the report.
        text: as it was asked.
        kind: what sort of question it is; "" where nobody said.
        document: id of the one that its answer is in.
        draft: nobody has accepted it.
        confidence: 1 where the answer was found as it was written, less where only something
            like it was.
        around: the text around its answer, in which is seen where chunks begin.
        gold: its answers, each of them passages that are all needed.
    """

    id: str
    text: str
    kind: str
    document: str
    draft: bool
    confidence: float
    around: TextAround
    gold: tuple[tuple[GoldQuote, ...], ...]


@dataclass(frozen=True, slots=True)
class ChunkStatistics:
    """Number of chunks of a parser, and their sizes in tokens; 0 if it failed.

    Attributes:
        chunks: how many.
        tokens: of all of them.
        smallest: tokens of the smallest.
        largest: tokens of the largest.
        mean: tokens of a chunk on average.
        median: tokens of the one in the middle.
        deviation: standard deviation of the tokens.
    """

    chunks: int = 0
    tokens: int = 0
    smallest: int = 0
    largest: int = 0
    mean: float = 0.0
    median: float = 0.0
    deviation: float = 0.0


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of keeping a column in a store; None if it is unknown.

    Attributes:
        chunks: that can be found; parents, which are read in their place, do not count.
        tokens: the chunks' own texts, overlap counted twice.
        embedded: tokens the embedding model is given: headings above the text included.
        bytes: of vectors and texts; an index takes more.
        seconds: splitting, embedding and storing here and now; 0 of a collection; in no JSON.
        price: US dollars for the embedding.
        recovery: share of the chunks whose place in their document is known; 1 for our parsers.
        outdated: documents of which a collection holds another version.
        search_ms: median time of a search here, in milliseconds; in no JSON.
    """

    chunks: int | None = None
    tokens: int | None = None
    embedded: int | None = None
    bytes: int | None = None
    seconds: float = 0.0
    price: float | None = None
    recovery: float | None = None
    outdated: int = 0
    search_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Rating:
    """A mean over the questions that could be `judged`; None if none could.

    `not_judged` are questions whose judgement could not be read, or that have no answer.
    """

    mean: float | None
    judged: int
    not_judged: int


@dataclass(frozen=True, slots=True)
class JudgedAnswer:
    """One answer from what one column read; "" where the model gave none.

    `faithful` is 1 where all of it is in what was read, else 0; `correct` is from 1 to 5; None
    where they were not judged. `words` are what the judge said of both, or why it said nothing.
    """

    column: str
    question: str
    text: str
    faithful: float | None
    correct: float | None
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class JudgedColumn:
    """Share of a column's answers that are in what was read, and their mean grade from 1 to 5."""

    name: str
    faithfulness: Rating
    correctness: Rating


@dataclass(frozen=True, slots=True)
class Judgement:
    """All that was judged in a run.

    Attributes:
        answers_by: name of the model that answered.
        judge: name of the model that judged.
        questions: ids of those that were drawn, the same for every column.
        budget: tokens that were read for each answer.
        error: why nothing was judged; None where it was.
    """

    answers_by: str
    judge: str
    questions: tuple[str, ...]
    budget: int
    columns: tuple[JudgedColumn, ...] = ()
    answers: tuple[JudgedAnswer, ...] = ()
    error: str | None = None

    @property
    def words(self) -> str:
        """Describe who judged which answers, or why no answer was judged."""
        if self.error:
            return f"The answers were not judged: {self.error}."
        return (
            f"{self.answers_by} answered {len(self.questions)} of the questions from what each "
            f"column read, {self.budget:,} tokens, and {self.judge} judged."
        )
