"""`--mode`, `--expand`, `--filter`, `--retrieval-only` to the options of answers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from rag_nodes.cli.session import context_budget
from rag_nodes.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_nodes.cli.session import Session
    from rag_nodes.query import Filter, QueryOptions

_SEARCH = "Search"
_PAGES = re.compile(r"(\d{1,6})(?:\s*-\s*(\d{1,6}))?")

Mode = Annotated[
    Literal["hybrid", "dense", "sparse"] | None,
    typer.Option(
        help="Search by meaning and words (hybrid, the default), by meaning only (dense) or by "
        "words only (sparse).",
        rich_help_panel=_SEARCH,
        show_default=False,
    ),
]
Expanded = Annotated[
    Literal["auto", "none", "neighbours", "parent"] | None,
    typer.Option(
        "--expand",
        help="Read around what is found: the window or parent that the parser made (auto, the "
        "default), nothing, the chunks before and after, or the parent even in pieces.",
        rich_help_panel=_SEARCH,
        show_default=False,
    ),
]
Filters = Annotated[
    list[str] | None,
    typer.Option(
        "--filter",
        "-f",
        metavar="KEY=VALUE",
        help="Search only there, repeatable: file=manual.pdf, page=3 or page=3-9, "
        "heading=WORDS that the headings above hold, source=URL of a page of a crawl.",
        rich_help_panel=_SEARCH,
        show_default=False,
    ),
]
RetrievalOnly = Annotated[
    bool,
    typer.Option(
        "--retrieval-only", help="Show what is found and answer nothing.", rich_help_panel=_SEARCH
    ),
]


def query_options(
    session: Session,
    *,
    mode: str | None,
    expand: str | None,
    filters: Sequence[str] | None,
    retrieval_only: bool,
) -> QueryOptions:
    """How to answer: flags first, then the settings.

    A limit given as a flag holds as it is, also for questions that ask for steps.

    Args:
        session: of this run.
        mode: as typed; None where it was not.
        expand: as typed; None where it was not.
        filters: as typed, each KEY=VALUE.
        retrieval_only: answer nothing.

    Raises:
        ConfigurationError: a filter is not written as described, or a number out of range.
    """
    from rag_nodes.query import QueryOptions

    settings = session.settings()
    chosen: dict[str, Any] = settings.answering()
    if any(session.flags.get(limit) is not None for limit in ("budget", "top_k")):
        chosen["step_factor"] = 1.0
    typed = {"mode": mode, "expand": expand}
    chosen |= {name: value for name, value in typed.items() if value is not None}
    return QueryOptions(
        **chosen,
        budget=context_budget(settings),
        top_k=settings.top_k,
        filter=search_filter(filters or ()),
        retrieval_only=retrieval_only,
    )


def search_filter(texts: Sequence[str]) -> Filter | None:
    """What to search in; None for everything.

    Args:
        texts: each KEY=VALUE, every key once.

    Raises:
        ConfigurationError: a key is unknown or given twice, or a value is no page range.
    """
    from rag_nodes.query import Filter

    conditions: dict[str, Any] = {}
    for text in texts:
        key, _, value = (part.strip() for part in text.partition("="))
        if key not in _FIELDS or not value:
            raise ConfigurationError(
                f"--filter {text}: write file=NAME, page=3, page=3-9, heading=WORDS or source=URL"
            )
        if _FIELDS[key] in conditions:
            raise ConfigurationError(f"--filter: {key} is given twice; leave one out")
        conditions[_FIELDS[key]] = _pages(value) if key == "page" else value
    return Filter(**conditions) if conditions else None


_FIELDS = {"file": "file_name", "page": "pages", "heading": "heading", "source": "source"}
"""Keys as typed, and the fields of a filter they mean."""


def _pages(value: str) -> tuple[int, int]:
    found = _PAGES.fullmatch(value)
    if found is None:
        raise ConfigurationError(f"--filter page={value}: write a page or a range, as page=3-9")
    first = int(found[1])
    return first, int(found[2] or first)
