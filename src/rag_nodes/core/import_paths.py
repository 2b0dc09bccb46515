"""`module:Name(option=value)` to the object it stands for; packages that import names when asked.

Paths are for what the user of this machine typed. Nothing that comes from a browser or over REST
gets here: whoever names a module has it imported.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from importlib import import_module
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeGuard

from rag_nodes.core.errors import ConfigurationError, MissingPackageError, RagNodesError
from rag_nodes.core.keys import kind_of

if TYPE_CHECKING:
    from pydantic import ValidationError

_CALL = re.compile(
    r"(?P<module>[A-Za-z_][\w.]*):(?P<name>[A-Za-z_][\w.]*)\((?P<given>.*)\)", re.DOTALL
)
_CLASS = re.compile(r"(?P<module>[A-Za-z_][\w.]*):(?P<name>[A-Z]\w*)(?P<given>)")
_CORE = "llama_index.core."
_INTEGRATION = re.compile(r"llama_index\.(?!core\b)(\w+)\.(\w+)")


def is_path(text: str) -> bool:
    """Return True if a text is an import path, and not `preset:option=value`.

    >>> from rag_nodes.core.import_paths import is_path
    >>> is_path("llama_index.core.node_parser:SentenceSplitter(chunk_size=512)")
    True
    >>> is_path("fixed:chunk_size=512")
    False
    """
    return _match(text) is not None


def label_of(path: str) -> str:
    """Return the object's name in reports: the path without its module.

    >>> from rag_nodes.core.import_paths import label_of
    >>> label_of("chonkie:TokenChunker(chunk_size=512)")
    'TokenChunker(chunk_size=512)'
    """
    return path.strip().partition(":")[2]


def load(
    path: str, kind: type = object, /, *, offered: Mapping[str, Any] | None = None, **options: Any
) -> Any:
    """The object that a path stands for.

    Args:
        path: `module:Class` or `module:Class.method(option=value, ...)`; the values are literals.
        kind: where it is given, a class of that kind is made and nothing else is called.
        offered: options for a class that has fields of these names, unless the path gives them.
        options: next to those of the path.

    Raises:
        MissingPackageError: an integration of LlamaIndex that is not installed.
        ConfigurationError: the path is written otherwise, the module or name is not there or of
            another kind, or the class refuses its options, of which no value is repeated that
            pydantic would repeat.
        RagNodesError: what a module or class of ours raises.
    """
    match = _match(path)
    if match is None:
        raise ConfigurationError(
            f"'{path}' is not an import path: write module:Class(option=value), for example "
            "llama_index.core.node_parser:SentenceSplitter(chunk_size=512)"
        )
    factory = _named(match["module"], match["name"])
    if kind is not object and not (isinstance(factory, type) and issubclass(factory, kind)):
        raise ConfigurationError(f"'{path}' is not a subclass of {kind.__name__}; name one")
    fields = getattr(factory, "model_fields", {})
    given = {name: value for name, value in (offered or {}).items() if name in fields}
    options = {**given, **options, **_literals(path, match["given"])}
    try:
        return factory(**options)
    except RagNodesError:
        raise
    except (Exception, SystemExit) as error:
        words = _words(error)
        # LlamaIndex's own reason, unless an option may hold a key: it may repeat the values.
        is_harmless = all(isinstance(value, int | float) for value in options.values())
        names_package = isinstance(error, ImportError)
        has_reason = names_package or (type(error) is ValueError and is_harmless)
        if has_reason and match["module"].startswith(_CORE):
            words = str(error).rstrip(".")
        remedy = "install what it needs" if names_package else "check its options"
        raise ConfigurationError(
            f"{match['name']} cannot be made from '{path}': {words}; {remedy}, or make it "
            "in Python to see why"
        ) from error


_OWN_WORDS = frozenset({"value_error", "assertion_error"})


def _words(error: BaseException) -> str:
    """Return what a class says about its options; without values if pydantic refused them."""
    if not _is_pydantics(error):
        return kind_of(error)
    problems = error.errors(include_input=False, include_url=False, include_context=False)
    # The text of "value_error" and "assertion_error" is that of the class's own code.
    return "; ".join(
        f"{'.'.join(map(str, problem['loc']))}: "
        f"{'is refused by the class' if problem['type'] in _OWN_WORDS else problem['msg']}"
        for problem in problems
    )


def _is_pydantics(error: BaseException) -> TypeGuard[ValidationError]:
    from pydantic import ValidationError

    return isinstance(error, ValidationError)


def load_object(path: str) -> Any:
    """The object at `module:name`; of a function, what it gives.

    Raises:
        MissingPackageError: an integration of LlamaIndex that is not installed.
        ConfigurationError: the path is written otherwise, or the module or name is not there, or
            the function fails.
    """
    module, colon, name = path.strip().partition(":")
    if not (colon and all(map(str.isidentifier, f"{module}.{name}".split(".")))):
        raise ConfigurationError(f"'{path}' is not the path of an object: write module:name")
    target = _found(module, name)
    if not isinstance(target, FunctionType):
        return target
    try:
        return target()
    except RagNodesError:
        raise
    except (Exception, SystemExit) as error:
        raise ConfigurationError(f"{path} failed: {_words(error)}") from error


def with_options(path: str, **options: Any) -> str:
    """The path of the same class with some options changed.

    Raises:
        ConfigurationError: it is no path.

    >>> from rag_nodes.core.import_paths import with_options
    >>> with_options("chonkie:TokenChunker(chunk_size=512)", chunk_size=64)
    'chonkie:TokenChunker(chunk_size=64)'
    """
    match = _match(path)
    if match is None:
        raise ConfigurationError(
            f"'{path}' is not an import path: write module:Class(option=value)"
        )
    given = {**_literals(path, match["given"]), **options}
    listed = ", ".join(f"{name}={value!r}" for name, value in given.items())
    return f"{match['module']}:{match['name']}({listed})"


def _match(text: str) -> re.Match[str] | None:
    return _CALL.fullmatch(text.strip()) or _CLASS.fullmatch(text.strip())


def _named(module: str, name: str) -> Any:
    target = _found(module, name)
    if not callable(target):
        raise ConfigurationError(f"{module}:{name} cannot be called: name a class")
    return target


def _found(module: str, name: str) -> Any:
    try:
        target: Any = import_module(module)
    except RagNodesError:
        raise
    except (Exception, SystemExit) as error:
        _refuse_missing_integration(module, error)
        raise ConfigurationError(
            f"module '{module}' cannot be imported: {kind_of(error)}; install the "
            "package it belongs to, or put its folder on PYTHONPATH"
        ) from error
    for part in name.split("."):
        if not hasattr(target, part):
            raise ConfigurationError(f"module '{module}' has no '{name}'")
        target = getattr(target, part)
    return target


def _refuse_missing_integration(module: str, error: BaseException) -> None:
    """LlamaIndex's integrations are packages of their own, called like the module they hold."""
    integration = _INTEGRATION.match(module)
    missing = isinstance(error, ModuleNotFoundError) and module.startswith(error.name or ":")
    if integration and missing:
        kind, name = (part.replace("_", "-") for part in integration.groups())
        raise MissingPackageError(f"llama-index-{kind}-{name}") from error


def _literals(path: str, given: str) -> dict[str, Any]:
    """The options as plain values: they are read, never evaluated."""
    try:
        return {
            name: ast.literal_eval(value)
            for name, value in _keywords(ast.parse(f"_({given})", mode="eval").body)
        }
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError) as error:
        raise ConfigurationError(
            f"'{path}': options are written option=value with plain values such as 512, 'text', "
            f"True or [1, 2] ({error})"
        ) from error


def _keywords(call: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """The options of a call by name."""
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)) or call.args:
        raise ValueError("every option has a name")
    for option in call.keywords:
        if option.arg is None:
            raise ValueError("every option has a name")
        yield option.arg, option.value


def lazy_getattr(package: str, homes: Mapping[str, Collection[str]]) -> Callable[[str], object]:
    """The `__getattr__` of a package some of whose modules bring much along.

    A name must not be that of a module of the package, which would be found in its place.

    Args:
        package: its `__name__`.
        homes: by module of the package, which names it defines.

    Returns:
        What raises `AttributeError` for any other name.
    """

    def found(name: str) -> object:
        for home, names in homes.items():
            if name in names:
                value = getattr(import_module(f"{package}.{home}"), name)
                setattr(sys.modules[package], name, value)
                return value
        raise AttributeError(f"module '{package}' has no attribute '{name}'")

    return found
