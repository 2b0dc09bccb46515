"""Texts that were paid for outlive a crash and each other's processes."""

from pathlib import Path

import pytest
from kept_texts import texts_in

from rag_nodes.errors import ConfigurationError
from rag_nodes.transforms import PromptKey, TextJournal


def test_a_journal_finds_what_it_was_told_before_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "paid.sqlite"
    first, second = PromptKey.of("m", "a"), PromptKey.of("m", "b")
    assert TextJournal(path).get(first) is None
    TextJournal(path).add(first, "Größe \u2028 \ud800 one")
    journal = TextJournal(path)
    journal.add(second, "two")
    assert [journal.get(first), journal.get(second)] == ["Größe \u2028 \ud800 one", "two"]
    assert journal.get(PromptKey.of("other", "a")) is None
    assert journal.reused == 1, "one was there before"


def test_a_journal_that_cannot_be_kept_is_refused_before_anything_is_paid_for(
    tmp_path: Path,
) -> None:
    damaged = tmp_path / "paid.sqlite"
    damaged.write_bytes(b"no database " * 100)
    for path in (tmp_path / "nowhere" / "paid.sqlite", damaged):
        with pytest.raises(ConfigurationError, match=r"paid\.sqlite: .*cannot be kept here"):
            TextJournal(path)


def test_two_journals_of_one_file_find_what_the_other_wrote_and_a_frozen_one_adds_nothing(
    tmp_path: Path,
) -> None:
    path = tmp_path / "w.sqlite"
    keys = [PromptKey.of("m", name) for name in "abcd"]
    assert TextJournal(path, frozen=True).get(keys[0]) is None
    assert not path.exists()
    one, two = TextJournal(path), TextJournal(path)
    for journal, key, name in zip((one, two, one, two), keys, "abcd", strict=True):
        journal.add(key, f"about {name}")
    frozen = TextJournal(path, frozen=True)
    frozen.add(PromptKey.of("m", "e"), "about e")
    for journal in (one, two, frozen):
        assert [journal.get(key) for key in keys] == [f"about {name}" for name in "abcd"]
    assert texts_in(path) == 4
