"""A whole sweep over a small corpus: what is tried, what is kept, what is said."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from llama_index.core.embeddings.mock_embed_model import MockEmbedding
from llama_index.core.node_parser import SentenceSplitter
from tests.evaluation.labelled import corpus

from rag_nodes.errors import CancelledError, DatasetError
from rag_nodes.evaluation import Dataset, Recommendation, recommend
from rag_nodes.evaluation.plan import Step
from rag_nodes.evaluation.recommendation import PLAN
from rag_nodes.parsers import get_parser
from rag_nodes.query import QueryOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llama_index.core.schema import BaseNode

    from rag_nodes.parsers import SpanNodeParser

PAGE = Path(__file__).parents[3] / "docs" / "recommend.md"
SMALL = replace(PLAN, budgets=(30, 60), sizes=(30, 300), draws=400)


def parsers() -> dict[str, object]:
    return {name: get_parser(name) for name in ("recursive", "token-overlap")}


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return corpus()


@pytest.fixture(scope="module")
def found(dataset: Dataset) -> Recommendation:
    return recommend(dataset, parsers(), plan=SMALL, overlaps=(0.2,))


def test_each_parser_is_tried_at_each_size_and_its_best_size_with_overlap(
    found: Recommendation,
) -> None:
    names = [one.name for one in found.trials]
    assert names[0] == "recursive 200 by sentences"
    assert sorted(names[1:6]) == [
        "recursive 30", "recursive 300",
        "token-overlap 200 by sentences", "token-overlap 30", "token-overlap 300",
    ]  # fmt: skip
    assert sorted(names[6:]) == ["recursive 30/6", "token-overlap 30/6"]


def test_large_chunks_are_not_chosen_where_answers_are_short(found: Recommendation) -> None:
    assert found.told
    assert found.trial(found.chosen).state == "level"
    assert found.trial("recursive 300").state in ("behind", "stopped")
    assert found.verdict[0].startswith(f"Take {found.chosen}: it finds ")


def test_whole_chunks_alone_are_tried_where_that_is_asked_for(dataset: Dataset) -> None:
    plan = replace(SMALL, options=QueryOptions(granularity="chunks"))
    found = recommend(dataset, parsers(), plan=plan, overlaps=())
    assert {one.granularity for one in found.trials} == {"chunks"}
    assert found.trials[0].name == "recursive 200"
    assert found.trial(found.chosen).size == 30
    assert found.options.granularity == "chunks"


def test_the_best_is_searched_in_other_ways_where_that_is_asked_for(dataset: Dataset) -> None:
    found = recommend(
        dataset, parsers(), plan=SMALL, overlaps=(), modes=("hybrid", "dense", "sparse")
    )
    others = [one for one in found.trials if one.mode != "hybrid"]
    assert [one.mode for one in others] == ["dense", "sparse"]
    assert [one.name for one in others] == [f"{_before(found)}, dense", f"{_before(found)}, sparse"]


def test_the_best_is_searched_by_other_embeddings_where_that_is_asked_for(dataset: Dataset) -> None:
    found = recommend(dataset, parsers(), plan=SMALL, overlaps=(), vectors=("heading", "plain"))
    assert found.trials[-1].name == f"{_before_last(found)}, by plain"


def _before_last(found: Recommendation) -> str:
    first = [one for one in found.trials[:-1] if one.state != "stopped"]
    return max(first, key=lambda one: one.means[found.measure]).name


def _before(found: Recommendation) -> str:
    """The one that led before other ways of searching were tried."""
    first = [one for one in found.trials if one.mode == "hybrid" and one.state != "stopped"]
    return max(first, key=lambda one: one.means[found.measure]).name


def test_the_parser_of_the_choice_cuts_as_was_measured(
    found: Recommendation, dataset: Dataset
) -> None:
    nodes = found.parser(list(dataset.documents))
    assert len(nodes) == found.trial(found.chosen).cost["chunks"]


def test_the_front_gets_better_with_what_it_costs(found: Recommendation) -> None:
    costs = [one.bytes for one in found.front]
    values = [one.means[found.measure] for one in found.front]
    assert costs == sorted(costs)
    assert values == sorted(values)
    assert found.leader in [one.name for one in found.front]


def test_what_was_stopped_was_asked_less_and_says_why(found: Recommendation) -> None:
    everything = found.dataset["questions"]
    for one in found.trials:
        assert (one.asked < everything) == (one.state == "stopped")
        if one.state == "stopped":
            assert f"stopped after {one.asked} of {everything} questions" in one.words
            assert one.interval is None


def test_the_same_sweep_gives_the_same_json(found: Recommendation, dataset: Dataset) -> None:
    again = recommend(dataset, parsers(), plan=SMALL, overlaps=(0.2,))
    assert again.to_json() == found.to_json()
    assert json.loads(found.to_json())["chosen"] == found.chosen


def test_another_budget_says_what_it_would_change(found: Recommendation) -> None:
    [said] = [one for one in found.otherwise if one.startswith("In 30 tokens instead of 60")]
    assert found.chosen in said


def test_a_splitter_of_another_package_is_tried_at_its_sizes(dataset: Dataset) -> None:
    plan = replace(SMALL, sizes=(40,))
    stock = SentenceSplitter(chunk_size=60, chunk_overlap=0)
    found = recommend(dataset, {"stock": stock}, plan=plan, overlaps=())
    assert [one.name for one in found.trials] == [
        "recursive 200 by sentences", "stock 200 by sentences", "stock 40",
    ]  # fmt: skip


def test_one_that_fails_is_listed_and_the_others_are_judged(dataset: Dataset) -> None:
    def broken(text: str) -> list[str]:
        raise RuntimeError(f"no {len(text)} characters today")

    found = recommend(dataset, {"broken": broken}, plan=SMALL, overlaps=())
    failed = found.trial("broken")
    assert failed.state == "failed"
    assert "characters today" in failed.words
    assert found.chosen == "recursive 200 by sentences"


def test_without_questions_there_is_nothing_to_choose_by(dataset: Dataset) -> None:
    with pytest.raises(DatasetError, match="no questions"):
        recommend(replace(dataset, questions=()), parsers(), plan=SMALL)


# --- resuming -----------------------------------------------------------------------------------


class Counting(MockEmbedding):
    """Counts the texts it is asked for."""

    texts: ClassVar[list[str]] = []

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        self.texts.extend(texts)
        return super()._get_text_embeddings(texts)


def test_a_run_that_was_ended_goes_on_and_no_text_is_embedded_twice(
    dataset: Dataset, tmp_path: Path
) -> None:
    def steps_until(name: str) -> Any:
        def hear(step: Step) -> None:
            if step.name == name:
                raise CancelledError("enough")

        return hear

    whole = recommend(dataset, parsers(), plan=SMALL, overlaps=())
    with pytest.raises(CancelledError):
        recommend(
            dataset, parsers(), plan=SMALL, overlaps=(), cache=tmp_path,
            progress=steps_until("token-overlap 30"),
        )  # fmt: skip
    cut: list[str] = []

    def parse(parser: SpanNodeParser, document: Any) -> Sequence[BaseNode]:
        cut.append(parser.fingerprint)
        return parser([document])

    again = recommend(dataset, parsers(), plan=SMALL, overlaps=(), cache=tmp_path, parse=parse)
    assert again.to_json() == whole.to_json()
    assert get_parser("retrieval").fingerprint not in cut
    assert cut


def test_a_text_that_two_candidates_have_is_embedded_once(dataset: Dataset) -> None:
    def embedded(*names: str) -> int:
        model = Counting(embed_dim=8)
        Counting.texts.clear()
        given = {name: get_parser("recursive") for name in names}
        recommend(dataset, given, plan=replace(SMALL, sizes=(300,)), overlaps=(), embed_model=model)
        return len(model.texts)

    assert embedded("one", "twin") == embedded("one") > 0


def test_the_example_of_the_page_runs_in_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(example, str(PAGE), "exec"), names)  # noqa: S102 - of our own page
    assert "take recursive 200 by sentences" in capsys.readouterr().out
    assert names["nodes"]
