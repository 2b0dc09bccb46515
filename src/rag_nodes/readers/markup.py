"""Plain lines, links, headings and tables of other formats as Markdown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

LONGEST_ADDRESS = 2000
"""Characters of a link's address; longer ones hold data, not an address."""

_FORBIDDEN = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_SAFE = frozenset({"http:", "https:", "mailto:", "ftp:", "tel:"})
_ENCODED = str.maketrans(
    {" ": "%20", "\xa0": "%20", "(": "%28", ")": "%29", "<": "%3C", ">": "%3E", "\\": "%5C"}
)
_BRACKET = re.compile(r"(?<!\\)(\\*)([\[\]]|$)")
"""A bracket, or the end, with the backslashes before it, which would escape it or our own."""
_BACKTICKS = re.compile(r"`+")
_BARE_BACKTICK = re.compile(r"(?<!\\)`")
_RULERS = "-*_=|:+ \t"
"""A line of nothing but these underlines a heading, parts a table or rules a page."""
_BLOCK_START = re.compile(
    r"""
    (?P<digits>\d{1,9})(?=[.)](?:[ \t]|$))   # 1986. A good year
    | (?=\#{1,6}(?:[ \t]|$))
    | (?=[-+*][ \t])
    | (?=>)
    | (?=```|~~~)
    | (?=<[A-Za-z/!?])                      # would open an HTML block
    | (?=\[[^\]\n]{1,999}\]:)               # would define a link or a footnote
    """,
    re.VERBOSE,
)


def plain_line(line: str) -> str:
    r"""Take a line for what it says: no blanks around it, and no Markdown block by accident.

    One backslash goes before whatever would start a heading, list, quote, fence, table rule,
    HTML block or link definition, the escape that every Markdown reader takes away again. A
    backtick without its partner is escaped, lest it makes code of all lines up to the next one.
    Other marks inside the line (`*`, `_`) change no structure and stay as they are: text that is
    embedded and quoted should hold as few signs of ours as possible.

    >>> from rag_nodes.readers.markup import plain_line
    >>> plain_line("  # 5 in the list")
    '\\# 5 in the list'
    >>> plain_line("1986. A good year.")
    '1986\\. A good year.'
    >>> plain_line("It was 1986.")
    'It was 1986.'
    """
    line = line.strip()
    if not line.strip(_RULERS):
        return "\\" + line if line else ""
    if _has_an_open_backtick(line):
        line = _BARE_BACKTICK.sub(r"\\`", line)
    match = _BLOCK_START.match(line)
    return f"{line[: match.end()]}\\{line[match.end() :]}" if match else line


def _has_an_open_backtick(line: str) -> bool:
    """Return True if a run of backticks has no run of the same length further on to close it."""
    runs = _BACKTICKS.findall(line)
    last = {run: position for position, run in enumerate(runs)}
    at = 0
    while at < len(runs):
        if last[runs[at]] == at:
            return True
        at = runs.index(runs[at], at + 1) + 1
    return False


def link(text: str, address: str | None) -> str:
    """Make a Markdown link, or leave it at the text where the address is none to be followed.

    A link that shows its own address stays plain text. An address may be of the web, of mail, of
    file transfer or a phone's, or relative to the document; anything else (`javascript:`, `data:`,
    `file:`) is dropped.
    """
    target = _FORBIDDEN.sub("", address or "").strip()
    scheme = _SCHEME.match(target)
    if scheme and scheme.group().lower() not in _SAFE:
        return text
    shown = text.strip()
    if not target or len(target) > LONGEST_ADDRESS or shown in {"", target}:
        return text
    before, after = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
    label = _BRACKET.sub(_escaped_bracket, " ".join(shown.split()))
    return f"{before}[{label}]({target.translate(_ENCODED)}){after}"


def _escaped_bracket(match: re.Match[str]) -> str:
    backslashes, bracket = match.groups()
    return f"{backslashes * 2}\\{bracket}" if bracket else backslashes * 2


def heading(level: int, line: str) -> str:
    """Write a line as a heading; hashes at its end would be taken for marks."""
    bare = line.rstrip("#")
    if bare != line and (not bare or bare[-1] == " "):
        line = f"{bare}\\{line[len(bare) :]}"
    return f"{'#' * level} {line}"


def table_cell(text: str) -> str:
    """Fit text into a cell of a Markdown table: one line, every pipe escaped."""
    lines = (line.strip() for line in text.replace("|", "\\|").splitlines())
    return "<br>".join(line for line in lines if line)


def markdown_table(rows: Sequence[list[str]], *, part: int = 0) -> str:
    """Write rows of `table_cell` texts as a Markdown table; the first becomes its header.

    Rows and columns without any text are left out. Rows that are too short stay so, which Markdown
    fills up: a table as wide as its widest row and as long as it is long would let a small file
    grow without bounds. Of a longer table all columns of a `part` stay, counted from 1, and further
    parts have no header.
    """
    used = sorted({at for row in rows for at, cell in enumerate(row) if cell or part})
    if not used:
        return ""
    kept = [[row[at] for at in used if at < len(row)] for row in rows if any(row)]
    if part > 1:
        return "\n".join(map(_line, kept))
    head, *body = kept
    head += [""] * (len(used) - len(head))
    return "\n".join(map(_line, [head, ["---"] * len(used), *body]))


def flat_table(rows: Sequence[list[str]]) -> str:
    """Write rows as text, for a table within a cell: commas part cells, semicolons rows."""
    lines = (", ".join(filter(None, row)) for row in rows)
    return "; ".join(filter(None, lines))


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
