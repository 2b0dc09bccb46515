"""Misspelt keywords of constructors, refused with the name that was probably meant."""

from __future__ import annotations

import inspect
from functools import cache, wraps
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.spelling import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping

_Class = TypeVar("_Class", bound=type)
_BY_NAME = {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}


def checks_keywords(cls: _Class, *, instead: Mapping[str, str] = MappingProxyType({})) -> _Class:
    """Make the constructor of a class refuse keywords that it does not know.

    Python raises a bare TypeError for them, and pydantic ignores them or raises an error of its
    own.

    Args:
        cls: the class, also one of pydantic; it is changed in place.
        instead: what to write here, by names that other packages use.

    Examples:
        >>> from rag_nodes import QueryOptions
        >>> QueryOptions(fussion="rank")  # doctest: +ELLIPSIS, +NORMALIZE_WHITESPACE
        Traceback (most recent call last):
        rag_nodes.core.errors.ConfigurationError: QueryOptions: unknown option 'fussion'; did you
        mean fusion? QueryOptions takes: budget, top_k, granularity, mode, fusion, ...
    """
    construct = cls.__init__  # type: ignore[misc] # the class's own, of no instance

    @wraps(construct)
    def checked(self: object, /, *args: Any, **options: Any) -> None:
        known = _keywords(type(self), cls)  # type: ignore[arg-type] # classes are hashable
        for name in (name for name in options if name not in known):
            remedy = f"use {instead[name]}" if name in instead else _remedy(name, cls, known)
            raise ConfigurationError(f"{cls.__name__}: unknown option '{name}'; {remedy}")
        construct(self, *args, **options)

    cls.__init__ = checked  # type: ignore[misc] # the same for every caller
    return cls


@cache
def _keywords(owner: type, cls: type) -> tuple[str, ...]:
    """Return the keywords of a constructor, and of those to which it passes what it has left."""
    known: dict[str, None] = {}
    for base in owner.__mro__[owner.__mro__.index(cls) :]:
        if "__init__" not in vars(base):
            continue
        _, *parameters = inspect.signature(vars(base)["__init__"]).parameters.values()
        known |= dict.fromkeys(each.name for each in parameters if each.kind in _BY_NAME)
        if inspect.Parameter.VAR_KEYWORD not in {each.kind for each in parameters}:
            return tuple(known)
    return (*known, *getattr(owner, "model_fields", ()))


def _remedy(name: str, cls: type, known: tuple[str, ...]) -> str:
    everything = f"{cls.__name__} takes: {', '.join(known)}"
    closest = did_you_mean(name, known, "")
    return f"{closest} {everything}" if closest.endswith("?") else everything
