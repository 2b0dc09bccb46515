"""Texts that were paid for outlive a crash, a damaged line and each other's processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rag_nodes.errors import ConfigurationError
from rag_nodes.transforms import PromptKey, TextJournal

if TYPE_CHECKING:
    from pathlib import Path


def test_a_torn_last_line_is_left_out_and_the_rest_kept(tmp_path: Path) -> None:
    path = tmp_path / "paid.jsonl"
    first, second = PromptKey.of("m", "a"), PromptKey.of("m", "b")
    journal = TextJournal(path)
    journal.add(first, "Größe \u2028 one")
    whole = path.read_bytes()
    path.write_bytes(whole + whole[: len(whole) // 2])
    journal = TextJournal(path)
    journal.add(second, "two")
    journal = TextJournal(path)
    assert journal.get(first) == "Größe \u2028 one"
    assert journal.get(second) == "two"
    assert journal.get(PromptKey.of("m", "c")) is None


@pytest.mark.parametrize("damage", [b"garbage\n", b"[]\n", b'{"model": "a"}\n', b"\xff\n"])
def test_a_damaged_line_costs_only_itself(damage: bytes, tmp_path: Path) -> None:
    path = tmp_path / "paid.jsonl"
    keys = [PromptKey.of("m", name) for name in "ab"]
    journal = TextJournal(path)
    for key, text in zip(keys, "ab", strict=True):
        journal.add(key, text)
    first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + damage + second)
    journal = TextJournal(path)
    assert [journal.get(key) for key in keys] == ["a", "b"]


def test_a_journal_in_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be kept here"):
        TextJournal(tmp_path / "nowhere" / "paid.jsonl")


def test_two_processes_may_keep_what_they_were_told_in_one_file(tmp_path: Path) -> None:
    keys = [PromptKey.of("m", name) for name in "abcd"]
    one, two = TextJournal(tmp_path / "w.jsonl"), TextJournal(tmp_path / "w.jsonl")
    for journal, key, name in zip((one, two, one, two), keys, "abcd", strict=True):
        journal.add(key, f"about {name}")
    for journal in (one, two):
        assert [journal.get(key) for key in keys] == [f"about {name}" for name in "abcd"]
    both = TextJournal(tmp_path / "w.jsonl", frozen=True)
    both.add(PromptKey.of("m", "e"), "about e")
    assert [both.get(key) for key in keys] == [f"about {name}" for name in "abcd"]
    assert len((tmp_path / "w.jsonl").read_bytes().splitlines()) == 4
