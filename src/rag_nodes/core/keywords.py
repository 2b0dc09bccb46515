"""Misspelt keywords of functions and constructors, refused with the name that was meant."""

from __future__ import annotations

import inspect
import re
from functools import cache, wraps
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.spelling import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_Checked = TypeVar("_Checked", bound="Callable[..., Any]")
_SUBJECT = re.compile(r"^\w+ should ")
"""Beginnings of the messages of pydantic."""
_DETAIL = re.compile(r" after validation, not \S+$|, (?:unable to parse|got a number) .*$")
"""Descriptions of the value at the end of such messages."""
_WORDS = {
    "greater than or equal to": "at least",
    "less than or equal to": "at most",
    "Field required": "must be given",
    "JSON decode error": "must be valid JSON",
}
_BY_NAME = {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}


def checks_keywords(
    checked: _Checked, *, rest: str = "", instead: Mapping[str, str] = MappingProxyType({})
) -> _Checked:
    """Make a function, or constructor and methods of a class, refuse keywords they do not know.

    Python raises a bare TypeError for them, and pydantic ignores them or raises an error of its
    own. That error, which it raises for values too, becomes a `ConfigurationError`.

    Args:
        checked: the function, or the class, also one of pydantic; a class is changed in place.
        rest: name of the function in the same module that takes the keywords that are left.
        instead: what to write here, by names that other packages use.

    Examples:
        >>> from rag_nodes import QueryOptions, read_all
        >>> QueryOptions(fussion="rank")  # doctest: +ELLIPSIS, +NORMALIZE_WHITESPACE
        Traceback (most recent call last):
        rag_nodes.core.errors.ConfigurationError: QueryOptions: unknown option 'fussion'; did you
        mean fusion? QueryOptions takes: budget, top_k, granularity, mode, fusion, ...
        >>> read_all("docs", limit=None)  # doctest: +ELLIPSIS, +NORMALIZE_WHITESPACE
        Traceback (most recent call last):
        rag_nodes.core.errors.ConfigurationError: read_all: unknown option 'limit'; did you mean
        limits? read_all takes: ...
    """

    def check(options: Mapping[str, Any], names: Sequence[str]) -> None:
        for name in (name for name in options if name not in names):
            owner = checked.__qualname__
            remedy = f"use {instead[name]}" if name in instead else _remedy(name, owner, names)
            raise ConfigurationError(f"{owner}: unknown option '{name}'; {remedy}")

    if isinstance(checked, type):
        construct = checked.__init__  # type: ignore[misc] # the class's own, of no instance

        @wraps(construct)
        def constructor(self: object, /, *args: Any, **options: Any) -> None:
            names = _keywords(type(self), checked)  # type: ignore[arg-type] # classes are hashable
            check(options, names)
            try:
                construct(self, *args, **options)
            except ValueError as error:
                # Only pydantic's own error has these; a ConfigurationError stays as it is.
                problems = error.errors() if hasattr(error, "errors") else ()
                if not problems:
                    raise
                reasons = (": ".join([*map(str, each["loc"]), misfit(each)]) for each in problems)
                raise ConfigurationError(f"{checked.__name__}: {'; '.join(reasons)}") from error

        checked.__init__ = constructor  # type: ignore[misc] # the same for every caller
        _check_methods(checked)
        return checked

    @wraps(checked)
    def function(*args: Any, **options: Any) -> Any:
        further = _named_in(checked.__globals__[rest]) if rest else ()
        check(options, (*_named_in(checked), *further))
        return checked(*args, **options)

    return _as_declared(checked, function)  # type: ignore[return-value] # it returns the same


@cache
def _named_in(function: Callable[..., Any]) -> tuple[str, ...]:
    parameters = inspect.signature(function).parameters.values()
    return tuple(each.name for each in parameters if each.kind in _BY_NAME and each.name != "self")


def _as_declared(declared: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function, as a coroutine function if the one that it calls was declared as such."""

    @wraps(declared)
    async def coroutine(*args: Any, **options: Any) -> Any:
        return await function(*args, **options)

    return coroutine if inspect.iscoroutinefunction(declared) else function


def _check_methods(cls: type) -> None:
    """Make the public methods of a class refuse keywords that they do not know."""
    for name, method in {**vars(cls)}.items():
        if inspect.isfunction(method) and not name.startswith(("_", "model_")):
            parameters = inspect.signature(method).parameters.values()
            if all(each.kind is not inspect.Parameter.VAR_KEYWORD for each in parameters):
                setattr(cls, name, checks_keywords(method))


@cache
def _keywords(owner: type, cls: type) -> tuple[str, ...]:
    """Return the keywords of a constructor, and of those to which it passes what it has left."""
    names: dict[str, None] = {}
    for base in owner.__mro__[owner.__mro__.index(cls) :]:
        if "__init__" not in vars(base):
            continue
        _, *parameters = inspect.signature(vars(base)["__init__"]).parameters.values()
        names |= dict.fromkeys(each.name for each in parameters if each.kind in _BY_NAME)
        if inspect.Parameter.VAR_KEYWORD not in {each.kind for each in parameters}:
            return tuple(names)
    return tuple(names | dict.fromkeys(getattr(owner, "model_fields", ())))


def misfit(error: Mapping[str, Any]) -> str:
    """Return why a value does not fit its option: "must be at least 1".

    Args:
        error: one of those that pydantic found.
    """
    words = _DETAIL.sub("", str(error["msg"]).removeprefix("Value error, "))
    for foreign, own in _WORDS.items():
        words = words.replace(foreign, own)
    return _SUBJECT.sub("must ", words)


def _remedy(name: str, owner: str, names: Sequence[str]) -> str:
    everything = f"{owner} takes: {', '.join(names)}"
    closest = did_you_mean(name, names, "")
    return f"{closest} {everything}" if closest.endswith("?") else everything
