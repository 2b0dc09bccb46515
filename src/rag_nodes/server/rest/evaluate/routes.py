"""The addresses for questions and evaluations."""

from __future__ import annotations

import secrets
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from starlette.datastructures import UploadFile
from starlette.responses import HTMLResponse, JSONResponse, Response

from rag_nodes.errors import ConfigurationError
from rag_nodes.evaluation.checks import check_dataset
from rag_nodes.evaluation.drafts import draft_questions
from rag_nodes.evaluation.importers import plain_of
from rag_nodes.evaluation.page import html_of
from rag_nodes.server.rest.evaluate.bodies import CheckBody, DraftBody, EvaluateBody, labels_of
from rag_nodes.server.rest.evaluate.progress import EvaluationStream
from rag_nodes.server.rest.evaluate.replies import (
    Brought,
    CheckReply,
    Drafted,
    EvaluationReply,
    public_report,
)
from rag_nodes.server.rest.events import MEDIA_TYPE
from rag_nodes.server.rest.sessions import SessionId, caller_of
from rag_nodes.server.workers import ended_by_leaving
from rag_nodes.workspace.bounds import check_documents

if TYPE_CHECKING:
    from rag_nodes.evaluation.importers.labels import Labels
    from rag_nodes.evaluation.report import EvaluationReport
    from rag_nodes.server.clients import Client, Clients
    from rag_nodes.server.limits import ServerLimits
    from rag_nodes.server.workers import Workers
    from rag_nodes.settings import Settings

_PAGE_HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; sandbox",
}
"""The page has no script and asks for nothing; so it stays, whatever a document has in it."""
_ANSWERED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The report as JSON, with `?format=html` as a page, or with `Accept: "
        "text/event-stream` the events progress, finished or failed, then end.",
        "content": {
            MEDIA_TYPE: {"schema": {"type": "string"}},
            "text/html": {"schema": {"type": "string"}},
        },
    }
}
_FORM = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["questions"],
                    "properties": {
                        "questions": {
                            "type": "string",
                            "format": "binary",
                            "description": "A sheet (CSV, XLSX) of questions and quotes or pages, "
                            "our JSON, or a file of LlamaIndex, RAGAS, TruLens, LangSmith, "
                            "promptfoo or SQuAD.",
                        }
                    },
                }
            }
        },
    }
}


class Evaluations:
    """The addresses as methods; their docstrings are what OpenAPI shows.

    Args:
        settings: models and answering where a request says nothing.
        clients: their sessions.
        workers: threads for what blocks.
        limits: how much one request may bring.
    """

    def __init__(
        self, settings: Settings, clients: Clients, workers: Workers, limits: ServerLimits
    ) -> None:
        self._settings = settings
        self._clients = clients
        self._workers = workers
        self._limits = limits

    def add_to(self, router: APIRouter) -> None:
        """Make the addresses known."""
        router.post("/questions", openapi_extra=_FORM, summary="Bring questions")(self.bring)
        router.post("/questions/check", summary="Check questions")(self.check)
        router.post("/questions/draft", summary="Draft questions")(self.draft)
        router.post(
            "/evaluate",
            responses=_ANSWERED,
            response_model=EvaluationReply,
            summary="Find out which parser finds the answers",
        )(self.evaluate)

    async def bring(self, request: Request, x_session: SessionId = None) -> Brought:
        """Read a file of labelled questions into your session, or into a new one.

        They take the place of those that were there. Texts that come with them become the
        documents of a session that has none.
        """
        key = x_session or secrets.token_urlsafe(24)
        caller = caller_of(request, x_session, self._clients, self._workers)
        with self._clients.opened(key, new=x_session is None) as client:
            async with (
                request.form(max_files=2, max_fields=2) as form,
                ended_by_leaving(request),
            ):
                file = form.get("questions")
                if not isinstance(file, UploadFile):
                    raise ConfigurationError("no file in the field 'questions'; send one")
                return await self._workers.run(
                    caller, self._brought, key, client, file, most=self._limits.documents
                )

    async def check(
        self, body: CheckBody, request: Request, x_session: SessionId = None
    ) -> CheckReply:
        """Look for what is wrong with questions before anything is measured with them."""
        caller = caller_of(request, x_session, self._clients, self._workers)
        with self._clients.opened(x_session) as client:
            async with ended_by_leaving(request):
                return await self._workers.run(caller, _checked, client, labels_of(body.questions))

    async def draft(
        self, body: DraftBody, request: Request, x_session: SessionId = None
    ) -> Drafted:
        """Make questions out of the documents' own words, for somebody to look at.

        Drafts choose nothing: accept those that people would ask by sending them without `draft`.
        """
        caller = caller_of(request, x_session, self._clients, self._workers)
        with self._clients.opened(x_session) as client:
            return await self._workers.run(caller, _drafted, client, body)

    async def evaluate(
        self,
        body: EvaluateBody,
        request: Request,
        reply: Annotated[
            Literal["json", "html"], Query(alias="format", description="html for a page.")
        ] = "json",
        x_session: SessionId = None,
    ) -> Response:
        """Ask every question of every parser, and say which finds the answers and by how much.

        Every row reads the same number of tokens. Parsers are compared at their own options, at
        several sizes, and at an equal mean size.
        """
        work, labels = body.work(self._settings.answering()), labels_of(body.questions)
        with ExitStack() as held:
            client = held.enter_context(self._clients.opened(x_session))
            caller = caller_of(request, x_session, self._clients, self._workers)
            held.callback(self._workers.hold(caller))
            run = partial(client.evaluation, work, labels)
            async with ended_by_leaving(request) as interrupt:
                if reply == "html" or MEDIA_TYPE not in request.headers.get("accept", ""):
                    return await self._workers.thread(lambda: _awaited(run(_unseen), reply))
                stream = EvaluationStream(run, self._workers, held.pop_all().close)
                with interrupt.killing(stream.stop):
                    await stream.begin()
                return stream

    @staticmethod
    def _brought(key: str, client: Client, file: UploadFile, *, most: int) -> Brought:
        labels = client.bring(file.filename, file.file, most=most)
        documents = len(client.documents)
        check = _checked(client, labels) if documents else None
        return Brought(session=key, format=labels.form, documents=documents, check=check)


def _checked(client: Client, labels: Labels | None) -> CheckReply:
    return CheckReply.of(check_dataset(client.dataset(labels)))


def _drafted(client: Client, body: DraftBody) -> Drafted:
    documents = client.documents
    if not documents:
        raise ConfigurationError("no document yet; upload one first")
    check_documents(documents)
    dataset = draft_questions(documents, count=body.count, kinds=body.kinds, seed=body.seed)
    return Drafted.model_validate(plain_of(dataset))


def _unseen(_: object) -> None:
    """Nobody hears of the steps of a run that is awaited."""


def _awaited(report: EvaluationReport, reply: str) -> Response:
    shown = public_report(report)
    if reply == "html":
        return HTMLResponse(html_of(shown), headers=_PAGE_HEADERS)
    return JSONResponse(shown.as_dict())
