"""What a child does between two messages: clocks and limits set and taken back, its own end."""

import io
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pytest

from rag_nodes.core.errors import ParseError, RagNodesError
from rag_nodes.core.processes import serve, serving
from rag_nodes.core.processes.children import receive, send

MEGABYTE = 1024 * 1024


class Child:
    """`serve` in this process: requests in, answers out, and the limits it asked the system for."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.seconds: list[float] = []
        self.memory: list[int | None] = []
        self.size = 100 * MEGABYTE
        self._patch = patch
        patch.setattr(serving, "ends_with_parent", nullcontext)
        patch.setattr(serving, "_limit_seconds", self.seconds.append)
        patch.setattr(serving, "_limit_memory", self.memory.append)
        patch.setattr(serving, "_address_space", lambda: self.size)

    def answers(self, *requests: dict[str, Any], **options: Any) -> list[list[Any]]:
        asked, answered = io.BytesIO(), io.BytesIO()
        for request in requests:
            send(asked, request)
        asked.seek(0)
        self._patch.setattr(serving, "own_pipes", lambda: (asked, answered))
        serve(self.work, **options)
        end = answered.tell()
        answered.seek(0)
        messages = []
        while answered.tell() < end:
            messages.append(receive(answered))
        return messages

    def work(self, request: dict[str, Any]) -> Iterator[str]:
        for word in request["words"]:
            if word == "fail":
                raise ParseError("no")
            if word == "grow":
                self.size += serving.SPENT + 1
            yield word


@pytest.fixture
def child(monkeypatch: pytest.MonkeyPatch) -> Child:
    return Child(monkeypatch)


def asked(*words: str, seconds: float = 2) -> dict[str, Any]:
    return {"kind": "a", "seconds": seconds, "words": words}


def test_each_result_has_the_time_of_the_request_and_a_little_more(child: Child) -> None:
    assert child.answers(asked("one", "two")) == [
        ["ready", None],
        ["item", "one"],
        ["item", "two"],
        ["end", False],
    ]
    # Not while the parent works on a result, and never beyond the task.
    assert child.seconds == [7, 0, 7, 0, 7, 0]


def test_memory_is_limited_from_what_the_kind_of_task_began_with(child: Child) -> None:
    child.answers(asked("one"), prepare=lambda _: 5 * MEGABYTE)
    assert child.memory == [105 * MEGABYTE, None]
    child.memory.clear()
    child.answers(asked("one"))
    assert child.memory == [None, None]


def test_a_child_that_has_grown_asks_to_be_replaced(child: Child) -> None:
    ends = [
        content for kind, content in child.answers(asked("one"), asked("grow")) if kind == "end"
    ]
    assert ends == [False, True]


@pytest.mark.parametrize(("fatal", "spent"), [((), False), (ParseError, True)])
def test_an_error_is_told_and_ends_the_child_only_where_it_is_fatal(
    child: Child, fatal: type[RagNodesError], spent: bool
) -> None:
    messages = child.answers(asked("one", "fail", "two"), fatal=fatal)
    assert [kind for kind, _ in messages] == ["ready", "item", "raised", "end"]
    assert messages[2][1]["error"] == "ParseError"
    assert messages[-1] == ["end", spent]
