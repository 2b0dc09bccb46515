"""Data sets that are no list of questions, as rows of our own format: SQuAD, BEIR, LlamaIndex's.

A text in pieces becomes one document with blank lines between them, so that there is something to
cut: the paragraphs of an article, the passages of one title.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from rag_nodes.errors import DatasetError
from rag_nodes.evaluation.importers.files import json_lines, read_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

PAIRS = "LlamaIndex's EmbeddingQAFinetuneDataset"
_BETWEEN = "\n\n"
_SPLITS = ("test.tsv", "dev.tsv", "train.tsv")
"""Judgements of BEIR, the first there is."""
_JUDGED = 3
"""Columns of a judgement: question, passage, score."""


class Corpus(NamedTuple):
    """Rows of our own format, text by name of the documents with them, and what was left out."""

    form: str
    rows: list[dict[str, Any]]
    texts: dict[str, str]
    left_out: Counter[str]


def corpus_in(plain: Any) -> Corpus | None:
    """SQuAD, whole or a question a line, or pairs of LlamaIndex; None for a list of questions."""
    first = plain[0] if isinstance(plain, list) and plain else None
    if isinstance(first, dict) and {"context", "question", "answers"} <= first.keys():
        lines = enumerate(plain, start=1)
        return _squad(
            (str(one.get("title") or "article"), one["context"], [{"id": f"q{number}", **one}])
            for number, one in lines
        )
    if not isinstance(plain, dict):
        return None
    if {"queries", "corpus", "relevant_docs"} <= plain.keys():  # nodes are quotes of documents
        nodes = {one: {"text": text} for one, text in plain["corpus"].items() if text.strip()}
        return _judged(PAIRS, plain["queries"], plain["relevant_docs"], nodes, {})
    articles = plain["data"] if isinstance(plain.get("data"), list) else []
    if any("paragraphs" in one for one in articles if isinstance(one, dict)):
        return _squad(_paragraphs(articles))
    return None


def _paragraphs(articles: Sequence[Any]) -> Iterator[tuple[str, str, list[Any]]]:
    """Name of the article, text and questions of each paragraph."""
    titles: set[str] = set()
    for number, article in enumerate(articles, start=1):
        title = str(article.get("title") or "")
        name = title if title and title not in titles else f"{title or 'article'} {number}"
        titles.add(name)
        for one in article["paragraphs"]:
            yield name, one["context"], one["qas"]


def _squad(paragraphs: Iterable[tuple[str, str, list[Any]]]) -> Corpus:
    """Answers of several annotators are alternatives; questions without one are counted."""
    found = Corpus("SQuAD", [], {}, Counter())
    starts: dict[tuple[str, str], int] = {}  # the same paragraph may stand in many lines
    seen: set[str] = set()
    for name, context, qas in paragraphs:
        if (name, context) not in starts:
            before = found.texts[name] + _BETWEEN if found.texts.get(name) else ""
            found.texts[name] = before + context
            starts[name, context] = len(before)
        for qa in qas:
            answers = _annotated(qa.get("answers") or (), starts[name, context])
            if not answers:
                found.left_out["marked as having no answer in its text"] += 1
                continue
            # Some files number their questions anew in every article.
            own = str(qa["id"]) if str(qa["id"]) not in seen else f"{qa['id']}/{len(seen) + 1}"
            seen.add(own)
            row = {"id": own, "question": qa["question"], "document": name, "alternatives": answers}
            found.rows.append(row)
    return found


def _annotated(answers: Any, before: int) -> list[dict[str, Any]]:
    """Each different answer in its article; of a wrong offset, the nearest place is meant."""
    if isinstance(answers, dict):  # as Hugging Face has it
        starts = answers.get("answer_start") or [None] * len(answers["text"])
        pairs = [*zip(answers["text"], starts, strict=True)]
    else:
        pairs = [(one["text"], one.get("answer_start")) for one in answers]
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for text, offset in pairs:
        start = before + (offset if isinstance(offset, int) else 0)
        if str(text).strip():
            found[text, start] = {"text": str(text), "start": start, "end": start + len(str(text))}
    return list(found.values())


def beir(folder: Path) -> Corpus | None:
    """The judged questions of BEIR; each relevant passage is an answer. None for another folder.

    Raises:
        DatasetError: there are no judgements, or a file cannot be read.
    """
    passages, asked = folder / "corpus.jsonl", folder / "queries.jsonl"
    if not passages.is_file() or not asked.is_file():
        return None
    texts: dict[str, str] = {}
    places: dict[str, dict[str, Any]] = {}
    for one in json_lines(passages):
        title, text = str(one.get("title") or "").strip(), str(one["text"])
        name = title or str(one["_id"])
        before = texts.get(name, f"# {title}" if title else "")
        before += _BETWEEN if before else ""
        texts[name] = before + text
        place = {"document": name, "start": len(before), "end": len(before) + len(text)}
        places[str(one["_id"])] = {"text": text, **place}
    path = next((p for name in _SPLITS if (p := folder / "qrels" / name).is_file()), None)
    if path is None:
        raise DatasetError(f"{folder} has no judgements; put them into {folder / 'qrels/test.tsv'}")
    relevant: dict[str, list[str]] = defaultdict(list)
    for line in read_text(path).splitlines():
        row = line.split("\t")
        if len(row) >= _JUDGED and row[2].strip().isdecimal() and int(row[2]) > 0:
            relevant[row[0]].append(row[1])
    queries = {str(one["_id"]): one["text"] for one in json_lines(asked)}
    return _judged("BEIR", queries, relevant, places, texts)


def _judged(
    form: str,
    queries: Mapping[str, Any],
    relevant: Mapping[str, Sequence[str]],
    places: Mapping[str, dict[str, Any]],
    texts: dict[str, str],
) -> Corpus:
    rows = [
        {"id": str(query), "question": queries[query], "alternatives": found}
        for query, ids in relevant.items()
        if query in queries and (found := [places[one] for one in ids if one in places])
    ]
    missing = len(queries) - len(rows)
    left_out = Counter({"without a passage that is judged relevant": missing} if missing else {})
    return Corpus(form, rows, texts, left_out)
