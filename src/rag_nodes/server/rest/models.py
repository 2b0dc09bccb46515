"""What REST takes: every body with its fields, bounds and an example."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Field, SecretStr, model_validator

from rag_nodes.parsers import COMPARED, DEFAULT_PARSER
from rag_nodes.parsers.offer import LEAST_CHUNK
from rag_nodes.query import Filter, QueryOptions
from rag_nodes.query.options import STEP_FACTOR
from rag_nodes.server.rest.parser_options import Body, ParserName, ParserOptions
from rag_nodes.settings.answers import ANSWER_PRESETS, STEP_FACTORS, AnswerPreset
from rag_nodes.workspace import Choice
from rag_nodes.workspace.bounds import LARGEST
from rag_nodes.workspace.options import MOST_COLUMNS, MOST_QUESTION

MOST_TEXT = 500_000
"""Characters of a text that is sent to be cut."""
BUDGET = 1500
"""Tokens of context where a request names no limit."""
Size = Annotated[int, Field(ge=1, le=LARGEST)]
Cutoff = Annotated[float, Field(ge=-1, le=1, allow_inf_nan=False)]
Address = Annotated[str, Field(max_length=2000, pattern=r"\S")]
Name = Annotated[str, Field(max_length=200, pattern=r"\S")]
VectorName = Literal["heading", "plain", "summary"]
"""Embeddings that documents which were sent can have: no LLM is paid for any of them."""


class ModelChoice(Body):
    """Models of your own instead of the server's; both key and address stay in your session."""

    api_key: SecretStr | None = Field(
        default=None, description="Key of that server.", max_length=500
    )
    api_base: str = Field(
        default="", max_length=500, description="Address; empty for OpenAI itself."
    )
    embedding_model: str = Field(default="", max_length=200, description="Empty for the server's.")
    llm_model: str = Field(default="", max_length=200, description="Empty for the server's.")
    temperature: Annotated[float, Field(ge=0, le=2)] | None = Field(
        default=None, description="Of the answer model; null for the server's."
    )
    max_output_tokens: Size | None = Field(
        default=None,
        description="Longest answer; null for the server's, more than that only with your own key.",
    )


class SearchFilter(Body):
    """Conditions a chunk must meet, all of them."""

    file_name: Name | None = Field(default=None, description="Name of its file, whole.")
    first_page: Size | None = Field(
        default=None, description="It touches this page or a later one."
    )
    last_page: Size | None = Field(
        default=None, description="It touches this page or an earlier one."
    )
    heading: Name | None = Field(default=None, description="Words in the headings above it.")
    source: Address | None = Field(
        default=None, description="URL of its page of a crawl, whole, or path of its file."
    )

    def condition(self) -> Filter:
        """The same as the library's filter."""
        pages = None
        if self.first_page is not None or self.last_page is not None:
            pages = (self.first_page or 1, self.last_page or LARGEST)
        return Filter(
            file_name=self.file_name, pages=pages, heading=self.heading, source=self.source
        )


class QuestionBody(Body):
    """What every question has."""

    step_factor: ClassVar[float | None] = None
    """By how much more is read for steps where neither request nor server says it."""
    question: Annotated[str, Field(min_length=1, max_length=MOST_QUESTION, pattern=r"\S")] = Field(
        description="In your own words.", examples=["When must the filter be rinsed?"]
    )
    budget: Size | None = Field(
        default=BUDGET,
        description="Tokens of context for each parser; null for no limit.",
    )
    top_k: Annotated[int, Field(ge=1, le=100)] | None = Field(
        default=None, description="Chunks; null for as many as fit the budget."
    )
    granularity: Literal["sentences", "chunks"] | None = Field(
        default=None,
        description="Read the sentences that answer, out of what is found and what stands beside "
        "it, or whole chunks as they are found. Null for chunks where parsers are compared or "
        "`top_k` is sent, else for sentences.",
    )
    mode: Literal["hybrid", "dense", "sparse"] = Field(
        default="hybrid", description="Search by meaning and words, by meaning, or by words."
    )
    vector: VectorName = Field(
        default="heading",
        description="Compare this embedding of the chunks: with the headings above them, of their "
        "text alone, or behind some of their sentences as a summary.",
    )
    filter: SearchFilter | None = Field(default=None, description="Search only these chunks.")
    expand: Literal["auto", "none", "neighbours"] | None = Field(
        default=None,
        description="What is read around what is found: auto for the windows and parents that a "
        "parser made; null for what the server does, which is that unless it is told otherwise.",
    )
    similarity_cutoff: Cutoff | None = Field(
        default=None, description="Leave out chunks of a lower cosine similarity; null for all."
    )
    answer_preset: AnswerPreset | None = Field(
        default=None,
        description="Limits, cutoff and answer model of a source document, where "
        "the request does not name them.",
    )
    retrieval_only: bool = Field(default=False, description="Show what is found; answer nothing.")
    models: ModelChoice | None = Field(
        default=None, description="Null for the models of the server."
    )

    def query_options(self, configured: dict[str, Any]) -> QueryOptions:
        """As the library takes them; a limit that was sent holds as it is, for steps too.

        Args:
            configured: what the server's settings say.
        """
        limited = self.model_fields_set & {"budget", "top_k"}
        preset = ANSWER_PRESETS.get(self.answer_preset or "", {})
        usual = STEP_FACTORS.get(self.answer_preset or "", self.step_factor)
        limits = {name: getattr(self, name) for name in ("budget", "top_k")}
        cutoff = preset.get("similarity_cutoff", configured.get("similarity_cutoff"))
        if "similarity_cutoff" in self.model_fields_set:
            cutoff = self.similarity_cutoff
        return QueryOptions(
            **{
                **configured,
                **(limits if limited or not preset else {name: preset[name] for name in limits}),
                "similarity_cutoff": cutoff,
                "mode": self.mode,
                "vector": self.vector,
                **({"granularity": self.granularity} if self.granularity else {}),
                **({"expand": self.expand} if self.expand else {}),
                "filter": self.filter.condition() if self.filter else None,
                "retrieval_only": self.retrieval_only,
                "step_factor": 1.0 if limited else configured.get("step_factor") or usual,
            }
        )

    def _choice(self, parsers: dict[str, ParserOptions | None]) -> Choice:
        models = self.models or ModelChoice()
        preset = ANSWER_PRESETS.get(self.answer_preset or "", {})
        return Choice(
            parsers=tuple(parsers),
            options={name: given.chosen() for name, given in parsers.items() if given},
            vector=self.vector,
            **{
                name: preset[name]
                if name in preset and name not in models.model_fields_set
                else getattr(models, name)
                for name in ModelChoice.model_fields
            },
        )


class AskBody(QuestionBody):
    """A question for one parser; where it asks for steps, more is read."""

    step_factor: ClassVar[float | None] = STEP_FACTOR
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"question": "Who approves a change?"}]}
    )
    parser: ParserName = Field(default=DEFAULT_PARSER, description="How the documents are cut.")
    options: ParserOptions | None = Field(default=None, description="Null for those of the preset.")

    def query_options(self, configured: dict[str, Any]) -> QueryOptions:
        """As those of every question; nothing is compared here, so sentences are read if possible.

        Args:
            configured: what the server's settings say.
        """
        options = super().query_options(configured)
        return replace(options, granularity="sentences" if options.reads_sentences else "chunks")

    def choice(self) -> Choice:
        """The one parser and the models."""
        return self._choice({self.parser: self.options})


class CompareBody(QuestionBody):
    """A question for several parsers."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "question": "Who approves a change?",
                    "parsers": ["fixed", "heading"],
                    "options": {"fixed": {"chunk_size": 500, "chunk_overlap": 50}},
                }
            ]
        }
    )
    parsers: Annotated[
        list[ParserName],
        Field(min_length=1, max_length=MOST_COLUMNS, json_schema_extra={"uniqueItems": True}),
    ] = Field(default=list(COMPARED), description="In this order.")
    options: dict[ParserName, ParserOptions] = Field(
        default_factory=dict, description="By parser; those of the presets where missing."
    )
    equal_size: Annotated[int, Field(ge=LEAST_CHUNK, le=LARGEST)] | None = Field(
        default=None,
        description="Tokens that a chunk of every parser has on average, so that they differ in "
        "how they cut and not in size; null for the size that each has by itself.",
    )

    @model_validator(mode="after")
    def _no_parser_twice(self) -> CompareBody:
        if len(set(self.parsers)) < len(self.parsers):
            raise ValueError("a parser is named twice")
        return self

    def choice(self) -> Choice:
        """The parsers, their size and the models."""
        chosen = self._choice({name: self.options.get(name) for name in self.parsers})
        return replace(chosen, equal_size=self.equal_size)


class ChunkBody(Body):
    """A text or an uploaded document, and how to cut it."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"text": "# Pump\n\nRinse it weekly.\n", "parser": "heading"}],
            "oneOf": [{"required": ["text"]}, {"required": ["document"]}],
        }
    )
    text: str | None = Field(
        default=None, max_length=MOST_TEXT, description="Plain text or Markdown."
    )
    document: str | None = Field(
        default=None, max_length=100, description="Id of an uploaded document; needs X-Session."
    )
    parser: ParserName = Field(default=DEFAULT_PARSER, description="How it is cut.")
    options: ParserOptions | None = Field(default=None, description="Null for those of the preset.")
    first: Annotated[int, Field(ge=0, le=10_000_000)] = Field(
        default=0, description="Index of the first chunk to show."
    )
    limit: Annotated[int, Field(ge=1, le=1000)] = Field(default=100, description="Chunks to show.")

    @model_validator(mode="after")
    def _one_of_them(self) -> ChunkBody:
        if (self.text is None) == (self.document is None):
            raise ValueError("give either text or document")
        return self

    def choice(self) -> Choice:
        """The one parser."""
        return Choice((self.parser,), {self.parser: self.options.chosen()} if self.options else {})
