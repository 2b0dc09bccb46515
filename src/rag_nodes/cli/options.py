"""The options several commands share, declared once: a command names those it takes.

`@takes("store", "corpus")` adds an option per setting and the output flags, and hands the
command a `Session` that holds them.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rag_nodes.cli.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable

PARSER_NAMES = (
    "fixed",
    "heading",
    "token-overlap",
    "web",
    "semantic",
    "recursive",
    "sentence",
    "pdf-qa",
    "sentence-window",
    "page",
    "parent-child",
    "semantic-optimal",
    "auto",
)
"""Presets for help texts; importing the registry itself takes seconds."""
DEFAULT_PARSER = "auto"
"""Cuts each document by its kind where no parser is named; a comparison takes four presets."""
MODEL_SETTINGS = (
    "embedding",
    "embedding_model",
    "llm",
    "llm_model",
    "api_base",
    "retry_seconds",
)
"""Settings that choose the models."""
ANSWER_SETTINGS = (
    "budget",
    "top_k",
    "similarity_cutoff",
    "answer_preset",
    "temperature",
    "max_output_tokens",
)
"""Settings of commands that answer questions."""

_MODELS = "Models"
_OUTPUT = "Output"

_SETTINGS: dict[str, Any] = {
    "store": Annotated[
        str | None,
        typer.Option(help="':memory:', a folder, or the URL of a Qdrant server."),
    ],
    "corpus": Annotated[
        str | None, typer.Option(help="Name that keeps one set of documents apart.")
    ],
    "budget": Annotated[
        int | None,
        typer.Option(help="Tokens of context, the same for each parser; 1500 by default."),
    ],
    "top_k": Annotated[
        int | None,
        typer.Option(help="Chunks per parser instead of a budget of tokens."),
    ],
    "similarity_cutoff": Annotated[
        float | None,
        typer.Option(help="Leave out chunks of a lower cosine similarity, from -1 to 1."),
    ],
    "answer_preset": Annotated[
        str | None,
        typer.Option(
            help="Answer as a source document says: workbench, crawl or pdf-qa. Other options and "
            "settings win over it."
        ),
    ],
    "temperature": Annotated[
        float | None,
        typer.Option(help="Of the chat model, 0 to 2; 0.2 by default.", rich_help_panel=_MODELS),
    ],
    "max_output_tokens": Annotated[
        int | None,
        typer.Option(
            help="Longest answer of the chat model, in its tokens; 1024 by default.",
            rich_help_panel=_MODELS,
        ),
    ],
    "embedding": Annotated[
        str | None,
        typer.Option(
            help="auto (the default), lexical (offline) or openai.", rich_help_panel=_MODELS
        ),
    ],
    "embedding_model": Annotated[
        str | None,
        typer.Option(help="Name of the OpenAI embedding model.", rich_help_panel=_MODELS),
    ],
    "llm": Annotated[
        str | None,
        typer.Option(
            help="auto (the default), extractive (offline) or openai.",
            rich_help_panel=_MODELS,
        ),
    ],
    "llm_model": Annotated[
        str | None, typer.Option(help="Name of the chat model.", rich_help_panel=_MODELS)
    ],
    "api_base": Annotated[
        str | None,
        typer.Option(help="Address of a compatible server.", rich_help_panel=_MODELS),
    ],
    "retry_seconds": Annotated[
        float | None,
        typer.Option(
            help="Seconds for which a failing request is repeated.", rich_help_panel=_MODELS
        ),
    ],
}

_FLAGS: dict[str, Any] = {
    "as_json": Annotated[
        bool, typer.Option("--json", help="One JSON object on stdout.", rich_help_panel=_OUTPUT)
    ],
    "quiet": Annotated[
        bool,
        typer.Option("--quiet", "-q", help="No progress on stderr.", rich_help_panel=_OUTPUT),
    ],
    "verbose": Annotated[
        bool,
        typer.Option(
            "--verbose", "-v", help="Log and tracebacks on stderr.", rich_help_panel=_OUTPUT
        ),
    ],
    "print_config": Annotated[
        bool,
        typer.Option(
            "--print-config", help="Show the settings, keys masked.", rich_help_panel=_OUTPUT
        ),
    ],
}

_PARSER = "NAME[:OPTION=VALUE,...]"
_FOREIGN = (
    "Or a splitter of another package by import path, as "
    "'llama_index.core.node_parser:SentenceSplitter(chunk_size=512)'."
)

Compared = Annotated[
    list[str] | None,
    typer.Option(
        "--parser",
        "-p",
        metavar=_PARSER,
        help=f"Parser to use, repeatable: {', '.join(PARSER_NAMES)}; fixed, heading, "
        f"token-overlap and semantic by default. {_FOREIGN}",
        show_default=False,
    ),
]
Ingested = Annotated[
    list[str] | None,
    typer.Option(
        "--parser",
        "-p",
        metavar=_PARSER,
        help=f"Parser to use, repeatable: {', '.join(PARSER_NAMES)}; {DEFAULT_PARSER} by default, "
        f"which cuts each document by its kind. {_FOREIGN}",
        show_default=False,
    ),
]
OneParser = Annotated[
    str,
    typer.Option(
        "--parser",
        "-p",
        metavar=_PARSER,
        help=f"Parser to use: {', '.join(PARSER_NAMES)}. {_FOREIGN}",
    ),
]
Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        "-s",
        metavar="OPTION=VALUE",
        help="Change an option of every chosen parser that has it, repeatable.",
    ),
]
ShownChunks = Annotated[int, typer.Option("--chunks", min=0, help="Chunks to show per parser.")]


def takes(
    *settings: str, defaults: dict[str, Any] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command an option per setting, the output flags, and a filled `Session`.

    Args:
        settings: names of settings the command has options for.
        defaults: settings whose default differs for this command.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        def run(context: typer.Context, **values: Any) -> None:
            session = context.ensure_object(Session)
            session.flags = {name: values.pop(name) for name in settings}
            session.defaults = defaults or {}
            for flag in _FLAGS:
                setattr(session, flag, values.pop(flag) or getattr(session, flag))
            session.configure_logging()
            if session.print_config:
                show_settings(session)
            else:
                command(session, **values)

        own = list(inspect.signature(command, eval_str=True).parameters.values())[1:]
        shared = [_option(name, _SETTINGS[name], None) for name in settings]
        flags = [_option(name, annotation, default=False) for name, annotation in _FLAGS.items()]
        _disguise(run, command, [_CONTEXT, *own, *shared, *flags])
        return run

    return decorate


def show_settings(session: Session) -> None:
    """Print the settings in effect, keys masked: as TOML, or as JSON under `--json`."""
    from rag_nodes.cli.render.settings import settings_as_toml

    settings = session.settings()
    values = {**settings.masked(), "answers": settings.answering()}
    if session.as_json:
        session.emit({"settings": values})
    else:
        session.output.file.write(settings_as_toml(values))


_CONTEXT = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)


def _option(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


def _disguise(
    run: Callable[..., None], command: Callable[..., None], parameters: list[inspect.Parameter]
) -> None:
    """Typer reads name, help and options from the function it is given."""
    keyword_only = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
    run.__name__ = command.__name__
    run.__doc__ = command.__doc__
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in keyword_only}
    run.__signature__ = inspect.Signature(keyword_only)  # type: ignore[attr-defined]
