"""The filter of a search as requests have it, and as it is typed on a command line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypeAliasType

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.own_metadata import (
    MAX_KEY_LENGTH,
    MAX_KEYS,
    MAX_VALUE_LENGTH,
    MAX_VALUES,
    OPERATORS,
    is_own_key,
    is_quoted,
    typed_scalar,
)
from rag_nodes.operations.base import NOT_BLANK

if TYPE_CHECKING:
    from rag_nodes.query import Filter

TYPED_FILTER = "Only chunks with all of file=NAME, page=3-9, heading=WORDS, source=URL, KEY=VALUE."
"""Help of `--filter`."""
_SHOWN = 100
"""Characters that a message repeats of what was typed."""
_CONDITION = re.compile(
    r"(?P<key>[^=<>!]+)(?P<how>!=|>=|<=|=|>|<)(?P<value>.+)|!(?P<absent>[^=<>!]+)", re.DOTALL
)
_PAGES = re.compile(r"(\d{1,6})(?:\s*-\s*(\d{1,6}))?")
_FIELDS = {"file": "file_name", "page": "pages", "heading": "heading", "source": "source"}
"""Conditions as they are typed, and the fields of a filter they mean; others are own keys."""

_LARGEST = 2**53
"""Largest absolute value that JavaScript and a float hold exactly."""
_Scalar = TypeAliasType(
    "_Scalar",
    bool
    | Annotated[float, Field(ge=-_LARGEST, le=_LARGEST)]
    | Annotated[str, Field(max_length=MAX_VALUE_LENGTH)],
)
_Value = TypeAliasType("_Value", _Scalar | Annotated[list[_Scalar], Field(max_length=MAX_VALUES)])
_Key = Annotated[str, Field(max_length=MAX_KEY_LENGTH)]
_Compared = _Value | Annotated[dict[_Key, _Value], Field(max_length=len(OPERATORS))]


class SearchFilter(BaseModel):
    """Conditions a chunk must meet, all of them."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    file_name: Annotated[str, Field(max_length=200, pattern=NOT_BLANK)] | None = None
    """Exact name of the file."""
    first_page: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    """Chunks on this page or later."""
    last_page: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    """Chunks on this page or earlier."""
    heading: Annotated[str, Field(max_length=200, pattern=NOT_BLANK)] | None = None
    """Words in a heading of the chunk."""
    source: Annotated[str, Field(max_length=2000, pattern=NOT_BLANK)] | None = None
    """Exact URL of a crawled page."""
    where: Annotated[dict[_Key, _Compared | None], Field(max_length=MAX_KEYS)] | None = None
    """By metadata key: a value, a list (any matches), null for absence, or values by ==, !=, <, <=,
    > or >=."""

    def check_no_path(self) -> None:
        """Refuse the path of a file: whether a server has it is no stranger's business.

        Raises:
            ConfigurationError: `source` is no address of the web, or a key of `where` is not the
                user's own.
        """
        for key in self.where or ():
            if not is_own_key(key):
                raise ConfigurationError(
                    f"filter.where: '{key[:_SHOWN]}' is a key of rag_nodes, and `where` takes only "
                    "keys that the documents' owner gave them; choose files by file_name, pages by "
                    "first_page and last_page"
                )
        if self.source and not self.source.lower().startswith(("http://", "https://")):
            raise ConfigurationError(
                "filter.source is the URL of a page of a crawl; choose files by file_name"
            )

    def condition(self) -> Filter:
        """The same as the library's filter."""
        from rag_nodes.query import Filter

        pages = None
        if self.first_page is not None or self.last_page is not None:
            pages = (self.first_page or 1, self.last_page or 1_000_000)
        return Filter(
            file_name=self.file_name,
            pages=pages,
            heading=self.heading,
            source=self.source,
            where=self.where,
        )


def search_filter(given: object) -> object:
    """Conditions as typed, each KEY=VALUE, every key once; anything but texts as it is.

    Raises:
        ConfigurationError: a condition is written otherwise or given twice, or a value is no page
            range.
    """
    if not isinstance(given, list | tuple):
        return given
    conditions: dict[str, Any] = {}
    where: dict[str, Any] = {}
    for text in given:
        key, how, value = _typed(str(text))
        if key in _FIELDS:
            if how != "=":
                raise _unreadable(text)
            if _FIELDS[key] in conditions:
                raise _repeated(key)
            conditions[_FIELDS[key]] = value
        else:
            where[key] = _with(where.get(key, {}), key, how, value)
    if pages := conditions.pop("pages", None):
        match = _PAGES.fullmatch(pages)
        if match is None:
            raise ConfigurationError(f"--filter page={pages}: write a page or a range, as page=3-9")
        conditions |= {"first_page": int(match[1]), "last_page": int(match[2] or match[1])}
    return conditions | ({"where": where} if where else {}) or None


def _typed(text: str) -> tuple[str, str, str]:
    """Return key, operator and value of a condition as typed; no operator for absence."""
    typed = _CONDITION.fullmatch(text.strip())
    if typed is None:
        raise _unreadable(text)
    key, how, value, absent = (part.strip() for part in typed.groups(""))
    if not (key and value) and not absent:
        raise _unreadable(text)
    return key or absent, how, value


def _with(
    conditions: dict[str, Any] | None, key: str, how: str, value: str
) -> dict[str, Any] | None:
    """Return the conditions on an own key with another one; None if it is to be absent."""
    how = "==" if how == "=" else how
    if conditions is None or (conditions and not how) or how in conditions:
        raise _repeated(key)
    if not how:
        return None
    parts = [value] if is_quoted(value) else [part for part in value.split(",") if part.strip()]
    values = list(map(typed_scalar, parts))
    return {**conditions, how: values[0] if len(values) == 1 else values}


def _repeated(key: str) -> ConfigurationError:
    return ConfigurationError(
        f"--filter: {key} is given twice; leave one out (any of several values: dept=hr,legal)"
    )


def _unreadable(text: str) -> ConfigurationError:
    return ConfigurationError(
        f"--filter {text[:_SHOWN]}: write file=NAME, page=3-9, heading=WORDS or source=URL, or a "
        "key of your own as dept=hr, dept=hr,legal, 'year>=2020', 'dept!=hr' or '!draft'; keep the "
        "quotation marks around <, > and !"
    )
