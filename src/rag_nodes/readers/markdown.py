"""Markdown files in, their text verbatim plus what their front matter states out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rag_nodes.metadata import FRONT_MATTER
from rag_nodes.readers.base import Limits, Reading
from rag_nodes.readers.front_matter import plain_values
from rag_nodes.readers.plain import decode_file
from rag_nodes.text.formats import Format
from rag_nodes.text.markdown import scan_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_FRONT_MATTER = re.compile(
    r"---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE
)
_FIELD = re.compile(r"(title|description)[ \t]*:[ \t]*(.*)", re.IGNORECASE)
_INLINE = re.compile(r"!?\[([^\]]*)\]\([^)]*\)|[*`]+")


def read_markdown(path: Path, limits: Limits) -> Reading:
    """Read a Markdown file; the text stays as it is, front matter included.

    Offsets are therefore those of the file. The title is that of the front matter, else the
    first heading of level 1. Title and description are found even where the YAML is not valid.

    Args:
        path: an existing file.
        limits: `characters` is checked.

    Returns:
        The text with title, description and, in `facts`, the plain values of the front matter;
        `warnings` says why those could not be read.

    Raises:
        EmptyFileError: nothing but blank space.
        MisnamedFileError: the bytes are not text.
        FileTooLargeError: over `limits.characters`.
    """
    text, warnings = decode_file(path)
    limits.check_characters(path, len(text))
    matter = _FRONT_MATTER.match(text)
    fields = _fields(matter.group(1)) if matter else {}
    values, problem = plain_values(matter.group(1)) if matter else ({}, None)
    body = text[matter.end() :] if matter else text
    return Reading(
        text=text,
        text_format=Format.MARKDOWN,
        title=fields.get("title") or _first_h1(body),
        description=fields.get("description"),
        warnings=(*warnings, problem) if problem else warnings,
        facts={FRONT_MATTER: values} if values else {},
    )


def _fields(front_matter: str) -> dict[str, str]:
    """Take title and description from YAML: plain, quoted and block scalars of the top level."""
    lines = front_matter.splitlines()
    fields: dict[str, str] = {}
    for index, line in enumerate(lines):
        if match := _FIELD.match(line):
            value = match.group(2).strip()
            if not value or value[0] in "|>":
                value = " ".join(_indented(lines[index + 1 :]))
            fields.setdefault(match.group(1).lower(), _unquoted(value))
    return fields


def _indented(lines: list[str]) -> Iterator[str]:
    for line in lines:
        if line.strip() and not line[0].isspace():
            return
        yield line.strip()


def _unquoted(value: str) -> str:
    quote = value[:1]
    if quote in {'"', "'"} and (end := value.find(quote, 1)) > 0:
        return value[1:end]
    return value.split(" #", maxsplit=1)[0].strip()


def _first_h1(text: str) -> str | None:
    """The first heading of level 1."""
    for block in scan_blocks(text):
        if block.level == 1:
            return _plain(block.title.of(text))
    return None


def _plain(heading: str) -> str:
    return _INLINE.sub(lambda match: match.group(1) or "", heading).strip()
