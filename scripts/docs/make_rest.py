"""Writes the fields of REST requests into docs/reference/rest.md, from their schemas.

`make format` runs it. The tables stand between `<!-- fields -->` and `<!-- /fields -->`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from rag_nodes.operations import OPERATIONS
from rag_nodes.operations.base import model_for
from rag_nodes.operations.filtering import SearchFilter
from rag_nodes.server.schemas import schema_of, shortened

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "rest.md"
_FIELDS = re.compile(r"(?<=<!-- fields -->\n).*?(?=\n<!-- /fields -->)", re.DOTALL)
_NAMED = {
    "SearchFilter": "[conditions](#conditions-of-filter)",
    "ParserSpec": 'an object with `name` and `options`, as `{"name": "fixed", "options": '
    '{"chunk_size": 500}}`',
}
"""Types that have a name in the schemas, in words."""
_TYPES = {
    "string": "text of up to {maxLength:,} characters",
    "integer": "integer from {minimum:,} to {maximum:,}",
    "number": "number from {minimum:,} to {maximum:,}",
    "boolean": "true or false",
    "object": "object of up to {maxProperties} keys",
}
"""Other types with their limits."""


def fields() -> str:
    """A table for each request with a JSON body, and a table of the conditions of a filter."""
    parts: list[str] = []
    for operation in OPERATIONS:
        if "rest" in operation.surfaces:
            schema = schema_of(model_for(operation.request))
            parts += ["", f"### POST /api/{operation.name}", "", *_table(schema)]
    conditions = ["", "### Conditions of filter", "", *_table(schema_of(SearchFilter)), ""]
    return "\n".join([*parts, *conditions])


def page() -> str:
    """The whole page, with the tables as the schemas have them now."""
    return _FIELDS.sub(lambda _: fields(), PAGE.read_text(encoding="utf-8"))


def _table(schema: dict[str, Any]) -> list[str]:
    rows = ["| field | value | meaning |", "|---|---|---|"]
    required = schema.get("required", [])
    for name, field in shortened(schema)["properties"].items():
        default = field.get("default")
        # Booleans are false by default, and the words of a parser say what its default is.
        shown = default["name"] if isinstance(default, dict) else default
        value = _kind(field) + (f"; default `{shown}`" if shown not in (None, False) else "")
        meaning = field["description"] + (" **Required.**" if name in required else "")
        rows.append(f"| `{name}` | {value} | {meaning} |")
    return rows


def _kind(schema: dict[str, Any]) -> str:
    """Type and limits of a value in words."""
    if "anyOf" in schema:
        return ", or ".join(_kind(kind) for kind in schema["anyOf"] if kind != {"type": "null"})
    if "$ref" in schema:
        return _NAMED[schema["$ref"].rpartition("/")[2]]
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if schema["type"] == "array":
        return (
            f"list of {schema['minItems']} to {schema['maxItems']}, each {_kind(schema['items'])}"
        )
    return _TYPES[schema["type"]].format_map(schema)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
