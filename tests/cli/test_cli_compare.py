"""`rag-nodes compare`: modes, filters, retrieval alone, and columns that grow on a terminal."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from rich.console import Console
from rich.text import Text
from terminals import shown

from rag_nodes.cli.failures import ExitCode
from rag_nodes.cli.views.comparison import growing_view
from rag_nodes.errors import ModelConnectionError, ModelResponseError
from rag_nodes.query import RagNodesQueryEngine

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from conftest import Ended

HANDBOOK = Path(__file__).parents[2] / "examples" / "corpus" / "handbook.pdf"
QUESTION = "How many litres does the tank hold?"
SAND = "When must the sand filter be rinsed backwards?"
TWO = ("-p", "fixed", "-p", "heading")


def broken(error: Exception, parsers: set[str]) -> Callable[..., Generator[object]]:
    """An engine's `stream` that fails for some parsers."""
    stream = RagNodesQueryEngine.stream

    def failing(
        engine: RagNodesQueryEngine, *arguments: object, **options: object
    ) -> Generator[object]:
        if engine.parser_name in parsers:
            raise error
        return stream(engine, *arguments, **options)  # type: ignore[arg-type]

    return failing


def test_mode_and_filter_hold_for_every_column(command: Callable[..., Ended]) -> None:
    options = ("--mode", "sparse", "--filter", "page=3", "--json", "-q")
    columns = command("compare", HANDBOOK, "-a", QUESTION, *TWO, *options).json["columns"]
    for column in columns:
        hits = column["answer"]["hits"]
        assert hits
        assert all(hit["similarity"] is None for hit in hits)
        assert all(hit["metadata"]["page_start"] <= 3 for hit in hits)
        assert all(hit["metadata"]["page_end"] >= 3 for hit in hits)


def test_columns_are_given_one_size_where_that_is_asked_for(command: Callable[..., Ended]) -> None:
    ended = command("compare", HANDBOOK, "-a", SAND, *TWO, "--equal-size", "90", "--json", "-q")
    assert ended.json["equal_size"] == 90
    for column in ended.json["columns"]:
        assert column["statistics"]["mean_tokens"] == pytest.approx(90, rel=0.1)


def test_a_column_that_cannot_have_the_size_says_so(command: Callable[..., Ended]) -> None:
    ended = command("compare", HANDBOOK, "-a", SAND, "-p", "sentence-window", "--equal-size", "90")
    assert ended.code == 0
    assert "sentence-window: sizing" in ended.stderr
    assert "not 90 tokens on average: it keeps its own size" in ended.stdout


def test_retrieval_only_leaves_answers_and_sources_out(command: Callable[..., Ended]) -> None:
    ended = command("compare", HANDBOOK, "-a", SAND, *TWO, "--retrieval-only")
    assert ended.code == 0
    assert ended.stdout.count("retrieval only") == 2
    assert "Sources" not in ended.stdout
    assert "similarity" in ended.stdout


def test_a_filter_that_makes_no_sense_is_refused_before_anything_is_read(
    command: Callable[..., Ended], manual: Path
) -> None:
    ended = command("compare", manual, "-a", QUESTION, "--filter", "page=few")
    assert (ended.code, ended.stdout) == (ExitCode.USAGE, "")
    assert "page=3-9" in ended.stderr


def test_off_a_terminal_nothing_moves(command: Callable[..., Ended], manual: Path) -> None:
    ended = command("compare", manual, "-a", QUESTION, *TWO)
    assert not {"\r", "\x1b", "\x08"} & set(ended.stdout + ended.stderr)


def test_on_a_terminal_the_complete_view_follows_the_growing_one(
    command: Callable[..., Ended], manual: Path, on_terminal: Console
) -> None:
    assert command("compare", manual, "-a", QUESTION, *TWO).code == 0
    final = shown(on_terminal).rpartition("Sources")[0]
    assert final.count("nine litres") >= 2
    assert "Heading hierarchy" in final


def test_on_a_terminal_a_parser_that_fails_leaves_the_others_alone(
    command: Callable[..., Ended],
    manual: Path,
    on_terminal: Console,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    failing = broken(ModelResponseError("the stream was cut"), {"fixed"})
    monkeypatch.setattr(RagNodesQueryEngine, "stream", failing)
    ended = command("compare", manual, "-a", QUESTION, *TWO)
    assert ended.code == ExitCode.PARTIAL
    assert "the stream was cut" in shown(on_terminal)
    assert "nine litres" in shown(on_terminal)
    assert "Failed: 1 of 2 parsers" in ended.stderr


def test_on_a_terminal_what_fails_all_parsers_alike_decides_the_exit_code(
    command: Callable[..., Ended],
    manual: Path,
    on_terminal: Console,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    failing = broken(ModelConnectionError("no server; start it"), {"fixed", "heading"})
    monkeypatch.setattr(RagNodesQueryEngine, "stream", failing)
    ended = command("compare", manual, "-a", QUESTION, *TWO)
    assert ended.code == ExitCode.UNAVAILABLE
    assert ended.stderr.count("no server; start it") == 1
    assert "Sources" not in shown(on_terminal)


@pytest.mark.parametrize(("width", "side_by_side"), [(120, True), (60, False)])
def test_growing_columns_stand_side_by_side_where_there_is_room(
    width: int, side_by_side: bool
) -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=width, color_system=None)
    console.print(growing_view({"left": Text("one"), "right": Text("two")}, console))
    together = [line for line in shown(console).splitlines() if "left" in line and "right" in line]
    assert bool(together) is side_by_side
