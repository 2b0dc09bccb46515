"""`rag-nodes questions review`: drafts decided one at a time, by keys that are piped in."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Command, Ended

TEXT = "# Users\n\n" + "\n\n".join(
    f"## {verb} users\n\nThis is how users are {verb.lower()} by the office. It takes {days} days."
    f"\n\nMore is said of {verb.lower()} here, and who pays for all of it."
    for verb, days in (("Deleting", 3), ("Adding", 5), ("Blocking", 7))
)


@pytest.fixture
def review(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[Ended, list[dict[str, Any]]]]:
    """Reviews drafts about a document with some lines that are typed."""
    document, drafts = tmp_path / "users.md", tmp_path / "drafts.json"
    document.write_text(TEXT, "utf-8")
    assert command("questions", "draft", document, "--output", drafts).code == 0

    def reviewed(*typed: str, file: Path = drafts) -> tuple[Ended, list[dict[str, Any]]]:
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in typed)))
        ended = command("questions", "review", file, document)
        return ended, json.loads(file.read_text("utf-8"))["questions"] if file.exists() else []

    return reviewed


def test_a_draft_is_accepted_reworded_or_thrown_out_and_each_is_written_at_once(
    review: Callable[..., tuple[Ended, list[dict[str, Any]]]],
) -> None:
    ended, questions = review("a", "r", "How long does a block last?")
    assert ended.code == 0, ended.stderr
    assert "How do I delete users?" in ended.stderr
    assert "  > This is how users are deleting by the office." in ended.stderr
    assert [(one["question"], one.get("draft")) for one in questions] == [
        ("How do I delete users?", None),
        ("How long does a block last?", None),
    ]
    assert "2 questions accepted, 0 drafts left" in ended.stderr


def test_the_answer_is_made_shorter_and_longer_by_a_key(
    review: Callable[..., tuple[Ended, list[dict[str, Any]]]],
) -> None:
    quotes = []
    for keys in (("s",), ("s",), ("l", "l")):
        _, (first, *_) = review(*keys)
        quotes.append(first["gold"][0]["text"])
    sentence, paragraph = "This is how users are deleting by the office.", " It takes 3 days."
    assert quotes[:2] == [sentence + paragraph, sentence]
    assert quotes[2].endswith("who pays for all of it.")


def test_what_was_thrown_out_comes_back_and_another_question_is_asked_of_a_passage(
    review: Callable[..., tuple[Ended, list[dict[str, Any]]]],
) -> None:
    _, questions = review("r", "z", "q", "How many days does deleting take?", "e", "", "n", "x")
    assert [one["question"] for one in questions] == [
        "How many days does deleting take?", "How do I add users?", "How do I block users?"
    ]  # fmt: skip
    assert [one.get("draft") for one in questions] == [None, True, True]


def test_without_drafts_a_person_is_led_through_the_parts_until_each_has_an_answer(
    review: Callable[..., tuple[Ended, list[dict[str, Any]]]], tmp_path: Path
) -> None:
    typed = ["Who deletes?", "a", "Who blocks?", "Who adds?"]
    ended, questions = review(*typed, file=tmp_path / "new.json")
    assert ended.code == 0, ended.stderr
    assert "Type the question that this answers" in ended.stderr
    assert "Every part of the documents has an answer." in ended.stderr
    assert sorted(one["question"] for one in questions) == [
        "Who adds?",
        "Who blocks?",
        "Who deletes?",
    ]
    assert not any(one.get("draft") for one in questions)


def test_after_ten_answers_it_is_said_what_they_can_decide(
    review: Callable[..., tuple[Ended, list[dict[str, Any]]]], tmp_path: Path
) -> None:
    row = {"gold": [{"text": "It takes 3 days."}]}
    rows = [
        {"id": f"q{n}", "question": f"How long, {n}?", **row, "draft": n > 8} for n in range(11)
    ]
    path = tmp_path / "many.json"
    path.write_text(json.dumps(rows), "utf-8")
    ended, _ = review("a", file=path)
    assert "10 answers can show a lead between two settings of 60 points or more" in ended.stderr


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("q.csv", "question,quote\nHow long?,It takes 3 days.\n"),
        ("q.json", '[{"question": "How long?", "gold": "Nobody said anything of the sort"}]'),
    ],
)
def test_a_file_that_would_lose_something_is_written_to_another_though_nothing_is_decided(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: str
) -> None:
    (tmp_path / name).write_text(content, "utf-8")
    (tmp_path / "users.md").write_text(TEXT, "utf-8")
    asked = ("questions", "review", tmp_path / name, tmp_path / "users.md")
    ended = command(*asked)
    assert ended.code == 2
    assert "--output" in ended.stderr
    monkeypatch.setattr("sys.stdin", io.StringIO("x\n"))
    assert command(*asked, "--output", tmp_path / "ours.json").code == 0
    kept = tmp_path / "ours.json"
    assert not kept.exists() or json.loads(kept.read_text("utf-8"))["questions"]
    assert kept.exists() == (name == "q.csv"), "an answer without a place has none in our JSON"
    assert (tmp_path / name).read_text("utf-8") == content
