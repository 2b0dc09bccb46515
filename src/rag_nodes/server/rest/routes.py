"""The addresses of the REST API; each finds the client's session, calls it, and says what came."""

from __future__ import annotations

import secrets
from contextlib import ExitStack
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.responses import Response

from rag_nodes.errors import ConfigurationError, ModelError
from rag_nodes.metadata import display_name
from rag_nodes.models import choose_models
from rag_nodes.server.clients import Clients
from rag_nodes.server.rest.evaluate import Evaluations
from rag_nodes.server.rest.events import MEDIA_TYPE, EventStream
from rag_nodes.server.rest.models import AskBody, ChunkBody, CompareBody
from rag_nodes.server.rest.replies import (
    AnswerReply,
    Chunks,
    Cleared,
    Compared,
    DocumentReply,
    ParserReply,
    Problem,
    Status,
    Uploaded,
    UploadedFile,
)
from rag_nodes.server.rest.sessions import SessionId, caller_of
from rag_nodes.server.uploads import Received, facts_of, text_document
from rag_nodes.server.workers import ended_by_leaving
from rag_nodes.workspace.workspace import cut

if TYPE_CHECKING:
    from llama_index.core.schema import Document

    from rag_nodes.server.limits import ServerLimits
    from rag_nodes.server.workers import Caller, Workers
    from rag_nodes.settings import Settings

_MOST_PARTS = 1000
"""Parts of a form; each costs memory, even an empty one."""

_FAILURES: dict[int | str, dict[str, Any]] = {
    401: {"model": Problem, "description": "The token is missing or wrong."},
    403: {"model": Problem, "description": "The page of another site sent it."},
    404: {"model": Problem, "description": "No such session or document."},
    413: {"model": Problem, "description": "Over a limit of bytes, files or documents."},
    421: {"model": Problem, "description": "Spoken to under a foreign name."},
    422: {"model": Problem, "description": "Something in the request does not fit."},
    429: {"model": Problem, "description": "Too many wrong tokens; Retry-After says when."},
    503: {"model": Problem, "description": "Busy, or a model or the store does not answer."},
}
_STREAMED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "JSON, or with `Accept: text/event-stream` the events retrieved, delta, "
        "citation, unknown_source, finished or failed of each parser, then end.",
        "content": {MEDIA_TYPE: {"schema": {"type": "string"}}},
    }
}
_FORM = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["files"],
                    "properties": {
                        "files": {
                            "type": "array",
                            "minItems": 1,
                            "items": {"type": "string", "format": "binary"},
                            "description": "PDF, DOCX, HTML, Markdown, CSV, text or crawls.",
                        }
                    },
                }
            }
        },
    }
}


def make_router(
    settings: Settings, clients: Clients, workers: Workers, limits: ServerLimits
) -> APIRouter:
    """All addresses, wired to one server's sessions.

    Args:
        settings: models and answering where a request says nothing.
        clients: their sessions.
        workers: threads for what blocks.
        limits: how much one request may bring.
    """
    api = _Api(settings, clients, workers, limits)
    router = APIRouter(responses=_FAILURES)
    router.post("/upload", openapi_extra=_FORM, summary="Bring documents")(api.upload)
    router.post("/chunk", summary="Cut a text or a document")(api.chunk)
    router.post("/ask", responses=_STREAMED, summary="Ask one parser", response_model=AnswerReply)(
        api.ask
    )
    router.post(
        "/compare", responses=_STREAMED, summary="Ask several parsers", response_model=Compared
    )(api.compare)
    Evaluations(settings, clients, workers, limits).add_to(router)
    router.get("/status", summary="See what there is")(api.status)
    router.post("/clear", summary="Forget everything")(api.clear)
    return router


class _Api:
    """The addresses as methods; their docstrings are what OpenAPI shows."""

    def __init__(
        self,
        settings: Settings,
        clients: Clients,
        workers: Workers,
        limits: ServerLimits,
    ) -> None:
        self._settings = settings
        self._clients = clients
        self._workers = workers
        self._limits = limits

    async def upload(self, request: Request, x_session: SessionId = None) -> Uploaded:
        """Read documents into your session, or into a new one without X-Session.

        Each file ends as read or failed; a bad one does not stop the rest.
        """
        key = x_session or secrets.token_urlsafe(24)
        caller, most = self._caller(request, x_session), self._limits.documents
        try:
            with self._clients.opened(key, new=x_session is None) as client:
                async with request.form(max_files=_MOST_PARTS, max_fields=_MOST_PARTS) as form:
                    given = [one for one in form.getlist("files") if isinstance(one, UploadFile)]
                    self._check_number(len(given))
                    files = [(one.filename, one.file) for one in given]
                    received = await self._workers.run(caller, client.add, files, most=most)
        except HTTPException as error:
            raise _as_too_many(error) from error
        return Uploaded(session=key, files=[_file(one) for one in received])

    async def chunk(self, body: ChunkBody, request: Request, x_session: SessionId = None) -> Chunks:
        """Show how a parser cuts a text or an uploaded document; nothing is stored."""
        caller, document = self._caller(request, x_session), self._document(body, x_session)
        async with ended_by_leaving(request):
            nodes = await self._workers.run(
                caller, cut, document, body.choice(), self._clients.offer
            )
        return Chunks.of(nodes, body.first, body.limit)

    async def ask(
        self, body: AskBody, request: Request, x_session: SessionId = None
    ) -> AnswerReply | Response:
        """Answer a question from the documents of your session, with citations."""
        reply = await self._answered(body, request, x_session)
        if isinstance(reply, Response):
            return reply
        column = reply.columns[0]
        if column.answer is None:
            raise ModelError(column.error or "there is no answer; ask again")
        return column.answer

    async def compare(
        self, body: CompareBody, request: Request, x_session: SessionId = None
    ) -> Compared | Response:
        """Answer a question with up to four parsers; one that fails does not stop the others."""
        return await self._answered(body, request, x_session)

    async def status(self, x_session: SessionId = None) -> Status:
        """Version, models, parsers and, with X-Session, your documents."""
        documents = None
        if x_session is not None:
            with self._clients.opened(x_session) as client:
                documents = [_document(one) for one in client.documents]
        # Takes no place: whoever asks whether the server lives should hear so when it is busy.
        models = await self._workers.thread(choose_models, self._settings)
        return Status(
            version=version("rag-nodes"),
            models=models.describe(),
            parsers=[
                ParserReply(name=one.name, title=one.title, summary=one.summary)
                for one in self._clients.offer.values()
            ],
            documents=documents,
        )

    async def clear(self, x_session: SessionId = None) -> Cleared:
        """End your session: its documents, chunks and running answers."""
        with self._clients.opened(x_session):
            await self._workers.thread(self._clients.end, x_session)
        return Cleared()

    async def _answered(
        self, body: AskBody | CompareBody, request: Request, key: str | None
    ) -> Compared | EventStream:
        arguments = (
            body.question,
            body.choice(),
            body.query_options(self._settings.answering()),
        )
        with ExitStack() as held:
            client = held.enter_context(self._clients.opened(key))
            held.callback(self._workers.hold(self._caller(request, key)))
            async with ended_by_leaving(request) as interrupt:
                asking = await self._workers.thread(client.answering, *arguments)
                held.callback(asking.close)
                if MEDIA_TYPE not in request.headers.get("accept", ""):
                    with interrupt.killing(asking.close):
                        return Compared.of(await self._workers.thread(asking.finish))
            return EventStream(asking, self._workers, held.pop_all().close)

    def _caller(self, request: Request, key: str | None) -> Caller:
        return caller_of(request, key, self._clients, self._workers)

    def _document(self, body: ChunkBody, key: str | None) -> Document:
        if body.document is None:
            return text_document(body.text or "")
        with self._clients.opened(key) as client:
            return client.document(body.document)

    def _check_number(self, files: int) -> None:
        if not files:
            raise ConfigurationError("no file in the field 'files'; send at least one")
        if files > self._limits.upload_files:
            raise HTTPException(413, f"the upload has more than {self._limits.upload_files} files")


def _as_too_many(error: HTTPException) -> HTTPException:
    """Starlette's limit of form parts is one of size."""
    if str(error.detail).startswith("Too many"):
        return HTTPException(413, "the upload has too many parts")
    return error


def _file(received: Received) -> UploadedFile:
    document = received.document
    if document is None:
        return UploadedFile(
            name=received.name, status="failed", error=received.error, remedy=received.remedy
        )
    pages, warnings = facts_of(document)
    return UploadedFile(
        name=received.name,
        status="read",
        document=document.doc_id,
        pages=pages,
        characters=len(document.text),
        warnings=warnings,
    )


def _document(document: Document) -> DocumentReply:
    return DocumentReply(
        document=document.doc_id,
        name=display_name(document.metadata),
        pages=facts_of(document)[0],
        characters=len(document.text),
    )
