"""What is asked in an evaluation: how many questions, and which could not be used and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.apps.view.html import Html, join, name_of, tag
from rag_nodes.apps.view.parts import count, notice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_nodes.evaluation.dataset import Dataset, Unplaced

_LISTED = 50
"""Questions listed that could not be placed."""
_SURE = 0.999
_LONGEST = 300
"""Characters of a question that are listed."""
NONE = tag(
    "p",
    "None yet. Add a file of questions whose answers are quoted from the loaded documents: a "
    "sheet (CSV) with the columns question and quote is enough.",
    cls="rn-quiet",
)


def asked(dataset: Dataset | None) -> Html:
    """How many questions there are, and what is wrong with those that are left out."""
    if dataset is None or not (dataset.questions or dataset.unplaced):
        return NONE
    nearly = sum(question.confidence < _SURE for question in dataset.questions)
    documents = len({question.document for question in dataset.questions})
    facts = [
        _drafts(dataset),
        f"{nearly:,} found only nearly" if nearly else "",
    ]
    said = "; ".join(one for one in facts if one)
    return join(
        [
            tag(
                "p",
                name_of(dataset.name),
                f": {count(len(dataset.questions), 'question')} about "
                f"{count(documents, 'document')}{'; ' + said if said else ''}. ",
                tag("span", "Read, correct or remove them in Questions.", cls="rn-quiet"),
            ),
            _unplaced(dataset.unplaced) if dataset.unplaced else None,
        ]
    )


def _drafts(dataset: Dataset) -> str:
    """How many are drafts, and what comes of them."""
    drafts = sum(question.draft for question in dataset.questions)
    if not drafts:
        return ""
    if dataset.by_drafts:
        return "all of them drafts, which cannot choose"
    return f"{drafts:,} of them drafts, which are left out until they are accepted"


def _unplaced(left_out: Sequence[Unplaced]) -> Html:
    rows = [
        tag(
            "li",
            name_of(one.text[:_LONGEST] or one.id[:_LONGEST]),
            tag("span", ": ", name_of(one.reason), cls="rn-quiet"),
            tag("q", one.quote, dir="auto") if one.quote else None,
        )
        for one in left_out[:_LISTED]
    ]
    more = len(left_out) - _LISTED
    return tag(
        "details",
        tag("summary", f"{count(len(left_out), 'question')} left out, and why"),
        tag("ul", *rows),
        tag("p", f"{more:,} more are not listed.", cls="rn-quiet") if more > 0 else None,
        cls="rn-unplaced",
    )


def refused(message: str) -> Html:
    """Why questions could not be used."""
    return notice("error", message)
