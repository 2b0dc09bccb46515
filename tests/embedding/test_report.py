"""Progress and statistics of one parser, which an ingest and a comparison share."""

from rag_nodes.embedding import Counts, FileColumn, ParserOutcome, Progress
from rag_nodes.embedding.report import DocumentFacts, StepCounts


def per_token(tokens: int) -> float:
    return tokens * 0.5


def test_progress_counts_chunks_of_those_that_passed_the_stage_before() -> None:
    steps = StepCounts("fixed", per_token)
    seen = [
        steps.step("parse", 3, 0),
        steps.step("parse", 2, 0),
        steps.step("embed", 4, 8),
        steps.step("store", 4, 0),
    ]
    assert seen == [
        Progress("parse", "fixed", 3),
        Progress("parse", "fixed", 5),
        Progress("embed", "fixed", 4, 5, 8, 4.0),
        Progress("store", "fixed", 4, 4, 8, 4.0),
    ]


def test_statistics_add_the_chunks_of_documents_and_count_further_errors() -> None:
    outcome = ParserOutcome("fixed", "made", error="a.md: too long")
    outcome.add(Counts(chunks=2, parents=1, tokens=30, largest=20, not_located=1))
    outcome.add(Counts(chunks=1, tokens=25, largest=25))
    outcome.embedding_tokens = 40
    outcome.conclude(3, per_token)
    assert (outcome.chunks, outcome.parents, outcome.tokens) == (3, 1, 55)
    assert (outcome.max_tokens, outcome.not_located, outcome.embedding_cost) == (25, 1, 20.0)
    assert outcome.error == "a.md: too long (and 2 more, see the log)"


def test_a_document_is_unchanged_if_every_parser_left_it_unchanged() -> None:
    facts = DocumentFacts("a", "a.md", "a.md", None, 5, warnings="a link is broken")
    kept, new = FileColumn("unchanged", 1, 1), FileColumn("stored", 1, 1)
    lacking = FileColumn("incomplete", 1, 0, error="refused")
    assert facts.outcome("a.md", {"x": kept, "y": kept}).status == "unchanged"
    assert facts.outcome("a.md", {"x": kept, "y": new}).status == "partial"
    assert facts.outcome("a.md", {"x": kept, "y": lacking}).status == "incomplete"
