"""Questions over paragraphs as SQuAD has them: SQuAD, XQuAD, CMRC 2018, COVID-QA and the like.

An article is one document: its paragraphs with a blank line between them. Answers of several
annotators are alternatives; questions without an answer are left out, as there is nothing to find.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rag_nodes.errors import DatasetError
from rag_nodes.evaluation.importers.labels import Labelled, Labels, Quote, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_BETWEEN = "\n\n"


def is_squad(plain: Any) -> bool:
    """Whether this looks like SQuAD, or like CMRC's list of contexts."""
    if isinstance(plain, dict) and isinstance(plain.get("data"), list):
        return any("paragraphs" in one for one in plain["data"] if isinstance(one, dict))
    first = plain[0] if isinstance(plain, list) and plain else None
    return isinstance(first, dict) and "context_text" in first


def read_squad(plain: Any) -> Labels:
    """The questions and articles of such a file.

    Raises:
        DatasetError: a field is missing.
    """
    texts: dict[str, str] = {}
    questions: list[Labelled] = []
    try:
        for number, (title, paragraphs) in enumerate(_articles(plain), start=1):
            name = title if title and title not in texts else f"{title or 'article'} {number}"
            texts[name] = ""
            for paragraph in paragraphs:
                before = texts[name] + _BETWEEN if texts[name] else ""
                texts[name] = before + paragraph["context"]
                found = _questions(paragraph, name, len(before))
                questions.extend(found)
    except (KeyError, TypeError, AttributeError) as error:
        raise DatasetError(
            f"this looks like SQuAD, but {error!r} is missing or no such value"
        ) from error
    return Labels("SQuAD", tuple(_unique(questions)), texts)


def _articles(plain: Any) -> Iterator[tuple[str, list[Any]]]:
    if isinstance(plain, dict):
        for article in plain["data"]:
            yield str(article.get("title") or ""), article["paragraphs"]
        return
    for one in plain:
        qas = [
            {"id": qa["query_id"], "question": qa["query_text"],
             "answers": [{"text": answer} for answer in qa["answers"]]}
            for qa in one["qas"]
        ]  # fmt: skip
        yield str(one["context_id"]), [{"context": one["context_text"], "qas": qas}]


def _questions(paragraph: Mapping[str, Any], name: str, offset: int) -> Iterator[Labelled]:
    for qa in paragraph["qas"]:
        context, answers = paragraph["context"], qa.get("answers") or ()
        quotes = dict.fromkeys(_quote(answer, context, name, offset) for answer in answers)
        if quotes:
            gold = tuple((one,) for one in quotes)
            yield Labelled(str(qa["id"]), text_of(qa["question"]), gold)


def _quote(answer: Mapping[str, Any], context: str, name: str, offset: int) -> Quote:
    """An answer in its article; some files shift their offsets by a few characters."""
    text = str(answer["text"])
    start = answer.get("answer_start")
    if not isinstance(start, int) or not context.startswith(text, start):
        start = context.find(text)
    if start < 0:
        return Quote(text, name)
    return Quote(text, name, offset + start, offset + start + len(text))


def _unique(questions: list[Labelled]) -> Iterator[Labelled]:
    """Questions with ids of their own: some files number them anew in every article."""
    seen: set[str] = set()
    for number, question in enumerate(questions, start=1):
        one = (
            question if question.id not in seen else replace(question, id=f"{question.id}/{number}")
        )
        seen.add(one.id)
        yield one
