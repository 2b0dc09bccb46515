"""Descriptions of operations for the surfaces that offer them, and exit codes."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from enum import IntEnum
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Callable

    from rag_nodes.operations.base import Reply, Request, Result, Surface
    from rag_nodes.operations.run import Run


class ExitCode(IntEnum):
    """Outcome of an operation and of its process; 5 is also for gates that are inconclusive."""

    DONE = 0
    FAILURE = 1
    USAGE = 2
    PARTIAL = 3
    GATE = 4
    UNAVAILABLE = 5
    UNTOLD = UNAVAILABLE
    INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing the product does.

    Attributes:
        name: what is typed, in one word or two.
        path: module below `package` and function, as `documents:chunk`.
        summary: first sentence of the request's docstring.
        examples: command lines, without the program's name.
        main: fields and settings that a help text shows first.
        settings: names of settings that can be given with the request by their owner.
        defaults: settings whose default differs, name and value.
        surfaces: where it can be asked for.
        interrupted: message for those who end it on a command line.
        package: of the module.
        surplus: what to type where more arguments were typed than the command takes.
    """

    name: str
    path: str
    summary: str
    examples: tuple[str, ...] = ()
    main: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    defaults: tuple[tuple[str, str], ...] = ()
    surfaces: tuple[Surface, ...] = ("cli",)
    interrupted: str = ""
    package: str = "rag_nodes.operations"
    surplus: str = ""

    @property
    def function(self) -> Callable[[Any, Run], Result]:
        """Function of the operation, given the request and a run."""
        module, _, name = self.path.partition(":")
        function = getattr(import_module(f"{self.package}.{module}"), name)
        return cast("Callable[[Any, Run], Result]", function)

    @property
    def request(self) -> type[Request]:
        """Class of its request."""
        return self._annotated("request")

    @property
    def result(self) -> type[Result]:
        """Class of its result."""
        return self._annotated("return")

    @property
    def reply(self) -> type[Reply]:
        """Part of its `as_dict` that strangers see; only operations of served surfaces have it."""
        module, _, name = self.result.reply.partition(":")
        reply = getattr(import_module(f"rag_nodes.operations.{module}"), name)
        return cast("type[Reply]", reply)

    def _annotated(self, name: str) -> type[Any]:
        annotation = self.function.__annotations__[name]  # a text, as every annotation is
        return cast("type[Any]", getattr(sys.modules[self.function.__module__], annotation))
