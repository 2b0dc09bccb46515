"""What happens while an answer grows, as one event after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rag_nodes.errors import RagNodesError
    from rag_nodes.query.types import Answer, Citation, Hit, Source


@dataclass(frozen=True, slots=True)
class Retrieved:
    """What was found, always the first event.

    Attributes:
        hits: in rank order; empty when nothing was found.
        sources: the numbered blocks the answer may cite.
    """

    hits: tuple[Hit, ...]
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class Delta:
    """The next piece of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True)
class CitationSeen:
    """The answer names a source for the first time; comes once its bracket has closed."""

    citation: Citation


@dataclass(frozen=True, slots=True)
class UnknownSource:
    """The answer names a source that was never given to the model."""

    number: int


@dataclass(frozen=True, slots=True)
class Finished:
    """The whole answer, the last event where all went well."""

    answer: Answer


@dataclass(frozen=True, slots=True)
class Failed:
    """Why there is no answer, the last event instead of `Finished`.

    Attributes:
        error: one of ours, with its remedy.
        text: what of the answer had arrived.
    """

    error: RagNodesError
    text: str = ""


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The caller wanted no more of this column, the last event instead of `Finished`.

    Attributes:
        text: what of the answer had arrived.
    """

    text: str = ""


Event = Retrieved | Delta | CitationSeen | UnknownSource | Finished | Failed | Cancelled
"""Any of them."""
Last = (Finished, Failed, Cancelled)
"""Nothing follows one of these."""
