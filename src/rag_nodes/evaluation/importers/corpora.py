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
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

_BETWEEN = "\n\n"
_SPLITS = ("test.tsv", "dev.tsv", "train.tsv")
"""Judgements of BEIR, the first there is."""
_JUDGED = 3
"""Columns of a judgement: question, passage, score."""


class Corpus(NamedTuple):
    """Rows of our own format, text by name of the documents with them, and what was left out."""

    rows: list[dict[str, Any]]
    texts: dict[str, str]
    left_out: Counter[str]


def is_squad(plain: Any) -> bool:
    """Whether this looks like SQuAD, whole or, as Hugging Face has it, a question a line."""
    if isinstance(plain, dict) and isinstance(plain.get("data"), list):
        return any("paragraphs" in one for one in plain["data"] if isinstance(one, dict))
    first = plain[0] if isinstance(plain, list) and plain else None
    return isinstance(first, dict) and {"context", "question", "answers"} <= first.keys()


def squad(plain: Any) -> Corpus:
    """Answers of several annotators are alternatives; questions without one are counted."""
    found = Corpus([], {}, Counter())
    seen: set[str] = set()
    for name, context, qas in _paragraphs(plain):
        before = found.texts[name] + _BETWEEN if found.texts.get(name) else ""
        found.texts[name] = before + context
        for qa in qas:
            answers = [_answer(*one, len(before)) for one in _annotated(qa.get("answers") or ())]
            if not answers:
                found.left_out["marked as having no answer in its text"] += 1
                continue
            # Some files number their questions anew in every article.
            own = str(qa["id"]) if str(qa["id"]) not in seen else f"{qa['id']}/{len(seen) + 1}"
            seen.add(own)
            row = {"id": own, "question": qa["question"], "document": name, "alternatives": answers}
            found.rows.append(row)
    return found


def _paragraphs(plain: Any) -> Iterator[tuple[str, str, list[Any]]]:
    """Name of the article, text and questions of each paragraph."""
    if isinstance(plain, dict):
        titles: set[str] = set()
        for number, article in enumerate(plain["data"], start=1):
            title = str(article.get("title") or "")
            name = title if title and title not in titles else f"{title or 'article'} {number}"
            titles.add(name)
            for one in article["paragraphs"]:
                yield name, one["context"], one["qas"]
        return
    # A question a line: the same paragraph stands in many of them.
    asked: dict[tuple[str, str], list[Any]] = {}
    for number, one in enumerate(plain, start=1):
        key = str(one.get("title") or "article"), one["context"]
        asked.setdefault(key, []).append({"id": f"q{number}", **one})
    yield from ((*key, qas) for key, qas in asked.items())


def _annotated(answers: Any) -> list[tuple[str, int]]:
    """Text and first character of each answer; 0 where a file does not say."""
    if isinstance(answers, dict):
        starts = answers.get("answer_start") or [None] * len(answers["text"])
        pairs = [*zip(answers["text"], starts, strict=True)]
    else:
        pairs = [(one["text"], one.get("answer_start")) for one in answers]
    named = ((str(text), start if isinstance(start, int) else 0) for text, start in pairs)
    return [*dict.fromkeys(one for one in named if one[0].strip())]


def _answer(text: str, start: int, before: int) -> dict[str, Any]:
    """An answer in its article; where its offset is wrong, the place nearest to it is meant."""
    return {"text": text, "start": before + start, "end": before + start + len(text)}


def is_pairs(plain: Any) -> bool:
    """Whether this is an `EmbeddingQAFinetuneDataset` of LlamaIndex."""
    return isinstance(plain, dict) and {"queries", "corpus", "relevant_docs"} <= plain.keys()


def pairs(plain: Mapping[str, Any]) -> Corpus:
    """Its nodes are quotes of documents that somebody names."""
    places = {one: {"text": text} for one, text in plain["corpus"].items() if text.strip()}
    return _judged(plain["queries"], plain["relevant_docs"], places, {})


def is_beir(folder: Path) -> bool:
    """Whether a folder holds a data set as BEIR has it."""
    return (folder / "corpus.jsonl").is_file() and (folder / "queries.jsonl").is_file()


def beir(folder: Path) -> Corpus:
    """The judged questions; each relevant passage is an answer that is enough.

    Raises:
        DatasetError: there are no judgements, or a file cannot be read.
    """
    texts: dict[str, str] = {}
    places: dict[str, dict[str, Any]] = {}
    for one in json_lines(folder / "corpus.jsonl"):
        title, text = str(one.get("title") or "").strip(), str(one["text"])
        name = title or str(one["_id"])
        before = texts.get(name, f"# {title}" if title else "")
        before += _BETWEEN if before else ""
        texts[name] = before + text
        place = {"document": name, "start": len(before), "end": len(before) + len(text)}
        places[str(one["_id"])] = {"text": text, **place}
    queries = {str(one["_id"]): one["text"] for one in json_lines(folder / "queries.jsonl")}
    path = next((p for name in _SPLITS if (p := folder / "qrels" / name).is_file()), None)
    if path is None:
        raise DatasetError(f"{folder} has no judgements; put them into {folder / 'qrels/test.tsv'}")
    relevant: dict[str, list[str]] = defaultdict(list)
    for line in read_text(path).splitlines():
        row = line.split("\t")
        if len(row) >= _JUDGED and row[2].strip().isdecimal() and int(row[2]) > 0:
            relevant[row[0]].append(row[1])
    return _judged(queries, relevant, places, texts)


def _judged(
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
    return Corpus(rows, texts, left_out)
