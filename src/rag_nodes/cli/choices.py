"""What commands are told by name: parsers with their options, aliases, and embeddings."""

from __future__ import annotations

from typing import Annotated

import typer

from rag_nodes.cli.options import ASSIGNMENT, SEARCH_PANEL
from rag_nodes.parsers.presets import COMPARED, DEFAULT_PARSER, SWEPT, parser_names

_PARSER = "NAME[:OPTION=VALUE,...]"
_NAMES = ", ".join(parser_names())
_FOREIGN = (
    "Or a splitter of another package by import path, as "
    "'llama_index.core.node_parser:SentenceSplitter(chunk_size=512)'; or a preset file (.toml, "
    ".json), as `recommend --save` writes it."
)

ComparedParsers = Annotated[
    list[str] | None,
    typer.Option(
        "--parser",
        "-p",
        metavar=_PARSER,
        help=f"Parser to use, repeatable: {_NAMES}; {', '.join(COMPARED[:-1])} and {COMPARED[-1]} "
        f"by default. {_FOREIGN}",
        show_default=False,
    ),
]
SweptParsers = Annotated[
    list[str] | None,
    typer.Option(
        "--parser",
        "-p",
        metavar=_PARSER,
        help=f"Parser to try, repeatable: {_NAMES}; {', '.join(SWEPT[:-1])} and {SWEPT[-1]} by "
        f"default. {_FOREIGN}",
        show_default=False,
    ),
]
IngestedParsers = Annotated[
    list[str] | None,
    typer.Option(
        "--parser",
        "-p",
        metavar=_PARSER,
        help=f"Parser to use, repeatable: {_NAMES}; {DEFAULT_PARSER} by default. {_FOREIGN}",
        show_default=False,
    ),
]
OneParser = Annotated[
    str,
    typer.Option(
        "--parser",
        "-p",
        metavar=_PARSER,
        help=f"Parser to use: {_NAMES}. {_FOREIGN}",
    ),
]
AskedParser = Annotated[
    str | None,
    typer.Option(
        "--parser",
        "-p",
        metavar=_PARSER,
        help=f"Parser of the ingest: {_NAMES}; by default {DEFAULT_PARSER}, or the one preset that "
        f"the corpus was cut by. {_FOREIGN}",
        show_default=False,
    ),
]
StoredParser = Annotated[
    str,
    typer.Option(
        "--parser",
        "-p",
        metavar="NAME[:OPTION=VALUE,...]",
        help="Only what this parser cut: its class as `status` shows it, a preset with the options "
        "of the ingest, or the name of a collection.",
        show_default=False,
    ),
]
AskedAlias = Annotated[
    str | None,
    typer.Option(
        "--alias",
        metavar="NAME",
        help="Ask what an alias means, instead of naming parser and corpus; see `store alias`.",
        show_default=False,
    ),
]
SwitchedAlias = Annotated[
    str | None,
    typer.Option(
        "--alias",
        metavar="NAME",
        help="When all is stored, have this alias mean it; see `store alias`. For one parser.",
        show_default=False,
    ),
]
Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        "-s",
        metavar=ASSIGNMENT,
        help="Change an option of every chosen parser that has it, repeatable.",
    ),
]
FurtherVectorNames = Annotated[
    list[str] | None,
    typer.Option(
        "--vector",
        metavar="NAME",
        help="Embed the chunks in a further way as well, repeatable: their text alone (plain), or "
        "behind what is written about each, a summary or where in its document it belongs "
        "(context, which needs an LLM). With the headings above them (heading) they always are. "
        "Later ingests keep up to date what is stored, named or not; none stops that.",
        show_default=False,
    ),
]
ComparedVectors = Annotated[
    list[str] | None,
    typer.Option(
        "--vector",
        metavar="NAME",
        help="By which embedding of the chunks is searched: with the headings above them (heading, "
        "the default), their text alone (plain), or behind what is written about each (summary, "
        "context). Repeatable: every column is then asked by each.",
        rich_help_panel=SEARCH_PANEL,
        show_default=False,
    ),
]
ShownChunks = Annotated[int, typer.Option("--chunks", min=0, help="Chunks to show per parser.")]
