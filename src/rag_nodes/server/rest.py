"""REST: an address per operation, and by hand what is about sessions."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Header, Request, Response
from fastapi.security import HTTPBasic, HTTPBearer
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse

from rag_nodes import IDENTITY
from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.metadata import FILE_HASH
from rag_nodes.models import choose_models
from rag_nodes.operations import OPERATIONS, Operation
from rag_nodes.operations.base import model_for
from rag_nodes.query import QueryOptions
from rag_nodes.server.events import MEDIA_TYPE, streamed
from rag_nodes.server.failures import install_handlers
from rag_nodes.server.limits import address_of, ended_by_leaving
from rag_nodes.server.replies import (
    Cleared,
    OfferedParser,
    Problem,
    SessionDocument,
    Status,
    Uploaded,
    UploadedFile,
)
from rag_nodes.server.schemas import named_parsers, page_of
from rag_nodes.server.served import request_of
from rag_nodes.server.uploads import received_of, save

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import BinaryIO

    from llama_index.core.schema import Document

    from rag_nodes.operations.workspace.session import Session
    from rag_nodes.server.gate import Access
    from rag_nodes.server.served import ServedOperations

_MOST_PARTS = 1000
"""Parts of a form; each costs memory, even an empty one."""
_DESCRIPTION = f"""\
{IDENTITY}

Bring documents with /upload, keep the `session` it answers, and send it as X-Session with every
question. Sessions are separate, and end with /clear or after two idle hours. Every refusal is
`{{"error": …, "remedy": …}}`.
"""
_TAGS = [
    {"name": "sessions", "description": "Your documents: brought, looked at, forgotten."},
    {"name": "operations", "description": "What is done with them."},
]


SessionId = Annotated[
    str | None,
    Header(alias="X-Session", max_length=100, description="What /upload answered as session."),
]
_FAILURES: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": words}
    for status, words in (
        (401, "The token is missing or wrong."),
        (403, "A page of another website sent it."),
        (404, "No such session, document or collection."),
        (413, "Over a limit of bytes, files or documents."),
        (421, "The Host header names another server."),
        (422, "Something in the request does not fit."),
        (429, "Too many wrong tokens; Retry-After says when."),
        (503, "Busy, or a model or the store does not answer."),
    )
}
_STREAMED: dict[str, Any] = {
    "description": "JSON, or with `Accept: text/event-stream` events as the work goes on, then "
    "`result` or `failed`, then `end`.",
    "content": {MEDIA_TYPE: {"schema": {"type": "string"}}},
}
_FILES = {
    "type": "array",
    "minItems": 1,
    "items": {"type": "string", "format": "binary"},
    "description": "PDF, DOCX, XLSX, HTML, Markdown, CSV, text or crawls.",
}
_FORM = {"schema": {"type": "object", "required": ["files"], "properties": {"files": _FILES}}}
_UPLOAD = {"requestBody": {"required": True, "content": {"multipart/form-data": _FORM}}}


def _links() -> dict[str, Any]:
    """Return the links to everything that can be done with a session."""
    served = [operation.name for operation in OPERATIONS if "rest" in operation.surfaces]
    session = {"X-Session": "$response.body#/session"}
    return {
        name: {"operationId": name, "parameters": session}
        for name in ("upload", *served, "status", "clear")
    }


def make_api(served: ServedOperations, access: Access | None = None) -> FastAPI:
    """The API, to be mounted at `/api`; `Gate` and `BodyLimits` belong around it.

    Args:
        served: the server it is part of.
        access: what requests have to show, for the document; the gate checks it.
    """
    api = FastAPI(
        title="rag_nodes",
        version=version("rag-nodes"),
        description=_DESCRIPTION,
        dependencies=_schemes(access),
        openapi_tags=_TAGS,
        servers=[{"url": "/api"}],
        root_path_in_servers=False,
        docs_url=None,  # both pages load scripts from other hosts
        redoc_url=None,
    )
    install_handlers(api)
    router = APIRouter(responses=_FAILURES)
    router.include_router(_sessions(served))
    for operation in OPERATIONS:
        if "rest" in operation.surfaces:
            _add_operation(router, operation, served)
    api.include_router(router)
    whole = api.openapi

    @cache  # made when somebody asks for it, as that takes longer than all the rest
    def document() -> dict[str, Any]:
        schema: dict[str, Any] = named_parsers(whole(), tuple(served.offer))
        return schema

    @api.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        return HTMLResponse(page_of(document()))

    api.openapi = document  # type: ignore[method-assign]
    return api


def _schemes(access: Access | None) -> list[Any]:
    """Return the security schemes of the OpenAPI document."""
    bearer = [HTTPBearer(auto_error=False)] if access and access.token else []
    basic = [HTTPBasic(auto_error=False)] if access and access.password else []
    return [Depends(scheme) for scheme in (*bearer, *basic)]


def _add_operation(router: APIRouter, operation: Operation, served: ServedOperations) -> None:
    """The address of an operation."""

    async def done(body: Any, request: Request, x_session: SessionId = None) -> Any:
        del body  # that is what the document says; a number that was sent as text is one there
        asked = request_of(operation, await request.json())
        return await _answered(served, operation, asked, request, x_session)

    done.__annotations__["body"] = model_for(operation.request)
    done.__annotations__["x_session"] = SessionId
    done.__annotations__["request"] = Request
    router.post(
        f"/{operation.name}",
        response_model=model_for(operation.reply),
        responses={200: _STREAMED},
        operation_id=operation.name,
        tags=["operations"],
        summary=operation.summary.removesuffix("."),
        description=operation.summary,
    )(done)


async def _answered(
    served: ServedOperations, operation: Operation, asked: Any, request: Request, key: str | None
) -> Response:
    """The reply, or a stream of events that ends in it."""
    with ExitStack() as held:
        session: Session | None = None
        if getattr(asked, "text", None) is None:  # else it brings what it is about
            session = held.enter_context(served.sessions.holding(served.known(key)))
        workers, own = served.workers, key if (key or "") in served.sessions else None
        perform = partial(served.perform, operation, asked, session=session)
        async with ended_by_leaving(request) as interrupt:
            if MEDIA_TYPE in request.headers.get("accept", ""):
                held.callback(workers.hold(address_of(request), own))
                return await streamed(perform, workers, interrupt, held.pop_all().close)
            with workers.place(address_of(request), own):
                return JSONResponse(await workers.thread(perform, lambda _: None))


def _sessions(served: ServedOperations) -> APIRouter:
    """Add the routes of sessions; their docstrings appear in OpenAPI."""
    router = APIRouter(tags=["sessions"], generate_unique_id_function=lambda route: route.name)
    linked: dict[int | str, dict[str, Any]] = {200: {"links": _links()}}
    workers = served.workers

    @router.post("/upload", summary="Bring documents", openapi_extra=_UPLOAD, responses=linked)
    async def upload(request: Request, x_session: SessionId = None) -> Uploaded:
        """Read documents into your session, or into a new one without X-Session.

        Each file ends as read or failed; a bad one does not stop the rest.
        """
        limits, parts = served.limits, _MOST_PARTS
        with served.held(x_session) as hold:
            async with request.form(max_files=parts, max_fields=parts) as form:
                files = _files_of(form, limits.upload_files)
                key, session = hold()
                with workers.place(address_of(request), x_session):
                    rows = await workers.thread(_read, session, files, limits.documents)
        return Uploaded(session=key, files=rows)

    @router.get("/status", summary="See what there is")
    async def status(x_session: SessionId = None) -> Status:
        """Version, models, parsers and, with X-Session, your documents."""
        # Takes no place: whoever asks whether the server lives should hear so when it is busy.
        models = await workers.thread(choose_models, served.settings)
        options = QueryOptions(**served.settings.answering())
        return Status(
            version=version("rag-nodes"),
            models=models.describe(),
            mode=options.search_mode(by_meaning=models.embeds_meaning),
            parsers=[
                OfferedParser(name=preset.name, title=preset.title, summary=preset.summary)
                for preset in served.offer.values()
            ],
            documents=None if x_session is None else _documents(served, x_session),
        )

    @router.post("/clear", summary="Forget everything")
    async def clear(x_session: SessionId = None) -> Cleared:
        """End your session: its documents, chunks and running answers."""
        await workers.thread(served.sessions.end, served.known(x_session))
        return Cleared()

    return router


def _documents(served: ServedOperations, key: str) -> list[SessionDocument]:
    with served.sessions.holding(served.known(key)) as session:
        return [SessionDocument.of(document) for document in session.documents]


def _files_of(form: FormData, most: int) -> list[tuple[str | None, BinaryIO]]:
    """The files of an upload by the name they are sent with."""
    files = [file for file in form.getlist("files") if isinstance(file, UploadFile)]
    if not files:
        raise ConfigurationError("no file in the field 'files'; send at least one")
    if len(files) > most:
        raise HTTPException(413, f"the upload has more than {most} files")
    return [(file.filename, file.file) for file in files]


def _read(
    session: Session, files: Sequence[tuple[str | None, BinaryIO]], most: int
) -> list[UploadedFile]:
    """Read files into the session; nothing of them stays on the disk, and PDFs in memory."""
    received: list[tuple[UploadedFile, Document | None]] = []
    pdfs: dict[str, bytes] = {}
    with tempfile.TemporaryDirectory(prefix="rag_nodes_") as folder:
        for position, (name, stream) in enumerate(files):
            path = save(stream, name, Path(folder, str(position)))
            rows = list(received_of(path, session.read))
            received += rows
            for document in filter(None, (received for _, received in rows)):
                if file_hash := document.metadata.get(FILE_HASH):
                    pdfs[file_hash] = path.read_bytes()
    documents = [document for _, document in received if document is not None]
    session.take(documents, most=most, files=pdfs)
    return [row for row, _ in received]
