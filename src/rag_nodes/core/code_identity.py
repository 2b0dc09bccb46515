"""Identity of the user's own code: a digest that changes whenever that code may have changed.

The source files of the class's module, and of all modules of the user that it imports, are hashed
as a whole; installed packages count by name and version. State that changes while a program runs
(counters, caches, clients that are opened late) therefore never changes the digest. An edit beside
the class does: documents are processed again a little too often, and never too seldom.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
import sys
import sysconfig
import threading
import types
from collections.abc import Iterator
from contextlib import suppress
from importlib.machinery import ModuleSpec
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions
from pathlib import Path
from typing import Any, NamedTuple

_PACKAGE = __name__.partition(".")[0]
_INSTALLED = ("site-packages", "dist-packages")
_HEAP_TYPE = 1 << 9
"""Flag of classes that a class statement or a call of `type` made."""
_PARSING = threading.Lock()
_TRIES = 4
"""Attempts to parse a source."""
_PLAIN = (type(None), bool, int, float, complex, str, bytes)
_SOURCES: dict[str, tuple[object, bytes]] = {}
"""Source by file, with the import that it was read for: this process runs no later edit."""


class Code(NamedTuple):
    """The code of an object.

    Attributes:
        digest: 16 hex digits; "" if all code belongs to this package, or is unhashable.
        is_own: part of the code belongs to no installed package.
        unhashable: the reason why changes of the code cannot be detected; "" if they can.
    """

    digest: str
    is_own: bool = False
    unhashable: str = ""


class _UnhashableError(Exception):
    """Changes of a piece of code cannot be detected; the message says why."""


def code_of(thing: object) -> Code:
    """Return the code that an object runs.

    Args:
        thing: a function, a class, or an object such as a splitter or a model. Functions, classes
            and objects among its attributes count, other data do not: options are compared by
            whoever asks.
    """
    collected = _Collected()
    try:
        collected.add(thing)
        for value in _attributes(thing):
            collected.add_attribute(value)
    except _UnhashableError as error:
        return Code("", is_own=True, unhashable=str(error))
    return collected.code()


def _attributes(thing: object) -> Iterator[object]:
    """Yield the values of an object's attributes, and what lists and dicts among them hold."""
    if isinstance(thing, type | types.FunctionType | types.ModuleType):
        return
    private = getattr(thing, "__pydantic_private__", None) or {}
    for value in [*getattr(thing, "__dict__", {}).values(), *private.values()]:
        yield value
        if type(value) in (list, tuple, set, frozenset):
            yield from value
        elif type(value) is dict:
            yield from value.values()


class _Collected:
    """Facts about code: names, sources of the user's own modules, versions of packages."""

    def __init__(self) -> None:
        self._facts: set[str] = set()
        self._modules: set[str] = set()
        self._is_own = False

    def code(self) -> Code:
        """Return the digest of all facts."""
        if not self._facts:
            return Code("", is_own=self._is_own)
        facts = "\0".join(sorted(self._facts)).encode("utf-8", "surrogatepass")
        return Code(hashlib.sha256(facts).hexdigest()[:16], is_own=self._is_own)

    def add(self, thing: Any) -> None:
        """Add a function, a class, or the class of an object."""
        if isinstance(thing, functools.partial):
            self.add(thing.func)
            self._add_values([*thing.args, *thing.keywords.items()], f"a partial of {thing.func}")
        elif isinstance(thing, types.MethodType):
            self.add(thing.__self__)
            self.add(thing.__func__)
        elif isinstance(thing, types.FunctionType):
            self._add_function(thing)
        elif isinstance(thing, types.BuiltinFunctionType | types.MethodDescriptorType):
            owner = getattr(thing, "__objclass__", thing)
            self._add_named(owner.__module__ or "builtins", thing.__qualname__)
        elif wrapped := getattr(thing, "__wrapped__", None):  # functools.cache, decorators
            self.add(wrapped)
        else:
            self._add_class(thing if isinstance(thing, type) else type(thing))

    def add_attribute(self, value: Any) -> None:
        """Add a function or class of the user by name, an object by the modules of its class."""
        named = value
        while isinstance(named, functools.partial | types.MethodType):
            named = named.func if isinstance(named, functools.partial) else named.__func__
        if isinstance(named, type | types.FunctionType):
            if _may_be_own(named.__module__):
                self.add(value)
        else:
            for kind in type(named).__mro__:
                if _is_own(kind.__module__):
                    self._add_module(kind.__module__)

    def _add_function(self, function: types.FunctionType) -> None:
        name = function.__qualname__
        if not self._add_named(function.__module__, name):
            return
        if not Path(function.__code__.co_filename).is_file():
            raise _UnhashableError(f"{name} has no source file: put it into a module")
        if "<" in name:  # a lambda, or made by another function
            self._facts.add(f"{name} {[*function.__code__.co_positions()]}")
            self._add_values(_bound_values(function), name)

    def _add_class(self, kind: type) -> None:
        if kind.__module__ == "builtins" and kind.__flags__ & _HEAP_TYPE:
            raise _UnhashableError(f"{kind.__qualname__} belongs to no module: put it into one")
        if _is_ours(kind.__module__):
            return
        is_own = self._add_named(kind.__module__, kind.__qualname__)
        for base in kind.__mro__[1:]:
            if base.__module__ != "builtins":
                self._add_module(base.__module__)
        if is_own and "<" in kind.__qualname__:
            for member in vars(kind).values():
                function = getattr(member, "__func__", member)
                if isinstance(function, types.FunctionType):
                    self._add_values(_bound_values(function), kind.__qualname__)

    def _add_values(self, values: list[Any], name: str) -> None:
        """Add what a function was given when it was made."""
        for value in values:
            if isinstance(value, _PLAIN):
                self._facts.add(name + " " + repr(value))
            elif type(value) is tuple:
                self._add_values([len(value), *value], name)
            elif callable(value) and not _holds_state(value):
                self.add(value)
            elif not isinstance(value, types.ModuleType):
                raise _UnhashableError(
                    f"{name} uses a {type(value).__name__} of the function around it"
                )

    def _add_named(self, module: str | None, name: str) -> bool:
        """Add the module of a function or class, and the name in it if the module is the user's."""
        if not module:
            raise _UnhashableError(f"{name} belongs to no module: put it into one")
        file = _file_of(sys.modules.get(module))
        if file is None and not _is_standard(module):
            raise _UnhashableError(f"{name} has no source file: put it into a module")
        self._add_module(module)
        if _is_own(module) or not (_is_ours(module) or _is_standard(module)):
            self._facts.add(f"{module}:{name}")
        return _is_own(module)

    def _add_module(self, name: str) -> None:
        """Add a module, and all modules that the sources of the user's own modules import."""
        pending = [name]
        while pending:
            name = pending.pop()
            if name in self._modules or _is_ours(name) or _is_standard(name):
                continue
            self._modules.add(name)
            module = sys.modules.get(name)
            file = _file_of(module) or getattr(_spec_of(name), "origin", None)
            owner = _distribution_of(file) if file else None
            if owner or file is None:  # None for a namespace, and for an import that fails
                self._facts.add(owner or f"{name} has no file")
                continue
            self._is_own = True
            if not file.endswith(".py"):
                raise _UnhashableError(f"module {name} is compiled")
            source = _source_of(file, module)
            self._facts.add(f"{name} {hashlib.sha256(source).hexdigest()}")
            package = name if file.endswith("__init__.py") else name.rpartition(".")[0]
            pending += _imports_of(source, getattr(module, "__package__", None) or package)


def _bound_values(function: types.FunctionType) -> list[Any]:
    """Return the values of a function's defaults and closure; empty cells are left out."""
    values = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    for name, cell in cells:
        if name != "__class__":
            with suppress(ValueError):
                values.append(cell.cell_contents)
    return [value for value in values if value is not function]


def _holds_state(thing: object) -> bool:
    """Return whether a callable is an object with attributes of its own."""
    kinds = (type, functools.partial, types.FunctionType, types.BuiltinFunctionType)
    return not isinstance(thing, kinds) and not hasattr(thing, "__wrapped__")


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == _PACKAGE


def _is_standard(module: str) -> bool:
    return module.partition(".")[0] in sys.stdlib_module_names and module != "__main__"


def _is_own(module: str) -> bool:
    """Return whether a module belongs to the user: to no package, and not to Python."""
    file = _file_of(sys.modules.get(module))
    is_known = _is_ours(module) or _is_standard(module)
    return not is_known and file is not None and _distribution_of(file) is None


def _may_be_own(module: str | None) -> bool:
    """Return whether a module is the user's, or nothing is known of it, as of a notebook."""
    if not module:
        return True
    is_unknown = _file_of(sys.modules.get(module)) is None and not _is_standard(module)
    return is_unknown or _is_own(module)


def _file_of(module: types.ModuleType | None) -> str | None:
    return getattr(module, "__file__", None)


def _spec_of(name: str) -> ModuleSpec | None:
    """Return where a module would be imported from, without importing anything."""
    spec, path = None, None
    parts = name.split(".")
    for depth in range(1, len(parts) + 1):
        part = ".".join(parts[:depth])
        specs = (finder.find_spec(part, path) for finder in sys.meta_path)
        try:
            spec = next(filter(None, specs), None)
        except (ImportError, AttributeError, ValueError, OSError):
            return None
        if spec is None:
            return None
        path = spec.submodule_search_locations
    return spec if spec is None or spec.origin != "built-in" else None


@functools.cache
def _is_installed(module: str) -> bool:
    """Return whether a module that is imported belongs to Python, a package, or this package."""
    origin = getattr(_spec_of(module), "origin", None)
    is_known = _is_ours(module) or _is_standard(module)
    return is_known or (origin is not None and _distribution_of(origin) is not None)


def _source_of(file: str, module: types.ModuleType | None) -> bytes:
    """Return the source of a module as it was when this process first looked after its import."""
    imported = getattr(module, "__spec__", None) or module
    entry = _SOURCES.get(file)
    if entry and imported is not None and entry[0] is imported:
        return entry[1]
    try:
        source = Path(file).read_bytes()
    except OSError as error:
        raise _UnhashableError(f"{file} cannot be read ({error.strerror})") from error
    if imported is not None:
        _SOURCES[file] = imported, source
    return source


def _imports_of(source: bytes, package: str) -> Iterator[str]:
    """Yield the names of the modules that a source imports anywhere, by statement."""
    try:
        tree = _parsed(source)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise _UnhashableError(f"a source of it cannot be parsed ({error})") from error
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name
        elif isinstance(node, ast.ImportFrom):
            dotted = "." * node.level + (node.module or "")
            with suppress(ImportError):
                base = importlib.util.resolve_name(dotted, package)
                yield base
                if not _is_installed(base):
                    inner = (f"{base}.{alias.name}" for alias in node.names)
                    yield from (name for name in inner if _spec_of(name))


def _parsed(source: bytes) -> ast.Module:
    """Parse a source; Python up to 3.11 fails at random if two threads do so at once."""
    for _ in range(_TRIES):
        with suppress(SystemError), _PARSING:
            return ast.parse(source)
    return ast.parse(source)


@functools.cache
def _distribution_of(file: str) -> str | None:
    """Return name and version of the package that installed a file; None if none did.

    Files of an editable install, or of a folder on PYTHONPATH, may change while the version stays.
    """
    path = Path(file).resolve()
    for folder in path.parents:
        if folder.name in _INSTALLED:
            return _installed(path.relative_to(folder).parts)
    standard = (sysconfig.get_path(name) for name in ("stdlib", "platstdlib"))
    if any(path.is_relative_to(Path(folder).resolve()) for folder in standard if folder):
        return "python"
    return None


def _installed(parts: tuple[str, ...]) -> str | None:
    """Return the package named like the folders around a file, else all with such a folder.

    To ask all of them takes a quarter of a second.
    """
    for depth in range(len(parts) - 1, 0, -1):
        with suppress(PackageNotFoundError, ValueError):
            return _named("-".join(parts[:depth]))
    owners = packages_distributions().get(parts[0].removesuffix(".py"), ())
    return ", ".join(map(_named, sorted(set(owners)))) or None


def _named(name: str) -> str:
    package = distribution(name)
    return f"{package.metadata['Name']} {package.version}"
