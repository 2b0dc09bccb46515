"""Text from documents on its way to a terminal, and the progress shown there."""

import io
import json
from types import SimpleNamespace

import pytest
import typer
from rich.console import Console
from terminals import shown_text, terminal

from rag_nodes.cli.invocation import Invocation, to_json
from rag_nodes.cli.progress import Watch, words_of
from rag_nodes.cli.views.text import (
    clean,
    ending,
    one_line,
    pages,
    plain,
    seconds,
    shortened,
    table,
)
from rag_nodes.core.settings import Settings
from rag_nodes.core.spelling import command
from rag_nodes.embedding import Progress
from rag_nodes.evaluation.plan import Step as Measuring
from rag_nodes.operations.crawl import DocsStep
from rag_nodes.operations.measuring import EvaluateRequest
from rag_nodes.operations.run import Doing, Said
from rag_nodes.store.copying import CopyStep

HOSTILE = [
    "\x1b[31mred\x1b[0m",
    "\x1b[2J\x1b[H wiped",
    "\x1b]0;new title\x07after",
    "\x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\",
    "\x1b]52;c;Y2xpcGJvYXJk\x07",
    "\x9b31mred by C1",
    "\x9d0;title\x9cafter",
    "\x1bP1$r0m\x1b\\",
    "\x1bcreset",
    "back\x08\x08space",
    "bell\x07",
    "\x1b[unfinished",
    "\x1b]never ended",
    "over\rwritten",
    "right \u202eot tfel\u202c and \u2066isolated\u2069",
    "nul\x00",
    "\x7fdelete",
    "page\x0cbreak",
    "\x1b\x1b[31m[1mnested",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_a_terminal_acts_on_is_left(text: str) -> None:
    cleaned = clean(text)
    assert all(character >= " " or character in "\n\t" for character in cleaned)
    assert not any("\x7f" <= character <= "\x9f" for character in cleaned)
    assert not any(character in cleaned for character in "\u202a\u202e\u2066\u2069")


@pytest.mark.parametrize(
    "text",
    ["plain", "a\tb\nc", "naïve 東京 กรุงเทพ", "👩‍👩‍👧 e\u0301", "[bold]no markup[/bold]", "[0m]"],
)
def test_harmless_text_is_left_alone(text: str) -> None:
    assert clean(text) == text


def test_the_text_around_an_escape_survives() -> None:
    assert clean("a\x1b[31mb\x1b[0mc\x1b]0;title\x07d") == "abcd"
    assert clean("one\r\ntwo\u2028three") == "one\ntwo\nthree"


@pytest.mark.parametrize(
    "text", ["[red]x[/red]", "[/nothing]", ":smile:", "[link=http://e]x[/link]"]
)
def test_markup_in_text_is_shown_as_it_is(text: str) -> None:
    stream = io.StringIO()
    Console(file=stream, force_terminal=True, width=80).print(plain(text))
    assert text in stream.getvalue()


@pytest.mark.parametrize("text", [*HOSTILE, "lone \ud800 surrogate"])
def test_json_is_safe_to_look_at_and_keeps_the_text(text: str) -> None:
    written = to_json({"text": text})
    assert json.loads(written) == {"text": text}
    assert clean(written) == written
    assert written.encode()


def test_short_forms_for_people() -> None:
    assert [pages(None, None), pages(3, 3), pages(3, 5)] == ["", "p. 3", "pp. 3-5"]
    assert [seconds(None), seconds(0.0123), seconds(12.34)] == ["-", "12 ms", "12.3 s"]
    assert one_line(" a\n\n b ") == "a b"
    assert shortened("abcdefgh", 5) == "abcd…"
    assert ending("abcdefgh", 5) == "…efgh"
    assert shortened("abc", 5) == ending("abc", 5) == "abc"


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def printed_lines(*steps: object, seconds: float = 0.0) -> list[str]:
    """The lines on stderr where there is no terminal, so many seconds between two steps."""
    stream, clock = io.StringIO(), Clock()
    with Watch(Invocation(errors=Console(file=stream, width=200)), clock) as watch:
        for step in steps:
            clock.now += seconds
            watch(step)
    return stream.getvalue().splitlines()


def test_off_a_terminal_progress_is_a_line_now_and_then() -> None:
    steps = (Progress("embed", "heading", done, 9) for done in range(1, 10))
    assert printed_lines(*steps, seconds=1) == [
        "heading: embedding, 1/9 chunks",
        "heading: embedding, 6/9 chunks",
    ]


def test_the_last_file_and_the_last_chunk_are_always_reported() -> None:
    assert printed_lines(
        Doing("Reading"),
        Progress("read", "a.md", 1, 2),
        Progress("read", "b\x1b[31m.md", 2, 2),
        Progress("store", "fixed", 200, 1400),
        Progress("store", "fixed", 400, 1400),
        Progress("store", "fixed", 1400, 1400),
        Said("done"),
    ) == [
        "Reading",
        "documents: read a.md (1/2)",
        "documents: read b.md (2/2)",
        "fixed: storing, 200/1,400 chunks",
        "fixed: storing, 1,400/1,400 chunks",
        "done",
    ]


def test_all_progress_is_reported_by_one_rule() -> None:
    reported = [words_of(step)[:2] for step in (
        DocsStep("pages", "https://docs.example/a", 3),
        DocsStep("summaries", "a-model", 2, 7),
        CopyStep("manuals.fixed", 500, 800),
        Measuring("ask", "heading", 30, 90, 61.0),
    )]  # fmt: skip
    assert reported == [
        ("pages", "split https://docs.example/a (3)"),
        ("summaries", "summarised by a-model (2/7)"),
        ("manuals.fixed", "copying, 500/800 points"),
        ("questions", "asking heading (30/90 searches, about 1 min 1 s left)"),
    ]


def test_progress_says_when_it_will_be_done_and_what_it_has_cost() -> None:
    steps = [
        Progress("read", "a.md", 30, 120, seconds_left=3725.0),
        Progress("embed", "fixed", 3, 4, tokens=120_000, cost=0.0024),
        Progress("store", "fixed", 3, 4, tokens=1, cost=None),
    ]
    assert [words_of(step)[1] for step in steps] == [
        "read a.md (30/120, about 1 h 2 min left)",
        "embedding, 3/4 chunks, 120,000 tokens, $0.0024",
        "storing, 3/4 chunks, 1 token, price unknown",
    ]


def test_on_a_terminal_bars_follow_the_steps_and_leave_nothing_behind() -> None:
    stream = io.StringIO()
    with Watch(Invocation(errors=Console(file=stream, force_terminal=True, width=100))) as watch:
        watch(Doing("Loading"))
        watch(Progress("read", "a.md", 1, 1))
        watch(Progress("embed", "fixed", 3, 4))
    shown = stream.getvalue()
    assert "embedding, 3/4 chunks" in shown
    assert shown.endswith("\x1b[2K")


def test_quiet_shows_no_progress_and_warnings_all_the_same(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Watch(Invocation(quiet=True)) as watch:
        for event in (Doing("working"), Progress("read", "a.md", 1, 1), Said("done")):
            watch(event)
        watch(Said("not all", "warning"))
    assert capsys.readouterr() == ("", "not all\n")


def test_commands_in_messages_act_on_the_store_that_was_typed_and_tell_no_password() -> None:
    typed = Invocation(
        flags={"store": "https://me:secret@server:6333/a", "ledger": "my ledger.sqlite"}
    )
    message = f"see {command('list --state failed', 'my docs')}, or write one with `rag-nodes docs`"
    assert typed.with_store(message) == (
        "see `rag-nodes list --state failed --corpus 'my docs' --store https://server:6333/a "
        "--ledger 'my ledger.sqlite'`, or write one with `rag-nodes docs`"
    )
    assert Invocation().with_store(message) == message


def test_commands_in_what_is_shown_act_on_the_store_that_was_typed() -> None:
    cli = Invocation(flags={"store": "my store"})
    message = "delete it with `rag-nodes clear --yes`"
    with_store = "delete it with `rag-nodes clear --yes --store 'my store'`"
    assert cli.completed({"findings": [{"remedy": message}], "wrong": 1}) == {
        "findings": [{"remedy": with_store}],
        "wrong": 1,
    }
    assert cli.completed(plain(message)).plain == with_store


def test_columns_move_together_before_a_table_becomes_blocks() -> None:
    columns = [(f"at {n}", lambda row: row) for n in range(7)]
    for width, lines in ((55, 3), (54, 3), (49, 3), (48, 7)):
        console = terminal(width)
        console.print(table([1000], columns))
        assert len(shown_text(console).strip().splitlines()) == lines
        assert shown_text(console).count("1,000") == len(columns)


def test_a_table_that_is_too_wide_for_its_terminal_loses_no_name_and_no_digit() -> None:
    rows = [("token-overlap at equal size", 1000, "66-89"), ("fixed", 980, "70-91")]
    columns = {
        "Column": lambda row: row[0],
        "read": lambda row: row[1],
        "95 %": lambda row: row[2],
    }
    wide, narrow = (terminal(width) for width in (60, 24))
    for console in (wide, narrow):
        console.print(table(rows, columns, right=["95 %"]))
    assert len(shown_text(wide).strip().splitlines()) == 4
    words = shown_text(narrow).split()
    assert " ".join(words[:9]) == "token-overlap at equal size read 1,000 95 % 66-89"
    assert words[-6:] == ["fixed", "read", "980", "95", "%", "70-91"]
    assert max(map(len, shown_text(narrow).splitlines())) <= 24


def test_hints_stand_below_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """The terminal shows both streams, in the order in which they are written."""

    def view(_: object, __: object, cli: Invocation) -> list[str]:
        cli.hints.append("To use it: --export FILE.py")
        return ["Take recursive."]

    monkeypatch.setattr("rag_nodes.cli.views.evaluation.measured_view", view)
    operation = SimpleNamespace(
        name="evaluate", interrupted="",
        function=lambda *_: SimpleNamespace(outcome=0),
    )  # fmt: skip
    screen = io.StringIO()
    console = Console(file=screen, width=100)
    cli = Invocation(output=console, errors=console)
    with pytest.raises(typer.Exit):
        cli.perform(operation, EvaluateRequest(), Settings(), {})  # type: ignore[arg-type]
    assert screen.getvalue().splitlines() == ["Take recursive.", "To use it: --export FILE.py"]
