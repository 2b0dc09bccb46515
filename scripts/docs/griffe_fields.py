"""A griffe extension: constructors of parsers and postprocessors as pydantic makes them.

Griffe reads source and cannot see that a base of LlamaIndex is a pydantic model, so it would show
no options. Here a constructor is made of the `Field(...)`s of the class and of its bases.
"""

from __future__ import annotations

from typing import Any

from griffe import (
    AliasResolutionError,
    Attribute,
    Class,
    ExprCall,
    ExprKeyword,
    Extension,
    Function,
    Parameter,
    ParameterKind,
    Parameters,
)

_MADE_BY = ("Field", "PydanticField", "field")
"""Calls that say in a class body what a field is by default."""


class FieldOptions(Extension):
    """Gives classes that pydantic or `**options` construct their options, with type and default."""

    def on_package(self, *, pkg: Any, **_: Any) -> None:
        """Look at every class once all of the package is loaded, bases included."""
        for cls in _classes(pkg):
            own = cls.members.get("__init__")
            fields = any(map(_has_fields, (cls, *cls.mro())))
            if _takes_more(own) if own else fields:
                _give_constructor(cls)


def _classes(module: Any) -> list[Class]:
    classes = []
    for member in module.members.values():
        if member.is_alias:
            continue
        if member.is_module:
            classes += _classes(member)
        elif member.is_class:
            classes.append(member)
    return classes


def _has_fields(cls: Class) -> bool:
    return any(_call(attribute.value) for attribute in cls.attributes.values())


def _takes_more(constructor: Any) -> bool:
    return any(parameter.kind is ParameterKind.var_keyword for parameter in constructor.parameters)


def _give_constructor(cls: Class) -> None:
    options = _of_llama_index() if cls.name.endswith("NodeParser") else {}
    for body in (*reversed(cls.mro()), cls):
        if _has_fields(body):
            named_options = (_option(name, member) for name, member in body.members.items())
            options |= {option.name: option for option in named_options if option}
        if own := body.members.get("__init__"):
            options |= {
                parameter.name: parameter for parameter in own.parameters if _is_named(parameter)
            }
    this = Parameter("self", kind=ParameterKind.positional_or_keyword)
    init = Function("__init__", parameters=Parameters(this, *options.values()))
    cls.set_member("__init__", init)


def _of_llama_index() -> dict[str, Parameter]:
    """What every `NodeParser` of LlamaIndex takes, whose source griffe is not given."""
    return {
        name: Parameter(name, annotation="bool", kind=ParameterKind.keyword_only, default="True")
        for name in ("include_metadata", "include_prev_next_rel")
    }


def _is_named(parameter: Parameter) -> bool:
    more = (ParameterKind.var_keyword, ParameterKind.var_positional)
    return parameter.name != "self" and parameter.kind not in more


def _option(name: str, member: Any) -> Parameter | None:
    """A field as a parameter; None for anything else, and for what is no option of a user's."""
    if not isinstance(member, Attribute) or member.annotation is None:
        return None
    if name.startswith("_") or "ClassVar" in str(member.annotation) or name == "id_func":
        return None
    default: Any = member.value
    if call := _call(default):
        given = {
            argument.name: argument.value
            for argument in call.arguments
            if isinstance(argument, ExprKeyword)
        }
        default = given.get("default", given.get("default_factory"))
    return Parameter(
        name,
        annotation=member.annotation,
        kind=ParameterKind.keyword_only,
        default=None if default is None else _plain(default, member.module),
    )


def _call(value: Any) -> ExprCall | None:
    is_field = isinstance(value, ExprCall) and str(value.function).rpartition(".")[2] in _MADE_BY
    return value if is_field else None


def _plain(default: Any, module: Any) -> str:
    """A constant of the module by its value, which is what a reader wants to know."""
    try:
        value = getattr(module.members.get(str(default)), "value", None)
    except AliasResolutionError:  # of another package
        value = None
    return str(default if value is None else value)
