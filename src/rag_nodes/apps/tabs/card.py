"""A question as it is reviewed, in the text around its answer, and what came of a file of them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from rag_nodes.apps.markup import count, percent, render
from rag_nodes.core.metadata import display_name
from rag_nodes.evaluation.checks import leakage
from rag_nodes.evaluation.drafts.review import TO_ASK, free, told
from rag_nodes.text.spans import PageMap

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markupsafe import Markup

    from rag_nodes.apps.visitors.session import PageSession
    from rag_nodes.evaluation.dataset import Dataset, Question

_AROUND, _LONGEST, _MOST = 280, 1600, 6
"""Characters beside a passage, characters of a passage, and passages or answers that are shown."""
_REASONS = 12
"""Reasons of refusals that are listed."""
_MORE = "…"
_NEW = (
    "Which question does the marked passage answer? Type it as somebody would who has not read it; "
    "Enter accepts. Esc, then L marks more, W another passage."
)
_HINT = (
    "How long answers are decides which size is best: mark as much as answers (S, L), and no more. "
    "E edits the question, Q asks something else of the same passage, Enter accepts."
)


def card(session: PageSession, dataset: Dataset, question: Question) -> Markup:
    """One question with its answers, and how far the review is."""
    parts = session.questions.parts(session.documents)
    covered = len(parts) - len(free(parts, dataset.questions))
    accepted = session.decider.accepted
    drafts = len(dataset.questions) - accepted
    is_asked = question.draft and question.kind == TO_ASK
    shared = 0 if is_asked else leakage(question, dataset)
    facts = [f"{percent(shared)} of the question's words are in the answer."] if shared else []
    if question.confidence < 1:
        facts.append(f"The answer was found only nearly: {percent(question.confidence)} alike.")
    return render(
        "review",
        accepted=f"{accepted:,} accepted",
        drafts=f"{count(drafts, 'draft')} to review" if drafts else "all reviewed",
        covered=f"{covered:,} of {count(len(parts), 'part')} covered",
        told=told(accepted),
        question=question.id,
        is_asked=is_asked,
        ask=_NEW if is_asked else _HINT,
        answers=list(_answers(session, question)),
        facts=" ".join(facts),
    )


def _answers(session: PageSession, question: Question) -> Iterator[list[dict[str, Any]]]:
    """The passages of each answer, in the text around them."""
    documents = {one.id_: one for one in session.documents}
    parts = session.questions.parts(session.documents)
    for number, answer in enumerate(question.gold[:_MOST]):
        shown = []
        for position, one in enumerate(answer[:_MOST]):
            document, (start, end) = documents[one.document], one.span
            low, high = max(0, start - _AROUND), min(len(document.text), end + _AROUND)
            pages = PageMap.of(document.metadata)
            inside = (part.heading for part in parts if part.passage.document == one.document
                      and part.passage.span.start <= start < part.passage.span.end)  # fmt: skip
            shown.append({
                "answer": number,
                "passage": position,
                "document": display_name(document.metadata) or one.document[:8],
                "page": str(pages.page_of(start)) if pages else "",
                "heading": next(inside, ""),
                "before": (_MORE if low else "") + document.text[low:start],
                "text": _within(document.text[start:end]),
                "after": document.text[end:high] + (_MORE if high < len(document.text) else ""),
            })  # fmt: skip
        yield shown


def _within(text: str) -> str:
    """All of a passage; of a long one beginning and end."""
    half = _LONGEST // 2
    left_out = len(text) - 2 * half
    if left_out <= 0:
        return text
    return f"{text[:half]} [{_MORE} {left_out:,} characters {_MORE}] {text[-half:]}"


def taken(said: str, found: Dataset | None = None, kind: str = "info") -> Markup | str:
    """What was added, and how many of a file could not be used, by reason.

    `kind` is "info", or "warning" where nothing came of what was asked for.
    """
    if not said:
        return ""
    reasons: Counter[str] = Counter(dict(found.left_out) if found else {})
    examples: dict[str, str] = {}
    for one in found.unplaced if found else ():
        reasons[one.reason] += 1
        examples.setdefault(one.reason, one.text or one.quote)
    refused = [
        {"count": f"{number:,}", "reason": reason, "example": examples.get(reason, "")[:_AROUND]}
        for reason, number in reasons.most_common(_REASONS)
    ]
    return render("taken", kind=kind, said=said, refused=refused)
