"""MCP tools beside the page: chunk, ask and compare, for agents; none of them changes anything.

The official SDK is mounted instead of Gradio's support: that would make tools of the page's
events, whose inputs are two dozen sliders and whose answers are HTML.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from mcp.server.fastmcp import Context, FastMCP
from mcp.server.fastmcp.exceptions import ToolError
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import Tool, ToolAnnotations
from pydantic import Field, ValidationError
from starlette.requests import Request

from rag_nodes.errors import CollectionMissingError, RagNodesError
from rag_nodes.models import choose_models
from rag_nodes.parsers import COMPARED, offered
from rag_nodes.processes import current_interrupt
from rag_nodes.server.clients import Client, text_document
from rag_nodes.server.failures import ApiError, public
from rag_nodes.server.gate import ended_by_leaving
from rag_nodes.server.rest.models import (
    BUDGET,
    MOST_TEXT,
    AskBody,
    ChunkBody,
    CompareBody,
    Cutoff,
    SearchFilter,
    Size,
)
from rag_nodes.server.rest.parser_options import ParserName, ParserOptions, naming
from rag_nodes.server.rest.replies import AnswerReply, Chunks, Compared
from rag_nodes.workspace import Workspace
from rag_nodes.workspace.options import MOST_QUESTION
from rag_nodes.workspace.workspace import cut, is_stored, parsers_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from rag_nodes.compare import ComparisonReport
    from rag_nodes.parsers import Preset
    from rag_nodes.server.gate import ServerLimits, Workers
    from rag_nodes.settings import Settings

Reply = TypeVar("Reply")
_Context = Context[Any, Any, Any]

PATH = "/mcp"
"""Where the tools are."""
_READ_ONLY = ToolAnnotations(
    readOnlyHint=True, destructiveHint=False, idempotentHint=True, openWorldHint=False
)
_Question = Annotated[
    str, Field(min_length=1, max_length=MOST_QUESTION, description="In your own words.")
]
_Text = Annotated[
    str | None,
    Field(
        max_length=MOST_TEXT,
        description="Text or Markdown to answer from; without it, the server's stored documents.",
    ),
]
_Parser = Annotated[ParserName, Field(description="How the text is cut.")]
_COMPARED: list[str] = list(COMPARED)
_Options = Annotated[
    ParserOptions | None, Field(description="Options that differ from the parser's preset.")
]
_Filter = Annotated[SearchFilter | None, Field(description="Search only these chunks.")]
_Cutoff = Annotated[
    Cutoff | None,
    Field(description="Leave out chunks of a lower cosine similarity; null for the server's."),
]
_Budget = Annotated[Size | None, Field(description="Tokens of context; null for no limit.")]


def make_mcp(
    settings: Settings,
    workers: Workers,
    limits: ServerLimits,
    offer: Mapping[str, Preset] | None = None,
) -> FastMCP[Any]:
    """The tools as a server for streamable HTTP, without sessions.

    Args:
        settings: models, store and corpus.
        workers: threads for what blocks.
        limits: how much one request may bring.
        offer: parsers that may be named; None for presets and plug-ins.
    """
    offer = offered() if offer is None else offer
    with _logging_kept():
        server = _Server(
            "rag_nodes",
            instructions="Cut texts, and answer questions from them with citations.",
            streamable_http_path=PATH,
            stateless_http=True,
            json_response=True,
            max_request_body_size=limits.body_bytes,
            # `Gate` has looked at host and origin already.
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )
    server.parsers = tuple(offer)
    tools = _Tools(settings, workers, offer)
    for tool in (tools.chunk, tools.ask, tools.compare):
        server.tool(annotations=_READ_ONLY)(tool)
    return server


class _Server(FastMCP[Any]):
    """The SDK's server, which says in the schema of each tool which parsers there are."""

    parsers: tuple[str, ...] = ()

    async def list_tools(self) -> list[Tool]:
        """The tools, as agents see them."""
        tools = await super().list_tools()
        for tool in tools:
            tool.inputSchema = naming(tool.inputSchema, self.parsers)
        return tools


class _Tools:
    """The tools as methods; their docstrings are what agents read."""

    def __init__(self, settings: Settings, workers: Workers, offer: Mapping[str, Preset]) -> None:
        self._settings = settings
        self._offer = offer
        self._workers = workers

    async def chunk(
        self,
        context: _Context,
        text: Annotated[str, Field(max_length=MOST_TEXT, description="Text or Markdown.")],
        parser: _Parser = "auto",
        options: _Options = None,
        limit: Annotated[int, Field(ge=1, le=1000, description="Chunks to show.")] = 100,
    ) -> Chunks:
        """Cut a text into chunks that are exact slices of it, with offsets and headings."""

        def work() -> Chunks:
            body = ChunkBody(text=text, parser=parser, options=options, limit=limit)
            return Chunks.of(cut(text_document(text), body.choice(), self._offer), 0, limit)

        return await self._run(context, work)

    async def ask(
        self,
        context: _Context,
        question: _Question,
        text: _Text = None,
        parser: _Parser = "auto",
        options: _Options = None,
        budget: _Budget = BUDGET,
        filter: _Filter = None,  # noqa: A002 - what REST calls it
        similarity_cutoff: _Cutoff = None,
    ) -> AnswerReply:
        """Answer a question, citing the passages it rests on."""

        def work() -> AnswerReply:
            body = AskBody(
                question=question,
                parser=parser,
                options=options,
                filter=filter,
                **_given(budget, similarity_cutoff),
            )
            (column,) = self._answers(body, text).columns
            if column.answer is None:
                raise RagNodesError(column.error or "there is no answer")
            return AnswerReply.of(column.answer)

        return await self._run(context, work)

    async def compare(
        self,
        context: _Context,
        question: _Question,
        text: _Text = None,
        parsers: Annotated[
            list[ParserName], Field(min_length=1, max_length=4, description="Which to compare.")
        ] = _COMPARED,
        budget: _Budget = BUDGET,
        filter: _Filter = None,  # noqa: A002 - what REST calls it
        similarity_cutoff: _Cutoff = None,
    ) -> Compared:
        """Answer a question with several parsers, to see which finds the better passages."""

        def work() -> Compared:
            body = CompareBody(
                question=question,
                parsers=parsers,
                filter=filter,
                **_given(budget, similarity_cutoff),
            )
            return Compared.of(self._answers(body, text))

        return await self._run(context, work)

    def _answers(self, body: AskBody | CompareBody, text: str | None) -> ComparisonReport:
        """From the text in a store that is gone afterwards, or from the stored corpus."""
        options = body.query_options(self._settings.answering())
        if text is not None:
            with Client(self._settings, offer=self._offer) as client:
                client.add_text(text)
                return client.answers(body.question, body.choice(), options)
        settings = self._settings
        if not is_stored(settings.store):
            raise CollectionMissingError(
                "no documents are stored on this server; send a text, or have them ingested"
            )
        models = choose_models(settings)
        parsers = parsers_of(body.choice(), models, self._offer)
        with Workspace(settings, store=settings.store) as workspace:
            stream = workspace.compared(parsers, models, options).stream(body.question)
            with stream, current_interrupt().killing(stream.close):
                for _ in stream:
                    pass
                return stream.report()

    async def _run(self, context: _Context, work: Callable[[], Reply]) -> Reply:
        """Do it in a thread as long as the agent waits; errors become what it may read."""
        request = context.request_context.request
        if not isinstance(request, Request):
            raise TypeError(f"a call over HTTP brings its request, not {type(request).__name__}")
        caller = self._workers.address(request.client.host if request.client else "")
        try:
            async with ended_by_leaving(request):
                return await self._workers.run(caller, work)
        except ApiError as error:
            raise ToolError(f"{error.detail}; {error.remedy}") from None
        except ValidationError as error:
            lines = (one["msg"] for one in error.errors(include_url=False, include_input=False))
            raise ToolError("; ".join(lines)) from None
        except RagNodesError as error:
            raise ToolError("; ".join(public(error)[1:])) from None


def _given(budget: int | None, similarity_cutoff: float | None) -> dict[str, Any]:
    """What an agent chose; a budget then holds as it is, also for questions about steps."""
    limit = {} if budget == BUDGET else {"budget": budget}
    cutoff = {} if similarity_cutoff is None else {"similarity_cutoff": similarity_cutoff}
    return limit | cutoff


@contextmanager
def _logging_kept() -> Iterator[None]:
    """Undo what the SDK does to the logging of the whole process while it is set up."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
