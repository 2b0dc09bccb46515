"""Invocation: flags, settings and the two streams of one run of the command line."""

from __future__ import annotations

import json
import logging
import os
import re
import shlex
import sys
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer
from rich.console import Console
from rich.text import Text

from rag_nodes.cli.views import NAMES_COMMANDS, VIEWS
from rag_nodes.cli.views.text import one_line, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from rag_nodes.core.settings import Settings
    from rag_nodes.operations import Operation
    from rag_nodes.operations.base import Request

SCHEMA_VERSION = 1
"""Version of every object `--json` prints; raised when a key changes its meaning."""
PIPED_WIDTH = 110
"""Columns of a report that goes to a file or a pipe."""

_TRAILING_BLANKS = re.compile(" +$", re.MULTILINE)
_UNSAFE_IN_JSON = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""JSON allows these, terminals act on some and UTF-8 refuses others."""

_COMMAND = re.compile(r"`rag-nodes (?:clear|doctor|list|remove|status)\b[^`]*(?=`)")
"""A command on a store, as messages name it."""
_CREDENTIALS = re.compile(r"(?<=://)[^/@]*@")

_MASKED = "****"
"""Text in place of a key; keys are never accepted in the file, so they are comments."""

OUTPUT = {
    "as_json": (("--json",), "One JSON object on stdout."),
    "quiet": (("--quiet", "-q"), "No progress on stderr."),
    "verbose": (("--verbose", "-v"), "Log and tracebacks on stderr."),
}
"""Options of every command about its output, each with its flags and its help."""

_BARE = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(slots=True)
class Invocation:
    """One run: flags in, settings and streams out.

    Attributes:
        quiet: nothing on stderr but errors.
        verbose: log and tracebacks on stderr.
        as_json: stdout is one JSON object.
        flags: settings given as options.
        interrupted: what is said behind "Interrupted." where it is ended.
        output: stdout.
        errors: stderr.
        cleanup: what to undo at the end of the run.
        hints: what to do next, on stderr below the result.
        started: time of its start (UTC, as ISO 8601).
        has_emitted: the JSON object is on stdout, or was begun.
    """

    quiet: bool = False
    verbose: bool = False
    as_json: bool = False
    flags: dict[str, Any] = field(default_factory=dict)
    interrupted: str = ""
    output: Console = field(default_factory=lambda: _console(sys.stdout))
    errors: Console = field(default_factory=lambda: _console(sys.stderr, stderr=True))
    cleanup: ExitStack = field(default_factory=ExitStack)
    hints: list[str] = field(default_factory=list)
    started: str = field(default_factory=lambda: f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}")
    has_emitted: bool = False

    def perform(
        self, operation: Operation, request: Request, settings: Settings, flags: dict[str, Any]
    ) -> None:
        """Do it, show what came of it, and end with its exit code.

        Args:
            operation: what is asked for.
            request: how.
            settings: of this run.
            flags: those of them that were typed.
        """
        from rag_nodes.cli.progress import Watch
        from rag_nodes.operations.run import Run

        self.flags, self.interrupted = flags, operation.interrupted
        with Watch(self) as watch:
            streams = self.output.is_terminal and not self.as_json
            run = Run(settings, watch, streams=streams, typed=flags)
            self.cleanup.callback(run.close)
            run.tell(request)
            result = operation.function(request, run)
        shown: Any
        if self.as_json:
            shown = result.as_dict()
            for words in result.reasons():
                self.complain(one_line(words))
        else:
            module, _, name = VIEWS[operation.name].partition(":")
            view = getattr(import_module(f"rag_nodes.cli.views.{module}"), name)
            shown = [*view(result, request, self)]
        if operation.name in NAMES_COMMANDS:
            shown = self.completed(shown)
        if self.as_json:
            self.emit(shown)
        else:
            self.show(*shown)
        if self.hints:
            self.output.file.flush()  # in a pipe, too, they stand below the result
        for hint in self.hints:
            self.note(hint)
        raise typer.Exit(int(result.outcome))

    def standard_input(self, sent: Literal["text", "data"]) -> Path:
        """Return a file with the standard input, which is gone at the end of the run."""
        from tempfile import TemporaryDirectory

        folder = self.cleanup.enter_context(TemporaryDirectory(prefix="rag_nodes_"))
        content = sys.stdin.buffer.read()
        data = ".json" if content.lstrip()[:1] in (b"[", b"{") else ".csv"
        path = Path(folder, "stdin").with_suffix(".md" if sent == "text" else data)
        path.write_bytes(content)
        return path

    def show(self, *parts: RenderableType) -> None:
        """Data for people, on stdout."""
        if not parts:
            return
        # A path that is longer than the line stays one word, which can be copied.
        print_whole_words = partial(self.output.print, sep="\n", overflow="ignore", crop=False)
        if self.output.is_terminal:
            print_whole_words(*parts)
            return
        with self.output.capture() as captured:
            print_whole_words(*parts)
        # Tables are padded to their width, which in a file is noise.
        self.output.file.write(_TRAILING_BLANKS.sub("", captured.get()))

    def completed(self, shown: Any) -> Any:
        """Return an output, `with_store` applied to all of its texts."""
        match shown:
            case Text():
                return Text(self.with_store(shown.plain), style=shown.style)
            case str():
                return self.with_store(shown)
            case dict():
                return {name: self.completed(text) for name, text in shown.items()}
            case list():
                return [self.completed(text) for text in shown]
        return shown

    def with_store(self, message: str) -> str:
        """The message with the store and the ledger that were typed in the commands it names."""
        typed = {name: self.flags.get(name) for name in ("store", "ledger")}
        options = "".join(
            f" --{name} {shlex.quote(_CREDENTIALS.sub('', str(value)))}"
            for name, value in typed.items()
            if value is not None
        )
        return _COMMAND.sub(lambda match: match[0] + options, message)

    def emit(self, data: dict[str, Any]) -> None:
        """Data for programs: one versioned JSON object on stdout."""
        self.has_emitted = True
        versioned = {"schema_version": SCHEMA_VERSION, **data}
        self.output.file.write(to_json(versioned, indent=2) + "\n")

    def note(self, message: str, style: str = "") -> None:
        """A word on stderr; silent under `--quiet`."""
        if not self.quiet:
            self.errors.print(plain(self.with_store(message), style), soft_wrap=True)

    def complain(self, message: str) -> None:
        """Print on stderr what went wrong without stopping the work, also under `--quiet`."""
        self.errors.print(plain(self.with_store(message), "yellow"), soft_wrap=True)

    def configure_logging(self) -> None:
        """Library logs go to stderr under `--verbose` only: reports carry what matters."""
        # A message that cannot be written would be printed with the exception that is handled.
        logging.raiseExceptions = False
        handler = logging.StreamHandler(self.errors.file)
        handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
        ours = logging.getLogger("rag_nodes")
        before = (ours.level, ours.propagate)
        ours.addHandler(handler)
        ours.propagate = False
        ours.setLevel(logging.DEBUG if self.verbose else logging.CRITICAL)

        def restore() -> None:
            ours.removeHandler(handler)
            level, ours.propagate = before
            ours.setLevel(level)  # set alone, what each logger remembers of it would stay

        self.cleanup.callback(restore)


def to_json(data: dict[str, Any], *, indent: int | None = None) -> str:
    """JSON that is safe to show on a terminal; `path`s and the like become text."""
    text = json.dumps(data, ensure_ascii=False, indent=indent, default=str)
    return _UNSAFE_IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def show_settings(cli: Invocation) -> None:
    """Print the settings in effect as TOML, keys masked."""
    from rag_nodes.core.settings import Settings

    settings = Settings()
    shown = {**settings.masked(), "answers": settings.answering()}
    cli.output.file.write("".join(f"{line}\n" for line in _toml("", shown)))


def _toml(name: str, values: dict[str, Any]) -> Iterator[str]:
    """A line per setting, tables last; what is unset, and every key, as a comment."""
    tables = {key: value for key, value in values.items() if isinstance(value, dict)}
    if name:
        yield f"\n[{name}]"
    for key, value in values.items():
        # TOML's basic strings, numbers and booleans are written as in JSON.
        line = f"{key if _BARE.fullmatch(key) else json.dumps(key)} = {json.dumps(value)}"
        if value is None:
            yield f"# {key} is not set"
        elif value == _MASKED:
            yield f"# {line} (set; keys stay in the environment or .env)"
        elif key not in tables:
            yield line
    for key, inner in tables.items():
        yield from _toml(f"{name}.{key}".lstrip("."), inner)


def _console(stream: Any, *, stderr: bool = False) -> Console:
    """Shows what it is given: no markup, emoji codes or highlighting found in the text."""
    fixed = not stream.isatty() and "COLUMNS" not in os.environ
    return Console(
        file=stream,
        stderr=stderr,
        width=PIPED_WIDTH if fixed else None,
        markup=False,
        emoji=False,
        highlight=False,
    )
