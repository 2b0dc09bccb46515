"""Serve the app: one address, limits, headers, nothing fetched from elsewhere."""

from __future__ import annotations

import ipaddress
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_nodes.errors import ConfigurationError, FileMissingError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rag_nodes.settings import Settings

MAX_UPLOAD = "100mb"
"""Largest file a visitor may upload."""

logger = logging.getLogger(__name__)


def launch(
    settings: Settings,
    *,
    host: str = "127.0.0.1",
    port: int = 7860,
    documents: Sequence[str | Path] = (),
    announce: Callable[[str], None] | None = None,
) -> None:
    """Serve the app until it is interrupted.

    Args:
        settings: defaults of the controls, and the models where a visitor names none.
        host: address to listen on; anything but loopback is open to the network.
        port: port to listen on.
        documents: loaded as soon as a visitor opens the page.
        announce: told the address once the app answers; None writes it to stderr.

    Raises:
        ConfigurationError: the port is taken or the address is not one of this machine.
        FileMissingError: a document does not exist.
        MissingExtraError: Gradio is not installed.
    """
    for document in documents:
        if not Path(document).exists():
            raise FileMissingError(document)
    try:
        from rag_nodes.apps.workbench import build_app
    except ModuleNotFoundError as error:
        if error.name != "gradio":
            raise
        raise MissingExtraError("gradio", "app") from error
    if not _is_loopback(host):
        logger.warning("the app is open to everyone who reaches %s: there is no password", host)
    app = build_app(settings, documents=documents)
    try:
        app.launch(server_name=host, server_port=port, prevent_thread_lock=True, **launch_options())
    except OSError as error:
        raise ConfigurationError(
            f"cannot listen on {host} port {port}: it is in use or not of this machine; choose "
            "another port or host"
        ) from error
    (announce or _to_stderr)(str(app.local_url))
    app.block_thread()


def launch_options() -> dict[str, Any]:
    """What every launch of the app needs: looks, limits, headers, and no tracks left."""
    from starlette.middleware import Middleware

    from rag_nodes.apps.headers import SecurityHeaders
    from rag_nodes.apps.theme import make_theme, style_sheet

    return {
        "theme": make_theme(),
        "css": style_sheet(),
        "max_file_size": MAX_UPLOAD,
        "footer_links": [],
        "run_history": False,
        "share": False,
        "ssr_mode": False,
        "enable_monitoring": False,
        "quiet": True,
        "app_kwargs": {"middleware": [Middleware(SecurityHeaders)]},
    }


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _to_stderr(address: str) -> None:
    sys.stderr.write(f"rag_nodes is at {address} (Ctrl+C stops it)\n")
