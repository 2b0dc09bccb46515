"""QASPER: questions over scientific papers, whose evidence is quoted sentences or paragraphs.

A paper is one document in Markdown: title, abstract, sections with headings. The evidence of each
annotator is an alternative; figures and tables, which the text does not have, are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rag_nodes.errors import DatasetError
from rag_nodes.evaluation.importers.labels import Labelled, Labels, Quote, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_NO_TEXT = "FLOAT SELECTED"
"""What evidence begins with that is a figure or a table."""


def is_qasper(plain: Any) -> bool:
    """Whether this is a dictionary of papers."""
    first = next(iter(plain.values()), None) if isinstance(plain, dict) else None
    return isinstance(first, dict) and "full_text" in first and "qas" in first


def read_qasper(plain: Mapping[str, Any]) -> Labels:
    """The questions and papers of such a file.

    Raises:
        DatasetError: a field is missing.
    """
    try:
        texts = {name: _text(paper) for name, paper in plain.items()}
        questions = tuple(
            question for name, paper in plain.items() for question in _questions(name, paper)
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise DatasetError(
            f"this looks like QASPER, but {error!r} is missing or no such value"
        ) from error
    return Labels("QASPER", questions, texts)


def _text(paper: Mapping[str, Any]) -> str:
    parts = [f"# {paper.get('title') or ''}", str(paper.get("abstract") or "")]
    for section in paper["full_text"]:
        if section.get("section_name"):
            # ":::" stands between the names of a section and of the one within it.
            level = 2 + str(section["section_name"]).count(":::")
            name = str(section["section_name"]).rsplit(":::", 1)[-1].strip()
            parts.append(f"{'#' * min(level, 6)} {name}")
        parts.extend(str(paragraph) for paragraph in section["paragraphs"])
    return "\n\n".join(part for part in parts if part.strip())


def _questions(name: str, paper: Mapping[str, Any]) -> Iterator[Labelled]:
    for qa in paper["qas"]:
        answers = [_evidence(one["answer"], name) for one in qa["answers"]]
        gold = tuple(dict.fromkeys(answer for answer in answers if answer))
        if gold:
            yield Labelled(str(qa["question_id"]), text_of(qa["question"]), gold, within=(name,))


def _evidence(answer: Mapping[str, Any], name: str) -> tuple[Quote, ...]:
    if answer.get("unanswerable"):
        return ()
    quoted = answer.get("highlighted_evidence") or answer.get("evidence") or ()
    return tuple(
        Quote(str(text).strip(), name)
        for text in dict.fromkeys(quoted)
        if str(text).strip() and not str(text).startswith(_NO_TEXT)
    )
