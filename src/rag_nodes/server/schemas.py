"""JSON schemas, as short as they can be, since agents pay for each character, and as a page."""

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


def shortened(schema: Any, *, reply: bool = False) -> Any:
    """A schema without what an agent need not read: titles, patterns, that a field may be null.

    Of a reply all fields are there, so that is not said of each, and what may be null is.
    """
    if isinstance(schema, list):
        return [shortened(part, reply=reply) for part in schema]
    if not isinstance(schema, dict):
        return schema
    left_out = {"title", "pattern", *(("required", "default") if reply else ())}
    result = {
        name: {key: shortened(part, reply=reply) for key, part in value.items()}
        if name in {"properties", "$defs"}
        else shortened(value, reply=reply)
        for name, value in schema.items()
        if name not in left_out and not (name == "default" and value is None)
    }
    kinds = result.get("anyOf", [])
    if {"type": "null"} in kinds and len(kinds) == _OR_NULL:
        (kind,) = (kind for kind in kinds if kind != {"type": "null"})
        if not reply or "type" in kind:
            del result["anyOf"]
            result = {**kind, **result, **({"type": [kind["type"], "null"]} if reply else {})}
    if isinstance(words := result.get("description"), str):
        result["description"] = " ".join(words.split())
    return result


def named_parsers(schema: Any, names: Sequence[str]) -> Any:
    """A schema in which the name of a parser is one of these."""
    if isinstance(schema, list):
        return [named_parsers(part, names) for part in schema]
    if not isinstance(schema, dict):
        return schema
    result = {key: named_parsers(part, names) for key, part in schema.items()}
    if isinstance(spec := result.get("ParserSpec"), dict) and "properties" in spec:
        spec["properties"]["name"]["enum"] = list(names)
    return result


_PAGE = """\
<!doctype html><html lang="en"><head><meta charset="utf-8"><title>rag_nodes: REST</title>
<meta name="viewport" content="width=device-width"><style>
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
th, td { text-align: left; vertical-align: top; padding: .2rem 1rem .2rem 0 }
p { white-space: pre-line }
</style></head><body><h1>rag_nodes {{ info.version }}</h1><p>{{ info.description }}</p>
<p>As data for programs: <a href="openapi.json">openapi.json</a></p>
{% for path, methods in paths.items() %}{% for method, it in methods.items() %}
<h2 id="{{ it.operationId }}"><code>{{ method.upper() }} /api{{ path }}</code></h2>
<p>{{ it.description }}</p>
{% set schema = bodies[it.operationId] %}{% if schema %}<table>
<tr><th>field</th><th>meaning</th></tr>
{% for name, field in schema.properties.items() %}<tr><td><code>{{ name }}</code>
{%- if name in schema.get("required", []) %} (required){% endif %}</td>
<td>{{ field.description }}</td></tr>
{% endfor %}</table>{% endif %}{% endfor %}{% endfor %}</body></html>
"""


def page_of(document: dict[str, Any]) -> str:
    """The OpenAPI document as a page that loads nothing from anywhere."""
    from jinja2 import Environment

    schemas = document["components"]["schemas"]
    bodies: dict[str, Any] = {}
    for methods in document["paths"].values():
        for it in methods.values():
            content = it.get("requestBody", {}).get("content", {})
            schema: dict[str, Any] = next((media["schema"] for media in content.values()), {})
            name = str(schema.get("$ref", "")).rpartition("/")[2]
            bodies[it["operationId"]] = schemas.get(name) or schema
    template = Environment(autoescape=True).from_string(_PAGE)
    return template.render(info=document["info"], paths=document["paths"], bodies=bodies)
