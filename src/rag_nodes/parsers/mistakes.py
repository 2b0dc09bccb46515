"""Options that do not exist, do not fit or never change, and what to write instead.

No parser is loaded for that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.keywords import misfit
from rag_nodes.core.spelling import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import ValidationError

    from rag_nodes.parsers.base import SpanNodeParser

ELSEWHERE = {
    "breakpoint_percentile_threshold": ("breakpoint_percentile",),
    "chunk_sizes": ("parent_options", "child_options"),
    "max_chunk_size": ("chunk_size",),
    "separator": ("separators",),
    "window_size": ("window",),
}
"""Options of LlamaIndex's splitters by the names of ours."""
_NOT_OPTIONS = frozenset({"callback_manager", "id_func"})
"""Fields that decide nothing of the output."""


def option_hint(name: str, options: Sequence[str], parser: str) -> str:
    """Return what to write instead of an option that a parser does not have.

    Args:
        name: the option, as typed.
        options: the options of the parser.
        parser: name of its class.
    """
    here = ELSEWHERE.get(name, ())
    if here and set(here) <= set(options):
        return f"use {' and '.join(here)} instead"
    return did_you_mean(name, options, f"{parser} takes: ")


def configuration_error(parser: type[SpanNodeParser], error: ValidationError) -> ConfigurationError:
    """Return the error our own checks raised, else what is wrong with which option."""
    problems = error.errors()
    own = problems[0].get("ctx", {}).get("error")
    if isinstance(own, ConfigurationError) and not problems[0]["loc"]:
        return own
    options = sorted(set(parser.model_fields) - _NOT_OPTIONS)
    lines = []
    for problem in problems:
        name = ".".join(str(part) for part in problem["loc"])
        if problem["type"] == "extra_forbidden":
            lines.append(f"unknown option '{name}'; {option_hint(name, options, parser.__name__)}")
        else:
            message = misfit(problem)
            lines.append(f"{name}: {message}" if name else message)
    return ConfigurationError(f"{parser.__name__}: " + "; ".join(lines))


def frozen_error(parser: SpanNodeParser, name: str, value: object) -> ConfigurationError:
    """Return the error of an assignment to an option."""
    counted_in = getattr(parser, "unit", "tokens")
    unit = f" (in {counted_in})" if name in {"chunk_size", "chunk_overlap"} else ""
    return ConfigurationError(
        f"{type(parser).__name__} is frozen: {name}{unit} stays {_shown(getattr(parser, name))}, "
        "because the ids of its nodes are derived from it. Make another parser with "
        f"parser.model_copy(update={{{name!r}: {_shown(value)}}}). If you set this parser as "
        "Settings.node_parser, assign the new one there"
    )


def _shown(value: object) -> str:
    """Plain data as it is; of all else the class, as models of LlamaIndex print their keys."""
    plain = value is None or isinstance(value, (str, int, float))
    return repr(value) if plain else f"<{type(value).__name__}>"
