"""The document for visitors who have none at hand."""

from __future__ import annotations

from pathlib import Path

_NAME = "ferry.pdf"
_PLACES = (
    Path(__file__).parent / "example",
    Path(__file__).parents[3] / "examples" / "corpus",
)
"""In the installed package, and in a checkout."""


def example_document() -> Path | None:
    """Its path; None where it was not shipped."""
    found = (folder / _NAME for folder in _PLACES)
    return next((path for path in found if path.is_file()), None)
