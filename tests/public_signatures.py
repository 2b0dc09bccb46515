"""The parameters of all public functions, constructors and methods, and what they are typed as."""

import ast
import inspect
import pkgutil
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin

import rag_nodes

_OF_SEVERAL = {
    *("Collection", "Container", "Iterable", "Iterator", "MutableSequence", "Sequence", "Set"),
    *("AbstractSet", "frozenset", "list", "set", "tuple"),
}
PATHS = {"Path", "PathLike"}
TEXTS = {"str", *PATHS}


class Parameter(NamedTuple):
    """A parameter, named as in "Class.method(parameter)", and the members of its union."""

    name: str
    members: list[ast.expr]

    @property
    def singles(self) -> set[str]:
        """The types of a single value that it takes."""
        return set(map(_name_of, self.members))

    @property
    def elements(self) -> set[str]:
        """The types of which it takes several."""
        of_several = (
            member.slice
            for member in self.members
            if isinstance(member, ast.Subscript) and _name_of(member) in _OF_SEVERAL
        )
        return {_name_of(member) for owner in of_several for member in _members(owner)}


def public_parameters() -> list[Parameter]:
    """Every parameter of what `rag_nodes` and its packages export, each once."""
    found = {}
    for name, function in _functions():
        for parameter in inspect.signature(function).parameters.values():
            text = (
                parameter.annotation
                if isinstance(parameter.annotation, str)
                else _written(parameter.annotation)
            )
            key = f"{name}({parameter.name})"
            found[key] = Parameter(key, _members(ast.parse(text, mode="eval").body))
    return list(found.values())


def _functions() -> Iterator[tuple[str, Any]]:
    modules = pkgutil.walk_packages(rag_nodes.__path__, "rag_nodes.")
    packages = (import_module(module.name) for module in modules if module.ispkg)
    for package in (rag_nodes, *packages):
        for name in getattr(package, "__all__", ()):
            yield from _callables(getattr(package, name))


def _callables(public: Any) -> Iterator[tuple[str, Any]]:
    if inspect.isfunction(public):
        yield public.__qualname__, public
    if not inspect.isclass(public) or issubclass(public, BaseException):
        return
    if public.__module__.startswith("rag_nodes"):
        yield public.__qualname__, public
    for name, method in inspect.getmembers(public, callable):
        function = inspect.unwrap(getattr(method, "__func__", method))
        is_ours = str(getattr(function, "__module__", "")).startswith("rag_nodes")
        if is_ours and inspect.isfunction(function) and not name.startswith("_"):
            yield function.__qualname__, function


def _written(annotation: Any) -> str:
    """The annotation of a field of pydantic as somebody wrote it."""
    if get_origin(annotation) is Annotated:
        return _written(get_args(annotation)[0])
    if isinstance(annotation, type):
        return annotation.__name__ if not get_args(annotation) else str(annotation)
    text = str(annotation).removeprefix("typing.")
    return text if text.isidentifier() or "[" in text or "|" in text else "object"


def _members(annotation: ast.expr) -> list[ast.expr]:
    """The members of a union, also of one in quotes, in `Annotated` or in `Optional`."""
    if isinstance(annotation, ast.BinOp):
        return [*_members(annotation.left), *_members(annotation.right)]
    if isinstance(annotation, ast.Tuple):
        return [member for element in annotation.elts for member in _members(element)]
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return _members(ast.parse(annotation.value, mode="eval").body)
    if isinstance(annotation, ast.Subscript):
        if _name_of(annotation) == "Annotated":
            assert isinstance(annotation.slice, ast.Tuple)
            return _members(annotation.slice.elts[0])
        if _name_of(annotation) in {"Optional", "Union"}:
            return _members(annotation.slice)
    return [annotation]


def _name_of(annotation: ast.expr) -> str:
    """The last part of the name of a type; "str" for an alias of words to choose from."""
    if isinstance(annotation, ast.Subscript):
        return _name_of(annotation.value)
    name = annotation.attr if isinstance(annotation, ast.Attribute) else ""
    if isinstance(annotation, ast.Name):
        name = annotation.id
    return "str" if name in _aliases() else name


def _aliases() -> set[str]:
    """The names of all types that are words to choose from, and of those that are texts."""
    if not _ALIASES:
        for module in [
            module for name, module in sys.modules.items() if name.startswith("rag_nodes")
        ]:
            for name, value in vars(module).items():
                is_choice = get_origin(value) is Literal and isinstance(get_args(value)[0], str)
                if is_choice and not name.startswith("__"):
                    _ALIASES.add(name)
    return _ALIASES


_ALIASES: set[str] = set()
