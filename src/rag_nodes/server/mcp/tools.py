"""Tools that cut texts and answer questions from them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from rag_nodes.errors import CollectionMissingError, ConfigurationError, RagNodesError
from rag_nodes.models import choose_models
from rag_nodes.parsers import COMPARED, DEFAULT_PARSER
from rag_nodes.parsers.offer import LEAST_CHUNK
from rag_nodes.processes import current_interrupt
from rag_nodes.server.clients import Client
from rag_nodes.server.mcp.calls import CallContext, Calls
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
from rag_nodes.server.rest.parser_options import ParserName, ParserOptions
from rag_nodes.server.rest.replies import AnswerReply, Chunks, Compared
from rag_nodes.server.uploads import text_document
from rag_nodes.workspace import Workspace
from rag_nodes.workspace.bounds import LARGEST
from rag_nodes.workspace.options import MOST_QUESTION
from rag_nodes.workspace.workspace import asked_preset, cut, is_stored, parsers_of

if TYPE_CHECKING:
    from rag_nodes.compare import ComparisonReport

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
_Asked = Annotated[
    ParserName | None,
    Field(
        description=f"How the text is cut: {DEFAULT_PARSER} by default, of stored documents the "
        "one preset that cut them."
    ),
]
_COMPARED: list[str] = list(COMPARED)
_Options = Annotated[
    ParserOptions | None, Field(description="Options that differ from the parser's preset.")
]
_Filter = Annotated[SearchFilter | None, Field(description="Search only these chunks.")]
_Cutoff = Annotated[
    Cutoff | None,
    Field(description="Leave out chunks of a lower cosine similarity; null for the server's."),
]
_Granularity = Annotated[
    Literal["sentences", "chunks"] | None,
    Field(description="Read the sentences that answer, or whole chunks as they are found."),
]
_Vector = Annotated[
    Literal["heading", "plain", "summary", "context"],
    Field(
        description="Compare this embedding of the chunks: with the headings above them, of their "
        "text alone, or behind what was written about each when they were stored."
    ),
]
_Budget = Annotated[Size | None, Field(description="Tokens of context; null for no limit.")]


class Tools(Calls):
    """The tools as methods; their docstrings are what agents read."""

    async def chunk(
        self,
        context: CallContext,
        text: Annotated[str, Field(max_length=MOST_TEXT, description="Text or Markdown.")],
        parser: _Parser = DEFAULT_PARSER,
        options: _Options = None,
        limit: Annotated[int, Field(ge=1, le=1000, description="Chunks to show.")] = 100,
    ) -> Chunks:
        """Cut a text into chunks that are exact slices of it, with offsets and headings."""

        def work() -> Chunks:
            body = ChunkBody(text=text, parser=parser, options=options, limit=limit)
            return Chunks.of(cut(text_document(text), body.choice(), self._offer), 0, limit)

        return await self._run(context, work)

    async def ask(  # noqa: PLR0913, PLR0917 -- what agents may name, by name
        self,
        context: CallContext,
        question: _Question,
        text: _Text = None,
        parser: _Asked = None,
        options: _Options = None,
        budget: _Budget = BUDGET,
        filter: _Filter = None,  # noqa: A002 - what REST calls it
        similarity_cutoff: _Cutoff = None,
        granularity: _Granularity = None,
        vector: _Vector = "heading",
    ) -> AnswerReply:
        """Answer a question, citing the passages it rests on."""

        def work() -> AnswerReply:
            named = {} if parser is None else {"parser": parser}
            body = AskBody(
                question=question,
                options=options,
                filter=filter,
                granularity=granularity,
                **(named | _given(budget, similarity_cutoff)),
            )
            (column,) = self._answers(body, text, vector).columns
            if column.answer is None:
                raise RagNodesError(column.error or "there is no answer")
            return AnswerReply.of(column.answer, column.statistics.error)

        return await self._run(context, work)

    async def compare(  # noqa: PLR0913, PLR0917 -- what agents may name, by name
        self,
        context: CallContext,
        question: _Question,
        text: _Text = None,
        parsers: Annotated[
            list[ParserName], Field(min_length=1, max_length=4, description="Which to compare.")
        ] = _COMPARED,
        budget: _Budget = BUDGET,
        filter: _Filter = None,  # noqa: A002 - what REST calls it
        similarity_cutoff: _Cutoff = None,
        granularity: _Granularity = "chunks",
        equal_size: Annotated[
            int | None,
            Field(
                ge=LEAST_CHUNK,
                le=LARGEST,
                description="Tokens that a chunk of every parser has on average, so that they "
                "differ in how they cut and not in size; needs a text.",
            ),
        ] = None,
        vector: _Vector = "heading",
    ) -> Compared:
        """Answer a question with several parsers, to see which finds the better passages."""

        def work() -> Compared:
            body = CompareBody(
                question=question,
                parsers=parsers,
                filter=filter,
                granularity=granularity,
                equal_size=equal_size,
                **_given(budget, similarity_cutoff),
            )
            return Compared.of(self._answers(body, text, vector))

        return await self._run(context, work)

    def _answers(
        self, body: AskBody | CompareBody, text: str | None, vector: str
    ) -> ComparisonReport:
        """From the text in a store that is gone afterwards, or from the stored corpus."""
        options = replace(body.query_options(self._settings.answering()), vector=vector)
        if text is not None:
            with Client(self._settings, offer=self._offer) as client:
                client.add_text(text)
                choice = replace(body.choice(), vector=vector)
                return client.answers(body.question, choice, options)
        if isinstance(body, CompareBody) and body.equal_size is not None:
            raise ConfigurationError(
                "what is stored has the size it was cut at; send a text, or leave equal_size out"
            )
        settings = self._settings
        if not is_stored(settings.store):
            raise CollectionMissingError(
                "no documents are stored on this server; send a text, or have them ingested"
            )
        models = choose_models(settings)
        with Workspace(settings, store=settings.store) as workspace:
            if isinstance(body, AskBody) and not (
                "parser" in body.model_fields_set or body.options
            ):
                found = asked_preset(workspace.store, settings.corpus, models.embedding_name)
                body = body.model_copy(update={"parser": found})
            parsers = parsers_of(body.choice(), models, self._offer)
            stream = workspace.compared(parsers, models, options).stream(body.question)
            with stream, current_interrupt().killing(stream.close):
                for _ in stream:
                    pass
                return stream.report()


def _given(budget: int | None, similarity_cutoff: float | None) -> dict[str, Any]:
    """What an agent chose; a budget then holds as it is, also for questions about steps."""
    limit = {} if budget == BUDGET else {"budget": budget}
    cutoff = {} if similarity_cutoff is None else {"similarity_cutoff": similarity_cutoff}
    return limit | cutoff
