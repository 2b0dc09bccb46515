"""Our own format, as JSON or JSON lines.

    {"questions": [{"id": "q1", "question": "When do quiet hours begin?", "document": "ferry.pdf",
                    "kind": "fact", "gold": [{"start": 120, "end": 160, "text": "Quiet hours …"}],
                    "alternatives": [[{"text": "…"}]], "within": ["ferry.pdf"]}]}

A list of questions alone is fine, as is one question per line. Of a passage either the text or the
offsets are enough; with both, a changed file is noticed and the text is found again.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from rag_nodes.errors import DatasetError
from rag_nodes.evaluation.importers.labels import Labelled, Labels, Quote, number_of, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rag_nodes.evaluation.dataset import Dataset

VERSION = 1
"""Of the format; raised when a field changes its meaning."""
_DOCUMENT = ("document", "file", "corpus", "url", "source")
"""What a document may be called."""


def is_own(plain: Any) -> bool:
    """Whether this is our format: questions with gold passages."""
    first = next(_rows(plain), None)
    return (
        isinstance(first, dict) and "question" in first and bool({"gold", "references"} & {*first})
    )


def read_own(plain: Any, source: str = "the questions") -> Labels:
    """The questions of a file of our own.

    Args:
        plain: its content.
        source: what an error calls it.

    Raises:
        DatasetError: the mark of a draft is neither true nor false.
    """
    rows = (row for row in _rows(plain) if isinstance(row, dict))
    found = tuple(_labelled(row, number, source) for number, row in enumerate(rows, start=1))
    return Labels("own JSON", found)


def plain_of(dataset: Dataset) -> dict[str, Any]:
    """A dataset's questions as `read_own` takes them; passages carry their text and offsets.

    Of documents that are called the same the id is given.
    """
    called = Counter(dataset.names.values())
    names = {one: name if called[name] == 1 else one for one, name in dataset.names.items()}

    def passages(answer: Any) -> list[dict[str, Any]]:
        return [
            {
                "document": names[one.document],
                "start": one.span.start,
                "end": one.span.end,
                "text": dataset.quote(one),
            }
            for one in answer
        ]

    rows = []
    for question in dataset.questions:
        row: dict[str, Any] = {
            "id": question.id,
            "question": question.text,
            "gold": passages(question.gold[0]),
        }
        if question.gold[1:]:
            row["alternatives"] = [passages(answer) for answer in question.gold[1:]]
        if question.kind:
            row["kind"] = question.kind
        if question.within is not None:
            row["within"] = [names[one] for one in question.within]
        if question.draft:
            row["draft"] = True
        rows.append(row)
    return {"version": VERSION, "questions": rows}


def _rows(plain: Any) -> Iterator[Any]:
    rows = plain.get("questions") if isinstance(plain, dict) else plain
    return iter(rows if isinstance(rows, list) else ())


def _labelled(row: Mapping[str, Any], number: int, source: str) -> Labelled:
    name = str(row.get("id") or f"q{number}")
    draft = row.get("draft")
    if not isinstance(draft, bool | None):
        # Taken for an accepted question, a draft would choose.
        raise DatasetError(
            f'{source}: question {name!r} has "draft": {draft!r}; write true or false, '
            "without quotes"
        )
    document = _document(row)
    others = row.get("alternatives") or []
    answers = [
        row.get("gold") or row.get("references") or [],
        *([others] if isinstance(others, str | dict) else others),
    ]
    within = row.get("within") or None
    searched = within if isinstance(within, list | None) else [within]
    return Labelled(
        id=name,
        text=text_of(row.get("question")),
        gold=tuple(_answer(answer, document) for answer in answers if answer),
        kind=text_of(row.get("kind")),
        within=tuple(map(str, searched)) if searched else None,
        draft=bool(draft),
    )


def _answer(passages: Any, document: str | None) -> tuple[Quote, ...]:
    listed = passages if isinstance(passages, list) else [passages]
    return tuple(_quote(one, document) for one in listed)


def _quote(plain: Any, document: str | None) -> Quote:
    if not isinstance(plain, dict):
        return Quote(text_of(plain), document)
    text = plain.get("text") or plain.get("content")
    return Quote(
        text=text if isinstance(text, str) else "",
        document=_document(plain) or document,
        start=number_of(plain.get("start")),
        end=number_of(plain.get("end")),
    )


def _document(row: Mapping[str, Any]) -> str | None:
    named = (text_of(row.get(key)) for key in _DOCUMENT)
    return next((name for name in named if name), None)
