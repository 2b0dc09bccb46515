"""`rag-nodes app`: the same comparison in a browser, with REST and MCP beside it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer
from pydantic import Field, SecretStr

from rag_nodes.core.errors import CollectionMissingError, ConfigurationError
from rag_nodes.operations.base import OWNER, Flag, Request, Result
from rag_nodes.operations.fields import PARSER_WORDS, Parser
from rag_nodes.operations.places import check_there, first_of, must_exist
from rag_nodes.operations.run import Doing, Run

_SHORTEST = 12
"""Characters below which a secret is guessed."""


class AppRequest(Request):
    """Open the comparison in a browser; REST is at /api, with the token in RAG_NODES_API_TOKEN."""

    configures: ClassVar[tuple[str, ...]] = ("budget", "top_k")

    documents: Annotated[list[Path], OWNER, Flag(argument=True, metavar="PATH")] = Field(
        default_factory=list
    )
    """Documents to load when the app starts."""
    host: str = "127.0.0.1"
    """Address to listen on; any but 127.0.0.1 opens the app to the network."""
    port: Annotated[int, Field(ge=0, le=65535)] = 7860
    """Port to listen on."""
    auth: Annotated[str | None, Flag(metavar="USER")] = None
    """Ask for this user; the password is RAG_NODES_APP_PASSWORD."""
    mcp: bool = False
    """Offer tools for agents at /mcp."""
    mcp_parser: Annotated[
        Parser | None,
        Flag(metavar=PARSER_WORDS),
        Field(description="Parser of the ingest for --mcp, if the documents have several."),
    ] = None
    parser: Annotated[list[str], OWNER, Flag(short="-p", metavar="MODULE:CLASS")] = Field(
        default_factory=list
    )
    """Splitter (module:Class) that visitors can choose, repeatable."""
    collection: Annotated[list[str], OWNER, Flag(metavar="NAME")] = Field(default_factory=list)
    """Stored collection of the documents to show as a column, repeatable; `status` lists them."""
    behind_proxy: Annotated[str | None, Flag(metavar="ADDRESS")] = None
    """Believe X-Forwarded-For of the proxy at this address, such as 127.0.0.1."""
    budget: Annotated[int | None, Field(ge=1)] = None
    """Tokens of context, the same for each parser; 1500 by default."""
    top_k: Annotated[int | None, Field(ge=1)] = None
    """Chunks per parser instead of a budget of tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed(Result):
    """The app was ended."""

    def as_dict(self) -> dict[str, Any]:
        """Nothing to tell."""
        return {}


def app(request: AppRequest, run: Run) -> Closed:
    """Serve until somebody ends it."""
    check_there(request.documents)
    token, password = _secrets(request, run)
    if request.collection and not request.documents:
        run.warn(
            "Collections are asked once their documents are loaded: name the files, or upload "
            "them on the page. `rag-nodes ask --collection NAME` needs no document."
        )
    run.emit(Doing("Loading the app"))
    if request.mcp_parser and not request.mcp:
        raise ConfigurationError("--mcp-parser is the parser of the tools at /mcp; add --mcp")
    if request.mcp:
        from rag_nodes.operations.agents import StoredTools

        if words := StoredTools.over_http(run.settings, request.mcp_parser).lack():
            run.warn(words)
    from rag_nodes.apps import require_gradio

    require_gradio()  # before the server, which needs what comes with it
    from rag_nodes.core.network import is_loopback
    from rag_nodes.server import launch
    from rag_nodes.server.gate import Access

    launch(
        run.settings,
        host=request.host,
        port=request.port,
        documents=request.documents,
        access=Access(
            token=token,
            user=request.auth or "",
            password=password,
            local=is_loopback(request.host),
            proxy=request.behind_proxy,
        ),
        mcp=request.mcp_parser or request.mcp,
        parsers=request.parser,
        collections=_collections(request, run),
    )
    return Closed()


def _collections(request: AppRequest, run: Run) -> dict[str, object]:
    """Open the stored collections that are named.

    Raises:
        CollectionMissingError: there is no such collection.
    """
    if not request.collection:
        return {}
    from rag_nodes.evaluation.engines import StoredCollection

    must_exist(run.settings.store)
    store = run.stored.store
    names = [row.name for row in store.collections()] + list(store.foreign())
    for name in request.collection:
        if name not in names:
            hint = f"there are: {first_of(names)}" if names else "nothing is stored"
            raise CollectionMissingError(
                f"{store.location}: there is no collection '{name}'; {hint}"
            )
    return {name: StoredCollection(store, name) for name in request.collection}


def _secrets(request: AppRequest, run: Run) -> tuple[SecretStr | None, SecretStr | None]:
    """Token and password that visitors are asked for, if any; refused where they are too short."""
    user = request.auth
    token, password = run.settings.api_token, run.settings.app_password if user else None
    if user and password is None:
        typed = typer.prompt(f"Password for {user}", hide_input=True, confirmation_prompt=True)
        password = SecretStr(typed)
    for name, secret in (("token", token), ("password", password)):
        if secret is not None and len(secret.get_secret_value()) < _SHORTEST:
            raise ConfigurationError(
                f"the {name} has fewer than {_SHORTEST} characters; choose a longer one"
            )
    return token, password
