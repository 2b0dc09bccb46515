"""Packages whose names are imported when they are first asked for (PEP 562)."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def lazy_getattr(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """The `__getattr__` of a package some of whose modules bring much along.

    A name must not be that of a module of the package, which would be found in its place.

    Args:
        package: its `__name__`.
        homes: of each name the module of the package that defines it.

    Returns:
        What raises `AttributeError` for any other name.
    """

    def found(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return found
