"""Messages of a child, the limits it sets and takes back, and when it asks to be replaced."""

import io
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import pytest

from rag_nodes.core.errors import ParseError, RagNodesError
from rag_nodes.core.processes import Task, from_json, serve, serving
from rag_nodes.core.processes.children import (
    END,
    ERROR,
    NOTE,
    READY,
    RESULT,
    SPENT,
    TASK,
    receive,
    send,
)

MEGABYTE = 1024 * 1024


class Child:
    """`serve` in this process: requests in, messages out, and limits asked of the system."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.limits: list[int | None] = []
        self.size = 100 * MEGABYTE
        self.allowed: int | None = 5 * MEGABYTE
        self._patch = patch
        patch.setattr(serving, "_ends_with_parent", nullcontext)
        patch.setattr(serving, "_limit_memory", self.limits.append)
        patch.setattr(serving, "_address_space", lambda: self.size)

    def answers(self, *requests: bytes, **options: Any) -> list[tuple[bytes, bytes]]:
        asked, answered = io.BytesIO(), io.BytesIO()
        for request in requests:
            send(asked, TASK, request)
        asked.seek(0)
        self._patch.setattr(serving, "_own_pipes", lambda: (asked, answered))
        serve(self.begin, **options)
        end = answered.tell()
        answered.seek(0)
        messages = []
        while answered.tell() < end:
            messages.append(receive(answered))
        return messages

    def begin(self, request: bytes, note: Callable[[bytes], None]) -> Task:
        return Task(self.work(request, note), self.allowed, "a")

    def work(self, request: bytes, note: Callable[[bytes], None]) -> Iterator[bytes]:
        for word in request.split():
            if word == b"fail":
                raise ParseError("no")
            if word == b"grow":
                self.size += serving.MOST_GROWTH + 1
            note(b"about " + word)
            yield word


@pytest.fixture
def child(monkeypatch: pytest.MonkeyPatch) -> Child:
    return Child(monkeypatch)


def test_a_child_sends_notes_and_results_as_it_has_them(child: Child) -> None:
    assert child.answers(b"one two") == [
        (READY, b""),
        (NOTE, b"about one"),
        (RESULT, b"one"),
        (NOTE, b"about two"),
        (RESULT, b"two"),
        (END, b""),
    ]


def test_memory_is_limited_from_what_the_kind_of_task_began_with(child: Child) -> None:
    child.answers(b"one")
    assert child.limits == [105 * MEGABYTE, None]
    child.limits.clear()
    child.allowed = None
    child.answers(b"one")
    assert child.limits == [None, None]


@pytest.mark.parametrize(("allowed", "last"), [(MEGABYTE, SPENT), (None, END)])
def test_a_child_with_a_limit_that_has_grown_asks_to_be_replaced(
    child: Child, allowed: int | None, last: bytes
) -> None:
    child.allowed = allowed
    kinds = [kind for kind, _ in child.answers(b"one", b"grow")]
    assert [kind for kind in kinds if kind in {END, SPENT}] == [END, last]


@pytest.mark.parametrize(("fatal", "last"), [((), END), (ParseError, SPENT)])
def test_an_error_is_sent_and_ends_the_child_only_if_it_is_fatal(
    child: Child, fatal: type[RagNodesError], last: bytes
) -> None:
    messages = child.answers(b"one fail two", fatal=fatal)
    assert [kind for kind, _ in messages] == [READY, NOTE, RESULT, ERROR, last]
    assert from_json(messages[3][1])["error"] == "ParseError"
