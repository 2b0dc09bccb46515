"""Votes on disk: nothing is lost, nothing private is kept, damage and refusals stop nobody."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import threading
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from kept_votes import kept_votes
from pydantic import ValidationError

from rag_nodes.apps.votes import store as module
from rag_nodes.apps.votes.store import Vote, Votes, question_of, voter_of
from rag_nodes.apps.votes.sums import Contender
from rag_nodes.errors import StoreError

if TYPE_CHECKING:
    from pathlib import Path

ME, YOU = voter_of("me"), voter_of("you")
FIXED = Contender(name="fixed", fingerprint="f1", settings="1000 characters")
HEADING = Contender(name="heading", fingerprint="h1")
QUESTION = "What colour is the secret machine?"


def make_vote(**changed: Any) -> Vote:
    values: dict[str, Any] = {
        "kind": "best",
        "ballot": "b1",
        "voter": ME,
        "question": question_of(QUESTION),
        "parsers": (FIXED, HEADING),
        "models": "embedding: lexical",
        "winners": ("fixed",),
        "blind": True,
    }
    return Vote(**{**values, **changed})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "kept" / "votes.sqlite3"


@pytest.fixture
def votes(path: Path) -> Votes:
    return Votes(path)


def ballots(path: Path) -> list[str]:
    return [one.ballot for one in kept_votes(path)]


def test_a_kept_vote_is_read_back_by_another_reader(votes: Votes, path: Path) -> None:
    votes.add(make_vote())
    assert Votes(path).summary() == votes.summary()
    [winner, loser] = Votes(path).summary().parsers
    assert (winner.parser, winner.wins, loser.parser, loser.wins) == (FIXED, 1, HEADING, 0)


def test_without_a_file_there_are_no_votes_and_none_to_delete(votes: Votes, path: Path) -> None:
    votes.forget(ME)
    assert votes.summary() == (0, (), ())
    assert not path.parent.exists()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_file_and_folder_are_for_this_user_only(votes: Votes, path: Path) -> None:
    before = os.umask(0)
    try:
        votes.add(make_vote())
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_the_file_holds_no_question_and_the_time_is_utc(votes: Votes, path: Path) -> None:
    votes.add(make_vote())
    assert b"secret" not in path.read_bytes()
    [kept] = kept_votes(path)
    assert kept.time.endswith("Z")
    assert kept.question == question_of(f"  {QUESTION.upper()}\n")


def test_a_later_vote_replaces_an_earlier_one_and_can_take_it_back(
    votes: Votes, path: Path
) -> None:
    votes.add(make_vote())
    votes.add(make_vote(winners=("heading",)))
    assert [one.winners for one in kept_votes(path)] == [("heading",)]
    assert votes.summary().votes == 1
    votes.add(make_vote(winners=None))
    assert kept_votes(path) == []
    assert votes.summary() == (0, (), ())


def test_a_change_of_mind_that_cannot_be_kept_leaves_the_vote_of_before(
    votes: Votes, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    votes.add(make_vote())
    monkeypatch.setattr(module, "_insert", fail)
    with pytest.raises(StoreError, match="disk I/O error"):
        votes.add(make_vote(winners=("heading",)))
    assert [one.winners for one in kept_votes(path)] == [("fixed",)]


def test_changing_ones_mind_does_not_grow_the_file(votes: Votes, path: Path) -> None:
    votes.add(make_vote())
    size = path.stat().st_size
    for _ in range(100):
        votes.add(make_vote(winners=("heading",)))
    assert path.stat().st_size == size


@pytest.mark.parametrize("damage", [b"{not json}\n" * 20, b"\x00" * 40_000, b"SQLite format 3\0?"])
def test_a_file_of_something_else_is_left_alone_and_said(
    votes: Votes, path: Path, damage: bytes
) -> None:
    path.parent.mkdir()
    path.write_bytes(damage)
    with pytest.raises(StoreError, match="cannot be read"):
        votes.summary()
    with pytest.raises(StoreError, match="RAG_NODES_VOTES"):
        votes.add(make_vote())
    assert path.read_bytes() == damage
    path.unlink()
    votes.add(make_vote())
    assert votes.summary().votes == 1


def test_a_file_of_a_newer_version_is_left_alone_and_said(votes: Votes, path: Path) -> None:
    votes.add(make_vote())
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA user_version = 2")
    with pytest.raises(StoreError, match="newer version"):
        votes.add(make_vote(ballot="b2"))
    assert ballots(path) == ["b1"]


def test_a_write_that_broke_off_costs_no_vote(votes: Votes, path: Path) -> None:
    votes.add(make_vote(ballot="one"))
    torn = _SCRIPT_TORN.format(path=str(path))
    assert subprocess.run([sys.executable, "-c", torn], check=False).returncode == 9
    votes.add(make_vote(ballot="two"))
    assert ballots(path) == ["one", "two"]


_SCRIPT_TORN = """
import os, sqlite3
database = sqlite3.connect({path!r}, isolation_level=None)
database.execute("PRAGMA cache_size = 1")
database.execute("BEGIN IMMEDIATE")
for number in range(500):
    row = [str(number), "x" * 4000]
    database.execute(
        "INSERT INTO votes (ballot, kind, voter, question, models, winners, blind, time) "
        "VALUES (?, 'best', '', '', ?, 1, 1, '')",
        row,
    )
os._exit(9)
"""


def test_deleting_takes_only_the_voters_own_and_leaves_nothing_of_them(
    votes: Votes, path: Path
) -> None:
    for number in range(3):
        votes.add(make_vote(ballot=f"mine-{number}"))
        votes.add(make_vote(ballot=f"yours-{number}", voter=YOU))
    votes.forget(ME)
    assert {one.voter for one in kept_votes(path)} == {YOU}
    assert votes.summary().votes == 3
    kept = b"".join(one.read_bytes() for one in path.parent.iterdir())
    assert b"mine" not in kept
    assert ME.encode() not in kept
    votes.add(make_vote(ballot="again"))
    assert ballots(path)[-1] == "again"


def test_many_threads_lose_no_vote(path: Path) -> None:
    barrier = threading.Barrier(8)

    def write(thread: int) -> None:
        own = Votes(path)
        barrier.wait()
        for number in range(25):
            own.add(make_vote(ballot=f"{thread}-{number}"))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Votes(path).summary().votes == len(set(ballots(path))) == 200


def test_two_processes_that_write_and_delete_lose_no_vote(path: Path) -> None:
    Votes(path).add(make_vote(ballot="mine"))
    line = make_vote(ballot="NAME", voter=YOU).model_dump_json()
    script = _SCRIPT.format(path=str(path), line=line, me=ME)
    processes = [subprocess.Popen([sys.executable, "-c", script, name]) for name in "ab"]
    assert [process.wait() for process in processes] == [0, 0]
    assert Votes(path).summary().votes == 60
    assert {one.voter for one in kept_votes(path)} == {YOU}


_SCRIPT = """
import sys
from rag_nodes.apps.votes.store import Vote, Votes
for number in range(30):
    line = {line!r}.replace("NAME", f"{{sys.argv[1]}}-{{number}}")
    Votes({path!r}).add(Vote.model_validate_json(line))
    Votes({path!r}).forget({me!r})
"""


def test_what_another_process_writes_counts_at_once(votes: Votes, path: Path) -> None:
    votes.add(make_vote(ballot="first"))
    assert votes.summary().votes == 1
    Votes(path).add(make_vote(ballot="theirs"))
    assert votes.summary().votes == 2
    Votes(path).forget(ME)
    assert votes.summary().votes == 0


def test_a_file_that_was_taken_away_holds_no_votes(votes: Votes, path: Path) -> None:
    votes.add(make_vote())
    assert votes.summary().votes == 1
    path.unlink()
    assert votes.summary().votes == 0


def test_a_place_that_cannot_be_written_is_an_error_with_the_remedy(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    votes = Votes(blocked / "votes.sqlite3")
    with pytest.raises(StoreError, match="RAG_NODES_VOTES"):
        votes.add(make_vote())
    with pytest.raises(StoreError, match="cannot be read"):
        votes.summary()
    with pytest.raises(StoreError, match="delete the file"):
        votes.forget(ME)


def test_a_file_that_somebody_else_holds_is_said_and_free_again_later(
    votes: Votes, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.0)
    votes.add(make_vote())
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreError, match="locked"):
            votes.add(make_vote(ballot="b2"))
        with pytest.raises(StoreError, match="locked"):
            votes.summary()
    votes.add(make_vote(ballot="b2"))
    assert votes.summary().votes == 2


def test_a_full_file_takes_no_more_until_something_is_deleted(
    votes: Votes, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    votes.add(make_vote(ballot="mine"))
    monkeypatch.setattr(module, "MOST_BYTES", path.stat().st_size)

    def fill() -> None:
        for number in range(10_000):
            votes.add(make_vote(ballot=f"{number}", voter=YOU))

    with pytest.raises(StoreError, match="full"):
        fill()
    assert path.stat().st_size <= module.MOST_BYTES
    assert votes.summary().votes == len(ballots(path)) > 2
    votes.forget(YOU)
    votes.add(make_vote(ballot="again"))
    assert ballots(path) == ["mine", "again"]


def test_a_winner_that_did_not_take_part_is_no_vote() -> None:
    with pytest.raises(ValidationError, match="did not take part"):
        make_vote(winners=("semantic",))


def test_what_stands_for_a_voter_does_not_give_the_secret_away() -> None:
    assert voter_of("0123456789abcdef" * 2) not in "0123456789abcdef" * 2
