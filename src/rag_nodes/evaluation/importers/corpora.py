"""Data sets that bring their texts along: SQuAD and BEIR.

A text in pieces becomes one document with blank lines between them, so that there is something to
split: the paragraphs of an article, the passages of one title.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rag_nodes.core.errors import DatasetError
from rag_nodes.core.numbers import number_in
from rag_nodes.evaluation.importers.files import json_lines, read_text
from rag_nodes.evaluation.importers.formats import Labels, Row, read_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

_SPLITS = ("test.tsv", "dev.tsv", "train.tsv")
"""Judgements of BEIR, the first there is."""
_UNANSWERED = "marked as having no answer in its text"
_UNJUDGED = "without a passage that is judged relevant"


class _Texts(dict[str, str]):
    """Documents by name, each made of pieces."""

    def put(self, name: str, piece: str) -> int:
        """Add a piece to a document, and say at which character it starts."""
        before = f"{self[name]}\n\n" if self.get(name) else ""
        self[name] = before + piece
        return len(before)


def squad(plain: Any) -> Labels | None:
    """SQuAD, whole or a question a line; None for a list of questions."""
    match plain:
        case {"data": [*articles]} if any(
            isinstance(article, dict) and "paragraphs" in article for article in articles
        ):
            return _squad(_paragraphs(articles))
        case [{"context": _, "question": _, "answers": _}, *_]:
            lines = enumerate(plain, start=1)
            return _squad((str(line.get("title") or "article"), line["context"],
                           [{"id": f"q{number}", **line}]) for number, line in lines)  # fmt: skip
    return None


def _paragraphs(articles: Sequence[Any]) -> Iterator[tuple[str, str, list[Any]]]:
    """Name of the article, text and questions of each paragraph."""
    titles: set[str] = set()
    for number, article in enumerate(articles, start=1):
        title = str(article.get("title") or "")
        name = title if title and title not in titles else f"{title or 'article'} {number}"
        titles.add(name)
        for paragraph in article["paragraphs"]:
            yield name, paragraph["context"], paragraph["qas"]


def _squad(paragraphs: Iterable[tuple[str, str, list[Any]]]) -> Labels:
    """Answers of several annotators are alternatives; questions without one are counted."""
    texts, rows, asked = _Texts(), [], 0
    starts: dict[tuple[str, str], int] = {}  # the same paragraph may stand in many lines
    seen: set[str] = set()
    for name, context, qas in paragraphs:
        if (name, context) not in starts:
            starts[name, context] = texts.put(name, context)
        for qa in qas:
            asked += 1
            answers = _annotated(qa.get("answers") or (), starts[name, context])
            if answers:
                # Some files number their questions again in every article.
                own = str(qa["id"]) if str(qa["id"]) not in seen else f"{qa['id']}/{len(seen) + 1}"
                seen.add(own)
                row = {"id": own, "question": qa["question"], "document": name}
                rows.append({**row, "alternatives": answers})
    return _labels("SQuAD", rows, texts, _UNANSWERED, asked)


def _annotated(answers: Any, before: int) -> list[Row]:
    """Each different answer in its article; of a wrong offset, the nearest place is meant."""
    if isinstance(answers, dict):  # as Hugging Face has it
        texts = answers["text"]
        starts = answers.get("answer_start") or [None] * len(texts)
        answers = [{"text": text, "answer_start": start}
                   for text, start in zip(texts, starts, strict=True)]  # fmt: skip
    rows: dict[tuple[str, int], Row] = {}
    for answer in answers:
        text, offset = str(answer["text"]), answer.get("answer_start")
        start = before + (offset if isinstance(offset, int) else 0)
        if text.strip():
            rows[text, start] = {"text": text, "start": start, "end": start + len(text)}
    return [*rows.values()]


def beir(folder: Path) -> Labels | None:
    """The judged questions of BEIR; each relevant passage is an answer. None for another folder.

    Raises:
        DatasetError: there are no judgements, or a file cannot be read.
    """
    corpus, asked = folder / "corpus.jsonl", folder / "queries.jsonl"
    if not corpus.is_file() or not asked.is_file():
        return None
    path = next((p for name in _SPLITS if (p := folder / "qrels" / name).is_file()), None)
    if path is None:
        raise DatasetError(f"{folder} has no judgements; put them into {folder / 'qrels/test.tsv'}")
    texts, places = _Texts(), {}
    for line in json_lines(corpus):
        title, text = str(line.get("title") or "").strip(), str(line["text"])
        name = title or str(line["_id"])
        if title and name not in texts:
            texts.put(name, f"# {title}")
        start = texts.put(name, text)
        place = {"document": name, "start": start, "end": start + len(text)}
        places[str(line["_id"])] = {"text": text, **place}
    relevant: dict[str, list[str]] = defaultdict(list)
    for line in read_text(path).splitlines():
        match line.split("\t"):
            case [query, passage, score, *_] if number_in(score.strip()):
                relevant[query].append(passage)
    queries = {str(query["_id"]): query["text"] for query in json_lines(asked)}
    rows = [
        {"id": query, "question": queries[query], "alternatives": passages}
        for query, ids in relevant.items()
        if query in queries
        and (passages := [places[document] for document in ids if document in places])
    ]
    return _labels("BEIR", rows, texts, _UNJUDGED, len(queries))


def _labels(form: str, rows: list[Row], texts: Mapping[str, str], why: str, asked: int) -> Labels:
    """Rows of our own format and the texts with them; of so many asked, the rest is left out."""
    labels, missing = read_rows(rows) or Labels(form, ()), asked - len(rows)
    return replace(labels, form=form, texts=texts, left_out={why: missing} if missing else {})
