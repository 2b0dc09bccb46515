"""The table `[answers]` of `rag_nodes.toml`: how questions are answered, and what models cost."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rag_nodes.errors import ConfigurationError

TABLE = "answers"
"""Name of the table."""
_Dollars = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class AnswerSettings(BaseModel):
    """How questions are answered; what is None is left to the library.

    Example of `rag_nodes.toml`::

        [answers]
        step_words = ["how do i", "steps to"]

        [answers.prices]
        "gpt-4o-mini" = [0.15, 0.60]

    Attributes are those of `rag_nodes.query.QueryOptions`.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, hide_input_in_errors=True, use_attribute_docstrings=True
    )

    mode: Literal["hybrid", "dense", "sparse"] = "hybrid"
    """By meaning and words, by meaning only, or by words only."""
    fusion: Literal["score", "distribution", "rank"] = "score"
    """How a hybrid search joins its two rankings."""
    expand: Literal["auto", "none", "neighbours", "parent"] = "auto"
    """What is read around what was found; "auto" for the windows and parents a parser made."""
    step_words: tuple[str, ...] | None = None
    """Phrases that ask for steps (S4-12); None for the built-in lists of ten languages."""
    step_factor: float | None = Field(None, ge=1, allow_inf_nan=False)
    """By how much more is retrieved for such questions (S4-11); None for 2, in comparisons 1."""
    context_window: int | None = Field(None, ge=1)
    """Tokens of prompt and answer together (S4-20); None for what is known of the model."""
    prices: dict[str, tuple[_Dollars, _Dollars]] = Field(default_factory=dict)
    """US dollars per million tokens read and written, by model (S4-21)."""
    cache_ttl_hours: float = Field(24.0, ge=0, allow_inf_nan=False)
    """How long a question's embedding is remembered (S3-13)."""

    def chosen(self) -> dict[str, Any]:
        """Plain data for `QueryOptions`: everything that is not left to the library."""
        return {name: value for name, value in self if value is not None}


def read_answers(file: str) -> AnswerSettings:
    """The table in a settings file, checked; the defaults where file or table is missing.

    Raises:
        ConfigurationError: a name is unknown or a value out of range.
    """
    path = Path(file)
    table = tomllib.loads(path.read_text("utf-8")).get(TABLE, {}) if path.is_file() else {}
    try:
        return AnswerSettings.model_validate(table)
    except ValidationError as error:
        problems = error.errors(include_input=False, include_url=False, include_context=False)
        lines = [f"{'.'.join(map(str, (TABLE, *one['loc'])))}: {one['msg']}" for one in problems]
        raise ConfigurationError(f"{file}: {'; '.join(lines)}") from None
