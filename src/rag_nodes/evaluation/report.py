"""Report of an evaluation, as plain data that says how to repeat it."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import JsonValue, TypeAdapter, ValidationError

from rag_nodes.core.errors import DatasetError
from rag_nodes.core.import_paths import is_path, label_of
from rag_nodes.core.keywords import checks_keywords
from rag_nodes.evaluation.checks import DRAFTED, PROBED
from rag_nodes.evaluation.sign_flips import Interval
from rag_nodes.evaluation.tables import (
    ChunkStatistics,
    Cost,
    Effect,
    Judgement,
    ReportDataset,
    ReportDecision,
    ReportDocument,
    ReportQuestion,
    ReportSettings,
)

SCHEMA = 2
"""Version of the report as JSON; raised when a field changes its meaning or goes."""
TIMES = ("seconds", "search_ms")
"""Fields that differ from run to run, and so are in no JSON."""
UNNAMED = "unnamed"
"""Kind of questions that name no kind."""


class Group(NamedTuple):
    """Questions that are looked at together, and the mean of the main measure of each row."""

    name: str
    questions: int
    means: dict[str, float]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One question, by id, in one row.

    `scores` are those of `rag_nodes.evaluation.scoring.Scores`. Where the answer was not read whole
    at the main budget, `reason` says why, `rank` is that of the first chunk with some of it, and
    `chunks` (where it was missed) and `read` are document id, start and end of the chunks that hold
    it and of its parts that were read.
    """

    question: str
    scores: dict[str, float]
    reason: str | None = None
    rank: int | None = None
    chunks: tuple[tuple[str, int, int], ...] = ()
    read: tuple[tuple[str, int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """One parser with one configuration; its name is unique in the report.

    Attributes:
        role: "own", "size", "matched" (in size) or "reference".
        parser: class, fingerprint and options by name, as that parser has them.
        nominal: size that was asked for, in tokens.
        note: what has to be said of it; "" for nothing.
        chunks: how many, and their sizes in tokens.
        cost: what it takes to have it in a store, and the time of a search.
        means: of every score over the questions that have it.
        interval: of the main measure: it holds for this row alone, in these documents.
        reasons: how many questions were missed, by reason.
        outcomes: one per question, in the order of the questions.
        error: why there are none; None where all went well.
        mode: how it was searched: "sparse", "dense" or "hybrid"; "own" where it finds as it
            stands, in its own way; "" where it failed.
        granularity: what was read for its scores: "sentences" or whole "chunks"; "" where it
            failed. Of a row that is read by sentences, the scores `chunks@1000` are the recall of
            whole chunks.
        whole: recall of whole chunks at the main budget, where sentences are read for the others.
        search: name of one of the plan's searches; "" where there is only one.
        preset: the row as it is typed after `--parser`; "" if it cannot be typed.
    """

    name: str
    column: str
    role: str
    parser: dict[str, JsonValue]
    nominal: int | None
    note: str
    chunks: ChunkStatistics
    cost: Cost
    means: dict[str, float]
    interval: Interval | None
    reasons: dict[str, int]
    outcomes: tuple[Outcome, ...]
    error: str | None = None
    mode: str = ""
    granularity: str = ""
    whole: Interval | None = None
    search: str = ""
    preset: str = ""

    @property
    def called(self) -> str:
        """Its name in sentences, which say themselves that a comparison is one at equal size."""
        return self.column if self.role == "matched" else self.name

    @property
    def mean(self) -> float:
        """Limit of the main measure; 0 if there is none."""
        return self.interval.mean if self.interval else 0.0

    @property
    def in_chunks(self) -> float:
        """Recall of whole chunks at the main budget; 0 if there is none."""
        return self.whole.mean if self.whole else self.mean


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Sizes, such as "100" or "a mean of 200", at which a column has no row, and why."""

    column: str
    sizes: tuple[str, ...]
    reason: str

    @property
    def words(self) -> str:
        """Describe this in words."""
        return f"{self.column} was not measured at {', '.join(self.sizes)}: {self.reason}."


@dataclass(frozen=True, slots=True)
class Contrast:
    """Two rows by name, the one that is better on average left, question by question.

    Attributes:
        role: whether both have their "own" options or are "matched".
        these: left minus right, of the main measure, in these documents.
        like_these: the same in documents like these; null where nothing can be said of others.
        more_questions: about how many further questions would settle which row is better, or that
            both differ by at most three points, in 80 of 100 tries; 0 if that is known.
        more_documents: the same of documents like these; null where `like_these` is.
        words: what this says, for people.
    """

    left: str
    right: str
    role: str
    these: Interval
    like_these: Interval | None
    more_questions: int
    more_documents: int | None
    words: str

    def of(self, name: str) -> Interval:
        """Return the difference in these documents, this row minus the other one."""
        return self.these if name == self.left else self.these.turned


@dataclass(frozen=True, slots=True)
class SizeShare:
    """Share of chunk size in the difference between two columns; the better one is `left`.

    That is `size`: the gap at their `own` options minus that at an `equal` mean size.
    """

    left: str
    right: str
    own: Interval
    equal: Interval
    size: Interval
    words: str


@checks_keywords
@dataclass(frozen=True)
class EvaluationReport:
    """All of a run.

    Attributes:
        dataset: the set of questions, and what was left out of it.
        settings: everything that has to be equal to get the same numbers.
        documents: the ones that were searched.
        questions: those that were asked, with the places of their answers.
        rows: one per parser and configuration.
        contrasts: pairs of rows of the same role.
        sizes: how much of the gap between each two columns is one of size.
        decision: what to take; the report starts with it.
        verdict: what is known beside it, in a few sentences; last what a column loses.
        left_out: sizes that columns cannot have, and why.
        effects: what reading sentences makes, and each way of searching after the first.
        judgement: whether the answers are good; None where nobody asked.
    """

    dataset: ReportDataset
    settings: ReportSettings
    documents: tuple[ReportDocument, ...]
    questions: tuple[ReportQuestion, ...]
    rows: tuple[Row, ...]
    contrasts: tuple[Contrast, ...]
    sizes: tuple[SizeShare, ...]
    decision: ReportDecision
    verdict: tuple[str, ...]
    left_out: tuple[LeftOut, ...] = ()
    effects: tuple[Effect, ...] = ()
    judgement: Judgement | None = None

    @property
    def measure(self) -> str:
        """The main measure, such as "recall@1000"."""
        return self.settings.measure

    @property
    def said(self) -> tuple[str, ...]:
        """Decision and verdict in sentences, as every surface shows them."""
        return (*self.decision.said, *self.verdict)

    @property
    def reading(self) -> str:
        """Granularity of the row that the decision takes: "sentences", "chunks", or ""."""
        return self.row(self.decision.take).granularity if self.decision.take else ""

    @property
    def use_in_llama_index(self) -> str:
        """Arguments that use the decision in LlamaIndex; "" if it cannot be typed.

        Examples of both arguments are `transformations=[get_parser("heading")]` and
        `node_postprocessors=[SentencePostprocessor(budget=1000, store=index.docstore)]`.
        """
        take, preset = self.decision.take, self.decision.preset
        if not take or not preset:
            return ""
        if is_path(preset):
            made = label_of(preset)
            use = f"transformations=[{made if made.endswith(')') else f'{made}()'}]"
        else:
            name, _, options = preset.partition(":")
            typed = map(_as_python, filter(None, options.split(",")))
            arguments = ", ".join([f'"{name}"', *typed])
            use = f"transformations=[get_parser({arguments})]"
        if self.reading == "sentences":
            selected = f"SentencePostprocessor(budget={self.settings.budget}, store=index.docstore)"
            use += f", node_postprocessors=[{selected}]"
        return use

    @property
    def by_drafts(self) -> bool:
        """Return True if all questions are drafts that nobody accepted: they compare nothing."""
        return bool(self.dataset.probed or self.dataset.drafts == self.dataset.questions)

    @property
    def inconclusive(self) -> str:
        """Reason why no column is compared with another; "" if they are compared."""
        if self.dataset.probed:
            return PROBED
        return DRAFTED if self.by_drafts else ""

    @property
    def search(self) -> str:
        """Describe how the chunks were searched, column by column if that differs."""
        columns = defaultdict[str, dict[str, None]](dict)
        for row in self.rows:
            if not row.error:
                columns[row.mode or self.settings.mode][row.column] = None
        if len({*map(tuple, columns.values())}) <= 1:
            return f"{' and '.join(columns) or self.settings.mode} search"
        return "; ".join(f"{mode} search by {', '.join(each)}" for mode, each in columns.items())

    def of_role(self, role: str) -> list[Row]:
        """The rows that are there for one thing, in order."""
        return [row for row in self.rows if row.role == role]

    def row(self, name: str) -> Row:
        """The row with a name.

        Raises:
            KeyError: there is none.
        """
        return {row.name: row for row in self.rows}[name]

    def kinds(self) -> list[Group]:
        """The kinds of questions, in their order."""
        kinds = [question.kind or UNNAMED for question in self.questions]
        means = defaultdict[str, dict[str, float]](dict)
        for row in self.rows:
            values = defaultdict[str, list[float]](list)
            for kind, outcome in zip(kinds, row.outcomes, strict=False):
                values[kind].append(outcome.scores[self.measure])
            for kind, each in values.items():
                means[kind][row.name] = sum(each) / len(each)
        return [Group(kind, count, means[kind]) for kind, count in Counter(kinds).items()]

    def as_dict(self) -> dict[str, Any]:
        """Plain data, the same for the same run: times that were measured are left out."""
        plain = {"schema_version": SCHEMA, **asdict(self)}
        for part in (plain["decision"], *(row["cost"] for row in plain["rows"])):
            for time in TIMES:
                part.pop(time, None)
        return plain

    def to_json(self) -> str:
        """The report as text; equal runs give equal texts."""
        return json.dumps(self.as_dict(), ensure_ascii=False, indent=1, sort_keys=True)

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> EvaluationReport:
        """A report out of its own plain data.

        Raises:
            DatasetError: it is no report, or one of a later version.
        """
        if not isinstance(plain, Mapping) or plain.get("schema_version") != SCHEMA:
            raise DatasetError(
                f"this is not an evaluation of schema version {SCHEMA}; run the evaluation again"
            )
        try:
            report: EvaluationReport = TypeAdapter(cls).validate_python(
                {name: value for name, value in plain.items() if name != "schema_version"}
            )
        except ValidationError as error:
            (first, *_) = error.errors()
            where = ".".join(map(str, first["loc"]))
            raise DatasetError(
                f"the evaluation is damaged ({where}: {first['msg']}); run it again"
            ) from error
        return report

    @classmethod
    def load(cls, path: str | Path) -> EvaluationReport:
        """The report that `to_json` wrote to a file.

        Raises:
            DatasetError: the file cannot be read or is no report.
        """
        try:
            plain = json.loads(Path(path).read_text("utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise DatasetError(
                f"{path} cannot be read as an evaluation ({error}); name a file that "
                "`rag-nodes evaluate --json` wrote"
            ) from error
        return cls.from_dict(plain)


def _as_python(option: str) -> str:
    """Return an option as it is typed after `--parser`, such as "unit=tokens", as an argument."""
    name, _, value = option.partition("=")
    return option if re.fullmatch(r"-?[0-9]+(\.[0-9]+)?|True|False", value) else f"{name}={value!r}"
