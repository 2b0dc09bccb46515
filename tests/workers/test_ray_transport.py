"""What becomes of actors that end while they start, or never do: by a Ray that is none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import repeat
from types import SimpleNamespace
from typing import Any

import pytest
from fake_time import FakeTime

from rag_nodes.errors import EngineError, RagNodesError
from rag_nodes.models import Models
from rag_nodes.parsers import get_parser
from rag_nodes.workers import BARREN, Batch, CannotWork, Died, Recipe
from rag_nodes.workers.messages import Began, pack
from rag_nodes.workers.on_ray import transport as on_ray
from rag_nodes.workers.on_ray.embedders import STARTING
from rag_nodes.workers.on_ray.transport import RayShape, RayTransport
from rag_nodes.workers.words import Logged, packed


class RayError(Exception):
    pass


class RayTaskError(RayError):
    cause: Exception


class OutOfMemoryError(RayError):
    pass


class ActorDiedError(RayError):
    pass


class FakeRay:
    """Actors that say what is told here, those of one start after those of another.

    Attributes:
        starts: what each says of all its tasks, or of each; where there are no more, nothing ever
            comes.
        recipes: of what they were made.
    """

    exceptions = SimpleNamespace(
        RayError=RayError, RayTaskError=RayTaskError, OutOfMemoryError=OutOfMemoryError
    )

    def __init__(self, *starts: list[Any]) -> None:
        self.starts = list(starts)
        self.recipes: list[Recipe] = []
        self.killed = 0
        self.resources = {"CPU": 2.0}

    def remote(self, **_: object) -> Any:
        return lambda _actor: SimpleNamespace(remote=self._start)

    def _start(self, recipe: Recipe, *_: object) -> Any:
        self.recipes.append(recipe)
        said = self.starts.pop(0) if self.starts else None
        parts = iter(said) if said and isinstance(said[0], list) else repeat(said)
        method = SimpleNamespace(remote=lambda _task: Stream(next(parts)))
        return SimpleNamespace(work=SimpleNamespace(options=lambda **_: method))

    def wait(self, streams: list[Stream], **_: object) -> tuple[list[Stream], None]:
        return [one for one in streams if one.said is not None][:1], None

    def get(self, found: Any) -> Any:
        if isinstance(found, Exception):
            raise found
        return found

    def kill(self, _actor: object) -> None:
        self.killed += 1

    def cluster_resources(self) -> dict[str, float]:
        return self.resources


class Stream:
    """What an actor says of a task; it is compared by what it is, as Ray's are."""

    def __init__(self, said: list[Any] | None) -> None:
        self.said = said

    def __next__(self) -> Any:
        assert self.said is not None
        return self.said.pop(0)


@pytest.fixture
def recipe() -> Recipe:
    return Recipe.of({"x": get_parser("fixed")}, Models.of(embed_model="lexical"))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    clock = FakeTime()
    monkeypatch.setattr(on_ray, "time", clock)
    return clock


def on(ray: FakeRay, recipe: Recipe, monkeypatch: pytest.MonkeyPatch) -> RayTransport[Batch, Any]:
    @contextmanager
    def session(_actors: int, _address: str | None) -> Iterator[FakeRay]:
        yield ray

    monkeypatch.setattr(on_ray, "ray_session", session)
    return RayTransport(recipe, RayShape(1))


def test_an_actor_that_ends_while_it_starts_is_a_death_and_another_takes_its_place(
    recipe: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    ray = FakeRay([ActorDiedError()], [packed(pack(Began(0)))])
    transport = on(ray, recipe, monkeypatch)
    transport.submit(0, Batch(7, ("a.md",)))
    assert transport.wait(0.1) == (0, 7, Died("lost by Ray while it started: ActorDiedError"))
    transport.replace(0)
    transport.submit(0, Batch(8, ("a.md",)))
    assert transport.wait(0.1) == (0, 8, Began(0))
    assert [one.is_successor for one in ray.recipes] == [False, True]
    transport.close()
    assert ray.killed == 2


def test_a_task_that_waits_is_heard_of_when_the_one_before_is_over(
    recipe: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = packed(pack(CannotWork(RagNodesError("no"))))
    began = packed(pack(Began(0)))
    transport = on(FakeRay([[began, over], [began]]), recipe, monkeypatch)
    for number in (7, 8):
        transport.submit(0, Batch(number, ("a.md",)))
    heard = [transport.wait(0.1) for _ in range(3)]
    assert [one and one.task for one in heard] == [7, 7, 8]


def test_of_an_actor_that_ended_nothing_is_heard_about_what_waited(
    recipe: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    ray = FakeRay([[ActorDiedError()], [ActorDiedError()]], [packed(pack(Began(0)))])
    transport = on(ray, recipe, monkeypatch)
    for number in (7, 8):
        transport.submit(0, Batch(number, ("a.md",)))
    first = transport.wait(0.1)
    assert first is not None
    assert first.task == 7
    transport.replace(0)
    transport.submit(0, Batch(9, ("a.md",)))
    assert transport.wait(0.1) == (0, 9, Began(0))


def test_actors_that_end_whenever_they_start_end_the_ingest_with_the_reason(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rag_nodes import ingest
    from rag_nodes.store import open_store
    from rag_nodes.workers.on_ray import RayEngine

    ray = FakeRay(*([OutOfMemoryError()] for _ in range(100)))
    (tmp_path / "a.md").write_text("# A\n\nTea.", "utf-8")
    monkeypatch.setattr(on_ray, "ray_session", lambda *_: as_context(ray))
    with open_store() as store, pytest.raises(EngineError, match=r"ran out of memory\); look at"):
        ingest([tmp_path], {"x": get_parser("fixed")}, store, engine=RayEngine(1))
    assert len(ray.recipes) == BARREN


@contextmanager
def as_context(ray: FakeRay) -> Iterator[FakeRay]:
    yield ray


def test_an_actor_for_which_there_is_no_room_is_not_waited_for_for_ever(
    recipe: Recipe, monkeypatch: pytest.MonkeyPatch, clock: FakeTime
) -> None:
    transport = on(FakeRay(), recipe, monkeypatch)
    transport.submit(0, Batch(0, ("a.md",)))
    assert transport.wait(0.1) is None
    clock.sleep(STARTING + 1)
    with pytest.raises(EngineError, match=r"of 1 processes some did not .* 2 cores .* ask for few"):
        transport.wait(0.1)


def test_an_actor_that_has_nowhere_to_start_any_more_is_not_waited_for(
    recipe: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    ray = FakeRay([ActorDiedError()])
    transport = on(ray, recipe, monkeypatch)
    transport.submit(0, Batch(0, ("a.md",)))
    transport.wait(0.1)
    transport.replace(0)
    transport.submit(0, Batch(1, ("a.md",)))
    assert transport.wait(0.1) is None
    ray.resources = {}
    with pytest.raises(EngineError, match="Ray's own process on this machine has ended"):
        transport.wait(0.1)


def test_what_an_actor_logs_is_logged_here_and_is_no_message(
    recipe: Recipe, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    words = Logged("some.library", 30, "an odd font").pack()
    transport = on(FakeRay([words, words, packed(pack(Began(0)))]), recipe, monkeypatch)
    transport.submit(0, Batch(0, ("a.md",)))
    heard = [transport.wait(0.1) for _ in range(3)]
    assert heard == [None, None, (0, 0, Began(0))]
    assert caplog.record_tuples == [("some.library", 30, "an odd font")]
