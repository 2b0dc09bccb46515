"""Flags, environment, `.env` and `rag_nodes.toml` in, one frozen `Settings` out.

Read at the edge only (command line, app, models); everything below is handed plain values.
Keys come from the environment or `.env`, never from `rag_nodes.toml`: that file gets committed.
"""

from __future__ import annotations

from string import Formatter
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import (
    BeforeValidator,
    Field,
    PrivateAttr,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.keys import MASK
from rag_nodes.core.metadata import EmbeddedAs, PdfEngineName
from rag_nodes.core.settings.answers import (
    DEFAULT_PROMPT,
    DEFAULT_SYSTEM_PROMPT,
    STEP_FACTORS,
    AnswerPreset,
    AnswerSettings,
    read_answers,
)
from rag_nodes.core.settings.model_options import (
    FASTEMBED,
    MODEL_OPTIONS,
    OPTION_TABLES,
    check_choice,
    masked_options,
    refuse_secrets,
    typed_option,
)
from rag_nodes.core.settings.sources import (
    DOTENV_FILE,
    ENVIRONMENT_PREFIX,
    SECRETS,
    SETTINGS_FILE,
    OpenAIVariables,
    PresetValues,
    SettingsFile,
    readable,
    refuse_unknown_variables,
)

__all__ = [
    "DEFAULT_PROMPT",
    "DEFAULT_SYSTEM_PROMPT",
    "DOTENV_FILE",
    "ENVIRONMENT_PREFIX",
    "FASTEMBED",
    "MODEL_OPTIONS",
    "OPENAI_API_BASE",
    "OPTION_TABLES",
    "SETTINGS_FILE",
    "Settings",
    "refuse_secrets",
    "typed_option",
]

OPENAI_API_BASE = "https://api.openai.com/v1"
"""Base address of requests if no other is set."""

_MEGABYTE_BYTES = 1024 * 1024


def _stripped(value: object) -> object:
    """Strip white space: pasted values often end in a line break. Blank values are not set."""
    text = value.get_secret_value() if isinstance(value, SecretStr) else value
    return (text.strip() or None) if isinstance(text, str) else text


def _listed(value: object) -> object:
    """Return the texts of a variable, which stand there with commas between them."""
    if not isinstance(value, str):
        return value
    return tuple(part.strip() for part in value.split(",") if part.strip())


_Key = Annotated[SecretStr | None, BeforeValidator(_stripped)]
_Address = Annotated[str | None, BeforeValidator(_stripped)]


class Settings(BaseSettings):
    """Everything a user can configure, checked once.

    A value is taken from the first place that has one: keyword argument (a flag), environment
    (`RAG_NODES_…`, then `OPENAI_API_KEY`, `OPENAI_BASE_URL`, `OPENAI_API_BASE`), `.env`,
    `rag_nodes.toml`, `answer_preset`, default (design §11).

    Examples:
        >>> from rag_nodes.core.settings import Settings
        >>> Settings(embedding="lexical", top_k=8).top_k
        8

    Raises:
        ConfigurationError: a name is unknown, a value out of range, the prompt lacks a
            placeholder, or a file cannot be read.
    """

    model_config = SettingsConfigDict(
        env_prefix=ENVIRONMENT_PREFIX,
        env_file=DOTENV_FILE,
        env_ignore_empty=True,
        dotenv_filtering="match_prefix",
        toml_file=SETTINGS_FILE,
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
        use_attribute_docstrings=True,
    )

    embedding: str = "auto"
    """lexical (offline), openai, fastembed:<model> or module:Class; auto: openai with a key."""
    embedding_options: dict[str, Any] = Field(default_factory=dict, repr=False)
    """Options of the embedding's class, such as dimensions=256; JSON in the environment."""
    embedding_model: str = Field("text-embedding-3-small", min_length=1)
    """Model of the OpenAI embedding; text-embedding-3-small by default."""
    llm: str = "auto"
    """extractive (offline), openai or module:Class; auto: openai where a key is configured."""
    llm_options: dict[str, Any] = Field(default_factory=dict, repr=False)
    """Options of the LLM's class, such as model=llama3.2; JSON in the environment."""
    llm_model: str = Field("gpt-4o-mini", min_length=1)
    """Name of the chat model, or any name the server knows; gpt-4o-mini by default."""
    api_key: _Key = None
    """Key of the OpenAI or compatible server."""
    api_base: _Address = None
    """Address of a server compatible with OpenAI, ending in /v1; OpenAI itself by
    default."""
    temperature: float = Field(0.2, ge=0, le=2)
    """Sampling temperature of the chat model; 0.2 by default."""
    max_output_tokens: int = Field(1024, ge=1)
    """Longest answer of the chat model, in its tokens; 1024 by default."""
    request_timeout: float = Field(60.0, gt=0)
    """Seconds without a sign of life before a request to a model counts as failed."""
    retry_seconds: float = Field(10.0, ge=0)
    """Seconds for which a failing request to a model is repeated; 10 by default, 120 for `docs`."""
    store: str = Field("./rag_nodes_data", min_length=1)
    """Folder (default ./rag_nodes_data, in comparisons none), ':memory:', or a Qdrant URL."""
    store_api_key: _Key = None
    """Key of the Qdrant server."""
    ledger: _Address = None
    """Ingest state (SQLite); in the folder of the store by default."""
    store_options: dict[str, Any] = Field(default_factory=dict, repr=False)
    """Options of the Qdrant server, as grpc=true; a JSON object in the environment."""
    api_token: _Key = None
    """Token that REST and MCP of the app ask for; None to ask for none."""
    app_password: _Key = None
    """Password that goes with `rag-nodes app --auth USER`."""
    corpus: str = Field("default", min_length=1)
    """Namespace for a set of documents within a store; `default` by default."""
    text: EmbeddedAs = "heading"
    """Embedded with a chunk: nothing (plain), its headings (heading, default), or a summary too."""
    exclude: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_listed)] = ()
    """Files and folders to leave out, as in .gitignore: '*.tmp', 'drafts/*'; repeatable."""
    encoding: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_listed)] = ()
    """Encoding of text files that are not Unicode, as cp1250 or '*.csv=cp850'; else guessed."""
    pdf_engine: PdfEngineName = "auto"
    """Library that reads PDF files: pymupdf, pdfium, or auto (default): the first installed."""
    ocr: _Address = None
    """Program that reads scanned pages of PDFs, as 'tesseract {png} stdout --dpi {dpi} tsv'."""
    read_seconds: float = Field(120.0, gt=0)
    """Seconds that reading one file may take; large ones get more."""
    read_memory_mb: int = Field(2048, ge=64)
    """Megabytes of memory that reading one file may take (Linux)."""
    read_file_mb: int = Field(500, ge=1)
    """Megabytes that one file may have."""
    read_pages: int = Field(20_000, ge=1)
    """Pages that one file may have."""
    read_characters: int = Field(100_000_000, ge=1)
    """Characters of text that one document may have."""
    visitor_characters: int = Field(5_000_000, ge=1)
    """Characters that one document of a visitor of the page, REST or MCP may have."""
    answer_preset: AnswerPreset | None = None
    """Answer model, temperature, length and retrieval of a source document, where nothing else is
    set: see `ANSWER_PRESETS`."""
    budget: int | None = Field(1500, ge=1)
    """Tokens of context given to the LLM, equal for every parser; None for no limit."""
    top_k: int | None = Field(None, ge=1)
    """Chunks to retrieve; None lets the budget decide."""
    similarity_cutoff: float | None = Field(None, ge=-1, le=1, allow_inf_nan=False)
    """Chunks of a lower cosine similarity are left out; None to keep all."""
    high_similarity: float = Field(0.85, ge=-1, le=1)
    """Cosine above which a chunk is shown as a strong match."""
    medium_similarity: float = Field(0.75, ge=-1, le=1)
    """Cosine above which a chunk is shown as a fair match."""
    system_prompt: str = DEFAULT_SYSTEM_PROMPT
    """System prompt of the LLM; blank to send no system message."""
    prompt: str = DEFAULT_PROMPT
    """Template for the LLM with {context} and {question}; literal braces are doubled."""
    _answers: AnswerSettings = PrivateAttr()

    def __init__(self, **values: Any) -> None:
        refuse_unknown_variables(type(self))
        try:
            super().__init__(**values)
        except ValidationError as error:
            # The cause is dropped on purpose: its chain may show what was typed into a key.
            raise ConfigurationError(readable(error, type(self))) from None
        except SettingsError:
            raise ConfigurationError(
                f"{' or '.join(OPTION_TABLES)}: the environment holds no JSON object, which is "
                'written {"model_name": "a-model"}'
            ) from None
        self._answers = read_answers(SETTINGS_FILE)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - the signature is given
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """The order of precedence, first wins (design §11)."""
        return (
            init_settings,
            env_settings,
            dotenv_settings,
            OpenAIVariables(settings_cls),
            SettingsFile(settings_cls),
            PresetValues(settings_cls),
        )

    @field_validator("api_base", "store")
    @classmethod
    def _no_credentials_in_addresses(cls, value: str | None) -> str | None:
        if value is None or "://" not in value:
            return value
        address = urlsplit(value)
        if address.username or address.password or address.query:
            raise ValueError("put the key into its own variable, not into the address")
        return value.rstrip("/")

    @field_validator("api_base")
    @classmethod
    def _is_an_http_address(cls, value: str | None) -> str | None:
        if value is not None and not value.startswith(("http://", "https://")):
            raise ValueError("must start with http:// or https://")
        return value

    @field_validator("embedding", "llm")
    @classmethod
    def _is_a_choice(cls, value: str, info: ValidationInfo) -> str:
        return check_choice(value, str(info.field_name))

    @field_validator("prompt")
    @classmethod
    def _has_both_placeholders(cls, value: str) -> str:
        try:
            names = {name for _, name, _, _ in Formatter().parse(value) if name is not None}
        except ValueError as error:
            raise ValueError(f"has a stray brace ({error}); double literal braces") from error
        if names != {"context", "question"}:
            raise ValueError("needs {context} and {question} and no other placeholder")
        return value

    @model_validator(mode="after")
    def _similarities_are_ordered(self) -> Settings:
        if self.medium_similarity > self.high_similarity:
            raise ValueError("medium_similarity must not exceed high_similarity")
        return self

    def reading(self) -> dict[str, Any]:
        """Return how a file is read, as arguments of `rag_nodes.readers.Limits`."""
        return {
            "seconds": self.read_seconds,
            "memory_bytes": self.read_memory_mb * _MEGABYTE_BYTES,
            "file_bytes": self.read_file_mb * _MEGABYTE_BYTES,
            "pages": self.read_pages,
            "characters": self.read_characters,
            "encoding": self.encoding,
            "pdf_engine": self.pdf_engine,
            "ocr": self.ocr,
        }

    def answering(self) -> dict[str, Any]:
        """The table `[answers]` of `rag_nodes.toml` and the cutoff, as in `QueryOptions`."""
        chosen = self._answers.chosen()
        factor = STEP_FACTORS.get(self.answer_preset or "")
        usual = {"step_factor": factor} if factor is not None else {}
        return {**usual, **chosen, "similarity_cutoff": self.similarity_cutoff}

    def masked(self) -> dict[str, Any]:
        """Plain data for `--print-config`: keys read `****` where set, None where not."""
        values = self.model_dump()
        options = {name: masked_options(values[name]) for name in OPTION_TABLES}
        return values | options | {name: MASK if values[name] else None for name in SECRETS}

    @property
    def uses_openai_itself(self) -> bool:
        """True where requests go to OpenAI and not to a compatible server."""
        return self.api_base in (None, OPENAI_API_BASE)
