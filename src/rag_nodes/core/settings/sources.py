"""Sources of settings besides flags and `RAG_NODES_…`, and messages about their errors."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from dotenv import dotenv_values
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, TomlConfigSettingsSource

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.settings.answers import ANSWER_PRESETS, TABLE
from rag_nodes.core.settings.model_options import OPTION_TABLES, refuse_secrets
from rag_nodes.core.spelling import did_you_mean

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic.fields import FieldInfo

ENVIRONMENT_PREFIX = "RAG_NODES_"
"""`RAG_NODES_TOP_K=8` sets `top_k`."""
DOTENV_FILE = ".env"
SETTINGS_FILE = "rag_nodes.toml"
"""Both are looked for in the working directory only."""
SECRETS = ("api_key", "store_api_key", "api_token", "app_password")
"""Settings that are keys: masked where shown, and refused in the file that gets committed."""

_FALLBACKS = {"api_key": ("OPENAI_API_KEY",), "api_base": ("OPENAI_BASE_URL", "OPENAI_API_BASE")}
"""Variables that other OpenAI tools read; ours win over them."""


class OpenAIVariables(PydanticBaseSettingsSource):
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
        """All that are set."""
        values = {name: self.get_field_value(None, name)[0] for name in _FALLBACKS}  # type: ignore[arg-type]
        return {name: value for name, value in values.items() if value}


class SettingsFile(TomlConfigSettingsSource):
    """`rag_nodes.toml` with errors that name it."""

    def __init__(self, settings_cls: type[BaseSettings]) -> None:
        try:
            super().__init__(settings_cls)
        # A number of more than 4,300 digits is a `ValueError`, as are both errors of decoding.
        except (ValueError, OSError) as error:
            raise ConfigurationError(f"{SETTINGS_FILE}: cannot be read: {error}") from error
        self.init_kwargs.pop(TABLE, None)  # read by `read_answers`
        for name in SECRETS:
            if name in self.toml_data:
                raise ConfigurationError(
                    f"{SETTINGS_FILE}: {name} does not belong in a file that is shared; "
                    f"set {ENVIRONMENT_PREFIX}{name.upper()} in the environment or in .env"
                )
        for name in OPTION_TABLES:
            refuse_secrets(self.toml_data.get(name), f"{SETTINGS_FILE}: {name}", name)


class PresetValues(PydanticBaseSettingsSource):
    """Values of `answer_preset`, below everything that is set explicitly."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """The value of the preset, if there is one."""
        del field
        name = self.current_state.get("answer_preset")
        return ANSWER_PRESETS.get(str(name), {}).get(field_name), field_name, False

    def __call__(self) -> dict[str, Any]:
        """All of the preset."""
        return dict(ANSWER_PRESETS.get(str(self.current_state.get("answer_preset")), {}))


def _dotenv() -> dict[str, str | None]:
    """The variables of `.env`; none where there is no such file."""
    try:
        return dotenv_values(DOTENV_FILE)
    except (UnicodeDecodeError, OSError) as error:
        raise ConfigurationError(f"{DOTENV_FILE}: cannot be read: {error}") from error


def refuse_unknown_variables(settings_cls: type[BaseSettings]) -> None:
    """A mistyped variable would otherwise be ignored in silence.

    Raises:
        ConfigurationError: a variable carries our prefix and names no setting.
    """
    variables = [ENVIRONMENT_PREFIX + name.upper() for name in settings_cls.model_fields]
    for place, names in (("environment", os.environ), (DOTENV_FILE, _dotenv())):
        for name in names:
            if name.upper().startswith(ENVIRONMENT_PREFIX) and name.upper() not in variables:
                raise ConfigurationError(
                    f"{place}: {name} is not a setting{_suggestion(name.upper(), variables)}"
                )


def readable(error: ValidationError, settings_cls: type[BaseSettings]) -> str:
    """One line per problem, without the values: one of them may be a key."""
    fields = list(settings_cls.model_fields)
    lines = []
    for problem in error.errors(include_input=False, include_url=False, include_context=False):
        name = ".".join(map(str, problem["loc"])) or "settings"
        if problem["type"] == "extra_forbidden":
            lines.append(f"{name} is not a setting{_suggestion(name, fields)}")
        else:
            lines.append(f"{name}: {problem['msg'].removeprefix('Value error, ')}")
    return "; ".join(lines)


def _suggestion(name: str, names: list[str]) -> str:
    return "; " + did_you_mean(name, names, "settings are: ")
