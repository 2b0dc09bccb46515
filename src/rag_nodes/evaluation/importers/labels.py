"""Questions as files have them: quotes and offsets that were not yet looked up in a document."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class Quote(NamedTuple):
    """A passage of a document as somebody wrote it down.

    Attributes:
        text: its characters; "" where only offsets or pages are given.
        document: what the file calls its document; None where it does not say.
        start: first character; None where only the text is given.
        end: behind the last character; None where only the text is given.
        pages: first and last page that it is on, counted from 1; None where the file does not say.
    """

    text: str
    document: str | None = None
    start: int | None = None
    end: int | None = None
    pages: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Labelled:
    """A question of a file.

    Attributes:
        id: of the question, unique in its file.
        text: the question.
        gold: answers, each of which is enough; each one or more quotes that are all wanted.
        kind: what sort of question it is; "" where the file does not say.
        within: the documents that are searched, as the file calls them; None for all.
        draft: nobody has accepted it yet.
    """

    id: str
    text: str
    gold: tuple[tuple[Quote, ...], ...]
    kind: str = ""
    within: tuple[str, ...] | None = None
    draft: bool = False


@dataclass(frozen=True, slots=True)
class Labels:
    """The questions of a file, and its documents where it holds them.

    Attributes:
        form: name of the format, for people.
        questions: in the order of the file.
        texts: text by name of the documents that come with the questions; empty where the
            questions are about files of their own.
        left_out: how many entries of the file are no question to measure with, by reason.
    """

    form: str
    questions: tuple[Labelled, ...]
    texts: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)
