"""Votes that an earlier version kept in a file of lines: taken over once, and nothing is lost."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

import pytest
from kept_votes import kept_votes

from rag_nodes.apps.votes.store import Votes, question_of, voter_of
from rag_nodes.errors import StoreError

if TYPE_CHECKING:
    from pathlib import Path

ME = voter_of("me")
LINE = (
    '{"kind":"best","ballot":"BALLOT","voter":"VOTER","question":"QUESTION","parsers":['
    '{"name":"fixed","fingerprint":"f1","settings":"1000 characters"},'
    '{"name":"heading","fingerprint":"h1","settings":""}],"models":"embedding: lexical",'
    '"winners":["fixed"],"blind":true,"time":"2026-11-20T10:00:00Z"}'
)
"""As the version before wrote it."""


def line(ballot: str, **changed: str) -> bytes:
    made = LINE.replace("VOTER", ME).replace("QUESTION", question_of("Why?"))
    for old, new in {"BALLOT": ballot, **changed}.items():
        made = made.replace(old, new)
    return f"{made}\n".encode()


DAMAGE = [
    b"{not json}",
    b"\xff\xfe\x00",
    b"[" * 50_000,
    b'{"kind": "best"}',
    b"null",
    line("gone").replace(b'"fixed"', b'"gone"', 1).strip(),
    line("evil").replace(ME.encode(), b"<script>").strip(),
    line("torn")[:40],
]


@pytest.mark.parametrize("name", ["votes.jsonl", "votes.sqlite3", "votes"])
def test_the_lines_of_an_earlier_version_are_taken_over_once_with_a_message(
    tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Beside the database, or where `RAG_NODES_VOTES` still names the file of lines."""
    path = tmp_path / ("votes.sqlite3" if name == "votes.jsonl" else name)
    (tmp_path / name).write_bytes(
        line("one") + line("two") + line("one").replace(b'["fixed"]', b'["heading"]') + b"\n"
        b" " * 90 + b"\n" + line("back") + line("back").replace(b'["fixed"]', b"null")
    )
    assert Votes(path).summary().votes == 2
    assert {one.ballot: one.winners for one in kept_votes(path)} == {
        "one": ("heading",),
        "two": ("fixed",),
    }
    assert {one.time for one in kept_votes(path)} == {"2026-11-20T10:00:00Z"}
    assert [one.name for one in tmp_path.iterdir()] == [path.name]
    assert [one.levelname for one in caplog.records] == ["WARNING"]
    assert "votes of an earlier version were taken over" in caplog.text
    assert Votes(path).summary().votes == 2
    assert len(caplog.records) == 1


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_line_is_counted_and_kept_and_the_others_are_taken_over(
    tmp_path: Path, damage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "votes.jsonl").write_bytes(line("one") + damage + b"\n" + line("two"))
    path = tmp_path / "votes.sqlite3"
    assert Votes(path).summary().votes == 2
    assert "no votes: 1" in caplog.text
    assert (tmp_path / "votes.jsonl.old").read_bytes() == damage
    assert Votes(path).summary().votes == 2


def test_taking_over_that_broke_off_goes_on_and_counts_nothing_twice(tmp_path: Path) -> None:
    path = tmp_path / "votes.sqlite3"
    (tmp_path / "votes.jsonl").write_bytes(line("one") + line("two"))
    Votes(path).summary()
    (tmp_path / "votes.jsonl.old").write_bytes(line("one") + line("three"))
    assert Votes(path).summary().votes == 3


def test_deleting_reaches_what_was_not_taken_over_yet(tmp_path: Path) -> None:
    (tmp_path / "votes.jsonl").write_bytes(line("one"))
    path = tmp_path / "votes.sqlite3"
    Votes(path).forget(ME)
    assert Votes(path).summary().votes == 0
    assert ME.encode() not in b"".join(one.read_bytes() for one in tmp_path.iterdir())


def test_a_file_that_holds_no_vote_at_all_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(b"shopping: " + b"bread " * 200)
    with pytest.raises(StoreError, match="RAG_NODES_VOTES"):
        Votes(path).add(_vote())
    assert path.read_bytes().startswith(b"shopping")


def test_where_it_fails_the_lines_stay_and_the_next_look_tries_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "votes.jsonl").write_bytes(line("one"))
    votes = Votes(tmp_path / "votes.sqlite3")
    with monkeypatch.context() as patch:
        patch.setattr("sqlite3.connect", _refuse)
        with pytest.raises(StoreError, match="disk I/O error"):
            votes.summary()
    assert votes.summary().votes == 1


def _refuse(*_: Any, **__: Any) -> None:
    raise sqlite3.OperationalError("disk I/O error")


def _vote() -> Any:
    from rag_nodes.apps.votes.store import Vote

    return Vote.model_validate_json(line("one"))
