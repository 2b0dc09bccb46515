"""Room on a server: whoever works keeps their place, and nobody takes that of others."""

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
from app_server import PATIENCE, Api, hanging_up
from hostile_parsers import HangingNodeParser

from rag_nodes.core.errors import BusyError, CancelledError
from rag_nodes.core.processes import Interrupt, interruptible, unless_interrupted
from rag_nodes.core.settings import Settings
from rag_nodes.operations.workspace.session import Session
from rag_nodes.operations.workspace.sessions import Sessions
from rag_nodes.readers import ReadResult
from rag_nodes.server.events import streamed
from rag_nodes.server.limits import ServerLimits, Workers

QUESTION = {"question": "What colour is the machine?", "parser": "fixed"}
FILE = ("files", ("red.md", b"The machine is red."))


class Served(NamedTuple):
    """A server with few places."""

    address: str
    workers: Workers

    def post(self, path: str, **given: Any) -> httpx.Response:
        return httpx.post(f"{self.address}{path}", timeout=PATIENCE, **given)

    def upload(self) -> dict[str, str]:
        reply = self.post("/upload", files=[FILE])
        assert reply.status_code == 200, reply.text
        return {"X-Session": reply.json()["session"]}


@contextmanager
def _serve_api(settings: Settings, limits: ServerLimits) -> Iterator[Served]:
    api = Api(settings, limits)
    with api.opened() as client:
        yield Served(str(client.base_url).rstrip("/"), api.workers)


# --- sessions ------------------------------------------------------------------------------------


def test_an_upload_to_a_full_server_is_not_answered_with_a_session_that_has_ended(
    settings: Settings,
) -> None:
    with _serve_api(settings, ServerLimits(sessions=4)) as server:
        for _ in range(4):
            server.upload()
        with ThreadPoolExecutor(3) as threads:
            new = [number.result() for number in [threads.submit(server.upload) for _ in range(3)]]
        replies = [server.post("/ask", json=QUESTION, headers=session) for session in new]
    assert [reply.status_code for reply in replies] == [200] * 3


def test_a_new_session_is_refused_while_all_are_busy(
    settings: Settings,
) -> None:
    sessions = Sessions(partial(Session, settings), most=2)
    with sessions.holding("a") as first, sessions.holding("b") as second:
        with pytest.raises(BusyError, match="try again"):
            sessions.of("c")
        assert (sessions.of("a"), sessions.of("b")) == (first, second)
    assert sessions.of("c") is not None
    assert len(sessions) == 2


def test_a_session_that_is_worked_for_is_not_idle_however_long_that_takes(
    settings: Settings,
) -> None:
    now = [0.0]
    sessions = Sessions(partial(Session, settings), idle_seconds=10, clock=lambda: now[0])
    with sessions.holding("a") as held:
        now[0] = 100.0
        sessions.sweep()
        assert sessions.of("a") is held
    now[0] = 109.0
    sessions.sweep()
    assert "a" in sessions
    now[0] = 120.0
    sessions.sweep()
    assert "a" not in sessions


def test_a_session_that_is_cleared_while_it_is_filled_is_said_to_have_ended(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, cleared = threading.Event(), threading.Event()
    read = Session.read

    def slow(self: Session, path: Path) -> Iterator[ReadResult]:
        reading.set()
        assert cleared.wait(PATIENCE)
        yield from read(self, path)

    with _serve_api(settings, ServerLimits()) as server:
        session = server.upload()
        monkeypatch.setattr(Session, "read", slow)
        with ThreadPoolExecutor(1) as threads:
            upload = threads.submit(server.post, "/upload", files=[FILE], headers=session)
            assert reading.wait(PATIENCE)
            assert server.post("/clear", headers=session).status_code == 200
            cleared.set()
            assert upload.result().status_code == 404


def test_a_session_that_is_cleared_while_a_body_arrives_does_not_come_back(
    settings: Settings,
) -> None:
    with _serve_api(settings, ServerLimits()) as server:
        session = server.upload()
        with _arriving(server, session) as finished:
            assert server.post("/clear", headers=session).status_code == 200
            assert finished() == 404
        assert server.post("/ask", json=QUESTION, headers=session).status_code == 404


def test_a_session_makes_no_room_while_a_body_for_it_arrives(settings: Settings) -> None:
    with _serve_api(settings, ServerLimits(sessions=1)) as server:
        session = server.upload()
        with _arriving(server, session) as finished:
            assert server.post("/upload", files=[FILE]).status_code == 503
            assert finished() == 200
        assert server.post("/ask", json=QUESTION, headers=session).status_code == 200


@contextmanager
def _arriving(server: Served, session: dict[str, str]) -> Iterator[Callable[[], int]]:
    """An upload whose body is awaited; gives what sends it and returns the status."""
    headers = {**session, "Expect": "100-continue"}
    request = httpx.Request("POST", f"{server.address}/upload", files=[FILE], headers=headers)
    lines = [f"{name}: {value}" for name, value in request.headers.items()]
    start = "\r\n".join([f"POST {request.url.path} HTTP/1.1", *lines, "", ""])
    place = (request.url.host, request.url.port or 80)
    with socket.create_connection(place, timeout=PATIENCE) as line:
        line.sendall(start.encode())
        assert line.recv(1000).startswith(b"HTTP/1.1 100")  # sent once somebody awaits the body

        def finish_request() -> int:
            line.sendall(request.read())
            return int(line.recv(1000).split()[1])

        yield finish_request


# --- places --------------------------------------------------------------------------------------


def test_many_honest_requests_without_a_session_are_all_answered(settings: Settings) -> None:
    def cut(number: int) -> int:
        return server.post("/chunk", json={"text": f"Text {number}."}).status_code

    with _serve_api(settings, ServerLimits()) as server, ThreadPoolExecutor(12) as threads:
        assert set(threads.map(cut, range(12))) == {200}


def test_without_a_session_an_address_has_its_own_places_whatever_it_calls_itself(
    settings: Settings, hanging: HangingNodeParser
) -> None:
    with _serve_api(settings, ServerLimits(per_address=1)) as server:
        body = {"text": "Hello."}
        with hanging_up(f"{server.address}/chunk", body):
            hanging.wait_until_started()
            made_up = [{}, {"X-Session": "made up"}, {"X-Session": "another"}]
            codes = [
                server.post("/chunk", json=body, headers=headers).status_code for headers in made_up
            ]
            status = httpx.get(f"{server.address}/status", timeout=PATIENCE)
            with server.workers.place("203.0.113.9"):
                assert not hanging.is_cancelled
    assert codes == [503] * 3
    assert status.status_code == 200


def test_the_state_of_a_busy_server_can_still_be_asked(settings: Settings) -> None:
    with (
        _serve_api(settings, ServerLimits(at_once=1)) as server,
        server.workers.place("", "another"),
    ):
        assert server.post("/chunk", json={"text": "a"}).status_code == 503
        status = httpx.get(f"{server.address}/status", timeout=PATIENCE)
    assert status.status_code == 200


def test_nobody_gets_more_than_their_share_of_the_work() -> None:
    workers = Workers(ServerLimits(at_once=3, per_session=2))
    with workers.place("", "a"), workers.place("", "a"):
        with pytest.raises(BusyError, match="too much"):
            workers.hold("", "a")
        with workers.place("", "b"), pytest.raises(BusyError, match="too much"):
            workers.hold("", "c")
    assert not workers._running


@pytest.mark.parametrize("streams", [True, False])
def test_a_place_is_held_as_long_as_a_model_works_for_somebody_who_left(streams: bool) -> None:
    workers, interrupt = Workers(ServerLimits(at_once=1)), Interrupt()
    answered, free = threading.Event(), threading.Event()

    def answer() -> bool:
        interrupt.set()  # whoever asked has left
        return answered.wait(PATIENCE)

    def perform(*_: object) -> dict[str, Any]:
        return {"answered": unless_interrupted(answer, "the question")}

    async def ask_interruptibly() -> object:
        with interruptible(interrupt):
            if streams:
                return await streamed(perform, workers, interrupt, workers.hold("", "a"))
            with workers.place("", "a"):
                return await workers.thread(perform)

    with pytest.raises(CancelledError):
        asyncio.run(ask_interruptibly())
    with pytest.raises(BusyError, match="too much"):
        workers.hold("", "a")
    answered.set()
    interrupt.afterwards(free.set)
    assert free.wait(PATIENCE)
    workers.hold("", "a")()


def test_a_model_is_not_asked_for_whoever_has_left_already() -> None:
    interrupt, asked = Interrupt(), []
    interrupt.set()
    with interruptible(interrupt), pytest.raises(CancelledError):
        unless_interrupted(lambda: asked.append(1), "the question")
    assert asked == []
