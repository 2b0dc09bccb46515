"""What a request may say about parsers: their names and options, made from the one list of them.

Numbers and choices only. A text could name a model to load or a pattern to run, and stays with
whoever runs the server.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, create_model

from rag_nodes.parsers.base import SpanNodeParser
from rag_nodes.parsers.offer import bounds_of, meanings_of, offered
from rag_nodes.workspace.bounds import LARGEST

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pydantic.fields import FieldInfo

_MARK = "parser"
"""Format of a text that is the name of a parser, until `naming` says which there are."""
ParserName = Annotated[str, Field(max_length=500, json_schema_extra={"format": _MARK})]


class Body(BaseModel):
    """A body whose unknown fields are refused, so that a misspelt one is not ignored."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)


class _Options(Body):
    """Options of a parser that differ from its preset; which ones it has depends on the parser."""

    def chosen(self) -> dict[str, Any]:
        """Those that were given."""
        return self.model_dump(exclude_none=True)


@dataclass(frozen=True, slots=True)
class _Option:
    """An option of one class.

    Attributes:
        kind: int, float, bool or a `Literal`.
        field: of the class.
        presets: names of those that have it.
        meaning: what its docstring says.
    """

    kind: Any
    field: FieldInfo
    presets: list[str]
    meaning: str


def naming(schema: Any, names: Sequence[str]) -> Any:
    """A JSON schema in which every name of a parser is one of these."""
    if isinstance(schema, list):
        return [naming(one, names) for one in schema]
    if not isinstance(schema, dict):
        return schema
    named = {key: naming(one, names) for key, one in schema.items()}
    if named.get("format") == _MARK:
        del named["format"]
        named["enum"] = list(names)
    return named


def _all_options() -> dict[str, Any]:
    """Fields of the model: each option that any parser has, as wide as the widest of them."""
    presets: defaultdict[type[SpanNodeParser], list[str]] = defaultdict(list)
    for name, preset in offered().items():
        presets[preset.parser].append(name)
    found: defaultdict[str, list[_Option]] = defaultdict(list)
    for parser, names in presets.items():
        meanings = meanings_of(parser)
        for name, field in parser.model_fields.items():
            kind = _kind_of(field)
            if kind is not None and name not in SpanNodeParser.model_fields and not field.exclude:
                meaning = meanings.get(name, "see its documentation.")
                found[name].append(_Option(kind, field, names, meaning))
    return {name: (_annotation(options), None) for name, options in found.items()}


def _kind_of(field: FieldInfo) -> Any:
    """The type of a field without None; None for what no request may say."""
    annotation = field.annotation
    kinds = [one for one in get_args(annotation) if one is not type(None)]
    if get_origin(annotation) is Literal or annotation in {int, float, bool}:
        return annotation
    is_kind = len(kinds) == 1 and (get_origin(kinds[0]) is Literal or kinds[0] in {int, float})
    return kinds[0] if is_kind else None


def _annotation(options: Sequence[_Option]) -> Any:
    """One type that takes what any of the parsers takes, or null."""
    said = Field(description=_said(options))
    kinds = [option.kind for option in options]
    choices = dict.fromkeys(word for kind in kinds for word in get_args(kind))
    if choices:
        return Annotated[Literal[tuple(choices)] | None, said]
    if bool in kinds:
        return Annotated[bool | None, said]
    bounds = [bounds_of(option.field) for option in options]
    number = Field(
        ge=_widest((low for low, _ in bounds), 0, min),
        le=_widest((high for _, high in bounds), LARGEST, max),
        allow_inf_nan=False if float in kinds else None,
    )
    kind = float if float in kinds else int
    return Annotated[Annotated[kind, number] | None, said]


def _said(options: Sequence[_Option]) -> str:
    """What it means, and for which presets."""
    meanings: defaultdict[str, list[str]] = defaultdict(list)
    for option in options:
        meanings[option.meaning] += option.presets
    return "\n".join(f"{', '.join(names)}: {meaning}" for meaning, names in meanings.items())


def _widest(bounds: Iterable[float | None], otherwise: float, choose: Any) -> float:
    found: float = choose(otherwise if bound is None else bound for bound in bounds)
    return found


if TYPE_CHECKING:

    class ParserOptions(_Options):
        """Has a field for each number and choice of any parser."""

else:
    ParserOptions = create_model(
        "ParserOptions", __base__=_Options, __doc__=_Options.__doc__, **_all_options()
    )
