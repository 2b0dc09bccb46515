"""Errors that a file causes by what it says of its crawl: missing pages, or no pages at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rag_nodes.core.errors import NoPagesError, ReadError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_ENDED = frozenset({"completed", "complete", "done", "finished", "ok", "success", "succeeded"})
_FAILURES = ("failedresults", "invalidurls")
_MESSAGES = ("message", "error", "detail", "details")
"""Fields of an error with its words, best first."""
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


def words_of(error: object) -> str:
    """Return the words of an error on a line, "" if it has none.

    Crawlers write a text, an object with a message, or a list of either.
    """
    for value in error if isinstance(error, list) else [error]:
        texts = [value.get(name) for name in _MESSAGES] if isinstance(value, dict) else [value]
        for text in texts:
            if isinstance(text, str) and text.strip():
                return " ".join(text.split())[:_QUOTED]
    return ""


def answered_with(words: str) -> str:
    """Return the reason that quotes the error of a crawler."""
    return f"the crawler answered with an error: {words}"


def no_pages(path: Path, about: Mapping[str, Any]) -> NoPagesError:
    """Return the error of a file without pages, by what it has instead."""
    words = words_of(about.get("error"))
    if not words and about.get("success") is False:
        words = words_of(about.get("message"))
    if words:
        return NoPagesError(path, answered_with(words), "crawl again")
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
