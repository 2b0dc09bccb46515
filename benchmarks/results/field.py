"""Sentence selection against every setting of other packages that was searched the same way."""

from __future__ import annotations

from textwrap import fill
from typing import NamedTuple

from systems import STOCK

from rag_nodes.evaluation.leads import Interval
from results.picture import LEVEL, NAMES
from results.summary import Named, Summary

PEERS = ("LangChain", "LlamaIndex", "semchunk", "chonkie")
_WIDTH = 100
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
    """Sentence selection and its peers, all with one way of searching.

    Attributes:
        summary: the kept recalls.
        search: name of the way of searching.
        ours: step and name of sentence selection.
        peers: every setting of another package that was measured on all sets.
    """

    summary: Summary
    search: str
    ours: Named
    peers: list[Named]

    @classmethod
    def of(cls, summary: Summary, search: str, step: str, own_step: str) -> Field:
        """Return the field of a step.

        Args:
            summary: the kept recalls.
            search: name of the way of searching.
            step: step that measured the peers.
            own_step: step that measured sentence selection.
        """
        peers = [system for system in summary.complete(step) if is_peer(system)]
        return cls(summary, search, (own_step, "ladder"), peers)

    @property
    def stock(self) -> Named:
        """LlamaIndex's `SentenceSplitter()` with its default settings."""
        return next(peer for peer in self.peers if peer[1] == STOCK)

    @property
    def best_peer(self) -> Named:
        """The peer with the largest mean over the sets."""
        return max(self.peers, key=lambda peer: self.summary.mean(peer, LEVEL))

    def values(self, system: Named) -> dict[str, float]:
        """Return the percentage of the answers that a system reads: of each set, and the mean."""
        found = {name: self.summary.of_set(system, name, LEVEL) for name in NAMES}
        return {**found, "mean": self.summary.mean(system, LEVEL)}

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


def keyword(summary: Summary) -> Field:
    """Return the field with keyword search."""
    return Field.of(summary, "keyword search (BM25)", "plain", "ladder")


def lead(field: Field) -> str:
    """Return the sentences under a figure of the README."""
    summary, gaps = field.summary, field.gaps()
    questions = sum(len(summary.kept[part].questions) for part in summary.parts)
    best, stock = (
        summary.mean_gap(field.ours, peer, LEVEL) for peer in (field.best_peer, field.stock)
    )
    ahead = sum(gap.interval.low > 0 for gap in gaps)
    fewer = [gap for gap in gaps if gap.interval.mean < 0]
    fewer.sort(key=lambda gap: gap.interval.mean)
    text = (
        f"*Share of the answer text within {LEVEL:,} tokens of context (encyclopaedia: 200), in "
        f"percent, on [five labelled sets](benchmarks/results.md) with {questions:,} questions; "
        f"{field.search}. Blue: sentence selection from chunks of 200 tokens. Grey: whole chunks "
        f"of {len(field.peers)} settings of other packages. On average over the sets, sentence "
        f"selection finds {_points(best)} more than {field.best_peer[1]}, the best of these "
        f"settings, and {_points(stock)} more than `SentenceSplitter()`. Of {len(gaps)} "
        f"comparisons, of each setting on each set, {ahead} show a significant gain. "
        f"{_losses(fewer)}*"
    )
    return fill(text, _WIDTH, break_on_hyphens=False, break_long_words=False)


def _losses(gaps: list[Gap]) -> str:
    """Return a sentence that names every comparison in which sentence selection finds less."""
    if not gaps:
        return "It finds less in none."
    losses = ", ".join(
        f"{NAMES[gap.name]} {gap.interval.mean:.1f} ({gap.interval.low:.1f} to "
        f"{gap.interval.high:.1f}) against {_setting(gap.peer)}"
        for gap in gaps
    )
    significant = sum(gap.interval.high < 0 for gap in gaps)
    return f"It finds less in {len(gaps)}, significantly in {significant or 'none'}: {losses}."


def _points(interval: Interval) -> str:
    return (
        f"{interval.mean:.1f} percentage points (95 % CI {interval.low:.1f} to {interval.high:.1f})"
    )


def _setting(peer: Named) -> str:
    return "`SentenceSplitter()`" if peer[1] == STOCK else peer[1]
