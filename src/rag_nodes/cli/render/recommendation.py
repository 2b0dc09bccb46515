"""A recommendation for people: the candidates, the best first, and what to take and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.cli.render.text import one_line, plain, table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType
    from rich.table import Table

    from rag_nodes.evaluation.recommendation import Recommendation, Trial

_KILOBYTE = 1_000


def recommendation_view(found: Recommendation) -> Iterator[RenderableType]:
    """The parts of the view, top to bottom."""
    yield _candidates(found)
    for sentence in found.verdict:
        yield plain(one_line(sentence), "bold")
    for sentence in found.otherwise:
        yield plain(one_line(sentence))
    settings = found.settings
    yield plain(
        f"{settings['models']}, {settings['mode']} search; mean tokens of a chunk, kB of vectors "
        f"and texts; behind is {settings['measure']} of the best minus that of the candidate, with "
        f"intervals that hold for all at once, in these documents; {settings['draws']:,} random "
        f"swaps, seed {settings['seed']}.",
        "dim",
    )


def _candidates(found: Recommendation) -> Table:
    budgets = found.settings["budgets"]
    right = ["asked", "mean", "kB", *(f"@{budget}" for budget in budgets), "behind, points"]
    rows = table("Candidate", *right, "", right=right)
    *_, behind, state = rows.columns
    behind.no_wrap, state.no_wrap = False, True  # narrow: it and names are folded, no number cut
    for one in _ordered(found):
        if one.state == "failed":
            rows.add_row(one_line(one.name), *[""] * len(right), "failed")
            continue
        rows.add_row(
            one_line(one.name),
            f"{one.asked}",
            f"{one.chunks['mean']:.0f}",
            f"{one.bytes / _KILOBYTE:,.0f}",
            *(f"{100 * one.means[f'recall@{budget}']:.1f}" for budget in budgets),
            _gap(one),
            "chosen" if one.name == found.chosen else "" if one.state == "level" else one.state,
        )
    return rows


def _ordered(found: Recommendation) -> list[Trial]:
    """Those that were asked everything first, the best of them on top; then the stopped."""
    states = ("level", "behind", "stopped", "failed")

    def place(one: Trial) -> tuple[bool, float, int]:
        asked_all = one.state in states[:2]
        value = one.means.get(found.measure, 0.0)
        return not asked_all, -value if asked_all else -one.asked, states.index(one.state)

    return sorted(found.trials, key=place)


def _gap(one: Trial) -> str:
    if one.gap is None or (one.gap.mean == 0 and one.gap.high == 0):
        return ""
    low, high = 100 * one.gap.low, 100 * one.gap.high
    return f"{100 * one.gap.mean:.1f} ({low:.1f} to {high:.1f})"
