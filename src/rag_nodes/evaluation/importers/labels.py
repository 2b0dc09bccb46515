"""Questions as files have them: quotes and offsets that were not yet looked up in a document."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class Quote(NamedTuple):
    """A passage as somebody wrote it down, as far as the file says.

    `text` is "" where only offsets or pages are given, `end` is behind the last character, `pages`
    are the first and the last page, counted from 1.
    """

    text: str
    document: str | None = None
    start: int | None = None
    end: int | None = None
    pages: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Labelled:
    """A question of a file.

    `gold` are answers, each of which is enough, and each one or more quotes that are all wanted;
    `within` are the documents that are searched, as the file calls them, None for all.
    """

    id: str
    text: str
    gold: tuple[tuple[Quote, ...], ...]
    kind: str = ""
    within: tuple[str, ...] | None = None
    draft: bool = False


@dataclass(frozen=True, slots=True)
class Labels:
    """The questions of a file of some format, in its order.

    `texts` are the documents that come with them, by name; `left_out` counts by reason the entries
    that are no question to measure with.
    """

    form: str
    questions: tuple[Labelled, ...]
    texts: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)
