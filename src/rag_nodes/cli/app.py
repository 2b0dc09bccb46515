"""`rag-nodes app`: the same comparison in a browser."""

from pathlib import Path
from typing import Annotated

import typer

from rag_nodes.cli.options import MODEL_SETTINGS, takes
from rag_nodes.cli.session import Session


@takes("budget", "top_k", *MODEL_SETTINGS)
def app(
    session: Session,
    documents: Annotated[
        list[Path] | None,
        typer.Argument(metavar="PATH", help="Documents to open it with."),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; others than 127.0.0.1 open it to the net.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")] = 7860,
) -> None:
    """Open the comparison in a browser."""
    settings = session.settings()
    with session.activity("Loading the app"):
        from rag_nodes.apps import launch
    launch(settings, host=host, port=port, documents=documents or [])
