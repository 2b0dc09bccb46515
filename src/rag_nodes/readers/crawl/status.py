"""Errors that a file causes by what it says of its crawl: missing pages, or no pages at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rag_nodes.core.errors import NoPagesError, ReadError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_ENDED = frozenset({"completed", "complete", "done", "finished", "ok", "success", "succeeded"})
_FAILURES = ("failedresults", "invalidurls")
_QUOTED = 200
"""Characters of a crawler's own words that a message quotes."""


def incomplete(path: Path, about: Mapping[str, Any]) -> ReadError | None:
    """Return the error that stands for the missing pages of a crawl; None if it is whole.

    Args:
        path: the file.
        about: what it says of the crawl, by `plain_name`.
    """
    if missing := ", ".join(_missing(about)):
        reason = f"the crawl is incomplete: {missing}"
        return ReadError(path, reason, "save its result again once it is whole")
    return None


def _missing(about: Mapping[str, Any]) -> Iterator[str]:
    status = about.get("status")
    if isinstance(status, str) and status.strip() and status.lower() not in _ENDED:
        yield f"its status is '{status[:_QUOTED]}'"
    completed, total = about.get("completed"), about.get("total")
    if isinstance(completed, int) and isinstance(total, int) and completed < total:
        yield f"it has {completed:,} of {total:,} pages"
    if isinstance(about.get("next"), str) and about["next"].strip():
        yield "the rest is at the address that it names as 'next'"
    for name in _FAILURES:
        if isinstance(about.get(name), int) and about[name]:
            yield f"{about[name]:,} addresses failed"


def no_pages(path: Path, about: Mapping[str, Any]) -> NoPagesError:
    """Return the error of a file without pages, by what it has instead."""
    error = about.get("error")
    if isinstance(error, str) and error.strip():
        words = " ".join(error.split())[:_QUOTED]
        return NoPagesError(path, f"the crawler answered with an error: {words}", "crawl again")
    if missing := incomplete(path, about):
        return NoPagesError(path, missing.reason, missing.remedy)
    if about.get("links"):
        return NoPagesError(
            path,
            "a map of a website: addresses without the text of the pages",
            "crawl or scrape these addresses, and save that result",
        )
    if "id" in about or "jobid" in about:
        return NoPagesError(
            path,
            "what a crawler answers as it begins: the number of a job, and no pages",
            "ask for the result of the job, and save that",
        )
    return NoPagesError(
        path,
        "no pages: a crawl is a list of pages, or an object that holds them under 'data'",
        "check that this is the result of a crawl, or a list of records that have a 'text'",
    )
