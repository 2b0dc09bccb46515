"""Parts of every operation: a typed request, a function, a typed result.

A surface (command line, REST) derives what it takes from the fields of the request, and what
it gives back from those of the reply. Nothing here knows any of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model
from pydantic.fields import FieldInfo

from rag_nodes.core import keywords
from rag_nodes.operations import ExitCode
from rag_nodes.pipeline.ledger import utc_time

NOT_BLANK = r"\S"
"""Pattern of texts that say something."""
Surface = Literal["cli", "rest"]
"""Surfaces on which an operation can be requested; REST is open to visitors."""


class Request(BaseModel):
    """Arguments of an operation; a field's docstring is its description everywhere.

    Attributes:
        panel: heading of the fields of this class in a help text; "" for no heading.
        configures: fields that are settings as well, over which they win.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, use_attribute_docstrings=True, hide_input_in_errors=True
    )
    panel: ClassVar[str] = ""
    configures: ClassVar[tuple[str, ...]] = ()


class Reply(BaseModel):
    """The part of a result that a stranger may see, with the same names as in `as_dict`."""

    model_config = ConfigDict(extra="ignore", use_attribute_docstrings=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Result of an operation: the library's own objects, for views of this process.

    Attributes:
        outcome: how it ended.
    """

    reply: ClassVar[str] = ""
    """Reply for visitors, module below this package and class; "" for operations of the owner
    alone."""
    outcome: ExitCode = ExitCode.DONE

    def as_dict(self) -> dict[str, Any]:
        """Plain data for programs: all fields but the outcome, see `as_plain`."""
        names = [item.name for item in fields(self) if item.name != "outcome"]
        plain: dict[str, Any] = as_plain({name: getattr(self, name) for name in names})
        return plain

    def reasons(self) -> Sequence[str]:
        """Return why it did not end well, if its view shows that on stdout."""
        return ()


_CONDITIONS = (
    "conditions of a filter are file_name, first_page, last_page, heading and source; metadata "
    "keys of the documents go into filter.where"
)


def misfit(error: Mapping[str, Any]) -> str:
    """Return in words why a value does not fit, for the sender.

    Args:
        error: one of those that pydantic found.
    """
    is_blank = error["type"] == "string_pattern_mismatch" and error["ctx"]["pattern"] == NOT_BLANK
    if is_blank or (error["type"] == "string_too_short" and error["ctx"]["min_length"] == 1):
        return "must not be blank"
    if error["type"] == "extra_forbidden":
        is_condition = error["loc"][-2:-1] == ("filter",)
        return f"unknown condition; {_CONDITIONS}" if is_condition else "there is no such field"
    if error["type"] in {"model_type", "model_attributes_type"}:
        is_filter = error["loc"][-1:] == ("filter",)
        return f"must be a JSON object{f'; {_CONDITIONS}' if is_filter else ''}"
    return keywords.misfit(error)


def as_plain(value: Any) -> Any:
    """Rows and tables of them as plain data; numbers named `..._at` or `..._used` as UTC."""
    if hasattr(value, "as_dict"):
        return value.as_dict()
    if hasattr(value, "_asdict"):
        value = value._asdict()
    elif is_dataclass(value):
        value = {item.name: getattr(value, item.name) for item in fields(value)}
    if isinstance(value, Mapping):
        return {
            name: utc_time(moment)
            if isinstance(moment, float) and str(name).endswith(("_at", "_used"))
            else as_plain(moment)
            for name, moment in value.items()
        }
    return [as_plain(item) for item in value] if isinstance(value, list | tuple) else value


@dataclass(frozen=True, slots=True)
class Flag:
    """Spelling of a field on a command line, where its own name is not enough.

    Attributes:
        name: the long form, with dashes; "" for that of the field.
        short: one letter with its dash.
        metavar: what stands for the value; "" for that of its type.
        argument: it is given by position and not by name.
        many: it can be repeated, though the field holds one value made of them all.
        joined: several values are typed as one text, with commas.
        required: it has to be typed, though other surfaces need not have it.
        stdin: what - stands for, sent to standard input: "text" for a text, "data" for JSON or a
            sheet; "" for nothing, as where something is written or stored by its name.
        help: what help says in place of the description, where a command line takes more.
    """

    name: str = ""
    short: str = ""
    metavar: str = ""
    argument: bool = False
    many: bool = False
    joined: bool = False
    required: bool = False
    stdin: Literal["", "text", "data"] = ""
    help: str = ""


@dataclass(frozen=True, slots=True)
class Only:
    """The surfaces that have a field; every other has none of that name."""

    surfaces: tuple[Surface, ...]


OWNER = Only(("cli",))
"""For paths, import paths and stores: who owns the computer may name them, and nobody else."""


@dataclass(frozen=True, slots=True)
class VisitorBounds:
    """Constraints that hold for visitors only."""

    constraint: FieldInfo


def visitors(**constraints: Any) -> VisitorBounds:
    """Bounds of a field on served surfaces, as pydantic's `Field` takes them."""
    return VisitorBounds(Field(**constraints))


@dataclass(frozen=True, slots=True)
class Typed(BeforeValidator):
    """Reads what is typed as text; other surfaces send the value itself."""


def flag_of(field: FieldInfo) -> Flag:
    """Return the spelling of a field on a command line."""
    return next((mark for mark in field.metadata if isinstance(mark, Flag)), Flag())


def has(field: FieldInfo, surface: Surface) -> bool:
    """Return True if a surface has the field."""
    return all(surface in mark.surfaces for mark in field.metadata if isinstance(mark, Only))


def panel_of(request: type[Request], name: str) -> str:
    """The heading of the class that declares a field."""
    for kind in reversed(request.__mro__):
        if name in vars(kind).get("__annotations__", {}):
            return str(vars(kind).get("panel", ""))
    return ""


@lru_cache(maxsize=256)
def model_for(model: type[BaseModel]) -> type[BaseModel]:
    """Return a request or reply as REST has it: bounded, without fields of others.

    Validators that look at several fields are those of `model` itself: make that of what was taken,
    `request = kind.model_validate(taken.model_dump(exclude_unset=True))`, before any work begins.
    """
    shown: dict[str, Any] = {}
    left_out = Flag | Only | VisitorBounds | Typed
    for name, field in model.model_fields.items():
        if not has(field, "rest"):
            continue
        # Before validators, which come before what is taken is bounded.
        bounds = [mark.constraint for mark in field.metadata if isinstance(mark, VisitorBounds)]
        # Of two bounds of a kind pydantic keeps the last one.
        own = {type(mark) for bound in bounds for mark in bound.metadata}
        others = (mark for mark in field.metadata if not isinstance(mark, left_out))
        kept = [*bounds, *(other for other in others if type(other) not in own)]
        described: dict[str, Any] = {"description": field.description, "examples": field.examples}
        if field.default_factory is not None:
            described["default_factory"] = field.default_factory
        elif not field.is_required():
            described["default"] = field.default
        shown[name] = (
            Annotated[field.annotation, *kept, Field(**described)],
            FieldInfo(**described),
        )
    config = ConfigDict(**{**model.model_config, "use_attribute_docstrings": False})
    doc = (model.__doc__ or "").partition("\n\n")[0]  # what follows is of commands and options
    kind: type[BaseModel] = create_model(model.__name__, __config__=config, __doc__=doc, **shown)
    kind.__module__ = model.__module__
    return kind
