"""Data sets that bring their texts along, or name them: SQuAD, BEIR, Chroma's, LlamaIndex's pairs.

A text in pieces becomes one document with blank lines between them, so that there is something to
cut: the paragraphs of an article, the passages of one title.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rag_nodes.errors import DatasetError
from rag_nodes.evaluation.importers.labels import (
    Labelled,
    Labels,
    Quote,
    file_inside,
    number_of,
    read_lines,
    read_text,
    text_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

UNANSWERABLE = "marked as having no answer in its text"
_BETWEEN = "\n\n"
_SPLITS = ("test.tsv", "dev.tsv", "train.tsv")
"""Judgements of BEIR, the first there is."""
CHROMA = frozenset({"question", "references", "corpus_id"})
"""What makes a sheet one of Chroma's."""


def is_squad(plain: Any) -> bool:
    """Whether this looks like SQuAD, whole or a question a line, or like CMRC's contexts."""
    if isinstance(plain, dict) and isinstance(plain.get("data"), list):
        return any("paragraphs" in one for one in plain["data"] if isinstance(one, dict))
    first = plain[0] if isinstance(plain, list) and plain else None
    return isinstance(first, dict) and (
        "context_text" in first or {"context", "question", "answers"} <= first.keys()
    )


def read_squad(plain: Any) -> Labels:
    """The questions and articles of such a file.

    Answers of several annotators are alternatives; questions without one are counted.

    Raises:
        DatasetError: a field is missing.
    """
    texts: dict[str, str] = {}
    questions: list[Labelled] = []
    left_out: Counter[str] = Counter()
    try:
        for number, (title, paragraphs) in enumerate(_articles(plain), start=1):
            name = title if title and title not in texts else f"{title or 'article'} {number}"
            texts[name] = ""
            for paragraph in paragraphs:
                before = texts[name] + _BETWEEN if texts[name] else ""
                texts[name] = before + paragraph["context"]
                for qa in paragraph["qas"]:
                    found = _question(qa, paragraph["context"], name, len(before))
                    if found.gold:
                        questions.append(found)
                    else:
                        left_out[UNANSWERABLE] += 1
    except (KeyError, TypeError, AttributeError) as error:
        raise DatasetError(
            f"this looks like SQuAD, but {error!r} is missing or no such value"
        ) from error
    return Labels("SQuAD", tuple(_unique(questions)), texts, dict(left_out))


def _articles(plain: Any) -> Iterator[tuple[str, list[Any]]]:
    """Title and paragraphs of each article, whichever of three ways a file is written."""
    if isinstance(plain, dict):
        for article in plain["data"]:
            yield str(article.get("title") or ""), article["paragraphs"]
        return
    titles: dict[str, dict[str, list[Any]]] = {}
    for number, one in enumerate(plain, start=1):
        if "context_text" in one:
            qas = [
                {"id": qa["query_id"], "question": qa["query_text"],
                 "answers": [{"text": answer} for answer in qa["answers"]]}
                for qa in one["qas"]
            ]  # fmt: skip
            yield str(one["context_id"]), [{"context": one["context_text"], "qas": qas}]
            continue
        # One question a line, as Hugging Face has it: the same paragraph stands in many of them.
        of = titles.setdefault(str(one.get("title") or "article"), {})
        of.setdefault(one["context"], []).append({"id": f"q{number}", **one})
    for title, paragraphs in titles.items():
        yield title, [{"context": text, "qas": qas} for text, qas in paragraphs.items()]


def _question(qa: Mapping[str, Any], context: str, name: str, offset: int) -> Labelled:
    answers = qa.get("answers") or ()
    if isinstance(answers, dict):
        starts = answers.get("answer_start") or [None] * len(answers["text"])
        answers = [
            {"text": text, "answer_start": start}
            for text, start in zip(answers["text"], starts, strict=True)
        ]
    quotes = dict.fromkeys(
        _answer(answer, context, name, offset) for answer in answers if text_of(answer["text"])
    )
    return Labelled(str(qa["id"]), text_of(qa["question"]), tuple((one,) for one in quotes))


def _answer(answer: Mapping[str, Any], context: str, name: str, offset: int) -> Quote:
    """An answer in its article; some files shift their offsets by a few characters."""
    text = str(answer["text"])
    start = answer.get("answer_start")
    if not isinstance(start, int) or not context.startswith(text, start):
        start = context.find(text)
    if start < 0:
        return Quote(text, name)
    return Quote(text, name, offset + start, offset + start + len(text))


def _unique(questions: Sequence[Labelled]) -> Iterator[Labelled]:
    """Questions with ids of their own: some files number them anew in every article."""
    seen: set[str] = set()
    for number, one in enumerate(questions, start=1):
        found = replace(one, id=f"{one.id}/{number}") if one.id in seen else one
        seen.add(found.id)
        yield found


def is_beir(folder: Path) -> bool:
    """Whether a folder holds a data set as BEIR has it."""
    return (folder / "corpus.jsonl").is_file() and (folder / "queries.jsonl").is_file()


def read_beir(folder: Path) -> Labels:
    """The judged questions and the passages of a folder of BEIR.

    Each relevant passage is an answer that is enough.

    Raises:
        DatasetError: a file is missing or damaged.
    """
    texts: dict[str, str] = {}
    places: dict[str, Quote] = {}
    try:
        for one in read_lines(folder / "corpus.jsonl", read_text(folder / "corpus.jsonl")):
            title = str(one.get("title") or "").strip()
            name = title or str(one["_id"])
            before = texts.get(name, f"# {title}" if title else "")
            start = len(before) + len(_BETWEEN) if before else 0
            texts[name] = (before + _BETWEEN if before else "") + str(one["text"])
            places[str(one["_id"])] = Quote(str(one["text"]), name, start, start + len(one["text"]))
        queries = {
            str(one["_id"]): str(one["text"]).strip()
            for one in read_lines(folder / "queries.jsonl", read_text(folder / "queries.jsonl"))
        }
    except (KeyError, TypeError, AttributeError) as error:
        raise DatasetError(f"{folder} looks like BEIR, but {error!r} is missing") from error
    questions = _judged(queries, _judgements(folder), places)
    return Labels("BEIR", questions, texts, _unjudged(queries, questions))


def _judgements(folder: Path) -> dict[str, list[str]]:
    """The relevant passages of each question."""
    path = next((p for name in _SPLITS if (p := folder / "qrels" / name).is_file()), None)
    if path is None:
        raise DatasetError(f"{folder} has no judgements; put them into {folder / 'qrels/test.tsv'}")
    relevant: dict[str, list[str]] = defaultdict(list)
    for line in read_text(path).splitlines():
        row = line.split("\t")
        if len(row) >= 3 and row[2].strip().isdecimal() and int(row[2]) > 0:  # noqa: PLR2004 -- query, passage, score
            relevant[row[0]].append(row[1])
    return relevant


def is_pairs(plain: Any) -> bool:
    """Whether this is an `EmbeddingQAFinetuneDataset` of LlamaIndex."""
    return isinstance(plain, dict) and {"queries", "corpus", "relevant_docs"} <= plain.keys()


def read_pairs(plain: Mapping[str, Any]) -> Labels:
    """The questions of such a file; its nodes are quotes of documents that somebody names.

    Raises:
        DatasetError: something else stands where queries, nodes or pairs should be.
    """
    try:
        queries = {str(one): text_of(text) for one, text in plain["queries"].items()}
        places = {str(one): Quote(text_of(text)) for one, text in plain["corpus"].items()}
        pairs = {str(one): list(map(str, of)) for one, of in plain["relevant_docs"].items()}
    except (AttributeError, TypeError) as error:
        raise DatasetError(
            f"this looks like an EmbeddingQAFinetuneDataset, but {error!r}"
        ) from error
    questions = _judged(queries, pairs, places)
    form = "LlamaIndex's EmbeddingQAFinetuneDataset"
    return Labels(form, questions, left_out=_unjudged(queries, questions))


def _judged(
    queries: Mapping[str, str], relevant: Mapping[str, Sequence[str]], places: Mapping[str, Quote]
) -> tuple[Labelled, ...]:
    found = (
        Labelled(
            query,
            queries[query],
            tuple((places[one],) for one in ids if one in places and places[one].text.strip()),
        )
        for query, ids in relevant.items()
        if query in queries
    )
    return tuple(one for one in found if one.gold)


def _unjudged(queries: Mapping[str, str], questions: Sequence[Labelled]) -> dict[str, int]:
    missing = len(queries) - len(questions)
    return {"without a passage that is judged relevant": missing} if missing else {}


def read_chroma(rows: Sequence[Mapping[str, str]], path: Path) -> Labels:
    """The questions of a sheet of Chroma's report, and the corpora where they stand beside it.

    Raises:
        DatasetError: the references of a row are no JSON.
    """
    corpora = {row["corpus_id"] for row in rows}
    texts = {name: text for name in sorted(corpora) if (text := _corpus(path.parent, name))}
    questions = tuple(
        Labelled(
            id=f"{row['corpus_id']}-{number}",
            text=row["question"].strip(),
            gold=(tuple(_references(row, path, number)),),
        )
        for number, row in enumerate(rows, start=1)
    )
    return Labels("Chroma's CSV", questions, texts)


def _references(row: Mapping[str, str], path: Path, number: int) -> Iterable[Quote]:
    try:
        return [
            Quote(
                str(one["content"]),
                row["corpus_id"],
                number_of(one.get("start_index")),
                number_of(one.get("end_index")),
            )
            for one in json.loads(row["references"])
        ]
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise DatasetError(
            f"{path}, row {number}: references must be a JSON list of content, start_index and "
            f"end_index ({error!r})"
        ) from error


def _corpus(folder: Path, name: str) -> str:
    for place in (folder / "corpora", folder):
        for suffix in (".md", ".txt", ""):
            if (found := file_inside(place, f"{name}{suffix}")) is not None:
                return read_text(found)
    return ""
