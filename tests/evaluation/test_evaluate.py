"""A whole evaluation: what a sceptic would try first."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.embeddings.mock_embed_model import MockEmbedding
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import Document
from tests.evaluation.labelled import BARE, PLAN, Raising, columns, corpus

from rag_nodes.core.errors import CancelledError, ConfigurationError, DatasetError
from rag_nodes.core.processes import Interrupt, interruptible
from rag_nodes.evaluation.columns import REFERENCE, Searched, StoredCollection
from rag_nodes.evaluation.dataset import Dataset, Question
from rag_nodes.evaluation.diagnosis import REMEDIES
from rag_nodes.evaluation.importers import place
from rag_nodes.evaluation.importers.formats import read_rows
from rag_nodes.evaluation.metrics import Passage
from rag_nodes.evaluation.plan import EvaluationPlan, Step
from rag_nodes.evaluation.report import EvaluationReport
from rag_nodes.evaluation.run import evaluate
from rag_nodes.parsers import FixedSizeNodeParser, get_parser
from rag_nodes.parsers.source import ChunkSpan, SourceText
from rag_nodes.pipeline import ingest_documents
from rag_nodes.query import QueryOptions
from rag_nodes.store import Store
from rag_nodes.text.spans import Span


def test_every_column_has_its_own_row_its_curve_and_one_at_equal_size(
    report: EvaluationReport,
) -> None:
    assert [(row.column, row.role, row.nominal) for row in report.rows] == [
        *((name, role, size) for name in columns() for role, size in
          (("own", None), ("size", 20), ("size", 40), ("matched", None))),
        (REFERENCE, "reference", None),
    ]  # fmt: skip
    assert not [row.error for row in report.rows if row.error]
    means = [row.chunks.mean for row in report.of_role("matched")]
    assert means == pytest.approx([30] * 2, rel=0.1)
    for row in report.rows:
        assert {outcome.scores["tokens@60"] for outcome in row.outcomes} == {60}


def test_small_chunks_win_where_answers_are_short_and_at_equal_size_nobody_is_said_to(
    report: EvaluationReport,
) -> None:
    own = next(
        contrast
        for contrast in report.contrasts
        if {contrast.left, contrast.right} == {"small", "large"}
    )
    assert (own.left, own.these.is_significant) == ("small", True)
    share = next(size for size in report.sizes if {size.left, size.right} == {"small", "large"})
    assert "from chunk size" in share.words
    assert share.equal.mean < own.these.mean / 2


def test_columns_may_differ_in_how_they_are_searched(dataset: Dataset) -> None:
    large = get_parser("token-overlap", chunk_size=300, chunk_overlap=30)
    by_sentence = Searched(large, QueryOptions(mode="hybrid", granularity="sentences"))
    both = {"chunks": large, "sentences": by_sentence}
    plan = replace(PLAN, sizes=())
    report = evaluate(dataset, both, plan=plan)
    chunks, _, sentences, _ = report.rows
    assert chunks.parser == {k: v for k, v in sentences.parser.items() if k != "searched"}
    assert sentences.parser["searched"] == {"granularity": "sentences", "mode": "hybrid"}
    assert sentences.means["recall@60"] > chunks.means["recall@60"] + 0.2
    for row in report.rows:
        for budget in PLAN.budgets:
            read = [outcome.scores[f"tokens@{budget}"] for outcome in row.outcomes]
            assert max(read) <= budget
            # Sentences are whole: what is left of the budget holds no further one.
            assert min(read) == budget or (row is sentences and min(read) > budget / 2)
    assert "split" not in sentences.reasons


def test_the_report_tells_sentences_that_were_not_selected_from_chunks_ranked_low() -> None:
    text = "High water is at noon. Low water is at six. The lamp is lit at dusk by the keeper."
    labels = read_rows([{"question": "When is the lamp lit?", "quote": "Low water is at six."}])
    assert labels is not None
    columns = {"ours": Searched(get_parser("sentence"), QueryOptions(granularity="sentences"))}
    dataset = place(labels, [Document(text=text)], "tides")
    report = evaluate(dataset, columns, plan=replace(BARE, budgets=(8,)))
    (outcome,) = report.rows[0].outcomes
    assert (outcome.reason, outcome.rank) == ("not selected", 1)


def test_the_reasons_add_up_to_the_misses(report: EvaluationReport) -> None:
    for row in report.rows:
        missed = [outcome for outcome in row.outcomes if outcome.scores["recall@60"] < 1 - 1e-9]
        assert sum(row.reasons.values()) == len(missed)
        assert row.reasons.keys() <= REMEDIES.keys()
        assert all(problem.reason for problem in missed)


def test_a_report_is_read_again_as_it_was(report: EvaluationReport, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(report.to_json(), "utf-8")
    assert EvaluationReport.load(path).to_json() == report.to_json()


def test_a_column_that_fails_is_a_row_with_its_error_and_stops_no_other(dataset: Dataset) -> None:
    def fail_to_split(text: str) -> list[str]:
        raise RuntimeError(f"cannot split {len(text)} characters")

    given = {**columns(), "broken": fail_to_split, "silent": lambda _: []}
    report = evaluate(dataset, given, plan=BARE)
    error = report.row("broken").error or ""
    assert "fail_to_split failed: RuntimeError; fix the splitter" in error
    assert "made no chunk" in (report.row("silent").error or "")
    assert report.row("small").error is None
    assert report.verdict


def test_progress_reaches_its_end(dataset: Dataset) -> None:
    steps: list[Step] = []
    plan = replace(PLAN, sizes=())
    evaluate(dataset, columns(), plan=plan, progress=steps.append)
    assert steps[-1].done == steps[-1].total > 0
    assert [step.done for step in steps] == sorted(step.done for step in steps)
    assert steps[-1].seconds_left == 0


def test_a_report_names_documents_models_and_settings(report: EvaluationReport) -> None:
    plain = json.loads(report.to_json())
    assert plain["settings"]["measure"] == "recall@60"
    assert plain["settings"]["versions"]["rag-nodes"]
    assert plain["dataset"]["fingerprint"]
    assert plain["questions"][0]["gold"][0][0]["text"] in corpus(1).documents[0].text


def test_nothing_to_ask_or_to_compare_is_said(dataset: Dataset) -> None:
    with pytest.raises(DatasetError, match="no questions"):
        evaluate(replace(dataset, questions=()), columns())
    with pytest.raises(ConfigurationError, match="at least one parser"):
        evaluate(dataset, {})
    small = columns()["small"]
    for same in ({REFERENCE: small}, {"a": small, "a at 20": small}):
        with pytest.raises(ConfigurationError, match="choose another"):
            evaluate(dataset, same, plan=PLAN)


@pytest.mark.parametrize("content", ["{}", "[]", "not json", '{"schema_version": 1}'])
def test_a_file_that_is_no_report_is_refused_with_the_remedy(tmp_path: Path, content: str) -> None:
    path = tmp_path / "run.json"
    path.write_text(content)
    with pytest.raises(DatasetError, match="evaluat"):
        EvaluationReport.load(path)


class Counting(MockEmbedding):
    """A model that says how many texts it was given."""

    texts: list[str] = []  # noqa: RUF012 -- pydantic copies it

    def _get_text_embedding(self, text: str) -> list[float]:
        self.texts.append(text)
        return [float(len(text)), *[1.0] * (self.embed_dim - 1)]


def test_each_text_is_embedded_once_however_many_columns_have_it(
    dataset: Dataset, tmp_path: Path
) -> None:
    model = Counting(embed_dim=8)
    plan = BARE
    first = evaluate(dataset, columns(), plan=plan, embed_model=model, cache=tmp_path)
    own = sum(int(row.cost.chunks or 0) for row in first.of_role("own"))
    assert 0 < len(model.texts) <= own
    again = Counting(embed_dim=8)
    second = evaluate(dataset, columns(), plan=plan, embed_model=again, cache=tmp_path)
    assert second.to_json() == first.to_json()
    assert again.texts == []


def test_a_cache_that_cannot_be_used_is_named(dataset: Dataset, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("in the way")
    with pytest.raises(DatasetError, match="name another folder"):
        evaluate(dataset, columns(), plan=PLAN, cache=file)


PREFACE = "".join(f"Page {page} of a preface of later days.\n\n" for page in range(60))
STABLE = "A stable hand weighs the oats with a brass scale at dawn."


@pytest.mark.parametrize(
    ("old", "new", "lost"),
    [("# Report 0", PREFACE + "# Report 0", ""), (STABLE, "No horse is left.", "stable-0")],
    ids=["a long preface", "another middle"],
)
def test_a_collection_of_another_version_is_scored_where_its_texts_stand_now(
    dataset: Dataset, store: Store, old: str, new: str, lost: str
) -> None:
    parser = get_parser("recursive", unit="tokens", chunk_size=30, chunk_overlap=0)
    column = ingest_documents(dataset.documents, {"small": parser}, store).columns[0]
    stored = {"mine": StoredCollection(store, column.collection)}
    first = evaluate(dataset, stored, plan=BARE)
    small = evaluate(dataset, {"mine": parser}, plan=BARE).row("mine")
    assert (first.row("mine").means, first.row("mine").chunks) == (small.means, small.chunks)
    assert store.count(column.collection) == column.chunks
    changed = evaluate(with_another_text(dataset, old, new), stored, plan=BARE)
    before, after = first.row("mine"), changed.row("mine")
    assert (before.cost.outdated, after.cost.outdated) == (0, 1)
    recall = {outcome.question: outcome.scores["recall@60"] for outcome in before.outcomes}
    assert sum(recall.values()) > len(recall) / 2
    assert {outcome.question: outcome.scores["recall@60"] for outcome in after.outcomes} == {
        **recall, **({lost: 0.0} if lost else {})
    }  # fmt: skip
    words = "mine: the collection holds another version of 1 document"
    assert words in " ".join(changed.said)
    assert words not in " ".join(first.said)


def test_a_collection_is_kept_and_a_parser_is_kept_only_if_it_is_named_as_yours(
    dataset: Dataset, store: Store
) -> None:
    given = columns()
    column = ingest_documents(dataset.documents, {"small": given["small"]}, store).columns[0]
    stored = {"mine": StoredCollection(store, column.collection), "large": given["large"]}
    assert evaluate(dataset, stored, plan=BARE).decision.words.startswith("Keep mine (")
    assert evaluate(dataset, given, plan=BARE).decision.words.startswith("Take small (")
    kept = evaluate(dataset, given, plan=BARE, in_use=["small"])
    assert kept.decision.words.startswith("Keep small (")


def with_another_text(dataset: Dataset, old: str, new: str) -> Dataset:
    """The dataset whose first document was changed, with its labels where they stand then."""
    first, *others = dataset.documents
    text = first.text.replace(old, new, 1)
    questions = []
    for question in dataset.questions:
        place, gold = question.gold[0][0], question.gold
        if place.document == first.id_:
            quote = dataset.quote(place).replace(old, new)
            start = text.index(quote)
            gold = ((Passage(first.id_, Span(start, start + len(quote))),),)
        questions.append(replace(question, gold=gold))
    changed = Document(text=text, id_=first.id_, metadata=first.metadata)
    return Dataset("changed", (changed, *others), tuple(questions))


@pytest.mark.parametrize("stage", ["index", "ask"])
def test_a_run_whose_owner_has_left_goes_no_further(dataset: Dataset, stage: str) -> None:
    interrupt, steps = Interrupt(), list[Step]()

    def leave(step: Step) -> None:
        steps.append(step)
        if step.stage == stage:
            interrupt.set()

    with interruptible(interrupt), pytest.raises(CancelledError, match="start it again"):
        evaluate(dataset, columns(), plan=PLAN, embed_model=MockEmbedding(8), progress=leave)
    assert [step.stage for step in steps].count(stage) == 1


class Cancelled(FixedSizeNodeParser):
    """A parser whose caller has left."""

    def spans(self, source: SourceText) -> Iterator[ChunkSpan]:
        raise CancelledError(f"{len(source.text)} characters are not needed any more")


def test_a_parser_that_was_cancelled_ends_the_run(dataset: Dataset) -> None:
    with pytest.raises(CancelledError):
        evaluate(dataset, {"gone": Cancelled()}, plan=PLAN, embed_model=MockEmbedding(8))


def test_every_size_that_was_asked_for_is_a_row_or_says_why_it_is_none(
    dataset: Dataset, report: EvaluationReport, store: Store
) -> None:
    assert report.left_out == ()
    parser = get_parser("heading")
    column = ingest_documents(dataset.documents, {"h": parser}, store, corpus="mine").columns[0]
    given = {
        "heading": get_parser("heading", min_chunk_size=20),
        "stored": StoredCollection(store, column.collection),
        "bad": Raising(),
    }
    given_report = evaluate(dataset, given, plan=PLAN)
    reasons = {
        (omission.column, size): omission.reason
        for omission in given_report.left_out
        for size in omission.sizes
    }
    assert reasons["stored", "other sizes"] == "it stays as it was split"
    assert "no chunk_size" in reasons["bad", "20"]
    rows = {(row.column, str(row.nominal)) for row in given_report.of_role("size")}
    rows |= {(row.column, "a mean of 30") for row in given_report.of_role("matched")}
    wanted = {(name, size) for name in ("heading", "bad") for size in ("20", "40", "a mean of 30")}
    assert rows | set(reasons) == wanted | {("stored", "other sizes")}
    assert rows.isdisjoint(reasons)


def test_columns_that_cannot_have_one_size_are_not_compared_at_it(dataset: Dataset) -> None:
    plan = replace(PLAN, sizes=(), target=100)
    stuck = SentenceSplitter(chunk_size=30, chunk_overlap=0)
    report = evaluate(
        dataset,
        {"small": columns()["small"], "large": columns()["large"], "none": Raising(),
         "one": get_parser("sentence-window"), "stock": stuck},
        plan=plan,
    )  # fmt: skip
    sizes = {row.name: row.chunks.mean for row in report.of_role("matched") if not row.error}
    for contrast in report.contrasts:
        if contrast.role == "matched":
            assert sizes[contrast.left] == pytest.approx(sizes[contrast.right], rel=0.13)
    assert any("Not compared at equal chunk size" in outcome for outcome in report.verdict)


def test_a_budget_is_filled_where_the_smallest_chunks_come_first() -> None:
    short = "".join(f"# Ferry {n}\n\nFerry.\n\n" for n in range(200))
    long = "# Rest\n\n" + "Nothing of note was written about that quiet day at all. " * 4000
    text = short + long
    gold = ((Passage("d", Span(text.index("Ferry 3"), text.index("Ferry 3") + 7)),),)
    dataset = Dataset("d", (Document(text=text, id_="d"),), (Question("q", "Which ferry?", gold),))
    plan = replace(BARE, budgets=(400,))
    report = evaluate(dataset, {"h": get_parser("heading", min_chunk_size=0)}, plan=plan)
    assert report.rows[0].means["tokens@400"] == 400


@pytest.mark.parametrize(
    "wrong", [{"budgets": ()}, {"budgets": (0,)}, {"ks": (0,)}, {"measure": "tokens@60"}]
)
def test_a_plan_that_cannot_be_measured_is_refused_at_once(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        EvaluationPlan(**wrong)


def test_a_question_finds_nothing_outside_the_documents_it_searches() -> None:
    text = "The ferry leaves at nine. " + "Nobody waits in the hall. " * 60
    twins = tuple(Document(text=text, id_=name) for name in ("a", "b"))
    asked = tuple(
        Question(name, "When does the ferry leave?", ((Passage(name, Span(0, 25)),),),
                 within=(name,))
        for name in ("a", "b")
    )  # fmt: skip
    report = evaluate(Dataset("twins", twins, asked), {"one": columns()["small"]}, plan=BARE)
    assert [outcome.scores["hit@k1"] for outcome in report.rows[0].outcomes] == [1.0, 1.0]


def test_the_text_around_an_answer_is_of_whole_words() -> None:
    filler = "Nobody waits in the hall of mirrors. " * 30
    text = f"{filler}The ferry leaves at nine. {filler}"
    asked = Question("q", "When does the ferry leave?",
                     ((Passage("d", Span(len(filler), len(filler) + 25)),),))  # fmt: skip
    data = Dataset("one", (Document(text=text, id_="d"),), (asked,))
    around = evaluate(data, {"one": columns()["small"]}, plan=BARE).questions[0].around
    start, end = around.start, around.start + len(around.text)
    assert around.text == text[start:end]
    assert text[start - 1] == text[end] == " "
    assert around.text.split() == text[start - 1 : end + 1].split()
    assert len(filler) - 301 < start < len(filler) - 280
    assert 280 < end - len(filler) - 25 < 301


def test_a_question_that_is_asked_again_makes_no_difference_surer() -> None:
    once = corpus(1)
    first = replace(once, questions=once.questions[:2])
    again = [replace(first.questions[0], id=f"again-{n}", text=" what OF the  harbour?")
             for n in range(20)]  # fmt: skip
    many = replace(first, questions=(*first.questions, *again))
    few, repeated = (evaluate(outcome, columns(), plan=BARE) for outcome in (first, many))
    first, second = (outcome.as_dict() for outcome in (few, repeated))
    assert [first[key] == second[key] for key in ("decision", "contrasts")] == [True, True]
    assert (repeated.dataset.questions, repeated.dataset.repeated) == (2, 20)
    assert (
        "20 questions that repeat others were left out (again-0, again-1 and 18 others)."
    ) in repeated.said
    other = replace(many.questions[0], id="other", gold=many.questions[1].gold)
    twice = evaluate(replace(many, questions=(*many.questions, other)), columns(), plan=BARE)
    [words] = [words for words in twice.said if words.startswith("other repeats a question with")]
    assert words in twice.verdict
    assert twice.dataset.questions == 3
