"""The REST API as one app with its OpenAPI document."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING

from fastapi import Depends, FastAPI
from fastapi.security import HTTPBearer

from rag_nodes import IDENTITY
from rag_nodes.server.failures import install_handlers
from rag_nodes.server.rest.parser_options import naming
from rag_nodes.server.rest.routes import make_router

if TYPE_CHECKING:
    from rag_nodes.server.clients import Clients
    from rag_nodes.server.limits import ServerLimits
    from rag_nodes.server.workers import Workers
    from rag_nodes.settings import Settings

_DESCRIPTION = f"""\
{IDENTITY}

Bring documents with /upload, keep the `session` it answers, and send it as X-Session with every
question. Sessions are separate, and end with /clear or after two idle hours. Every refusal is
`{{"error": …, "remedy": …}}`.
"""


def make_api(
    settings: Settings,
    clients: Clients,
    workers: Workers,
    limits: ServerLimits,
    *,
    needs_token: bool = False,
) -> FastAPI:
    """The API, to be mounted at `/api`; `Gate` and `BodyLimits` belong around it.

    Args:
        settings: models and answering where a request says nothing.
        clients: their sessions.
        workers: threads for what blocks.
        limits: how much one request may bring.
        needs_token: say in the OpenAPI document that a token has to be sent.
    """
    # `Gate` checks the token before a body is read; this only documents it.
    bearer = [Depends(HTTPBearer(auto_error=False))] if needs_token else []
    api = FastAPI(
        title="rag_nodes",
        version=version("rag-nodes"),
        description=_DESCRIPTION,
        dependencies=bearer,
        servers=[{"url": "/api"}],
        root_path_in_servers=False,
        docs_url=None,  # both pages load scripts from other hosts
        redoc_url=None,
    )
    install_handlers(api)
    api.include_router(make_router(settings, clients, workers, limits))
    api.openapi_schema = naming(api.openapi(), tuple(clients.offer))
    return api
