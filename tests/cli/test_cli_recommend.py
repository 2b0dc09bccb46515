"""`rag-nodes recommend`, as it is typed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Ended

CORPUS = Path(__file__).parents[2] / "examples" / "corpus"
FERRY, QUESTIONS = CORPUS / "ferry.pdf", CORPUS / "ferry_questions.csv"
QUICK = ("--sizes", "100,800", "--overlaps", "0", "--mode", "sparse", "-q")


def test_the_shipped_manual_is_told_to_be_cut_small_with_reasons(
    command: Callable[..., Ended], tmp_path: Path
) -> None:
    run = tmp_path / "run.json"
    ended = command(
        "recommend", FERRY, "--questions", QUESTIONS, "-p", "recursive", *QUICK, "--output", run
    )
    assert ended.code == 0, ended.stderr
    assert "Take recursive 100: it finds" in ended.stdout
    assert "is not shown to be worse" in ended.stdout
    assert "46 questions about one document" in ended.stdout
    found = json.loads(run.read_text("utf-8"))
    assert found["chosen"] == "recursive 100"
    assert [one["name"] for one in found["trials"]] == [
        "recursive 200", "recursive 100", "recursive 800",
    ]  # fmt: skip


def test_without_questions_drafts_choose_nothing_and_say_so(command: Callable[..., Ended]) -> None:
    ended = command("recommend", FERRY, "--drafts", "40", "-p", "recursive", *QUICK, "--json")
    assert ended.code == 0, ended.stderr
    assert "were drafted from the documents" in ended.stderr
    assert (ended.json["told"], ended.json["chosen"]) == (False, "recursive 200")
    assert ended.json["dataset"]["drafts"] == ended.json["dataset"]["questions"] > 20
    assert ended.json["verdict"][0].startswith("The data cannot tell: ")


def test_sizes_have_to_be_named(command: Callable[..., Ended]) -> None:
    ended = command("recommend", FERRY, "--sizes", "0")
    assert ended.code == 2
    assert "--budget and --sizes" in ended.stderr


def test_nothing_to_ask_about_is_refused(command: Callable[..., Ended]) -> None:
    ended = command("recommend")
    assert ended.code == 2
    assert "name documents" in ended.stderr
