"""Serve the app: page, REST and MCP at one address, with limits, headers and nothing fetched."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rag_nodes.core.errors import ConfigurationError, FileMissingError
from rag_nodes.core.keywords import checks_keywords
from rag_nodes.core.network import is_loopback
from rag_nodes.core.several import several

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    import uvicorn
    from fastapi import FastAPI

    from rag_nodes.core.settings import Settings
    from rag_nodes.operations.fields import ParserSpec
    from rag_nodes.server.gate import Access
    from rag_nodes.server.limits import ServerLimits
    from rag_nodes.server.mcp import Tools
    from rag_nodes.server.served import ServedOperations

MAX_UPLOAD = "100mb"
"""Largest file a visitor may upload."""
_LAST_WORDS = 3
"""Seconds that running requests get when the server ends."""


@partial(checks_keywords, rest="make_server")
def launch(
    settings: Settings,
    *,
    host: str = "127.0.0.1",
    port: int = 7860,
    announce: Callable[[str], None] | None = None,
    access: Access | None = None,
    **options: Any,
) -> None:
    """Serve the app until it is interrupted.

    Args:
        settings: defaults of the controls, and the models where a visitor names none.
        host: address to listen on; anything but loopback is open to the network.
        port: port to listen on; 0 for any that is free.
        announce: receives the address once the app answers; None writes it to stderr.
        access: token and password to ask for; None for neither.
        **options: `documents`, `mcp`, `parsers` and `collections` of `make_server`.

    Raises:
        ConfigurationError: the port is taken, or the address is not one of this machine.
        FileMissingError: a document does not exist.
        MissingExtraError: Gradio is not installed.
    """
    for document in several(options.get("documents", ())):
        if not Path(document).exists():
            raise FileMissingError(document)
    from rag_nodes.apps import require_gradio

    require_gradio()
    import uvicorn

    from rag_nodes.server.gate import Access

    access = access or Access(local=is_loopback(host))
    if not is_loopback(host):
        _warn(host, access)
    with _listening(host, port) as listener:
        app = make_server(settings, access=access, **options)
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            ws="none",
            timeout_graceful_shutdown=_LAST_WORDS,
            **forwarding(access),
        )
        address = f"http://{_shown(host)}:{listener.getsockname()[1]}/"
        if announce is None:
            announce = partial(_to_stderr, has_mcp=bool(options.get("mcp")))
        _run(uvicorn.Server(config), listener, partial(announce, address))


@checks_keywords
def make_server(
    settings: Settings,
    *,
    documents: str | Path | Sequence[str | Path] = (),
    access: Access | None = None,
    limits: ServerLimits | None = None,
    mcp: bool | str | ParserSpec = False,
    parsers: Mapping[str, Any] | str | Sequence[str] = (),
    collections: Mapping[str, Any] = MappingProxyType({}),
) -> FastAPI:
    """Page, REST at `/api` and MCP at `/mcp` as one ASGI app.

    Args:
        settings: defaults of the controls, and the models where a visitor names none.
        documents: loaded as soon as a visitor opens the page.
        access: token and password to ask for; None for neither, and this machine only.
        limits: how much the server takes on; None for the defaults.
        mcp: offer the tools for agents; the parser of the ingest, such as "heading", unless it is
            the default one or the one preset that made the corpus.
        parsers: what visitors can choose besides presets: splitters of other packages
            by name, or import paths, see `rag_nodes.parsers.offered`. Visitors never name a path.
        collections: stored collections that the page shows as columns, by name.

    Raises:
        ConfigurationError: one of the parsers cannot be used.
    """
    import gradio as gr
    from fastapi import FastAPI

    from rag_nodes.apps.page import build_app
    from rag_nodes.operations.fields import ParserSpec, parser_spec
    from rag_nodes.parsers import offered
    from rag_nodes.server.gate import Access, Gate, NoDeepLinks, SecurityHeaders
    from rag_nodes.server.limits import BodyLimits, ServerLimits
    from rag_nodes.server.mcp import make_mcp
    from rag_nodes.server.rest import make_api
    from rag_nodes.server.served import ServedOperations

    access, limits = access or Access(), limits or ServerLimits()
    served = ServedOperations.of(settings, offered(parsers), limits)
    parser = None if isinstance(mcp, bool) else ParserSpec.model_validate(parser_spec(mcp))
    tools = make_mcp(served, parser) if mcp else None
    columns = several(parsers)
    if collections:
        own = columns if isinstance(columns, Mapping) else {path: path for path in columns}
        columns = {**own, **collections}
    page = build_app(settings, documents=documents, columns=columns)
    server = FastAPI(openapi_url=None, lifespan=lambda _: _living(served, tools, page.at_end))
    server.mount("/api", make_api(served, access))
    if tools is not None:
        server.router.routes.append(tools.route)
    # Unlike `launch`, mounting shows the text of unexpected errors by default, and
    # turns on its own tools where an environment variable says so.
    quiet = {"show_error": False, "mcp_server": False}
    gr.mount_gradio_app(server, page, path="/", **_page_options(), **quiet)
    # The last one added is the outermost: headers are on every refusal, too.
    server.add_middleware(NoDeepLinks)
    server.add_middleware(BodyLimits, limits=limits)
    server.add_middleware(Gate, access=access)
    server.add_middleware(SecurityHeaders)
    return server


def launch_options() -> dict[str, Any]:
    """Return the options of every launch of the blocks: theme, limits, headers, no files left."""
    from starlette.middleware import Middleware

    from rag_nodes.server.gate import NoDeepLinks, SecurityHeaders

    return {
        **_page_options(),
        "share": False,
        "quiet": True,
        "app_kwargs": {"middleware": [Middleware(SecurityHeaders), Middleware(NoDeepLinks)]},
    }


def _page_options() -> dict[str, Any]:
    from rag_nodes.apps.theme import make_theme

    return {
        "theme": make_theme(),
        "max_file_size": MAX_UPLOAD,
        "footer_links": [],
        "run_history": False,
        "ssr_mode": False,
        "enable_monitoring": False,
    }


@contextlib.asynccontextmanager
async def _living(
    served: ServedOperations, tools: Tools | None, at_end: Callable[[], None]
) -> AsyncIterator[None]:
    """Run what lives as long as the server, and leave nothing behind."""
    async with contextlib.AsyncExitStack() as stack:
        stack.callback(served.sessions.close)
        stack.callback(at_end)
        if tools is not None:
            await stack.enter_async_context(tools.manager.run())
        yield


def forwarding(access: Access) -> dict[str, Any]:
    """Return the proxies that are trusted to name the address of a request.

    uvicorn takes that of everyone on this machine, who could then guess a password from a new
    address every time.
    """
    trusted = access.proxy or os.environ.get("FORWARDED_ALLOW_IPS")
    return {"proxy_headers": bool(trusted), "forwarded_allow_ips": trusted}


def _warn(host: str, access: Access) -> None:
    """Say what is open to everyone."""
    if access.password is None:
        what = "the page" if access.token else "the page, REST and MCP"
        # Not a log line: the command line shows those only when asked to.
        sys.stderr.write(
            f"Warning: {what} at {host} can be used by everyone who reaches that address; ask "
            "for a password with --auth\n"
        )


@contextlib.contextmanager
def _listening(host: str, port: int) -> Any:
    """A socket that listens, so that a port in use is found out before anything is built."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family)
    except OSError as error:
        raise ConfigurationError(
            f"cannot listen on {host} port {port}: the port is in use, or the address belongs to "
            "another machine; choose another port or host"
        ) from error
    with listener:
        yield listener


def _run(server: uvicorn.Server, listener: socket.socket, ready: Callable[[], None]) -> None:
    """Run until it is interrupted; `ready` is called once requests are answered."""
    start = server.startup

    async def startup(sockets: list[socket.socket] | None = None) -> None:
        await start(sockets)
        if server.started:
            ready()

    server.startup = startup  # type: ignore[method-assign]
    server.run(sockets=[listener])


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _to_stderr(address: str, *, has_mcp: bool) -> None:
    tools = f"Tools for agents (MCP) are at {address}mcp\n" if has_mcp else ""
    sys.stderr.write(f"rag_nodes is at {address} (Ctrl+C stops it)\n{tools}")
