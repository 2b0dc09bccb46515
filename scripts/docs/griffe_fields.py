"""A griffe extension: constructors of parsers and postprocessors as pydantic makes them.

Griffe reads source and cannot see that a base of LlamaIndex is a pydantic model, so it would show
every option without a default. Here a constructor is made of the `Field(...)`s of the class and of its
bases in this package.
"""

from __future__ import annotations

from typing import Any

from griffe import (
    Attribute,
    Class,
    Expr,
    ExprCall,
    ExprKeyword,
    Extension,
    Function,
    Parameter,
    ParameterKind,
    Parameters,
)

_SUFFIX = "NodeParser"
_BASE = "SpanNodeParser"


class FieldOptions(Extension):
    """Gives parsers a constructor with type and default of each option."""

    def on_package(self, *, pkg: Any, **_: Any) -> None:
        """Look at every class once all of the package is loaded, bases included."""
        for parser in _classes(pkg):
            if parser.name.endswith(_SUFFIX) and parser.name != _BASE:
                _give_constructor(parser)


def _classes(module: Any) -> list[Class]:
    found = []
    for member in module.members.values():
        if member.is_alias:
            continue
        if member.is_module:
            found += _classes(member)
        elif member.is_class:
            found.append(member)
    return found


def _give_constructor(parser: Class) -> None:
    own = parser.members.get("__init__")
    options: dict[str, Parameter] = {}
    for cls in (*reversed(parser.mro()), parser):
        for name, member in cls.members.items():
            option = _option(name, member)
            if option is not None:
                options[name] = option
    if own is not None and not _takes_anything(own):
        return
    this = Parameter("self", kind=ParameterKind.positional_or_keyword)
    made = Function("__init__", parameters=Parameters(this, *options.values()))
    parser.set_member("__init__", made)


def _takes_anything(constructor: Any) -> bool:
    kinds = {one.kind for one in constructor.parameters if one.name != "self"}
    return kinds <= {ParameterKind.var_keyword}


def _option(name: str, member: Any) -> Parameter | None:
    """A field as a parameter; None for anything else, and for what is no option of a user's."""
    if not isinstance(member, Attribute) or member.annotation is None:
        return None
    if name.startswith("_") or "ClassVar" in str(member.annotation) or name == "id_func":
        return None
    default: str | Expr | None = member.value
    if isinstance(default, ExprCall) and str(default.function).rpartition(".")[2] == "Field":
        given = {one.name: one.value for one in default.arguments if isinstance(one, ExprKeyword)}
        default = given.get("default", given.get("default_factory"))
    return Parameter(
        name,
        annotation=member.annotation,
        kind=ParameterKind.keyword_only,
        default=None if default is None else str(default),
    )
