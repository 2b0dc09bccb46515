"""Sentence selection against every setting of other packages that was searched the same way."""

from __future__ import annotations

from textwrap import fill
from typing import NamedTuple

from systems import LADDER_ON, STOCK

from rag_nodes.evaluation.sign_flips import Interval
from results.picture import LEVEL, NAMES
from results.summary import Named, Summary

PEERS = ("LangChain", "LlamaIndex", "semchunk", "chonkie")
_WIDTH = 118
"""Characters of a line in the pages."""


class Gap(NamedTuple):
    """Difference of sentence selection to a peer on a set, in percentage points.

    Attributes:
        name: key of the set in `NAMES`.
        peer: the setting of another package.
        interval: mean and confidence interval, for documents like those of the set.
    """

    name: str
    peer: Named
    interval: Interval


class Field(NamedTuple):
    """Sentence selection and what it is compared with, all with one way of searching.

    Attributes:
        summary: the kept recalls.
        ours: step and name of sentence selection.
        peers: settings whose chunks are read whole.
        legend: the peers beside `SentenceSplitter()`, in a few words.
        search: name of the way of searching.
    """

    summary: Summary
    ours: Named
    peers: list[Named]
    legend: str
    search: str

    @property
    def stock(self) -> Named:
        """LlamaIndex's `SentenceSplitter()` with its default settings."""
        return next(peer for peer in self.peers if peer[1] == STOCK)

    @property
    def questions(self) -> int:
        """Number of questions that were asked."""
        return sum(len(self.summary.kept[part].questions) for part in self.summary.parts)

    @property
    def best_peer(self) -> Named:
        """The peer with the largest mean over the sets."""
        return max(self.peers, key=lambda peer: self.summary.mean(peer, LEVEL))

    def values(self, system: Named) -> dict[str, float]:
        """Return the percentage of the answers that a system reads: of each set, and the mean."""
        means = {name: self.summary.of_set(system, name, LEVEL) for name in NAMES}
        return {**means, "mean": self.summary.mean(system, LEVEL)}

    def gaps(self) -> list[Gap]:
        """Return the difference to every peer on every set."""
        return [
            Gap(name, peer, self.summary.gap(self.ours, peer, name, LEVEL))
            for name in NAMES
            for peer in self.peers
        ]


def is_peer(system: Named) -> bool:
    """Return True if another package splits."""
    return system[1].startswith(PEERS)


def keyword() -> Field:
    """Return the field with keyword search: every setting of another package."""
    summary = Summary.load()
    peers = [system for system in summary.complete("plain") if is_peer(system)]
    return Field(
        summary,
        ("ladder", "ladder"),
        peers,
        f"whole chunks of {len(peers)} settings of other packages",
        "keyword search (BM25)",
    )


def hybrid() -> Field:
    """Return the field with a neural embedding model, on parts of the sets."""
    return Field(
        Summary.load_parts(),
        ("minilm", "ladder"),
        [("minilm", LADDER_ON), ("minilm", STOCK)],
        "the same chunks, read whole",
        "hybrid search with all-MiniLM-L6-v2",
    )


def lead() -> str:
    """Return the sentences under the figures of the README."""
    words, model = keyword(), hybrid()
    sets = "[five labelled sets](benchmarks/results.md)"
    start = (
        f"The figures show how much of the answer text sentence selection finds within {LEVEL:,} "
        f"tokens (encyclopaedia: 200) on {sets}. Differences are in percentage points with 95 % CI."
    )
    part = f"{model.questions} of these questions"
    paragraphs = (
        start,
        f"- Keyword search, {words.questions:,} questions: {_verdict(words)}",
        f"- Hybrid search with all-MiniLM-L6-v2, {part}: {_verdict(model)}",
    )
    filled = [
        fill(
            paragraph,
            _WIDTH,
            subsequent_indent="  " * paragraph.startswith("-"),
            break_on_hyphens=False,
            break_long_words=False,
        )
        for paragraph in paragraphs
    ]
    return "\n".join(filled)


def _verdict(field: Field) -> str:
    """Return the mean difference to the best peer, and every comparison that is a loss."""
    gaps = field.gaps()
    best = field.summary.mean_gap(field.ours, field.best_peer, LEVEL)
    ahead = sum(gap.interval.low > 0 for gap in gaps)
    behind = sum(gap.interval.high < 0 for gap in gaps)
    return (
        f"it finds {_points(best, ' points')} more on average than {_setting(field.best_peer)}, "
        f"the best alternative. Gains are significant in {ahead} of {len(gaps)} comparisons, "
        f"losses in {behind or 'none'}.{_losses(gaps)}"
    )


def _losses(gaps: list[Gap]) -> str:
    """Return every comparison in which sentence selection finds less."""
    fewer = sorted(
        (gap for gap in gaps if gap.interval.mean < 0), key=lambda gap: gap.interval.mean
    )
    losses = " and ".join(
        f"{_points(gap.interval)} against {_setting(gap.peer)} ({NAMES[gap.name]})" for gap in fewer
    )
    return f" It finds less in {len(fewer)}: {losses}." if fewer else ""


def _points(interval: Interval, unit: str = "") -> str:
    return f"{interval.mean:.1f}{unit} ({interval.low:.1f} to {interval.high:.1f})"


def _setting(peer: Named) -> str:
    titles = {
        STOCK: "`SentenceSplitter()`",
        "LlamaIndex sentence 512": "`SentenceSplitter(512)`",
        LADDER_ON: "the same chunks read whole",
    }
    return titles.get(peer[1], peer[1])
