"""All votes together, with how far they can be trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.apps.view.html import Html, join, name_of, tag
from rag_nodes.apps.view.parts import button, colour_of, count, notice, swatch, title_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_nodes.apps.votes.sums import Contender, Pair, ParserVotes, Share, Summary

_FEW = 30
"""Comparisons below which intervals are said to be wide."""
_DASH = "\N{EN DASH}"


def votes(summary: Summary, *, asking: bool = False) -> Html:
    """The panel.

    Args:
        summary: of all votes.
        asking: the visitor was asked whether to delete their votes.
    """
    if not summary.votes:
        return tag("div", tag("p", _EMPTY, cls="rn-quiet"), cls="rn-votes")
    return tag(
        "div",
        tag("p", f"{count(summary.votes, 'vote')} kept on this computer. {_trust(summary)}"),
        _parsers(summary.parsers),
        _pairs(summary.pairs),
        _deletion(asking=asking),
        cls="rn-votes",
    )


def unreadable() -> Html:
    """What stands there where the file cannot be read; where it is, is the server's business."""
    return notice("error", "the votes kept on this computer cannot be read; its log says why.")


_EMPTY = (
    "None yet. Say under an answer whether it helped, or hide the parsers' names and choose the "
    "best answer."
)


def _trust(summary: Summary) -> str:
    most = max(one.compared for one in summary.parsers)
    meaning = "The interval holds the true share with 95 % confidence"
    if most >= _FEW:
        return f"{meaning}; where two overlap, the order is not certain."
    return f"{meaning}; these are few votes, so the intervals are wide and no order is certain."


def _parsers(rows: Sequence[ParserVotes]) -> Html:
    names = ("Parser", "Blind wins", "Ties", "Share of wins", "Helpful")
    body = [
        _row(
            names,
            tag("th", *_named(one.parser), scope="row"),
            f"{one.wins} of {one.compared}" if one.compared else _DASH,
            str(one.ties) if one.compared else _DASH,
            _interval(one.win_share, one.parser),
            _interval(one.helpful_share, one.parser),
        )
        for one in rows
    ]
    return _table("Votes per parser", names, body)


def _pairs(pairs: Sequence[Pair]) -> Html | None:
    """Who was better than whom; two that were never told apart say nothing."""
    telling = [one for one in pairs if one.wins or one.losses or one.ties]
    if not telling:
        return None
    named = {(one.name, one.fingerprint) for pair in telling for one in (pair.first, pair.second)}
    names = [name for name, _ in named]
    twice = {name for name in names if names.count(name) > 1}
    columns = ("Compared", "First won", "Second won", "Ties")
    body = [
        _row(
            columns,
            tag(
                "th",
                *_named(pair.first, settings=pair.first.name in twice),
                tag("span", "against", cls="rn-quiet rn-against"),
                *_named(pair.second, settings=pair.second.name in twice),
                scope="row",
            ),
            *(str(number) for number in (pair.wins, pair.losses, pair.ties)),
        )
        for pair in telling
    ]
    return _table("Blind comparisons of two", columns, body)


def _row(names: Sequence[str], first: Html, *values: str) -> Html:
    """A row whose values carry their column's name, for screens too narrow for a head."""
    cells = (
        tag("td", tag("span", name, cls="rn-label"), value)
        for name, value in zip(names[1:], values, strict=True)
    )
    return tag("tr", first, *cells)


def _table(caption: str, names: Sequence[str], body: Sequence[Html]) -> Html:
    return tag(
        "table",
        tag("caption", caption),
        tag("thead", tag("tr", *(tag("th", name, scope="col") for name in names))),
        tag("tbody", *body),
        cls="rn-table",
    )


def _named(one: Contender, *, settings: bool = True) -> tuple[Html | None, ...]:
    """Colour, name and settings; two rows of one name differ in these."""
    # Names come from a file that anyone on this computer may write to.
    return (
        swatch(one.name),
        name_of(title_of(one.name)),
        tag("small", name_of(one.settings or one.fingerprint[:8])) if settings else None,
    )


def _interval(share: Share | None, parser: Contender) -> Html:
    """The share in words, and its interval as a line on a scale from 0 to 100 %."""
    if share is None:
        return join([_DASH])
    low, high = round(100 * share.low), round(100 * share.high)
    line = tag(
        "span",
        tag("span", cls="rn-reach", style=f"left:{low}%;width:{high - low}%"),
        tag("span", cls="rn-at", style=f"left:{100 * share.value:.0f}%"),
        cls=f"rn-scale {colour_of(parser.name)}",
        aria_hidden="true",
    )
    return join(
        [
            f"{100 * share.value:.0f} % of {share.whole}",
            tag("small", f"{low} to {high} %"),
            line,
        ]
    )


def _deletion(*, asking: bool) -> Html:
    if not asking:
        return tag("p", button("delete", "Delete my votes", "Delete my votes"), cls="rn-deletion")
    return tag(
        "p",
        "Delete all votes given in this browser? They cannot be brought back. ",
        button("deleted", "Delete", "Delete my votes for good", "rn-danger"),
        button("keep", "Keep", "Keep my votes"),
        cls="rn-deletion",
        role="alert",
    )
