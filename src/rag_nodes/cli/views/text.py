"""Untrusted text to text a terminal shows and never obeys; small pieces every view shares."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from rich import box
from rich.cells import cell_len
from rich.table import Column as TableColumn
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult

Column: TypeAlias = str | Callable[[Any], object]
"""Content of a column of a table."""
_KILO = 1000
"""Bytes of a kilobyte, and so on for larger units."""
_LEAST_NAME = 12
"""Characters in which a part of a name can be read."""
MOST_PARSERS = 4
"""Parsers up to which a cell has a number of each."""
COLOURS = ("cyan", "magenta", "green", "yellow", "blue", "red")
"""One per parser, in the order they are shown; titles carry the meaning, colour only helps."""

_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # control sequences: colours, cursor, screen
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # titles, links
    r"|\x1b[ -/]*[0-~]?"
)
_LINE_ENDS = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_INVISIBLE = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff]")
"""Control characters, and marks that make a line read in another order than it is written."""


def clean(text: str) -> str:
    """The text without anything a terminal would act on; lines and tabs stay."""
    if text.isprintable():  # as names are, thousands of which are shown
        return text
    return _INVISIBLE.sub("", _LINE_ENDS.sub("\n", _ESCAPES.sub("", text)))


def one_line(text: str) -> str:
    """The text on one line, blanks collapsed."""
    return " ".join(clean(text).split())


def shortened(text: str, width: int) -> str:
    """The text on one line of at most `width` characters."""
    line = one_line(text[: 20 * width])
    return line if len(line) <= width else line[: max(1, width - 1)].rstrip() + "…"


def ending(text: str, width: int) -> str:
    """The end of the text on one line of at most `width` characters: paths tell most there."""
    line = one_line(text)
    return line if len(line) <= width else "…" + line[1 - width :].lstrip()


def plain(text: object, style: str = "") -> Text:
    """Text that is shown as it is: no markup, no control characters."""
    return Text(clean(str(text)), style=style)


def pages(first: int | None, last: int | None) -> str:
    """`p. 3`, `pp. 3-4`, or nothing where the format has no pages."""
    if first is None:
        return ""
    return f"p. {first}" if last in (None, first) else f"pp. {first}-{last}"


def heading(path: Iterable[str]) -> str:
    """`A > B`."""
    return " > ".join(one_line(str(part)) for part in path)


def seconds(value: float | None) -> str:
    """A duration as people read it."""
    if value is None:
        return "-"
    return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.1f} s"


def facts(rows: Iterable[tuple[str, RenderableType]]) -> Table:
    """Labels and values below each other; what is "" is left out."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for label, value in rows:
        if value:
            grid.add_row(label, value if not isinstance(value, str) else plain(value))
    return grid


class FittingTable(Table):
    """A table that is a block for each row where its columns do not fit beside each other.

    Rich would drop names and truncate numbers, which then say something else.
    """

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The table, or the blocks."""
        room = options.max_width - sum(map(_least, self.columns)) - 2  # at both edges
        gaps = len(self.columns) - 1
        if room < 3 * gaps:
            self.padding = (0, 1, 0, 0)  # closer together
        if room >= 2 * gaps:
            yield from super().__rich_console__(console, options)
            return
        names = [" ".join(str(column.header).split()) for column in self.columns]
        for first, *others in zip(*(column.cells for column in self.columns), strict=True):
            yield Text.assemble("\n", cast("Text", first), style="bold")
            yield facts((f"  {name}", value) for name, value in zip(names[1:], others, strict=True))
        yield Text("")  # as below a table


def _least(column: TableColumn) -> int:
    """Characters below which a column says too little, or the wrong thing."""
    lines = "\n".join([str(column.header), *map(str, column.cells)]).splitlines()
    longest = max(map(cell_len, lines))
    return longest if column.no_wrap else max(column.min_width or 0, min(longest, _LEAST_NAME))


def table(
    rows: Iterable[object],
    columns: Mapping[str, Column] | Sequence[tuple[str, Column]],
    *,
    right: Sequence[str] = (),
) -> Table:
    """A row for each thing, in the style all views share; numbers stand on the right.

    Args:
        rows: the things.
        columns: by heading the name of an attribute, as `chunks` or `seconds.parse`, or what makes
            the value of a thing. None is shown as "-", whole numbers with commas, seconds and
            times (`..._at`) as people read them; everything but a `Text` on one line and without
            what a terminal would act on. Pairs, where two headings may be equal.
        right: further headings whose values are numbers.
    """
    pairs = [*(columns.items() if isinstance(columns, Mapping) else columns)]
    value_rows = [[_value(row, what) for _, what in pairs] for row in rows]
    grid = FittingTable(
        box=box.SIMPLE_HEAD, header_style="bold", border_style="dim", pad_edge=False
    )
    for place, (name, what) in enumerate(pairs):
        numeric = name in right or (
            not _is_moment(what)
            and all(isinstance(row[place], float | int | None) for row in value_rows)
        )
        grid.add_column(
            name, justify="right" if numeric else "left", no_wrap=numeric, overflow="fold"
        )
    for row in value_rows:
        grid.add_row(*(_cell(what, value) for (_, what), value in zip(pairs, row, strict=True)))
    return grid


def _value(row: Any, what: Column) -> Any:
    if callable(what):
        return what(row)
    for name in what.split("."):
        row = row.get(name) if isinstance(row, Mapping) else getattr(row, name)
    return row


def _is_moment(what: Column) -> bool:
    return isinstance(what, str) and what.endswith("_at")


def _cell(what: Column, value: Any) -> Text:
    if isinstance(value, Text):
        return value
    name = what if isinstance(what, str) else ""
    if value is not None and name.partition(".")[0] == "seconds":
        return Text(seconds(value))
    if value is not None and _is_moment(what):
        return Text(moment(value))
    if value is None:
        return Text("-")
    return Text(f"{value:,}") if type(value) is int else plain(one_line(str(value)))


def by_parser(numbers: Iterable[tuple[int, int]]) -> str | None:
    """Return how many of how many, for each parser; for more than `MOST_PARSERS` the sums."""
    pairs = [*numbers]
    if len(pairs) > MOST_PARSERS:  # a long cell leaves no place for the names beside it
        pairs = [(sum(stored), sum(due)) for stored, due in [zip(*pairs, strict=True)]]
    each = (
        f"{number:,} of {due:,}" if number < due else f"{number:,}" if number else "-"
        for number, due in pairs
    )
    return " · ".join(each) or None


def near(place: str) -> str:
    """A path below the folder where one is, as one would type it; everything else as it is."""
    with suppress(ValueError, OSError):
        return str(Path(place).relative_to(Path.cwd()))
    return place


def moment(time: float | None) -> str:
    """A time as people of this place read it; "-" where it is not known."""
    if time is None:
        return "-"
    return datetime.fromtimestamp(time, tz=UTC).astimezone().strftime("%Y-%m-%d %H:%M")


def since(time: float | None) -> str:
    """Return ", since" and the time; "" if it is not known."""
    return "" if time is None else f", since {moment(time)}"


def size_of(size: float | None) -> str:
    """Bytes as people read them."""
    if size is None:
        return "-"
    for unit in ("bytes", "KB", "MB"):
        if size < _KILO:
            return f"{size:,.0f} {unit}"
        size /= _KILO
    return f"{size:,.1f} GB"


def configuration(options: dict[str, Any]) -> str:
    """A parser's options that decide where it splits, as `chunk_size 500 · unit tokens`."""
    hidden = {
        "class",
        "fingerprint",
        "digest",
        "path",
        "tokenizer",
        "language",
        "include_metadata",
        "include_prev_next_rel",
        "window",
        "class_name",
        "output_version",
        "candidate_versions",
    }
    return " · ".join(
        f"{name} {_option(value)}"
        for name, value in options.items()
        if not (name in hidden or value is None)
    )


def _option(value: Any) -> str:
    """An option's value; the options of a level as `chunk_size 250, chunk_overlap 0`."""
    if not isinstance(value, dict):
        return str(value)
    return ", ".join(f"{name} {_option(inner)}".rstrip() for name, inner in value.items())


def nothing(*_: object) -> tuple[()]:
    """Show nothing: the command has shown everything while it ran."""
    return ()
