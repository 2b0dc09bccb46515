"""What code an object runs, as a digest that is the same in every process.

Code of an installed distribution is known by name and version. All other code is looked into as
Python runs it: bytecode and constants, default values, closures, and the globals it reads, down to
the functions, classes and modules of the user's own that it uses. The text of a file is not asked:
it may have been edited since it was imported, and of what was typed at a prompt there is none.
"""

from __future__ import annotations

import functools
import hashlib
import sys
import types
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from rag_nodes.code_identity.parts import (
    COLLECTIONS,
    COMPILED,
    MAKES_CODE,
    PLAIN,
    UNHEEDED,
    WEAK,
    Import,
    Reads,
    UntoldError,
    attributes,
    declared_in,
    distribution_of,
    file_of_module,
    filled,
    imported,
    is_ours,
    is_owned,
    members_of,
    path_of,
    reduced,
    shown,
    wrapped,
)


class Code(NamedTuple):
    """The code of an object.

    Attributes:
        digest: 16 hex digits; "" where all of it is of this package, or it cannot be told.
        is_own: some of it is in no installed distribution.
        untold: why it cannot be told; "" where it can.
    """

    digest: str
    is_own: bool = False
    untold: str = ""


def code_of(thing: object) -> Code:
    """The code that an object runs: of its class or of itself, and of what it holds.

    Data that the object holds do not count: its options are for others to compare. Data that its
    code reads elsewhere, in closures and globals, do.

    Args:
        thing: a function, or an object such as a splitter or a model.
    """
    walk = _Walk()
    try:
        walk.begin(thing)
    except UntoldError as error:
        return Code("", is_own=True, untold=str(error))
    except RecursionError:
        return Code("", is_own=True, untold="it is nested too deeply")
    return Code(walk.digest(), walk.is_own)


class _Walk:
    """One look at everything that an object runs."""

    def __init__(self) -> None:
        self.is_own = False
        self._said = hashlib.sha256()
        self._is_blank = True
        self._count = 0
        self._numbers: dict[object, int] = {}
        self._kept: list[object] = []  # or another object could get the same id

    def digest(self) -> str:
        """Of all that was said."""
        if self.is_own:
            self._say(str(sys.implementation.cache_tag))  # bytecode is that of one version
        return "" if self._is_blank else self._said.hexdigest()[:16]

    def begin(self, thing: object) -> None:
        """Look at an object and at what it holds, for code."""
        named: Any = thing
        while isinstance(named, functools.partial):
            named = named.func
        if isinstance(named, types.MethodType):
            named = named.__self__
        if isinstance(named, types.FunctionType):
            self._say_owner(named.__code__.co_filename, named)
        elif not isinstance(named, COMPILED):
            kind = named if isinstance(named, type) else type(named)
            self._say_owner(file_of_module(kind.__module__), kind)
        self._look(thing, data=False)

    def _say(self, *facts: str) -> None:
        self._is_blank = False
        for fact in facts:
            written = fact.encode("utf-8", "surrogatepass")
            self._said.update(b"%d:" % len(written) + written)

    def _say_owner(self, file: str | None, thing: Any) -> bool:
        """Say whose a thing is, and whether it is of a distribution; nothing of our own."""
        if file is not None and is_ours(file):
            return True
        owner = distribution_of(file) if file else None
        if owner:
            self._say(owner, path_of(thing))
        return bool(owner)

    def _is_known(self, thing: object, *aspects: str, data: bool) -> bool:
        """Whether it was looked at before, so that nothing goes round in circles.

        What is looked at for code alone may have been made since the object began to work: nothing
        is said of it a second time. Equal tuples may be one object in one process and two in
        another: they are looked at again.
        """
        if type(thing) in (tuple, frozenset):
            return False
        key = (id(thing), *aspects)
        known = self._numbers.get((*key, True))
        if known and data:
            self._say("again", str(known))
        if known or (*key, data) in self._numbers:
            return True
        self._count += data
        self._numbers[*key, data] = self._count
        self._kept.append(thing)
        return False

    def _look(self, thing: Any, *, data: bool) -> None:
        """Look at anything.

        Args:
            thing: whatever an object holds, or its code reads.
            data: whether data count, as they do where code reads them; else only code does.
        """
        if type(thing) in PLAIN:
            if data:
                self._say(type(thing).__name__, repr(thing))
        elif not isinstance(thing, WEAK) and not self._is_known(thing, data=data):
            look = next((look for kind, look in _LOOKS if isinstance(thing, kind)), None)
            if look and (look is not _Walk._look_at_collection or type(thing) in COLLECTIONS):
                look(self, thing, data=data)
            elif parts := wrapped(thing):
                self._look_at_items(parts, data=data)
            elif data:
                self._look_at_data(thing)
            else:
                self._look_at_object(thing)

    def _look_at_collection(self, thing: Any, *, data: bool) -> None:
        if isinstance(thing, dict | types.MappingProxyType):
            self._look_at_names(thing, data=data)
        elif data and isinstance(thing, set | frozenset):
            self._say("set", *sorted(_digest_of(one) for one in thing))
        else:
            self._look_at_items(thing, data=data)

    def _look_at_partial(self, thing: functools.partial[Any], *, data: bool) -> None:
        self._look(thing.func, data=data)
        self._look_at_items([thing.args, thing.keywords], data=True)

    def _look_at_object(self, thing: Any) -> None:
        """Look at an object for code, in its class and in what it holds."""
        self._look_at_class(type(thing), data=False)
        self._look_at_names(attributes(thing), data=False)
        if isinstance(thing, dict):
            self._look_at_names(thing, data=False)
        elif isinstance(thing, list | tuple | set | frozenset):
            self._look_at_items(thing, data=False)

    def _look_at_function(self, function: types.FunctionType, *, data: bool) -> None:
        """Look at code and at what it reads; of a distribution's only at what it was given."""
        code = function.__code__
        if is_owned(code.co_filename):
            if data:
                self._say_owner(code.co_filename, function)
        else:
            data = self.is_own = True
            self._look_at_code(code)
            self._look_at_globals(function)
        self._look_at_items([function.__defaults__, function.__kwdefaults__], data=data)
        cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
        self._look_at_names(dict(filled(cells)), data=data)
        self._look_at_names(function.__dict__, data=data)

    def _look_at_code(self, code: types.CodeType) -> None:
        counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
        self._say("code", code.co_code.hex(), code.co_exceptiontable.hex(), repr(counts))
        self._say(repr(names))
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._look_at_code(constant)
            else:
                self._say(shown(constant))

    def _look_at_globals(self, function: types.FunctionType) -> None:
        """Look at what code reads outside of itself."""
        known = function.__globals__
        reads = Reads.of(function.__code__)
        if reads.names & MAKES_CODE - known.keys():
            raise UntoldError(f"{path_of(function)} runs code that it makes or looks up by name")
        for name in sorted(reads.variables & known.keys()):
            if not UNHEEDED.search(name):
                self._say(name)
                self._look_at_read(name, known[name], reads.names)
        for one in reads.imports:
            self._look_at_import(function, one, reads.names)

    def _look_at_read(self, name: str, value: object, names: set[str]) -> None:
        if isinstance(value, types.ModuleType):
            self._look_at_module(value, names)
            return
        try:
            self._look(value, data=True)
        except UntoldError as error:
            raise UntoldError(error.why, error.name or name) from None

    def _look_at_module(self, module: types.ModuleType, names: set[str]) -> None:
        """Look at a module: one of the user's own as far as it is read by these names."""
        file = getattr(module, "__file__", None) or file_of_module(module.__name__)
        if is_owned(file):
            self._say_owner(file, module)
            return
        read = sorted(names & vars(module).keys())
        if self._is_known(module, *read, data=True):
            return
        self.is_own = True
        for name in read:
            self._say(name)
            self._look_at_read(name, vars(module)[name], names)

    def _look_at_import(self, function: types.FunctionType, one: Import, names: set[str]) -> None:
        """Look at a module that code imports when it runs."""
        try:
            found = imported(one, function.__globals__.get("__package__") or "")
        except Exception as error:
            raise UntoldError(
                f"{path_of(function)} imports {one.name}, which failed ({type(error).__name__})"
            ) from error
        if isinstance(found, types.ModuleType):
            self._look_at_module(found, {*names, *one.name.split(".")})
        else:
            self._say(one.name, found)

    def _look_at_class(self, kind: type, *, data: bool) -> None:
        """Look at a class and those it is made of; nothing of those of a distribution."""
        file = file_of_module(kind.__module__)
        if is_owned(file):
            if data:
                self._say_owner(file, kind)
            return
        known = (id(kind), "class", True) in self._numbers
        if (known and not data) or self._is_known(kind, "class", data=True):
            return
        self.is_own = True
        for base in kind.__mro__[1:]:
            self._look_at_class(base, data=True)
        self._look_at_class(type(kind), data=True)
        for name, value in members_of(kind):
            if not UNHEEDED.search(name):
                self._say(name)
                self._look_at_read(name, value, set())
        self._look_at_items(declared_in(kind), data=True)

    def _look_at_compiled(self, thing: Any, *, data: bool) -> None:
        held = getattr(thing, "__self__", None)
        if not isinstance(held, types.ModuleType | type):
            self._look(held, data=data)
        owner = getattr(thing, "__objclass__", type(held) if held is not None else None)
        named = thing.__module__ if getattr(thing, "__module__", None) else owner
        file = file_of_module(named if isinstance(named, str) else getattr(named, "__module__", ""))
        if not is_owned(file):
            raise UntoldError(f"{path_of(thing)} is compiled")
        if data:
            self._say_owner(file, thing)

    def _look_at_data(self, thing: Any) -> None:
        """Look at an object as it would be sent to another process."""
        if hasattr(thing, "__pydantic_private__"):  # what they send lacks private attributes
            self._look_at_class(type(thing), data=True)
            self._look_at_names(attributes(thing), data=True)
            return
        try:
            parts = reduced(thing)
        except Exception as error:
            raise UntoldError(
                f"what is in {path_of(type(thing))} cannot be compared from one run to the next"
            ) from error
        self._kept.append(parts)
        self._look_at_class(type(thing), data=True)
        self._look_at_items([parts] if isinstance(parts, str) else parts, data=True)

    def _look_at_items(self, things: Iterable[object], *, data: bool) -> None:
        kept = list(things)
        self._kept.append(kept)
        if data:
            self._say(str(len(kept)))
        for one in kept:
            self._look(one, data=data)

    def _look_at_names(self, things: Mapping[Any, object], *, data: bool) -> None:
        """Look at values by name, in their order; keys of people and services do not count."""
        for name, value in list(things.items()):
            if isinstance(name, str) and UNHEEDED.search(name):
                continue
            if data:
                self._look(name, data=True)
            self._look(value, data=data)


_LOOKS: tuple[tuple[Any, Any], ...] = (
    (types.FunctionType, _Walk._look_at_function),  # noqa: SLF001 -- of the class above
    (COMPILED, _Walk._look_at_compiled),  # noqa: SLF001
    (type, _Walk._look_at_class),  # noqa: SLF001
    (functools.partial, _Walk._look_at_partial),  # noqa: SLF001
    (COLLECTIONS, _Walk._look_at_collection),  # noqa: SLF001
)
"""How to look at what is no plain object, by its kind."""


def _digest_of(thing: object) -> str:
    """Of an element of a set, whose order differs between processes."""
    walk = _Walk()
    walk._look(thing, data=True)  # noqa: SLF001 -- of the same class
    return walk.digest()
