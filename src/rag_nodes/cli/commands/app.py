"""`rag-nodes app`: the same comparison in a browser, with REST and MCP beside it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import SecretStr

from rag_nodes.cli.files import check_there
from rag_nodes.cli.invocation import Invocation, takes
from rag_nodes.cli.options import MODEL_SETTINGS, STORE_SETTINGS
from rag_nodes.errors import ConfigurationError

if TYPE_CHECKING:
    from rag_nodes.server.gate import Access
    from rag_nodes.settings import Settings

_SHORTEST = 12
"""Characters below which a secret is guessed."""


@takes(*STORE_SETTINGS, "corpus", "budget", "top_k", *MODEL_SETTINGS)
def app(  # noqa: PLR0913 - one per option of the command
    cli: Invocation,
    documents: Annotated[
        list[Path] | None,
        typer.Argument(metavar="PATH", help="Documents to open it with."),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; others than 127.0.0.1 open it to the net.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")] = 7860,
    auth: Annotated[
        str | None,
        typer.Option(
            metavar="USER", help="Ask for this user; the password is RAG_NODES_APP_PASSWORD."
        ),
    ] = None,
    *,
    mcp: Annotated[bool, typer.Option("--mcp", help="Offer tools for agents at /mcp.")] = False,
    local_models: Annotated[
        bool,
        typer.Option("--local-models", help="Let visitors name model servers in this network."),
    ] = False,
    parser: Annotated[
        list[str] | None,
        typer.Option(
            "--parser",
            "-p",
            metavar="MODULE:CLASS(OPTION=VALUE)",
            help="Splitter of another package, or a preset file (.toml, .json), that visitors can "
            "choose besides the presets, repeatable, as "
            "'llama_index.core.node_parser:SentenceSplitter(chunk_size=512)'.",
        ),
    ] = None,
    behind_proxy: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Believe X-Forwarded-For of the proxy at this address, such as 127.0.0.1.",
        ),
    ] = None,
) -> None:
    """Open the comparison in a browser; REST is at /api, with the token in RAG_NODES_API_TOKEN."""
    check_there(documents or [])
    settings = cli.settings()
    access = _access(settings, auth, host, behind_proxy)
    with cli.activity("Loading the app"):
        from rag_nodes.server import launch
    launch(
        settings,
        host=host,
        port=port,
        documents=documents or [],
        access=access,
        mcp=mcp,
        local_models=local_models,
        parsers=parser or [],
    )


def _access(settings: "Settings", user: str | None, host: str, proxy: str | None) -> "Access":
    """What to ask visitors for, if anything.

    Raises:
        ConfigurationError: a secret is too short.
        MissingExtraError: Gradio is not installed.
    """
    token, password = settings.api_token, settings.app_password if user else None
    if user and password is None:
        typed = typer.prompt(f"Password for {user}", hide_input=True, confirmation_prompt=True)
        password = SecretStr(typed)
    for name, secret in (("token", token), ("password", password)):
        if secret is not None and len(secret.get_secret_value()) < _SHORTEST:
            raise ConfigurationError(
                f"the {name} has fewer than {_SHORTEST} characters; choose a longer one"
            )
    from rag_nodes.server.serve import require_gradio

    require_gradio()  # before the gate, which needs what comes with it
    from rag_nodes.models.public_servers import is_loopback
    from rag_nodes.server.gate import Access

    return Access(
        token=token, user=user or "", password=password, local=is_loopback(host), proxy=proxy
    )
