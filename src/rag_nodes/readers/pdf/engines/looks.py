"""Looks of a font by its name, as flags of fonts are often missing."""

from __future__ import annotations

import re

_BOLD_NAME = re.compile(r"(?i:bold|black|heavy|demi)|BX\d|Medi(?!um)|-Bd")
_MONO_NAME = re.compile(r"mono|courier|consol|typewriter|cmtt", re.IGNORECASE)


def is_bold_name(name: str) -> bool:
    """Return True if a font of this name is bold."""
    return _BOLD_NAME.search(name) is not None


def is_mono_name(name: str) -> bool:
    """Return True if all characters of a font of this name are equally wide."""
    return _MONO_NAME.search(name) is not None
