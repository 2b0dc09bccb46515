"""REST: an address per operation, and by hand what is about sessions."""

from __future__ import annotations

import secrets
import tempfile
from contextlib import ExitStack
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Header, Request, Response
from fastapi.security import HTTPBasic, HTTPBearer
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse

from rag_nodes import IDENTITY
from rag_nodes.errors import ConfigurationError
from rag_nodes.models import choose_models
from rag_nodes.operations import OPERATIONS, Operation
from rag_nodes.operations.base import model_for
from rag_nodes.query import QueryOptions
from rag_nodes.server.events import MEDIA_TYPE, Work
from rag_nodes.server.failures import install_handlers
from rag_nodes.server.limits import ended_by_leaving
from rag_nodes.server.replies import (
    Brought,
    Cleared,
    OfferedParser,
    Problem,
    SessionDocument,
    Status,
    Uploaded,
    UploadedFile,
)
from rag_nodes.server.schemas import named_parsers, page_of
from rag_nodes.server.served import reply_of, request_of
from rag_nodes.server.uploads import received_of, save
from rag_nodes.workspace.limits import check_file, check_labels

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import BinaryIO

    from llama_index.core.schema import Document

    from rag_nodes.server.gate import Access
    from rag_nodes.server.limits import Caller
    from rag_nodes.server.served import ServedOperations
    from rag_nodes.workspace.session import Session

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
        (403, "The page of another site sent it."),
        (404, "No such session, document or collection."),
        (413, "Over a limit of bytes, files or documents."),
        (421, "Spoken to under a foreign name."),
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
_FILE = {"type": "string", "format": "binary"}


def _form(name: str, schema: dict[str, Any], words: str) -> dict[str, Any]:
    """A form with one field."""
    fields = {name: {**schema, "description": words}}
    form = {"schema": {"type": "object", "required": [name], "properties": fields}}
    return {"requestBody": {"required": True, "content": {"multipart/form-data": form}}}


_DOCUMENTS = _form(
    "files",
    {"type": "array", "minItems": 1, "items": _FILE},
    "PDF, DOCX, HTML, Markdown, CSV, text or crawls.",
)
_QUESTIONS = _form(
    "questions",
    _FILE,
    "A sheet (CSV, XLSX) of questions and quotes or pages, our JSON, or a file of LlamaIndex, "
    "RAGAS, TruLens, LangSmith, promptfoo or SQuAD.",
)


def _links() -> dict[str, Any]:
    """What can be done with the session that was answered: all the rest."""
    served = [one.name.replace(" ", "_") for one in OPERATIONS if "rest" in one.surfaces]
    session = {"X-Session": "$response.body#/session"}
    return {
        name: {"operationId": name, "parameters": session}
        for name in ("upload", "questions", *served, "status", "clear")
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
    _SessionRoutes(served).add_to(router)
    for operation in OPERATIONS:
        if "rest" in operation.surfaces:
            _add_operation(router, operation, served)
    api.include_router(router)
    whole = api.openapi

    @cache  # made when somebody asks for it, as that takes longer than all the rest
    def document() -> dict[str, Any]:
        made: dict[str, Any] = named_parsers(whole(), tuple(served.offer))
        return made

    @api.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        return HTMLResponse(page_of(document()))

    api.openapi = document  # type: ignore[method-assign]
    return api


def _schemes(access: Access | None) -> list[Any]:
    """What opens the server, as the document says it."""
    bearer = [HTTPBearer(auto_error=False)] if access and access.token else []
    basic = [HTTPBasic(auto_error=False)] if access and access.password else []
    return [Depends(one) for one in (*bearer, *basic)]


def _add_operation(router: APIRouter, operation: Operation, served: ServedOperations) -> None:
    """The address of an operation."""

    async def done(body: Any, request: Request, x_session: SessionId = None) -> Any:
        del body  # that is what the document says; a number that was sent as text is one there
        asked = request_of(operation, "rest", await request.json())
        return await _answered(served, operation, asked, request, x_session)

    done.__annotations__["body"] = model_for(operation.request, "rest")
    done.__annotations__["x_session"] = SessionId
    done.__annotations__["request"] = Request
    path = operation.name.replace(" ", "/")
    router.post(
        f"/{path}",
        response_model=model_for(reply_of(operation, "rest"), "rest"),
        responses={200: _STREAMED},
        operation_id=operation.name.replace(" ", "_"),
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
            served.check_known(key)
            session = held.enter_context(served.sessions.holding(str(key)))
        address = request.client.host if request.client else ""
        held.callback(served.workers.hold(served.caller(address, key)))
        perform = partial(served.perform, operation, "rest", asked, session=session)
        async with ended_by_leaving(request) as interrupt:
            work = Work(perform, served.workers, interrupt, held.pop_all().close)
            return await work.answered(stream=MEDIA_TYPE in request.headers.get("accept", ""))


class _SessionRoutes:
    """What is about sessions; the docstrings are what OpenAPI shows."""

    def __init__(self, served: ServedOperations) -> None:
        self._served = served

    def add_to(self, router: APIRouter) -> None:
        """Make the addresses known."""
        linked: dict[int | str, dict[str, Any]] = {200: {"links": _links()}}
        for method, path, summary, done, more, answers in (
            ("POST", "/upload", "Bring documents", self.upload, _DOCUMENTS, linked),
            ("POST", "/questions", "Bring questions", self.bring, _QUESTIONS, linked),
            ("GET", "/status", "See what there is", self.status, None, {}),
            ("POST", "/clear", "Forget everything", self.clear, None, {}),
        ):
            router.add_api_route(
                path,
                done,
                methods=[method],
                operation_id=path.removeprefix("/"),
                tags=["sessions"],
                summary=summary,
                openapi_extra=more,
                responses=answers,
            )

    async def upload(self, request: Request, x_session: SessionId = None) -> Uploaded:
        """Read documents into your session, or into a new one without X-Session.

        Each file ends as read or failed; a bad one does not stop the rest.
        """
        key, caller = self._opened(request, x_session)
        try:
            with self._served.sessions.holding(key) as session:
                async with request.form(max_files=_MOST_PARTS, max_fields=_MOST_PARTS) as form:
                    files = [
                        (one.filename, one.file)
                        for one in form.getlist("files")
                        if isinstance(one, UploadFile)
                    ]
                    self._check_number(len(files))
                    rows = await self._served.workers.run(caller, self._read, session, files)
        except HTTPException as error:
            if str(error.detail).startswith("Too many"):  # Starlette's limit of parts is of size
                raise HTTPException(413, "the upload has too many parts") from error
            raise
        return Uploaded(session=key, files=rows)

    async def bring(self, request: Request, x_session: SessionId = None) -> Brought:
        """Read a file of labelled questions into your session, or into a new one.

        They take the place of those that were there. Texts that come with them become the
        documents of a session that has none.
        """
        key, caller = self._opened(request, x_session)
        with self._served.sessions.holding(key) as session:
            async with request.form(max_files=2, max_fields=2) as form, ended_by_leaving(request):
                file = form.get("questions")
                if not isinstance(file, UploadFile):
                    raise ConfigurationError("no file in the field 'questions'; send one")
                return await self._served.workers.run(caller, self._brought, key, session, file)

    async def status(self, x_session: SessionId = None) -> Status:
        """Version, models, parsers and, with X-Session, your documents."""
        served, documents = self._served, None
        if x_session is not None:
            served.check_known(x_session)
            with served.sessions.holding(x_session) as session:
                documents = [SessionDocument.of(one) for one in session.documents]
        # Takes no place: whoever asks whether the server lives should hear so when it is busy.
        models = await served.workers.thread(choose_models, served.settings)
        options = QueryOptions(**served.settings.answering())
        return Status(
            version=version("rag-nodes"),
            models=models.describe(),
            mode=options.search_mode(by_meaning=models.embeds_meaning),
            parsers=[
                OfferedParser(name=one.name, title=one.title, summary=one.summary)
                for one in served.offer.values()
            ],
            documents=documents,
        )

    async def clear(self, x_session: SessionId = None) -> Cleared:
        """End your session: its documents, chunks and running answers."""
        self._served.check_known(x_session)
        await self._served.workers.thread(self._served.sessions.end, x_session)
        return Cleared()

    def _opened(self, request: Request, key: str | None) -> tuple[str, Caller]:
        """The id of the session, or a new one, and whose places the request takes."""
        if key is not None:
            self._served.check_known(key)
        address = request.client.host if request.client else ""
        return key or secrets.token_urlsafe(24), self._served.caller(address, key)

    def _brought(self, key: str, session: Session, file: UploadFile) -> Brought:
        """Read questions into the session; nothing of the file stays on the disk."""
        from rag_nodes.evaluation.importers import documents_of, read_labels

        with tempfile.TemporaryDirectory(prefix="rag_nodes_") as folder:
            path = save(file.file, file.filename, Path(folder, "questions"))
            check_file(path)
            labels = read_labels(path)
        check_labels(labels, (), path.name)
        if labels.texts and not session.documents:
            session.take(documents_of(labels), most=self._served.limits.documents)
        session.labels = labels
        return Brought(
            session=key,
            format=labels.form,
            questions=len(labels.questions),
            documents=len(session.documents),
        )

    def _read(
        self, session: Session, files: Sequence[tuple[str | None, BinaryIO]]
    ) -> list[UploadedFile]:
        """Read files into the session; nothing of them stays on the disk."""
        received: list[tuple[UploadedFile, Document | None]] = []
        with tempfile.TemporaryDirectory(prefix="rag_nodes_") as folder:
            for position, (name, stream) in enumerate(files):
                path = save(stream, name, Path(folder, str(position)))
                received += received_of(path, session.read)
        documents = [one for _, one in received if one is not None]
        session.take(documents, most=self._served.limits.documents)
        return [row for row, _ in received]

    def _check_number(self, files: int) -> None:
        most = self._served.limits.upload_files
        if not files:
            raise ConfigurationError("no file in the field 'files'; send at least one")
        if files > most:
            raise HTTPException(413, f"the upload has more than {most} files")
