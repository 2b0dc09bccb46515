"""How a worker asks those who embed: who dies of what, without Ray."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from itertools import repeat
from types import SimpleNamespace
from typing import Any

import pytest
from fake_time import FakeTime
from own_models import LettersEmbedding

from rag_nodes.errors import ConfigurationError, EngineError, ModelRequestError
from rag_nodes.models import Models
from rag_nodes.models.names import embedding_name
from rag_nodes.parsers import SemanticNodeParser, get_parser
from rag_nodes.workers import Recipe
from rag_nodes.workers.on_ray import embedders
from rag_nodes.workers.on_ray.embedders import (
    EmbedderLostError,
    Embedders,
    EmbeddingActor,
    ModelFacts,
)
from rag_nodes.workers.words import Logged


class RayError(Exception):
    pass


class ActorDiedError(RayError):
    pass


class RayTaskError(RayError):
    def __init__(self, cause: Exception) -> None:
        self.cause = cause


def get(found: Any, timeout: float | None = None) -> Any:
    del timeout
    if isinstance(found, Exception):
        raise found
    return found


class ActorUnavailableError(RayError):
    pass


class FakeActor:
    """Answers each call with what comes next: what it yields, and whether it is back again."""

    def __init__(self, *calls: list[Any], back: Iterable[Any] = (None,)) -> None:
        self._calls, self._back = iter(calls), iter(back)
        self.asked: list[list[str]] = []
        self.embed = SimpleNamespace(options=lambda **_: SimpleNamespace(remote=self._embed))
        self.ready = SimpleNamespace(remote=lambda: next(self._back))

    def _embed(self, number: int, texts: list[str], *, is_query: bool) -> Iterator[Any]:
        assert (number, is_query) == (0, False)
        self.asked.append(texts)
        return iter(next(self._calls))


@pytest.fixture(autouse=True)
def fake_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    exceptions = SimpleNamespace(
        RayError=RayError, RayTaskError=RayTaskError, ActorUnavailableError=ActorUnavailableError
    )
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(get=get, exceptions=exceptions))


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    clock = FakeTime()
    monkeypatch.setattr(embedders, "time", clock)
    return clock.pauses


VECTORS = [[1.0, 2.0]]
SAID = (VECTORS, [Logged("heavy", 30, "it is heavy")])


def test_embedders_are_asked_in_turn_from_the_first_one_on() -> None:
    actors = [FakeActor([None, SAID]), FakeActor([None, SAID], [None, SAID])]
    asked = Embedders(actors, 1)
    for text in "abc":
        assert asked.ask(0, [text]) == VECTORS
    assert [one.asked for one in actors] == [[["b"]], [["a"], ["c"]]]


def test_what_is_logged_where_is_embedded_is_logged_by_the_worker(
    caplog: pytest.LogCaptureFixture,
) -> None:
    Embedders([FakeActor([None, SAID])], 0).ask(0, ["a"])
    assert caplog.record_tuples == [("heavy", 30, "it is heavy")]


def test_one_that_ends_while_it_starts_is_waited_for(slept: list[float]) -> None:
    facts = [ModelFacts("letters", "", {"model_name": "letters"})]
    ends = [ActorUnavailableError(), ActorUnavailableError(), facts]
    [model] = Embedders([FakeActor(back=ends)], 0).models()
    assert embedding_name(model) == "letters"
    assert slept == [0.5, 0.5]


def test_one_whose_model_cannot_be_made_says_so() -> None:
    refused = RayTaskError(ConfigurationError("no such model"))
    with pytest.raises(ConfigurationError, match="no such model"):
        Embedders([FakeActor(back=[refused])], 0).models()


def test_one_that_died_of_what_another_worker_asked_is_asked_again(slept: list[float]) -> None:
    back = [ActorUnavailableError(), ActorUnavailableError(), None]
    asked = Embedders([FakeActor([ActorDiedError()], [None, SAID], back=back)], 0)
    assert asked.ask(0, ["a"]) == VECTORS
    assert asked.failure is None
    assert slept == [0.5, 0.5]


def test_one_that_dies_of_what_it_was_asked_takes_the_batch_with_it() -> None:
    asked = Embedders([FakeActor([None, ActorDiedError()])], 0)
    for _ in range(2):  # the second time nobody is asked
        with pytest.raises(EmbedderLostError, match="ActorDiedError"):
            asked.ask(0, ["a"])
    assert isinstance(asked.failure, EmbedderLostError)


def test_one_that_does_not_come_back_ends_the_run() -> None:
    asked = Embedders([FakeActor([ActorDiedError()], back=[ActorDiedError()])], 0)
    with pytest.raises(EngineError, match="did not come back"):
        asked.ask(0, ["a"])


def test_what_a_model_raises_is_raised_and_the_batch_goes_on() -> None:
    refused = RayTaskError(ModelRequestError("too long"))
    asked = Embedders([FakeActor([None, refused], [None, SAID])], 0)
    with pytest.raises(ModelRequestError, match=r"^too long$"):
        asked.ask(0, ["a"])
    assert asked.ask(0, ["b"]) == VECTORS


def test_a_stand_in_has_name_place_and_pace_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    model = LettersEmbedding(letters="xyz", embed_batch_size=7, num_workers=3)
    parser = SemanticNodeParser(embed_model=model)
    recipe = Recipe.of({"x": parser, "y": get_parser("fixed")}, Models.of(embed_model=model))
    actor = EmbeddingActor(recipe)
    monkeypatch.setattr(EmbeddingActor, "_own_recipe", lambda _: recipe)
    [stand_in] = Embedders([FakeActor(back=[actor.ready()])], 0).models()
    assert embedding_name(stand_in) == embedding_name(model)
    assert (stand_in.embed_batch_size, stand_in.num_workers) == (7, 3)
    made = recipe.make([stand_in])
    assert made.models.embedding is stand_in
    assert made.parsers["x"].fingerprint == parser.fingerprint
    assert [*actor.embed(0, ["x", "y"], is_query=False)] == [
        None,
        (model.get_text_embedding_batch(["x", "y"]), []),
    ]
    assert [*actor.embed(0, ["x?"], is_query=True)][1] == ([model.get_query_embedding("x?")], [])


def test_one_that_is_not_back_in_time_ends_the_run(slept: list[float]) -> None:
    gone = FakeActor([ActorDiedError()], back=repeat(ActorUnavailableError()))
    with pytest.raises(EngineError, match="did not come back"):
        Embedders([gone], 0).ask(0, ["a"])
    assert sum(slept) == embedders.STARTING
