"""Fields that several operations share, and readers of what is typed as one text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.import_paths import is_path, label_of
from rag_nodes.operations.base import NOT_BLANK, Flag, Only, Request, Typed, visitors
from rag_nodes.operations.filtering import TYPED_FILTER, SearchFilter, search_filter
from rag_nodes.operations.workspace.limits import LARGEST
from rag_nodes.parsers.presets import PRESETS

if TYPE_CHECKING:
    from collections.abc import Iterable


MOST_TEXT = 500_000
"""Characters of a text that a stranger sends."""
MOST_QUESTION = 4_000
"""Characters of a question that a stranger sends."""
MOST_COLUMNS = 4
"""Parsers that are compared for a stranger."""
PARSER_WORDS = "NAME[:OPTION=VALUE]"
"""Spelling of a parser on a command line."""
ASSIGNMENT = "OPTION=VALUE"
"""Spelling of an option on a command line."""
PARSER_NAMES = ", ".join(PRESETS)
"""All presets, for descriptions."""

_MOST_DIGITS = 9
"""Digits of a number that is typed; Python itself refuses thousands with an error of its own."""
_SHOWN = 100
"""Characters that a message repeats of what was typed."""
_MOST = 10**9
"""Largest absolute value of a number in an option."""
_Value = (
    bool
    | Annotated[int, Field(ge=-_MOST, le=_MOST)]
    | Annotated[float, Field(ge=-_MOST, le=_MOST)]
    | Annotated[str, Field(max_length=2000)]
)
"""Value of an option of a parser."""


class ParserSpec(BaseModel):
    """A parser and those of its options that differ from the preset."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    name: Annotated[str, Field(min_length=1, max_length=500)]
    """Name of a preset."""
    options: Annotated[
        dict[Annotated[str, Field(max_length=100)], _Value],
        Field(max_length=30),
    ] = {}
    """Its options by name."""

    @property
    def is_foreign(self) -> bool:
        """True for a splitter of another package, by its import path."""
        return is_path(self.name)

    @property
    def label(self) -> str:
        """Name of the parser in reports: the preset, with its own options if it has any."""
        if self.is_foreign:
            return label_of(self.name)
        own = ",".join(f"{name}={value}" for name, value in self.options.items())
        return f"{self.name}:{own}" if own else self.name


def parser_spec(given: object) -> object:
    """A parser as typed, NAME[:OPTION=VALUE,...]; anything but text as it is.

    Raises:
        ConfigurationError: it is written otherwise.
    """
    if not isinstance(given, str):
        return given
    text = given.strip()
    name, colon, rest = (part.strip() for part in text.partition(":"))
    where = f"parser '{text}'"
    if not name or (colon and not rest):
        raise ConfigurationError(f"{where}: write NAME or NAME:OPTION=VALUE,OPTION=VALUE")
    if is_path(text) or (rest and "=" not in rest and name not in PRESETS):
        return {"name": text}
    return {"name": name, "options": assignments(rest.split(","), where) if rest else {}}


def assignments(texts: Iterable[str], where: str) -> dict[str, str]:
    """Options as typed, by name.

    Args:
        texts: each OPTION=VALUE.
        where: names the place, for messages.

    Raises:
        ConfigurationError: one is written otherwise, or given twice.
    """
    assigned: dict[str, str] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (name and equals and value):
            raise ConfigurationError(
                f"{where}: '{text.strip()}' is not OPTION=VALUE, for example chunk_size=500"
            )
        if name in assigned:
            raise ConfigurationError(f"{where}: {name} is given twice; leave one out")
        assigned[name] = value
    return assigned


def words(given: object) -> object:
    """Words with commas between them; anything but text as it is."""
    if not isinstance(given, str):
        return given
    return tuple(word.strip() for word in given.split(",") if word.strip())


def numbers(option: str, given: object) -> object:
    """Different numbers above 0, smallest first; anything but text as it is.

    Raises:
        ConfigurationError: something else was typed.
    """
    if not isinstance(given, str):
        return given
    parts = [part.strip() for part in given.split(",") if part.strip()]
    if not all(part.isdecimal() and len(part) <= _MOST_DIGITS for part in parts):
        shown = given if len(given) <= _SHOWN else f"{given[:_SHOWN]}…"
        raise ConfigurationError(
            f"{option} '{shown}' must be numbers with commas, as 500,1000,2000"
        )
    return tuple(sorted({int(part) for part in parts} - {0}))


# Flags stand on the field itself: pydantic drops the metadata of an `Annotated` inside another.
AS_PARSER = Flag(
    short="-p",
    metavar=PARSER_WORDS,
    help="A preset (`rag-nodes parsers` lists them), or module:Class(n=9).",
)
ReadParser = BeforeValidator(
    parser_spec, json_schema_input_type=Annotated[str, Field(max_length=2000)] | ParserSpec
)
Parser = Annotated[ParserSpec, ReadParser]


ParserToUse = Annotated[Parser, AS_PARSER, Field(description=f"Parser to use: {PARSER_NAMES}.")]


def described_parsers(used: str, default: Iterable[str]) -> str:
    """The description of a field that names parsers.

    Args:
        used: what for.
        default: those that are taken where none is named.
    """
    *others, last = default
    names = f"{', '.join(others)} and {last}" if others else last
    return f"Parsers to {used}: {PARSER_NAMES}; {names} by default."


def as_parsers(default: Iterable[str]) -> Flag:
    """Return the spelling of several parsers on a command line."""
    help_text = f"See `rag-nodes parsers`. Default: {', '.join(default)}."
    return Flag("--parser", short="-p", metavar=PARSER_WORDS, help=help_text)


class SearchMode(Request):
    """Search by keywords, by embeddings, or by both."""

    panel: ClassVar[str] = "Search"

    mode: Literal["hybrid", "dense", "sparse"] | None = None
    """BM25 (sparse, the default offline), embeddings (dense), or both (hybrid)."""


class Finding(Request):
    """Options of a search."""

    panel: ClassVar[str] = "Search"
    configures: ClassVar[tuple[str, ...]] = ("similarity_cutoff",)

    similarity_cutoff: Annotated[float | None, Field(ge=-1, le=1, allow_inf_nan=False)] = None
    """Leave out chunks of a lower cosine similarity, from -1 to 1."""
    expand: Literal["auto", "none", "neighbours"] | None = None
    """Context expansion: window or parent (auto), none, or the chunks on both sides."""
    filter: Annotated[
        SearchFilter | None,
        Typed(search_filter),
        Flag(short="-f", metavar="KEY=VALUE", many=True, help=TYPED_FILTER),
    ] = None
    """Search only chunks that meet all of these conditions."""


class Searching(Finding, SearchMode):
    """Options of a search and of the context."""

    panel: ClassVar[str] = "Search"
    configures: ClassVar[tuple[str, ...]] = (
        "similarity_cutoff",
        "budget",
        "top_k",
        "answer_preset",
    )

    budget: Annotated[int | None, Field(ge=1), visitors(le=LARGEST)] = None
    """Tokens of context, the same for each parser; 1500 by default."""
    top_k: Annotated[int | None, Field(ge=1), visitors(le=100)] = None
    """Chunks per parser instead of a budget of tokens."""
    answer_preset: Literal["workbench", "crawl", "pdf-qa"] | None = None
    """Model, temperature and limits of a preset; other options and settings win over it."""
    granularity: Literal["sentences", "chunks"] | None = None
    """Give the model selected sentences (default) or whole chunks (in comparisons, with top_k)."""
    retrieval_only: bool = False
    """Show the retrieved chunks, without an answer."""


class Writing(Request):
    """Limits of requests to an LLM that writes many short texts."""

    panel: ClassVar[str] = "Requests to the LLM"

    concurrency: Annotated[int, Field(ge=1)] = 4
    """Requests at the same time."""
    requests_per_minute: Annotated[int | None, Field(ge=1)] = None
    """Maximum requests per minute, repeated ones included."""
    resume: bool = False
    """Continue an interrupted run from the files it left beside OUTPUT."""


class OfText(Request):
    """A text in the place of documents, for those who have no files here."""

    text: Annotated[
        str | None, Only(("rest",)), visitors(max_length=MOST_TEXT, pattern=NOT_BLANK)
    ] = None
    """Plain text or Markdown, in the place of documents that were sent before."""
