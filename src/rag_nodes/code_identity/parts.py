"""What objects and code are made of, without a look into it, and whose a file is."""

from __future__ import annotations

import contextvars
import copyreg
import dis
import enum
import functools
import os
import re
import sys
import sysconfig
import threading
import types
import weakref
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions
from importlib.util import find_spec, resolve_name
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

_INSTALLED = {"site-packages", "dist-packages"}
"""Names of folders that installers write to."""
_PYTHON = "python " + ".".join(map(str, sys.version_info[:3]))


@cache
def distribution_of(file: str) -> str | None:
    """Name and version of the distribution that installed a file; None where none did.

    A file of an editable install, or of a folder on PYTHONPATH, was installed by none: it may
    change while the version stays. The standard library is "python" and its version.

    Args:
        file: path of a module, or what stands for it in code that is frozen into the interpreter.
    """
    if file.startswith("<frozen "):
        return _PYTHON
    path = Path(file).resolve()
    for folder in path.parents:
        if folder.name in _INSTALLED:
            return _installed(path.relative_to(folder).parts)
    if any(path.is_relative_to(folder) for folder in _standard_library()):
        return _PYTHON
    return None


@cache
def _standard_library() -> tuple[Path, ...]:
    named = (sysconfig.get_path(name) for name in ("stdlib", "platstdlib"))
    return tuple(Path(folder).resolve() for folder in named if folder)


def _installed(parts: tuple[str, ...]) -> str | None:
    """The distribution called like the packages around a file, else all that have such a package.

    To ask all of them takes a quarter of a second.
    """
    for depth in range(len(parts) - 1, 0, -1):
        try:
            return _named("-".join(parts[:depth]))
        except (PackageNotFoundError, ValueError):
            continue
    owners = packages_distributions().get(parts[0].removesuffix(".py"), ())
    return ", ".join(map(_named, sorted(set(owners)))) or None


def _named(name: str) -> str:
    found = distribution(name)
    return f"{found.metadata['Name']} {found.version}"


PLAIN = (type(None), bool, int, float, complex, str, bytes)
COMPILED = (
    *(types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType),
    *(types.MethodWrapperType, types.ClassMethodDescriptorType),
)
"""Functions and methods that are not written in Python."""
WEAK = (
    *(weakref.ref, weakref.WeakKeyDictionary, weakref.WeakValueDictionary, weakref.WeakSet),
    *(type(threading.Lock()), type(threading.RLock()), threading.local, contextvars.ContextVar),
    *(types.MemberDescriptorType, types.GetSetDescriptorType, types.ModuleType),
)
"""What serves caches, threads and attributes and decides nothing; and modules that are passed
around, as code that reads a module names it."""
UNHEEDED = re.compile(
    r"(^|_)(api_?key|secret|password|credentials?)$|^(callback_manager|_abc_impl)$", re.IGNORECASE
)
"""Names of what may be a key, and of what decides nothing."""
_OPENED = frozenset({"_client", "_aclient"})
"""Attributes in which models of distributions, and ours, have what they opened when first asked."""
MAKES_CODE = frozenset({"eval", "exec", "__import__", "import_module"})
"""Names with which code reaches what nobody sees in it."""
_OURS = str(Path(__file__).resolve().parent.parent) + os.sep
"""The folder of this package."""
_LARGEST = 1 << 26
"""Bytes of an array that are hashed."""

COLLECTIONS = (list, tuple, dict, set, frozenset, types.MappingProxyType)


class UntoldError(Exception):
    """Something decides what the code does, and cannot be compared from one run to the next."""

    def __init__(self, why: str, name: str = "") -> None:
        super().__init__(f"{name}: {why}" if name else why)
        self.why, self.name = why, name


class Import(NamedTuple):
    """An import inside of a function, of a module or of names out of one."""

    level: int  # dots before the name, of a relative one
    name: str
    wanted: tuple[str, ...]


class Reads(NamedTuple):
    """What code reads outside of itself."""

    variables: set[str]
    names: set[str]  # those and the names of all attributes
    imports: list[Import]

    @classmethod
    def of(cls, code: types.CodeType) -> Reads:
        """What a function reads, with the functions and classes inside of it."""
        found = cls(set(), set(code.co_names), [])
        steps = list(dis.get_instructions(code))
        for number, step in enumerate(steps):
            if step.opname in {"LOAD_GLOBAL", "LOAD_NAME"}:
                found.variables.add(step.argval)
            elif step.opname == "IMPORT_NAME":
                level, wanted = steps[number - 2].argval, steps[number - 1].argval
                found.imports.append(Import(int(level or 0), step.argval, tuple(wanted or ())))
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                inner = cls.of(constant)
                found.variables.update(inner.variables)
                found.names.update(inner.names)
                found.imports.extend(inner.imports)
        return found


def shown(constant: object) -> str:
    """A constant of code, with its type: 1, 1.0 and True are equal."""
    if isinstance(constant, frozenset):
        return "{" + ", ".join(sorted(map(shown, constant))) + "}"
    if isinstance(constant, tuple):
        return "(" + ", ".join(map(shown, constant)) + ")"
    return f"{type(constant).__name__} {constant!r}"


def filled(cells: Iterable[tuple[str, types.CellType]]) -> Iterator[tuple[str, object]]:
    """The values of a closure, by name."""
    for name, cell in cells:
        try:
            yield name, cell.cell_contents
        except ValueError:  # nothing was assigned yet
            continue


def wrapped(thing: Any) -> list[object]:
    """What a method, a property or a cache is made of; nothing for anything else."""
    if isinstance(thing, types.MethodType):
        return [thing.__func__, thing.__self__]
    if isinstance(thing, staticmethod | classmethod):
        return [thing.__func__]
    if isinstance(thing, property):
        return [thing.fget, thing.fset, thing.fdel]
    if isinstance(thing, functools._lru_cache_wrapper):  # noqa: SLF001 -- it has no other name
        return [thing.__wrapped__]
    if isinstance(thing, enum.Enum):
        return [type(thing), thing.name, thing.value]
    return []


def attributes(thing: object) -> dict[str, object]:
    """What an object holds, by name, but for what a model opened since it was made."""
    held = {
        **(getattr(thing, "__dict__", None) or {}),
        **(getattr(thing, "__pydantic_private__", None) or {}),
    }
    if not held.keys() & _OPENED or not is_owned(file_of_module(type(thing).__module__)):
        return held
    return {name: value for name, value in held.items() if name not in _OPENED}


def members_of(kind: type) -> Iterator[tuple[str, object]]:
    """What is in a class, by name, but for what Python and pydantic put there themselves."""
    routines = (types.FunctionType, property, staticmethod, classmethod)
    for name, value in sorted(vars(kind).items()):
        is_made = name.startswith("__") and not isinstance(value, routines)
        if not (is_made or name.startswith("__annotate")):
            yield name, value


def declared_in(kind: Any) -> Iterator[list[object]]:
    """The defaults that pydantic keeps of the fields and private attributes of a class."""
    for name, field in sorted(getattr(kind, "__pydantic_fields__", {}).items()):
        yield [name, field.default, field.default_factory, field.metadata]
    for name, private in sorted(getattr(kind, "__private_attributes__", {}).items()):
        if not UNHEEDED.search(name):
            yield [name, private.default, private.default_factory]


def reduced(thing: Any) -> str | tuple[object, ...]:
    """What is sent of an object to another process.

    Raises:
        Exception: it cannot be sent, or is too large to be compared.
    """
    if getattr(thing, "nbytes", 0) > _LARGEST:
        raise OverflowError
    reduce = copyreg.dispatch_table.get(type(thing))
    found = reduce(thing) if reduce else thing.__reduce_ex__(4)
    if isinstance(found, str):
        return found
    return (*found[:3], *(list(items or ()) for items in found[3:5]))


def path_of(thing: Any) -> str:
    """Where a class, a function or a module is, for people."""
    named = getattr(thing, "__qualname__", None) or getattr(thing, "__name__", "")
    return f"{getattr(thing, '__module__', None) or ''}:{named}".lstrip(":")


def file_of_module(name: str) -> str | None:
    """Where a module is; None where nobody knows, as of what was typed at a prompt."""
    module = sys.modules.get(name)
    return getattr(module, "__file__", None) or _built_in(getattr(module, "__spec__", None))


def _built_in(spec: ModuleSpec | None) -> str | None:
    """What stands for the file of what is part of the interpreter; None for anything else."""
    return "<frozen >" if spec and spec.origin in {"built-in", "frozen"} else None


def imported(one: Import, package: str) -> types.ModuleType | str:
    """What an import gives; of a distribution that was not asked for yet only its name and version.

    Args:
        one: the import.
        package: of the module it stands in.

    Raises:
        Exception: whatever a module raises that is imported, as it is the user's own.
    """
    full = resolve_name("." * one.level + one.name, package) if one.level else one.name
    top = full.partition(".")[0]
    if top not in sys.modules:
        spec = find_spec(top)
        if spec is None:
            return "absent"  # the function has to do without
        file = _built_in(spec) or spec.origin
        if file and (owner := distribution_of(file)):
            return owner
    module = import_module(full)
    for name in one.wanted:
        if name not in vars(module) and not is_owned(file_of_module(full)):
            import_module(f"{full}.{name}")
    # `import a.b` gives `a`, of which `b` is read.
    return module if one.wanted else sys.modules[top]


def is_owned(file: str | None) -> bool:
    """Whether a file is of a distribution, or of this package."""
    return file is not None and (is_ours(file) or distribution_of(file) is not None)


def is_ours(file: str) -> bool:
    """Whether a file is of this package, which its version says."""
    return file.startswith(_OURS)
