"""Regular expressions with possessive quantifiers, on every Python we run on."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any

import regex

_RIGHT_FROM = (3, 11, 5)
"""Before this version the standard library matches possessive quantifiers of groups wrongly."""
_compile: Callable[..., Any] = re.compile if sys.version_info[:3] >= _RIGHT_FROM else regex.compile


def compiled(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """The pattern, compiled by a library that keeps its word on `*+`, `++` and `?+`."""
    expression: re.Pattern[str] = _compile(pattern, flags)
    return expression
