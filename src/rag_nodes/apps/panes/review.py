"""Labelled questions: marked on the page, drafted, or read from a file; reviewed one by one."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from rag_nodes.apps.markup import count, percent, render
from rag_nodes.apps.panes.decision import show_decision
from rag_nodes.apps.panes.pages import show_page
from rag_nodes.apps.visitors.cuts import ChunkLocation
from rag_nodes.apps.visitors.questions import labelled, read_questions
from rag_nodes.core.errors import ConfigurationError, DatasetError, RagNodesError
from rag_nodes.core.metadata import display_name
from rag_nodes.core.numbers import number_in
from rag_nodes.evaluation.checks import leakage
from rag_nodes.evaluation.dataset import trimmed_passage
from rag_nodes.evaluation.drafts import draft_questions
from rag_nodes.evaluation.drafts.probes import ANSWER_LENGTHS, CHARACTERS
from rag_nodes.evaluation.drafts.review import as_long, following, told
from rag_nodes.evaluation.importers import plain_of
from rag_nodes.evaluation.importers.files import SUFFIXES
from rag_nodes.evaluation.metrics import Passage
from rag_nodes.operations.fields import MOST_QUESTION
from rag_nodes.text.spans import PageMap, Span
from rag_nodes.text.tokens.encodings import encodable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rag_nodes.apps.visitors.cuts import Cuts
    from rag_nodes.apps.visitors.session import PageSession
    from rag_nodes.evaluation.dataset import Dataset, Question

DRAFTS = 10
"""Questions that are drafted at a time."""
_AROUND, _MAX_PASSAGE, _MAX_SHOWN = 280, 1600, 6
"""Characters beside a passage, characters of a passage, and passages or answers that are shown."""
_MAX_REASONS = 12
"""Reasons that are listed for questions without an answer, and questions of each."""
_MORE = "…"
_AGAIN = "This is not the text of the document as it is loaded now: select it again."
_COMPARED = 12
"""Letters at each end of a selection that have to be those of the document."""
_MAX_QUOTE = 160
"""Characters of a marked passage that are shown, with the middle left out."""
_REMEDY = (
    "For more, select an answer on the page and type its question, or add a file of questions."
)


def show_review(session: PageSession, note: Markup | str = "") -> None:
    """Show the question that is reviewed, and the decision, which counts accepted questions."""
    session.screen.show("review", partial(review_html, session, note))
    show_decision(session)


def show_marked(session: PageSession) -> None:
    """Show the passages that are marked, on the page and in the list."""
    session.screen.show("marked", partial(marked_html, session))
    show_page(session, session.place)


def mark(session: PageSession, sent: Mapping[str, Any]) -> None:
    """Mark what was selected on the page as an answer.

    Raises:
        DatasetError: the selection is not in the document, or there are too many passages.
    """
    passage = selected(session.cuts, sent)
    if passage is None:
        raise DatasetError(_AGAIN)
    session.questions.mark(passage)
    show_marked(session)


def label(session: PageSession, text: str) -> str:
    """Make a labelled question of what was typed and what was marked; gives what happened.

    Raises:
        DatasetError: something is missing, or there are too many questions.
    """
    asked, marked = _one_line(text), session.questions.marked
    if not asked or not marked:
        raise DatasetError("Select the answer on the page and type its question.")
    dataset = session.questions.add([labelled(asked, (marked,))], session.documents)
    session.questions.unmark()
    show_marked(session)
    show_review(session)
    return f"Added: you have {count(len(dataset.questions), 'question')}."


def draft(session: PageSession) -> None:
    """Add drafts, as many as there are, and say why there are no more."""
    ids = {question.id for question in _all(session)}
    drafts: Sequence[Question] = ()
    with suppress(DatasetError):  # no heading is a question
        drafts = draft_questions(session.documents, count=DRAFTS + len(ids)).questions
    new = [question for question in drafts if question.id not in ids][:DRAFTS]
    session.undrafted = () if new else _ids(session)
    if new:
        session.questions.add(_as_long_as_looked_for(session, new), session.documents)
        session.reviewed = new[0].id
    why = "" if len(new) == DRAFTS else taken(_why_fewer(len(new), len(drafts)), len(new))
    show_review(session, why)


def _why_fewer(new: int, headings: int) -> str:
    """Say how many of the questions were drafted, and why there are no more."""
    drafted = f"{new} of {DRAFTS} questions drafted" if new else "No question drafted"
    few = {0: "no heading here is a question", 1: "only 1 heading here is a question"}
    are = few.get(headings, f"only {headings} headings here are questions")
    return f"{drafted}: {are} that its section answers. {_REMEDY}"


def accept(session: PageSession, current: str, text: str) -> None:
    """Keep a question in these words, and go to the next draft.

    Raises:
        DatasetError: there are no words.
    """
    asked = _one_line(text)
    if not asked:
        raise DatasetError("Type the question, or reject it.")
    at = _position(session, current)
    session.questions.change(current, lambda question: replace(question, text=asked, draft=False))
    if told(session.questions.accepted):
        session.decider.start()
    session.reviewed = following(_all(session), at + 1)
    show_review(session)


def reject(session: PageSession, current: str) -> None:
    """Remove a question, and go to the next draft."""
    at = _position(session, current)
    session.questions.remove(current)
    session.reviewed = following(_all(session), at)
    show_review(session)


def upload(session: PageSession, path: Path) -> None:
    """Add the questions of a file, and say how many could not be used and why.

    Raises:
        ConfigurationError: the file cannot be read as questions; names it without its folder.
    """
    before = len(session.questions)
    try:
        dataset = read_questions(path, session.documents)
        session.questions.take(dataset)
    except RagNodesError as error:
        raise ConfigurationError(str(error).replace(str(path), path.name)) from error
    session.decider.start()
    first = dataset.questions[0].text if dataset.questions else ""
    session.reviewed = next(
        (question.id for question in _all(session) if question.text == first), ""
    )
    read, now = len(dataset.questions), len(session.questions)
    message = f"{count(now - before, 'question')} added from {path.name}"
    if known := read - (now - before):
        message += f", {known:,} {'was' if known == 1 else 'were'} there already"
    message += f": you have {count(now, 'question')}."
    show_review(session, taken(message, read, dataset))


def download(session: PageSession) -> str:
    """Return all questions as a file of our own format.

    Raises:
        DatasetError: there are none.
    """
    dataset = session.questions.dataset
    if dataset is None or not dataset.questions:
        raise DatasetError("There are no questions yet.")
    return json.dumps(plain_of(dataset), ensure_ascii=False, indent=1)


def show_passage(session: PageSession, question: str, answer: int, passage: int) -> None:
    """Show a passage of an answer on the page."""
    asked = next((candidate for candidate in _all(session) if candidate.id == question), None)
    if asked is None or answer >= len(asked.gold) or passage >= len(asked.gold[answer]):
        return
    chosen = asked.gold[answer][passage]
    others = [passage.span for passage in asked.gold[answer] if passage is not chosen
              and passage.document == chosen.document]  # fmt: skip
    show_page(session, ChunkLocation(document=chosen.document, gold=(chosen.span, *others)))


def review_html(session: PageSession, note: Markup | str = "") -> Markup:
    """Draw the tools, and the question that is reviewed with its answers."""
    dataset, suffixes = session.questions.dataset, ",".join(SUFFIXES)
    if dataset is None or not dataset.questions:
        can_draft = session.undrafted != _ids(session)
        return render("review", question=None, suffixes=suffixes, note=note, can_draft=can_draft)
    position = _position(session, session.reviewed or following(dataset.questions, 0))
    question = dataset.questions[position]
    accepted = session.questions.accepted
    drafts = len(dataset.questions) - accepted
    shared = leakage(question, dataset)
    facts = [f"{percent(shared)} of the question's words are in the answer."] if shared else []
    if question.confidence < 1:
        facts.append(f"The answer was found only nearly: {percent(question.confidence)} alike.")
    return render(
        "review",
        question=question,
        suffixes=suffixes,
        note=note,
        number=f"Question {position + 1:,} of {len(dataset.questions):,} "
        f"({'draft' if question.draft else 'accepted'})",
        accepted=f"{accepted:,} accepted",
        drafts=f"{count(drafts, 'draft')} to review" if drafts else "all reviewed",
        told=told(accepted),
        answers=list(_answers(session, question)),
        facts=" ".join(facts),
    )


def marked_html(session: PageSession) -> Markup:
    """Draw the marked passages and a box for their question, which the last one may be."""
    texts = {document.id_: document.text for document in session.documents}
    marked = session.questions.marked
    return render(
        "marked",
        passages=[
            _shortened(passage.span.of(texts.get(passage.document, ""))) for passage in marked
        ],
        question=session.turns[-1].question if session.turns else "",
    )


def selected(loaded: Cuts | None, sent: Mapping[str, Any]) -> Passage | None:
    """Return the passage that was selected on the page, without blank space at its ends.

    Args:
        loaded: the documents with their chunks.
        sent: document, start and end, and the text as it was drawn.

    Returns:
        The passage; None if that text does not stand there.
    """
    document = str(sent.get("document"))
    start, last = (number_in(str(sent.get(name, ""))) for name in ("start", "end"))
    if loaded is None or document not in loaded.documents or start is None or last is None:
        return None
    text = loaded.text_of(document)
    body, drawn = _letters(text[start:last]), _letters(str(sent.get("text", "")))
    # Marks of Markdown are not drawn, and headers of the page are not in the text.
    if not body or body[:_COMPARED] != drawn[:_COMPARED] or body[-_COMPARED:] != drawn[-_COMPARED:]:
        return None
    passage = trimmed_passage(Passage(document, Span(start, last)), text)
    return passage if passage.span.length else None


def taken(message: str, added: int, dataset: Dataset | None = None) -> Markup:
    """Draw what was added, a warning if nothing was, and what could not be used, by reason."""
    refused: dict[str, list[tuple[str, str]]] = {}
    for reason, entries in dataset.left_out.items() if dataset else ():
        refused[reason] = [(count(entries, "entry", "entries"), "")]
    for question in dataset.not_located if dataset else ():
        text = (question.text or question.quote)[:_AROUND]
        refused.setdefault(question.reason, []).append((question.id, text))
    return render(
        "taken",
        kind="info" if added else "warning",
        said=message,
        refused=[
            {"reason": reason, "named": named[:_MAX_REASONS], "more": len(named[_MAX_REASONS:])}
            for reason, named in [*refused.items()][:_MAX_REASONS]
        ],
    )  # fmt: skip


def _as_long_as_looked_for(session: PageSession, drafts: list[Question]) -> list[Question]:
    """Return drafts whose answers are as long as the answers that the visitor looks for."""
    if (length := session.decider.length) == ANSWER_LENGTHS[0]:
        return drafts
    documents = {document.id_: document for document in session.documents}
    return [as_long(question, documents, CHARACTERS[length]) for question in drafts]


def _ids(session: PageSession) -> tuple[str, ...]:
    return tuple(document.id_ for document in session.documents)


def _all(session: PageSession) -> tuple[Question, ...]:
    dataset = session.questions.dataset
    return dataset.questions if dataset else ()


def _position(session: PageSession, current: str) -> int:
    """Return the position of a question; that of the first for one that is gone."""
    ids = [question.id for question in _all(session)]
    return ids.index(current) if current in ids else 0


def _one_line(text: str) -> str:
    return encodable(" ".join(text.split()))[:MOST_QUESTION]


def _answers(session: PageSession, question: Question) -> Iterator[list[dict[str, Any]]]:
    """Yield the passages of each answer, in the text around them."""
    documents = {document.id_: document for document in session.documents}
    for number, answer in enumerate(question.gold[:_MAX_SHOWN]):
        shown = []
        for position, passage in enumerate(answer[:_MAX_SHOWN]):
            document, (start, end) = documents[passage.document], passage.span
            low, high = max(0, start - _AROUND), min(len(document.text), end + _AROUND)
            pages = PageMap.of(document.metadata)
            shown.append({
                "answer": number,
                "passage": position,
                "document": display_name(document.metadata, passage.document),
                "page": str(pages.page_of(start)) if pages else "",
                "before": (_MORE if low else "") + document.text[low:start],
                "text": _within(document.text[start:end]),
                "after": document.text[end:high] + (_MORE if high < len(document.text) else ""),
            })  # fmt: skip
        yield shown


def _within(text: str) -> str:
    """Return all of a passage; of a long one beginning and end."""
    half = _MAX_PASSAGE // 2
    left_out = len(text) - 2 * half
    if left_out <= 0:
        return text
    return f"{text[:half]} [{_MORE} {left_out:,} characters {_MORE}] {text[-half:]}"


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))


def _shortened(text: str) -> str:
    text = " ".join(text.split())
    half = _MAX_QUOTE // 2
    return text if len(text) <= _MAX_QUOTE else f"{text[:half]} {_MORE} {text[-half:]}"
