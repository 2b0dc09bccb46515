"""Answers that were paid for outlive a crash and each other's processes."""

from pathlib import Path

import pytest
from kept_texts import texts_in

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.models.kept import KeptAnswers


def test_an_answer_that_was_added_before_is_found_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "paid.sqlite"
    assert KeptAnswers(path).get("m", "a") is None
    KeptAnswers(path).add("m", "a", "Größe \u2028 \ud800 one")
    kept = KeptAnswers(path)
    kept.add("m", "b", "two")
    assert [kept.get("m", "a"), kept.get("m", "b")] == ["Größe \u2028 \ud800 one", "two"]
    assert kept.get("other", "a") is None


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_paid_for(
    tmp_path: Path,
) -> None:
    damaged = tmp_path / "paid.sqlite"
    damaged.write_bytes(b"no database " * 100)
    for path in (tmp_path / "nowhere" / "paid.sqlite", damaged):
        with pytest.raises(ConfigurationError, match=r"paid\.sqlite: cannot save the answers"):
            KeptAnswers(path)


def test_two_users_of_one_file_find_what_the_other_wrote(tmp_path: Path) -> None:
    path = tmp_path / "w.sqlite"
    first, two = KeptAnswers(path), KeptAnswers(path)
    for kept, name in zip((first, two, first, two), "abcd", strict=True):
        kept.add("m", name, f"about {name}")
    for kept in (first, two):
        assert [kept.get("m", name) for name in "abcd"] == [f"about {name}" for name in "abcd"]
    assert texts_in(path) == 4
