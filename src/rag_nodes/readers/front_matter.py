"""The YAML front matter of a Markdown file in, plain values out."""

from __future__ import annotations

import datetime as dt
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import yaml

LONGEST = 16 * 1024
"""Characters of front matter that are parsed; that takes PyYAML some 0.2 s."""

NOT_READ = "the front matter was not taken into the metadata: "


def plain_values(front_matter: str) -> tuple[dict[str, Any], str | None]:
    """Take the scalars and lists of scalars at the top level of front matter.

    Nested mappings are left out; like all of the front matter they are still in the text. Aliases
    are refused, because a few lines of them can stand for gigabytes. Dates become ISO text, as
    metadata has to go through JSON.

    Args:
        front_matter: the lines between the rules.

    Returns:
        The values by name, and why there are none where the front matter cannot be read.
    """
    if len(front_matter) > LONGEST:
        return {}, f"{NOT_READ}it has over {LONGEST:,} characters"
    import yaml

    try:
        if any(isinstance(token, yaml.AliasToken) for token in yaml.scan(front_matter)):
            return {}, f"{NOT_READ}it holds YAML aliases"
        fields = yaml.safe_load(front_matter)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return {}, f"{NOT_READ}{_problem(error)}"
    if not isinstance(fields, dict):
        return {}, None
    taken = ((str(name), _plain(value)) for name, value in fields.items())
    return {name: value for name, value in taken if value is not None}, None


def _problem(error: yaml.YAMLError | ValueError | RecursionError) -> str:
    mark = getattr(error, "problem_mark", None)
    return f"invalid YAML in its line {mark.line + 1}" if mark else "invalid YAML"


def _plain(value: object) -> Any:
    """The value as JSON can hold it; None for what is nested, empty or no value."""
    if isinstance(value, list):
        return [one for one in map(_scalar, value) if one is not None] or None
    return _scalar(value)


def _scalar(value: object) -> str | float | None:
    if isinstance(value, dt.date):  # also a time of day on that date
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, str | int | float) else None
