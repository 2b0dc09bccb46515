"""What workers that measure are made of: equal to what was written down, and without a key."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tests.evaluation.labelled import corpus

from rag_nodes.errors import ConfigurationError
from rag_nodes.evaluation.by_workers.messages import RowTask, pack, unpack
from rag_nodes.evaluation.by_workers.recipe import SweepRecipe, made_options, written_options
from rag_nodes.evaluation.examining import Examined
from rag_nodes.evaluation.plan import EvaluationPlan
from rag_nodes.evaluation.race import Lead
from rag_nodes.models import Models
from rag_nodes.models.openai import OpenAIServerEmbedding
from rag_nodes.parsers import SemanticNodeParser, get_parser
from rag_nodes.query import QueryOptions
from rag_nodes.store import Filter
from rag_nodes.workers.on_ray.transport import WorkerActor
from rag_nodes.workers.shelf import Shelf, made_parser
from rag_nodes.workers.words import Hearing

CANARY = "sk-canary-0123456789"
SEARCHED = QueryOptions(
    mode="sparse",
    filter=Filter(pages=(1, 9), heading_path=("Report", "One"), file_name="0.md"),
    prices={"m": (1.0, 2.0)},
    similarity_cutoff=0.25,
)


def made_again(recipe: SweepRecipe) -> SweepRecipe:
    """The recipe after a way as JSON, its keys beside it."""
    return SweepRecipe(**json.loads(json.dumps(recipe.plain())), keys=recipe.keys)


def test_data_plan_and_options_are_made_again_equal() -> None:
    dataset = corpus(2)
    plan = EvaluationPlan(budgets=(30, 60), ks=(), sizes=(20,), target=None, options=SEARCHED)
    models = Models.of(embed_model="lexical")
    made = made_again(SweepRecipe.of(dataset, plan, models, Shelf(models.embedding))).make()
    assert made.dataset == replace(dataset, unplaced=())
    assert made.dataset.fingerprint == dataset.fingerprint
    assert made.plan == plan
    assert repr(made.plan.options) == repr(plan.options)
    assert made.models.embedding_name == models.embedding_name


def test_a_parser_of_the_run_finds_its_model_again_and_no_key_is_in_plain_data() -> None:
    model = OpenAIServerEmbedding(model_name="m", api_key=CANARY)
    models, parser = Models.of(embed_model=model), SemanticNodeParser(embed_model=model)
    shelf = Shelf(model)
    written = shelf.parser(parser)
    recipe = SweepRecipe.of(corpus(1), EvaluationPlan(), models, shelf)
    assert CANARY not in json.dumps([recipe.plain(), written])
    assert CANARY not in repr(recipe)
    made = made_again(recipe).make()
    again = made_parser(written, made.embeddings)
    assert isinstance(again, SemanticNodeParser)
    assert again.embed_model is made.models.embedding
    assert again.fingerprint == parser.fingerprint


def test_limits_of_an_account_are_shared_by_the_workers() -> None:
    model = OpenAIServerEmbedding(model_name="m", api_key=CANARY, requests_per_minute=60)
    recipe = SweepRecipe.of(corpus(1), EvaluationPlan(), Models.of(embed_model=model), Shelf(model))
    [shared] = recipe.shared_by(3).models
    assert shared["options"]["requests_per_minute"] == 20


def test_a_reranker_is_no_plain_data() -> None:
    with pytest.raises(ConfigurationError, match="reranker"):
        written_options(QueryOptions(rerank=lambda _question, hits: hits))
    assert made_options(json.loads(json.dumps(written_options(SEARCHED)))) == SEARCHED


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'["Examined", {}]', b'["Other", {}]'])
def test_what_is_no_message_is_a_value_error(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"not a message|Expecting|unpack"):
        unpack(data)


@pytest.mark.parametrize(
    "data",
    [
        b'["AskedSoFar", {"questions": "many", "indexing": 1.0}]',
        b'["SizeFound", {"size": 3, "mean": {}}]',
        b'["Refused", {"reason": 7}]',
        b'["Examined", {"chunks": {}, "cost": {}, "outcomes": [{"question": 7, "scores": {}}]}]',
        b'["Examined", {"chunks": {"mean": "x"}, "cost": {}, "outcomes": []}]',
    ],
)
def test_what_has_the_shape_of_a_message_and_other_types_is_a_value_error(data: bytes) -> None:
    with pytest.raises(ValueError, match="of other types"):
        unpack(data)


def test_an_actor_of_ray_is_told_and_tells_in_bytes() -> None:
    models = Models.of(embed_model="lexical")
    shelf = Shelf(models.embedding)
    plan = EvaluationPlan(budgets=(30,), sizes=(), target=None)
    recipe = SweepRecipe.of(corpus(1), plan, models, shelf)
    lead = Lead("other", [1.0] * 8)
    parser = shelf.parser(get_parser("fixed"))
    task = RowTask(7, "fixed", "own", parser, None, None, ("harbour-0",), lead)
    assert unpack(pack(task)) == task
    hearing = Hearing(unpack)
    said = [hearing.message(one) for one in WorkerActor(recipe, 0, ()).work(pack(task))]
    assert isinstance(said[-1], Examined)
    assert len(said[-1].outcomes) == 8
    assert list(said[-1].read) == ["harbour-0"]
