"""Markdown files in, their text verbatim plus what their front matter states out."""

from __future__ import annotations

import datetime as dt
import math
import re
from itertools import islice
from typing import TYPE_CHECKING, Any

from rag_nodes.core.metadata import FRONT_MATTER
from rag_nodes.core.own_metadata import MAX_KEYS, is_own_key, is_value
from rag_nodes.readers.base import Limits, Reading
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

    The plain values of the front matter are in `facts`, under a key each where no key of ours has
    that name; `warnings` says why they could not be read.
    """
    text, warnings = decode_file(path, limits.encoding_of(path))
    limits.check(path, len(text), "characters")
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
        facts={**_own_keys(values), FRONT_MATTER: values} if values else {},
    )


def _own_keys(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values of front matter that filters can name; the others stay in its mapping."""
    own = ((key, value) for key, value in values.items() if is_own_key(key) and is_value(value))
    return dict(islice(own, MAX_KEYS))


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
    """Return the first heading of level 1."""
    for block in scan_blocks(text):
        if block.level == 1:
            return _without_marks(block.title.of(text))
    return None


def _without_marks(heading: str) -> str:
    return _INLINE.sub(lambda match: match.group(1) or "", heading).strip()


LONGEST = 16 * 1024
"""Characters of front matter that are parsed; that takes PyYAML some 0.2 s."""

DEEPEST_BRACKETS = 20
"""Brackets within each other; PyYAML searches all that are open at every further one."""

NOT_READ = "the front matter was not taken into the metadata: "


def plain_values(front_matter: str) -> tuple[dict[str, Any], str | None]:
    """Return scalars and lists of scalars at the top level of front matter, or why there are none.

    Nested mappings are left out; like all of the front matter they are still in the text. Dates
    become ISO text, as metadata has to go through JSON.
    """
    if len(front_matter) > LONGEST:
        return {}, f"{NOT_READ}it has over {LONGEST:,} characters"
    fields, problem = _plain_yaml(front_matter)
    if not isinstance(fields, dict):
        return {}, f"{NOT_READ}{problem}" if problem else None
    taken = ((str(name), _plain(value)) for name, value in fields.items())
    return {name: value for name, value in taken if value is not None}, None


def _plain_yaml(text: str) -> tuple[Any, str]:
    """Return the data of a YAML text, and why it was not read; "" if it was.

    Aliases are refused, because a few lines of them can stand for gigabytes.
    """
    import yaml  # comes with llama-index-core

    deep = 0
    try:
        for token in yaml.scan(text):
            deep += isinstance(token, yaml.FlowSequenceStartToken | yaml.FlowMappingStartToken)
            deep -= isinstance(token, yaml.FlowSequenceEndToken | yaml.FlowMappingEndToken)
            if isinstance(token, yaml.AliasToken):
                return None, "it holds YAML aliases"
            if deep > DEEPEST_BRACKETS:
                return None, "its brackets nest too deeply"
        data = yaml.safe_load(text)
        repr(data)  # raises for an integer of more digits than Python writes, as JSON would
    except (
        yaml.YAMLError,
        ValueError,
        LookupError,
        AttributeError,
        ArithmeticError,
        RecursionError,
    ) as error:  # PyYAML lets through what goes wrong where a tag does not fit its value
        mark = getattr(error, "problem_mark", None)
        return None, f"invalid YAML in its line {mark.line + 1}" if mark else "invalid YAML"
    return data, ""


def _plain(value: object) -> Any:
    """Return a value as JSON can hold it; None if it is nested or empty."""
    if isinstance(value, list):
        return [scalar for scalar in map(_scalar, value) if scalar is not None] or None
    return _scalar(value)


def _scalar(value: object) -> str | float | None:
    if isinstance(value, dt.date):  # also a time of day on that date
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, str | int | float) else None
