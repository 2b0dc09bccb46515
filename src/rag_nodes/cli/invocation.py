"""What one run of the command line shares: its flags, its settings and its two streams."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rich.console import Console

from rag_nodes.cli.render.text import plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from rag_nodes.models import Models
    from rag_nodes.settings import Settings
    from rag_nodes.store import Store

SCHEMA_VERSION = 1
"""Version of every object `--json` prints; raised when a key changes its meaning."""
PIPED_WIDTH = 110
"""Columns of a report that goes to a file or a pipe."""

_TRAILING_BLANKS = re.compile(" +$", re.MULTILINE)
_UNSAFE_IN_JSON = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""JSON allows these, terminals act on some and UTF-8 refuses others."""


@dataclass(slots=True)
class Session:
    """One run: flags in, settings and streams out.

    Attributes:
        quiet: nothing on stderr but errors.
        verbose: log and tracebacks on stderr.
        as_json: stdout is one JSON object.
        print_config: show the settings instead of working.
        flags: settings given as options; None where an option was not given.
        defaults: settings of the command, below flags, environment and file.
        output: stdout.
        errors: stderr.
        cleanup: what to undo at the end of the run.
    """

    quiet: bool = False
    verbose: bool = False
    as_json: bool = False
    print_config: bool = False
    flags: dict[str, Any] = field(default_factory=dict)
    defaults: dict[str, Any] = field(default_factory=dict)
    output: Console = field(default_factory=lambda: _console(sys.stdout))
    errors: Console = field(default_factory=lambda: _console(sys.stderr, stderr=True))
    cleanup: ExitStack = field(default_factory=ExitStack)

    def settings(self) -> Settings:
        """Flag, environment, `.env`, `rag_nodes.toml`, the command's default, default.

        Raises:
            ConfigurationError: a value is out of range or a file cannot be read.
        """
        from rag_nodes.settings import Settings

        given = {name: value for name, value in self.flags.items() if value is not None}
        settings = Settings(**given)
        unset = {k: v for k, v in self.defaults.items() if k not in settings.model_fields_set}
        return Settings(**{**given, **unset}) if unset else settings

    def models(self, settings: Settings, *, answers: bool = True) -> Models:
        """The models that will run, tried out before any work starts.

        Args:
            settings: names, address and key.
            answers: whether the LLM will be asked anything.

        Raises:
            CredentialsError: a key is missing or was refused.
            MissingExtraError: the client of the model's server is not installed.
            ModelError: the server does not answer, or not as it should.
        """
        from rag_nodes.models import check_models, choose_models

        models = choose_models(settings)
        check_models(models, answers=answers)
        return models

    def store(self, settings: Settings) -> Store:
        """The store of the settings, open; for use in a `with` statement.

        Raises:
            MissingExtraError: Qdrant is not installed.
            StoreError: it cannot be opened or does not answer.
        """
        from rag_nodes.store import open_store

        key = settings.store_api_key
        return open_store(settings.store, key.get_secret_value() if key else None)

    def show(self, *parts: RenderableType) -> None:
        """Data for people, on stdout."""
        if self.output.is_terminal:
            self.output.print(*parts, sep="\n")
            return
        with self.output.capture() as captured:
            self.output.print(*parts, sep="\n")
        # Tables are padded to their width, which in a file is noise.
        self.output.file.write(_TRAILING_BLANKS.sub("", captured.get()))

    def emit(self, data: dict[str, Any]) -> None:
        """Data for programs: one versioned JSON object on stdout."""
        versioned = {"schema_version": SCHEMA_VERSION, **data}
        self.output.file.write(to_json(versioned, indent=2) + "\n")

    def note(self, message: str, style: str = "") -> None:
        """A word on stderr; silent under `--quiet`."""
        if not self.quiet:
            self.errors.print(plain(message, style), soft_wrap=True)

    def complain(self, message: str) -> None:
        """What went wrong without stopping the work, on stderr, also under `--quiet`."""
        self.errors.print(plain(message, "yellow"), soft_wrap=True)

    @contextmanager
    def activity(self, doing: str) -> Iterator[None]:
        """A spinner on a terminal, one line elsewhere, while something takes seconds."""
        if self.quiet:
            yield
        elif self.errors.is_terminal:
            with self.errors.status(plain(doing, "dim")):
                yield
        else:
            self.note(doing)
            yield

    def configure_logging(self) -> None:
        """Library logs go to stderr under `--verbose` only: reports carry what matters."""
        handler = logging.StreamHandler(self.errors.file)
        handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
        ours = logging.getLogger("rag_nodes")
        before = (ours.level, ours.propagate)
        ours.addHandler(handler)
        ours.propagate = False
        ours.setLevel(logging.DEBUG if self.verbose else logging.CRITICAL)

        def restore() -> None:
            ours.removeHandler(handler)
            ours.level, ours.propagate = before

        self.cleanup.callback(restore)


def context_budget(settings: Settings) -> int | None:
    """Tokens of context; asking for a number of chunks alone lifts the default limit."""
    if settings.top_k is not None and "budget" not in settings.model_fields_set:
        return None
    return settings.budget


def to_json(data: dict[str, Any], *, indent: int | None = None) -> str:
    """JSON that is safe to show on a terminal; `path`s and the like become text."""
    text = json.dumps(data, ensure_ascii=False, indent=indent, default=str)
    return _UNSAFE_IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


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
