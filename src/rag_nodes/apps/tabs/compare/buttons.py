"""What can be clicked in a reply; the page sends the `data-` values along, see `Sent`."""

from __future__ import annotations

from rag_nodes.apps.view.html import Html, tag
from rag_nodes.apps.view.parts import button


def stop(turn: int, column: int, name: str) -> Html:
    """Ends one answer that is being written."""
    return button("stop", "Stop", f"Stop {name}", "rn-stop-one", data_turn=turn, data_column=column)


def helpful(turn: int, column: int, name: str, *, mark: bool | None) -> Html:
    """Whether an answer was helpful; the pressed one can be taken back.

    Args:
        turn: number of the question.
        column: place of the column.
        name: of the column.
        mark: what was said; None for nothing.
    """
    said = (("yes", True, "Helpful"), ("no", False, "Not helpful"))
    return tag(
        "div",
        *(
            button(
                "helpful",
                label,
                f"{label}: {name}",
                "rn-rate",
                aria_pressed="true" if mark is value else "false",
                data_turn=turn,
                data_column=column,
                data_verdict=verdict,
            )
            for verdict, value, label in said
        ),
        cls="rn-rates",
        role="group",
        aria_label=f"Was the answer of {name} helpful?",
    )


def right(turn: int, column: int, cited: int, number: int, *, pressed: bool) -> Html:
    """Whether a cited place answers the question; pressed, it is the answer of a labelled one.

    Args:
        turn: number of the question.
        column: place of the column.
        cited: position of the place among those the answer cites, counted from 1.
        number: of the source, as written in the answer.
        pressed: it was said already.
    """
    return button(
        "right",
        "Right",
        f"Citation {number} is right: keep the question with this answer",
        "rn-right",
        aria_pressed="true" if pressed else "false",
        title="This citation is right: keep the question with this answer",
        data_turn=turn,
        data_column=column,
        data_cited=cited,
    )


def show_in_document(turn: int, column: int, rank: int) -> Html:
    """Opens the tab that draws chunks, at this one."""
    return button(
        "open",
        "Show in the document",
        f"Show chunk {rank} in the document",
        "rn-link",
        data_turn=turn,
        data_column=column,
        data_rank=rank,
    )


def earlier(count: int) -> Html:
    """Brings older questions back to the page.

    Args:
        count: how many there are.
    """
    return button("earlier", f"Show earlier ({count})", "Show earlier questions", "rn-earlier")
