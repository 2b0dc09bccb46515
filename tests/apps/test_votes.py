"""Votes on disk: nothing is lost, nothing private is kept, damage and refusals stop nobody."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError

from rag_nodes.errors import StoreError
from rag_nodes.workspace import votes as module
from rag_nodes.workspace.votes import Compared, Vote, Votes, question_of, voter_of

if TYPE_CHECKING:
    from pathlib import Path

ME, YOU = voter_of("me"), voter_of("you")
FIXED = Compared(name="fixed", fingerprint="f1", settings="1000 characters")
HEADING = Compared(name="heading", fingerprint="h1")
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
    return tmp_path / "kept" / "votes.jsonl"


@pytest.fixture
def votes(path: Path) -> Votes:
    return Votes(path)


def test_a_kept_vote_is_read_back_by_another_reader(votes: Votes, path: Path) -> None:
    vote = make_vote()
    votes.add(vote)
    assert Votes(path).read() == ((vote,), 0)


def test_without_a_file_there_are_no_votes_and_none_to_delete(votes: Votes, path: Path) -> None:
    votes.forget(ME)
    assert votes.read() == ((), 0)
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


def test_a_line_holds_no_question_and_the_time_is_utc(votes: Votes, path: Path) -> None:
    votes.add(make_vote())
    line = path.read_text(encoding="utf-8")
    assert "secret" not in line
    assert json.loads(line)["time"].endswith("Z")
    assert json.loads(line)["question"] == question_of(f"  {QUESTION.upper()}\n")


def test_a_later_vote_replaces_an_earlier_one_and_can_take_it_back(votes: Votes) -> None:
    votes.add(make_vote())
    votes.add(make_vote(winners=("heading",)))
    assert [one.winners for one in votes.read().votes] == [("heading",)]
    votes.add(make_vote(winners=None))
    assert votes.read().votes == ()


@pytest.mark.parametrize(
    "damage",
    [
        b"{not json}\n",
        b"\xff\xfe\x00\n",
        b"[" * 50_000 + b"\n",
        b'{"kind": "best"}\n',
        b"null\n",
        b'"text"\n',
        make_vote().model_dump_json().replace('"fixed"', '"gone"', 1).encode() + b"\n",
        make_vote().model_dump_json().replace(ME, "<script>").encode() + b"\n",
    ],
)
def test_a_damaged_line_is_counted_and_the_others_are_read(
    votes: Votes, path: Path, damage: bytes
) -> None:
    votes.add(make_vote(ballot="one"))
    with path.open("ab") as file:
        file.write(damage)
    votes.add(make_vote(ballot="two"))
    ledger = votes.read()
    assert [one.ballot for one in ledger.votes] == ["one", "two"]
    assert ledger.damaged == 1


def test_a_write_that_broke_off_costs_no_later_vote(votes: Votes, path: Path) -> None:
    votes.add(make_vote(ballot="one"))
    with path.open("ab") as file:
        file.write(make_vote(ballot="torn").model_dump_json().encode()[:40])
    votes.add(make_vote(ballot="two"))
    ledger = votes.read()
    assert [one.ballot for one in ledger.votes] == ["one", "two"]
    assert ledger.damaged == 1


def test_deleting_takes_only_the_voters_own_and_leaves_nothing_of_them(
    votes: Votes, path: Path
) -> None:
    for number in range(3):
        votes.add(make_vote(ballot=f"mine-{number}"))
        votes.add(make_vote(ballot=f"yours-{number}", voter=YOU))
    votes.forget(ME)
    assert {one.voter for one in votes.read().votes} == {YOU}
    assert votes.read().damaged == 0
    assert "mine" not in path.read_text(encoding="utf-8")
    votes.add(make_vote(ballot="again"))
    assert [one.ballot for one in votes.read().votes][-1] == "again"


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
    ledger = Votes(path).read()
    assert len(ledger.votes) == 200
    assert ledger.damaged == 0


def test_two_processes_and_a_deletion_lose_no_vote(path: Path) -> None:
    Votes(path).add(make_vote(ballot="mine"))
    line = make_vote(ballot="NAME", voter=YOU).model_dump_json()
    script = _SCRIPT.format(path=str(path), line=line)
    processes = [subprocess.Popen([sys.executable, "-c", script, name]) for name in "ab"]
    while any(process.poll() is None for process in processes):
        Votes(path).forget(ME)
    ledger = Votes(path).read()
    assert [process.returncode for process in processes] == [0, 0]
    assert len(ledger.votes) == 60
    assert ledger.damaged == 0


_SCRIPT = """
import sys
from rag_nodes.workspace.votes import Vote, Votes
for number in range(30):
    line = {line!r}.replace("NAME", f"{{sys.argv[1]}}-{{number}}")
    Votes({path!r}).add(Vote.model_validate_json(line))
"""


def test_one_more_vote_reads_nothing_again_until_somebody_else_writes(
    votes: Votes, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    votes.add(make_vote(ballot="first"))
    votes.read()
    with monkeypatch.context() as patch:
        patch.delattr("pathlib.Path.read_bytes")
        votes.add(make_vote(ballot="second"))
        votes.add(make_vote(ballot="first", winners=None))
        assert [one.ballot for one in votes.read().votes] == ["second"]
        assert votes.read() is votes.read()
    Votes(path).add(make_vote(ballot="theirs"))
    votes.add(make_vote(ballot="third"))
    assert [one.ballot for one in votes.read().votes] == ["second", "theirs", "third"]
    Votes(path).forget(ME)
    path.touch()
    assert votes.read() == Votes(path).read() == ((), 0)


def test_a_file_that_was_taken_away_holds_no_votes(votes: Votes, path: Path) -> None:
    votes.add(make_vote())
    assert len(votes.read().votes) == 1
    path.unlink()
    assert votes.read() == ((), 0)


def test_a_place_that_cannot_be_written_is_an_error_with_the_remedy(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    votes = Votes(blocked / "votes.jsonl")
    with pytest.raises(StoreError, match="RAG_NODES_VOTES"):
        votes.add(make_vote())
    with pytest.raises(StoreError, match="cannot be read"):
        votes.read()
    with pytest.raises(StoreError, match="delete the file"):
        votes.forget(ME)


def test_a_full_file_takes_no_more(
    votes: Votes, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    votes.add(make_vote())
    monkeypatch.setattr(module, "MOST_BYTES", path.stat().st_size + 10)
    with pytest.raises(StoreError, match="full"):
        votes.add(make_vote(ballot="b2"))
    assert len(votes.read().votes) == 1


def test_a_winner_that_did_not_take_part_is_no_vote() -> None:
    with pytest.raises(ValidationError, match="did not take part"):
        make_vote(winners=("semantic",))


def test_what_stands_for_a_voter_does_not_give_the_secret_away() -> None:
    assert voter_of("0123456789abcdef" * 2) not in "0123456789abcdef" * 2
