"""`rag-nodes chunk`: how one parser cuts one document; nothing is embedded or stored."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rag_nodes.cli.choices import Changes, OneParser
from rag_nodes.cli.files import check_there
from rag_nodes.cli.invocation import Invocation, takes, to_json
from rag_nodes.cli.options import MODEL_SETTINGS
from rag_nodes.cli.render.chunks import (
    chunk_data,
    chunk_table,
    chunk_texts,
    document_data,
    summary,
)
from rag_nodes.cli.render.text import configuration
from rag_nodes.cli.selection import built, plain_options, select
from rag_nodes.errors import ConfigurationError
from rag_nodes.parsers.presets import DEFAULT_PARSER

if TYPE_CHECKING:
    from llama_index.core.schema import TextNode


@takes(*MODEL_SETTINGS)
def chunk(
    cli: Invocation,
    file: Annotated[Path, typer.Argument(help="A PDF, DOCX, HTML, Markdown, CSV or text file.")],
    parser: OneParser = DEFAULT_PARSER,
    changes: Changes = None,
    *,
    full: Annotated[bool, typer.Option("--full", help="Show the whole text of each.")] = False,
    lines: Annotated[
        bool, typer.Option("--jsonl", help="One JSON object per chunk, a line each.")
    ] = False,
) -> None:
    """Show how a parser cuts a document: offsets, pages, tokens, headings."""
    if lines and cli.as_json:
        raise ConfigurationError("--json and --jsonl exclude each other; leave one out")
    check_there([file])
    selection = select([parser], changes or ())
    with cli.activity(f"Cutting {file.name}"):
        from rag_nodes.readers import Limits, read

        document = read(file, limits=Limits(**cli.settings().reading()))
        ((label, made),) = built(cli, selection).items()
        nodes: Sequence[TextNode] = made([document])  # type: ignore[assignment]
    if lines:
        for index, node in enumerate(nodes):
            cli.output.file.write(to_json(chunk_data(node, index)) + "\n")
    elif cli.as_json:
        cli.emit(
            {
                "parser": label,
                "fingerprint": made.fingerprint,
                **document_data(document, nodes),
            }
        )
    else:
        title = f"{label} · {configuration(plain_options(made))}"
        cli.show(summary(document, title, nodes))
        shown = (
            chunk_texts(document, nodes)
            if full
            else [chunk_table(document, nodes, cli.output.width)]
        )
        cli.show(*shown)
