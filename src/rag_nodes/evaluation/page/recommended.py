"""The page of a recommendation: what to take, and what recall costs in index and in context."""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING

from markupsafe import Markup

from rag_nodes.evaluation.page.build import template
from rag_nodes.evaluation.page.svg import HEIGHT, Frame, colour, curve, dot, grid, labels, picture

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rag_nodes.evaluation.recommendation.report import Recommendation, Trial

_KILOBYTE = 1_000
_MARKS = 5
"""Marks of the axis of costs."""


def recommendation_page(found: Recommendation) -> str:
    """A recommendation as one HTML file without a script and without a request to anywhere.

    Everything out of documents and questions is escaped.
    """
    asked = _asked(found)
    return template("recommended").render(
        found=found,
        trials=[*sorted(asked, key=lambda one: -one.means[found.measure]),
                *(one for one in found.trials if one not in asked)],
        cost=cost_plot(found),
        context=context_plot(found),
        colour=lambda one: colour(_shades(found)[one.name]),
        budgets=found.settings["budgets"],
    )  # fmt: skip


def cost_plot(found: Recommendation) -> Markup:
    """The main measure over what the index takes; the line joins those that none beats in both.

    The candidate to take has a ring; those that are shown to be worse are small.
    """
    trials = _asked(found)
    frame = Frame.around(
        [max(1, one.bytes) for one in trials], [_points(one, found.measure) for one in trials]
    )
    amount = "kB of vectors and texts"
    parts = [*grid(frame, found.measure, amount, _marks(frame))]
    front = found.front
    parts.append(curve((_place(frame, one, found.measure) for one in front), "front"))
    shades = _shades(found)
    for one in trials:
        low, high = (one.interval.low, one.interval.high) if one.interval else (0.0, 1.0)
        said = (
            f"{one.name}: {_points(one, found.measure):.1f} ({100 * low:.1f} to {100 * high:.1f}), "
            f"{one.bytes / _KILOBYTE:,.0f} kB, {one.chunks['mean']:.0f} tokens a chunk"
        )
        chosen = one.name == found.chosen
        kind = f"{colour(shades[one.name])}{' own' if chosen else ''}"
        radius = 7 if chosen else 5 if one.state == "level" else 3
        parts.append(dot(*_place(frame, one, found.measure), radius, kind, said))
    named = {one.name: one for one in (found.trial(found.chosen), *front)}
    parts += labels(
        (frame.y(_points(one, found.measure)), shades[one.name], name)
        for name, one in named.items()
    )
    spoken = f"{found.measure} over {amount}; none is cheaper and better than {_all(front)}"
    return picture(HEIGHT, spoken, parts)


def context_plot(found: Recommendation) -> Markup:
    """Recall over the tokens that are read: the candidate to take, and the best at each budget."""
    budgets = found.settings["budgets"]
    if len(budgets) < 2:  # noqa: PLR2004 -- a line has two ends
        return Markup("")
    trials, shades = _asked(found), _shades(found)
    best = [_best(trials, f"recall@{budget}") for budget in budgets]
    named = {one.name: one for one in (found.trial(found.chosen), *best)}
    values = [_points(one, f"recall@{budget}") for one in trials for budget in budgets]
    frame = Frame.around(budgets, values)
    ticks = ((budget, f"{budget:,}") for budget in budgets)
    parts = [*grid(frame, "recall", "tokens of context that are read", ticks)]
    for one in (*(one for one in trials if one.name not in named), *named.values()):
        places = [(frame.x(at), frame.y(_points(one, f"recall@{at}"))) for at in budgets]
        shade = colour(shades[one.name])
        chosen = one.name == found.chosen
        parts.append(curve(places, shade if one.name in named else f"{shade} faint"))
        for (x, y), at in zip(places, budgets, strict=True):
            said = f"{one.name}: {_points(one, f'recall@{at}'):.1f} in {at:,} tokens"
            kind = f"{shade}{' own' if chosen else ''}"
            parts.append(dot(x, y, 6 if chosen else 3, kind, said))
    parts += labels(
        (frame.y(_points(one, f"recall@{budgets[-1]}")), shades[one.name], name)
        for name, one in named.items()
    )
    return picture(HEIGHT, f"recall over tokens of context for {', '.join(named)}", parts)


def _best(trials: list[Trial], measure: str) -> Trial:
    return max(trials, key=lambda one: one.means[measure])


def _asked(found: Recommendation) -> list[Trial]:
    """Those that were asked everything: only they can be compared."""
    return [one for one in found.trials if one.state in ("level", "behind")]


def _shades(found: Recommendation) -> dict[str, int]:
    """The number of each candidate's colour: one for what differs in size and overlap alone."""
    kinds = {one.name: (one.preset, one.granularity) for one in found.trials}
    order = list(dict.fromkeys(kinds.values()))
    return {name: order.index(kind) for name, kind in kinds.items()}


def _marks(frame: Frame) -> Iterator[tuple[float, str]]:
    """Costs at equal distances, as few of them are round."""
    doublings = log2(frame.high / frame.low)
    for at in range(_MARKS):
        amount = frame.low * 2 ** (doublings * at / (_MARKS - 1))
        yield amount, f"{float(f'{amount / _KILOBYTE:.3g}'):,.9g}"


def _place(frame: Frame, one: Trial, measure: str) -> tuple[float, float]:
    return frame.x(max(1, one.bytes)), frame.y(_points(one, measure))


def _points(one: Trial, measure: str) -> float:
    return 100 * one.means[measure]


def _all(trials: list[Trial]) -> str:
    return ", ".join(one.name for one in trials)
