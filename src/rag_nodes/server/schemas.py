"""JSON schemas of requests and replies, as short as they can be: agents pay for each character."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic.json_schema import GenerateJsonSchema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import BaseModel


_OR_NULL = 2
"""Kinds of what may be left out."""


class _Short(GenerateJsonSchema):
    """Without a title for every field, which says its name again."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Never."""
        del schema
        return False


def schema_of(model: type[BaseModel], *, reply: bool = False) -> dict[str, Any]:
    """The schema of what is sent, or, of a reply, of what is given back."""
    mode: Any = "serialization" if reply else "validation"
    return model.model_json_schema(schema_generator=_Short, mode=mode)


def shortened(schema: Any) -> Any:
    """A schema of what is sent, without what an agent need not read: nulls, titles, patterns."""
    if isinstance(schema, list):
        return [shortened(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found = {
        name: {key: shortened(one) for key, one in value.items()}
        if name in {"properties", "$defs"}
        else shortened(value)
        for name, value in schema.items()
        if name not in {"title", "pattern"} and not (name == "default" and value is None)
    }
    kinds = found.get("anyOf", [])
    if {"type": "null"} in kinds and len(kinds) == _OR_NULL:
        del found["anyOf"]
        found = {**next(one for one in kinds if one != {"type": "null"}), **found}
    if isinstance(words := found.get("description"), str):
        found["description"] = " ".join(words.split())
    return found


def named_parsers(schema: Any, names: Sequence[str]) -> Any:
    """A schema in which the name of a parser is one of these."""
    if isinstance(schema, list):
        return [named_parsers(one, names) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: named_parsers(one, names) for key, one in schema.items()}
    if isinstance(spec := found.get("ParserSpec"), dict) and "properties" in spec:
        spec["properties"]["name"]["enum"] = list(names)
    return found
