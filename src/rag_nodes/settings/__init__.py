"""Flags, environment, `.env` and `rag_nodes.toml` in, one frozen `Settings` out.

Read at the edge only (command line, app, models); everything below is handed plain values.
Keys come from the environment or `.env`, never from `rag_nodes.toml`: that file gets committed.
"""

from __future__ import annotations

import os
import tomllib
from difflib import get_close_matches
from string import Formatter
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import urlsplit

from dotenv import dotenv_values
from pydantic import (
    BeforeValidator,
    Field,
    PrivateAttr,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from rag_nodes.errors import ConfigurationError
from rag_nodes.settings.answer_presets import ANSWER_PRESETS, STEP_FACTORS, AnswerPreset
from rag_nodes.settings.answers import TABLE, AnswerSettings, read_answers
from rag_nodes.settings.prompts import DEFAULT_PROMPT, DEFAULT_SYSTEM_PROMPT

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

__all__ = [
    "DEFAULT_PROMPT",
    "DEFAULT_SYSTEM_PROMPT",
    "DOTENV_FILE",
    "ENVIRONMENT_PREFIX",
    "OPENAI_API_BASE",
    "SETTINGS_FILE",
    "Settings",
]

ENVIRONMENT_PREFIX = "RAG_NODES_"
"""`RAG_NODES_TOP_K=8` sets `top_k`."""
DOTENV_FILE = ".env"
SETTINGS_FILE = "rag_nodes.toml"
"""Both are looked for in the working directory only."""
OPENAI_API_BASE = "https://api.openai.com/v1"
"""Where requests go when no other base address is set."""

_FALLBACKS = {"api_key": ("OPENAI_API_KEY",), "api_base": ("OPENAI_BASE_URL", "OPENAI_API_BASE")}
"""Variables that other OpenAI tools read; ours win over them."""
_SECRETS = ("api_key", "store_api_key", "api_token", "app_password")
_MASK = "****"
_MEGABYTE = 1024 * 1024


def _stripped(value: object) -> object:
    """What is pasted often ends in a line break; what is blank is not set."""
    text = value.get_secret_value() if isinstance(value, SecretStr) else value
    return (text.strip() or None) if isinstance(text, str) else text


_Key = Annotated[SecretStr | None, BeforeValidator(_stripped)]
_Address = Annotated[str | None, BeforeValidator(_stripped)]


class Settings(BaseSettings):
    """Everything a user can configure, checked once.

    A value is taken from the first place that has one: keyword argument (a flag), environment
    (`RAG_NODES_…`, then `OPENAI_API_KEY`, `OPENAI_BASE_URL`, `OPENAI_API_BASE`), `.env`,
    `rag_nodes.toml`, `answer_preset`, default (design §11).

    Example:
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

    embedding: Literal["auto", "lexical", "openai"] = "auto"
    """What turns text into vectors; auto: openai when a key is configured, else lexical."""
    embedding_model: str = Field("text-embedding-3-small", min_length=1)
    """Name of the OpenAI embedding model (C5); any name the server knows."""
    llm: Literal["auto", "extractive", "openai"] = "auto"
    """What writes answers; auto: openai when a key is configured, else extractive."""
    llm_model: str = Field("gpt-4o-mini", min_length=1)
    """Name of the chat model (C4); any name the server knows."""
    api_key: _Key = None
    """Key of the OpenAI or compatible server."""
    api_base: _Address = None
    """Base address of a compatible server, usually ending in /v1; None for OpenAI itself."""
    temperature: float = Field(0.2, ge=0, le=2)
    """Sampling temperature (S0-35)."""
    max_output_tokens: int = Field(1024, ge=1)
    """Longest answer, in the model's tokens (S0-35)."""
    request_timeout: float = Field(60.0, gt=0)
    """Seconds without a sign of life before a request to a model counts as failed."""
    retry_seconds: float = Field(10.0, ge=0)
    """Seconds for which a failing request to a model is repeated; `docs` takes 120 by default."""
    store: str = Field("./rag_nodes_data", min_length=1)
    """`:memory:`, a folder, or the address of a Qdrant server (C6)."""
    store_api_key: _Key = None
    """Key of the Qdrant server."""
    api_token: _Key = None
    """Token that REST and MCP of the app ask for; None to ask for none."""
    app_password: _Key = None
    """Password that goes with `rag-nodes app --auth USER`."""
    votes: str = Field("./rag_nodes_votes/votes.sqlite3", min_length=1)
    """File that keeps the votes given in the app."""
    corpus: str = Field("default", min_length=1)
    """Name that keeps one set of documents apart from another in the same store."""
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
    answer_preset: AnswerPreset | None = None
    """Answer model, temperature, length and retrieval of a source document, where nothing else is
    set: see `ANSWER_PRESETS`."""
    budget: int | None = Field(1500, ge=1)
    """Tokens of context given to the LLM, equal for every parser; None for no limit."""
    top_k: int | None = Field(None, ge=1)
    """Chunks to retrieve (C10); None lets the budget decide."""
    similarity_cutoff: float | None = Field(None, ge=-1, le=1, allow_inf_nan=False)
    """Chunks of a lower cosine similarity are left out (S4-13, C9); None to keep all."""
    high_similarity: float = Field(0.85, ge=-1, le=1)
    """Cosine above which a chunk is shown as a strong match (S0-16, C9)."""
    medium_similarity: float = Field(0.75, ge=-1, le=1)
    """Cosine above which a chunk is shown as a fair match (S0-16, C9)."""
    system_prompt: str = DEFAULT_SYSTEM_PROMPT
    """What the LLM is told before everything else (S4-16); blank to send no system message."""
    prompt: str = DEFAULT_PROMPT
    """Template for the LLM with {context} and {question}; literal braces are doubled."""
    _answers: AnswerSettings = PrivateAttr()

    def __init__(self, **values: Any) -> None:
        _refuse_unknown_variables(type(self))
        try:
            super().__init__(**values)
        except ValidationError as error:
            # The cause is dropped on purpose: its chain may show what was typed into a key.
            raise ConfigurationError(_readable(error, type(self))) from None
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
            _OpenAIVariables(settings_cls),
            _SettingsFile(settings_cls),
            _Preset(settings_cls),
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
        """What one file may cost, as arguments of `rag_nodes.readers.Limits`."""
        return {
            "seconds": self.read_seconds,
            "memory_bytes": self.read_memory_mb * _MEGABYTE,
            "file_bytes": self.read_file_mb * _MEGABYTE,
            "pages": self.read_pages,
            "characters": self.read_characters,
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
        return values | {name: _MASK if values[name] else None for name in _SECRETS}

    @property
    def uses_openai_itself(self) -> bool:
        """True where requests go to OpenAI and not to a compatible server (C21)."""
        return self.api_base in (None, OPENAI_API_BASE)


class _OpenAIVariables(PydanticBaseSettingsSource):
    """The variables of other OpenAI tools, from the environment, then from `.env`."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """The value under one of its foreign names, if any."""
        del field
        for variables in (os.environ, _dotenv()):
            for name in _FALLBACKS.get(field_name, ()):
                if variables.get(name):
                    return variables[name], field_name, False
        return None, field_name, False

    def __call__(self) -> dict[str, Any]:
        values = {name: self.get_field_value(None, name)[0] for name in _FALLBACKS}  # type: ignore[arg-type]
        return {name: value for name, value in values.items() if value}


class _SettingsFile(TomlConfigSettingsSource):
    """`rag_nodes.toml` with errors that name it."""

    def __init__(self, settings_cls: type[BaseSettings]) -> None:
        try:
            super().__init__(settings_cls)
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
            raise ConfigurationError(f"{SETTINGS_FILE}: cannot be read: {error}") from error
        self.init_kwargs.pop(TABLE, None)  # read by `read_answers`
        for name in _SECRETS:
            if name in self.toml_data:
                raise ConfigurationError(
                    f"{SETTINGS_FILE}: {name} does not belong in a file that is shared; "
                    f"set {ENVIRONMENT_PREFIX}{name.upper()} in the environment or in .env"
                )


class _Preset(PydanticBaseSettingsSource):
    """What `answer_preset` says, below everything that was set by itself."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """The value of the preset, if there is one."""
        del field
        name = self.current_state.get("answer_preset")
        return ANSWER_PRESETS.get(str(name), {}).get(field_name), field_name, False

    def __call__(self) -> dict[str, Any]:
        return dict(ANSWER_PRESETS.get(str(self.current_state.get("answer_preset")), {}))


def _dotenv() -> dict[str, str | None]:
    """The variables of `.env`; none where there is no such file."""
    try:
        return dotenv_values(DOTENV_FILE)
    except (UnicodeDecodeError, OSError) as error:
        raise ConfigurationError(f"{DOTENV_FILE}: cannot be read: {error}") from error


def _refuse_unknown_variables(settings_cls: type[BaseSettings]) -> None:
    """A mistyped variable would otherwise be ignored in silence.

    Raises:
        ConfigurationError: a variable carries our prefix and names no setting.
    """
    known = [ENVIRONMENT_PREFIX + name.upper() for name in settings_cls.model_fields]
    for place, names in (("environment", os.environ), (DOTENV_FILE, _dotenv())):
        for name in names:
            if name.upper().startswith(ENVIRONMENT_PREFIX) and name.upper() not in known:
                raise ConfigurationError(
                    f"{place}: {name} is no setting{_suggestion(name.upper(), known)}"
                )


def _readable(error: ValidationError, settings_cls: type[BaseSettings]) -> str:
    """One line per problem, without the values: one of them may be a key."""
    known = list(settings_cls.model_fields)
    lines = []
    for problem in error.errors(include_input=False, include_url=False, include_context=False):
        name = ".".join(map(str, problem["loc"])) or "settings"
        if problem["type"] == "extra_forbidden":
            lines.append(f"{name} is no setting{_suggestion(name, known)}")
        else:
            lines.append(f"{name}: {problem['msg'].removeprefix('Value error, ')}")
    return "; ".join(lines)


def _suggestion(name: str, known: list[str]) -> str:
    close = get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]}?" if close else f". Settings are: {', '.join(known)}"
