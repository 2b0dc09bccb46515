"""Assumptions about the inside of PyMuPDF, each with a test in `test_inside_libraries.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


def links_of(page: Any) -> Iterator[Any]:
    """Yield the `pymupdf.Link`s of a page, in time linear in their number.

    `Link.next` lists all annotations of the page again for every link; MuPDF's own list, which a
    link holds as `this`, goes from one link to the next at once.
    """
    link = page.first_link
    while link is not None:
        yield link
        following = link.this.next()
        if not following.m_internal:
            return
        parent = link.parent
        link = type(link)(following)
        link.parent = parent
