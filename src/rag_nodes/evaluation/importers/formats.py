"""Lists of questions, one a row: our own JSON, sheets, and what tools for evaluation write.

What a column may be called stands in one table, what is special about a format in another. Our
own format is

    {"questions": [{"id": "q1", "question": "When do quiet hours begin?", "document": "ferry.pdf",
                    "kind": "fact", "gold": [{"start": 120, "end": 160, "text": "Quiet hours …"}],
                    "alternatives": [[{"text": "…"}]], "within": ["ferry.pdf"]}]}

A list of questions alone is fine, as is one question per line. Of a passage the text, the offsets
or the page are enough; with text and offsets, a changed file is noticed and the text is found
again.
"""

from __future__ import annotations

import ast
import json
import re
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

from rag_nodes.errors import DatasetError
from rag_nodes.text.tokens import encodable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Row = dict[str, Any]


class Quote(NamedTuple):
    """A passage as a file has it: "" for `text` where it gives only offsets or pages (from 1)."""

    text: str
    document: str | None = None
    start: int | None = None
    end: int | None = None
    pages: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Labelled:
    """A question of a file.

    `gold` are answers, each of which is enough, and each one or more quotes that are all wanted;
    `within` are the documents that are searched, as the file calls them, None for all.
    """

    id: str
    text: str
    gold: tuple[tuple[Quote, ...], ...]
    kind: str = ""
    within: tuple[str, ...] | None = None
    draft: bool = False


@dataclass(frozen=True, slots=True)
class Labels:
    """The questions of a file of some format, in its order.

    `texts` are the documents that come with them, by name; `left_out` counts by reason the entries
    that are no question to measure with.
    """

    form: str
    questions: tuple[Labelled, ...]
    texts: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)


class DatasetFormat(NamedTuple):
    """How a tool writes questions down.

    It is `known_by` columns that none of the formats above it has; `gold` are the columns of the
    answer, the first that is not empty being meant, "" as in `COLUMNS`.
    """

    name: str
    known_by: str
    gold: str = ""
    document: str = "document"


_TRUTH = "ground_truths ground_truth reference_contexts reference"
"""What RAGAS calls the right answer, beside which `answer` is what a system said."""
FORMATS = (
    DatasetFormat(
        "LlamaIndex's LabelledRagDataset",
        "query reference_contexts",
        "reference_contexts reference_answer",
    ),
    DatasetFormat("RAGAS", "user_input", "reference_contexts reference"),
    DatasetFormat("RAGAS", "question evolution_type", f"contexts {_TRUTH}"),
    DatasetFormat("RAGAS", "question contexts", _TRUTH),
    DatasetFormat("RAGAS", "question retrieved_contexts", _TRUTH),
    DatasetFormat("TruLens", "query expected_chunks", "expected_chunks expected_response"),
    DatasetFormat("TruLens", "query expected_response", "expected_response"),
    DatasetFormat("LangSmith", "inputs outputs"),
    DatasetFormat("promptfoo", "vars", "asserted"),
    DatasetFormat("promptfoo", "__expected", "asserted"),
    DatasetFormat("LegalBench-RAG", "query snippets", "snippets"),
    DatasetFormat("Chroma's CSV", "question references corpus_id", "references", "corpus_id"),
)
COLUMNS: Mapping[str, tuple[str, ...]] = {
    name: tuple(called.split())
    for name, called in {
        "question": "question query user_input query_text input frage pregunta domanda pergunta "
        "vraag вопрос ερώτηση سؤال प्रश्न 问题 問題 質問 질문",
        "gold": "gold references reference_contexts expected_chunks snippets gold_snippets quote "
        "snippet passage evidence zitat cita citation citazione citação citaat цитата παράθεμα "
        "اقتباس उद्धरण 引用 인용 answer text antwort textstelle respuesta réponse risposta resposta "
        "antwoord ответ απάντηση إجابة उत्तर 答案 回答 答え 답변 "
        # In somebody's own words, so that they seldom stand in a document.
        "reference reference_answer ground_truth expected_response expected_output output",
        "document": "document file corpus url source file_path file_name filename datei dokument "
        "archivo documento fichier bestand файл документ αρχείο ملف फ़ाइल 文件 ファイル 파일",
        "page": "page pages page_number seite página pagina страница σελίδα صفحة पृष्ठ 页 頁 ページ "
        "페이지",
        "kind": "kind type category synthesizer_name evolution_type tags",
        "id": "id query_id question_id number nr",
        "draft": "draft entwurf",
        "start": "start start_index start_char",
        "end": "end end_index end_char",
        "text": "text content quote answer page_content",
    }.items()
}
"""What a column may be called, the first there is being meant; case and blanks do not count."""
_LISTS = ("questions", "examples", "tests", "samples", "data", "rows")
"""Under what name a file may hold its list of questions."""
_INNER = ("inputs", "outputs", "vars", "metadata")
"""What the columns of a row may lie in."""
_QUOTING = re.compile("i?contains(-all|-any)?|equals|starts-with|context-recall")
"""Assertions of promptfoo that quote words; of those that end with "any" one is enough."""
_JUDGING = re.compile(
    "regex|similar|levenshtein|rouge-n|bleu|gleu|meteor|classifier|moderation|guardrails|"
    "is-(refusal|json|xml|html|sql|valid-(openai-)?function-call|valid-openai-tools-call)|"
    "contains-(json|xml|html|sql)|javascript|fn|eval|python|ruby|file|webhook|latency|cost|"
    "perplexity(-score)?|finish-reason|tool-call-f1|word-count|select-best|max-score|"
    "llm-rubric|grade|search-rubric|g-eval|pi|(model-graded-)?(factuality|closedqa)|"
    "answer-relevance|context-(faithfulness|relevance)|conversation-relevance"
)
"""Assertions of promptfoo that quote nothing, nor do those with "not-" before them."""
_ASSERTION = re.compile(
    r"([a-z]+(?:-[a-z0-9]+)*)\s*(?:\([^)]*\)\s*)?(?::\s*(.*)|(?<=\)))", re.DOTALL
)
"""A cell of a promptfoo sheet: kind and value; one without a kind is compared with the answer."""
_PAGES = re.compile(
    "(?<![-0-9])[0-9]{1,6}(?![0-9])(?: ?(?:[-–—,;&+]|to|bis|and|und) ?[0-9]{1,6}(?![0-9]))*"  # noqa: RUF001
)
"""Pages as people write them: of "12 of 300" only the first, of -1 none."""
_MOST_PAGES = 100_000
"""Pages beyond which a number is no page."""
_HOP = re.compile("<[0-9]{1,2}-hop>\\s*")
"""What RAGAS writes before each context of a question that needs several."""
_NO_ROW = "something else than a question with its columns"
_DRAFT = frozenset({"true", "yes", "1", "x", "draft", "wahr", "ja"})
_ACCEPTED = frozenset({"", "false", "no", "0", "falsch", "nein", "none"})
"""What stands in the column of drafts of a question that nobody, and that somebody has accepted."""


def read_rows(plain: Any, source: str = "the questions", *, sheet: bool = False) -> Labels | None:
    """The questions of a list of rows; None where no row has a question and what answers it.

    Args:
        plain: content of a JSON or YAML file, or the rows of a sheet.
        source: what an error calls it.
        sheet: neighbouring rows of one id, or question, are passages that are wanted together.

    Raises:
        DatasetError: the mark of a draft is neither true nor false.
    """
    listed = _listed(plain)
    kept = [row for row in listed if isinstance(row, dict)]
    rows = [*map(_flat, kept)]
    names = {str(one).strip().lower() for one in kept[0]} | {*rows[0]} if kept else set()
    other = DatasetFormat("sheet" if sheet else "own JSON", "")
    form = next((one for one in FORMATS if names.issuperset(one.known_by.split())), other)
    found = [_labelled(row, form, f"{source}: question {number}")
             for number, row in enumerate(rows, start=1)]  # fmt: skip
    if not any(one.text and one.gold for one in found):
        return None
    if sheet:
        found = _merged(one for one in found if one.text or any(one.gold))
    named = (replace(one, id=one.id or f"q{number}") for number, one in enumerate(found, start=1))
    left_out = {_NO_ROW: len(listed) - len(rows)} if len(rows) < len(listed) else {}
    return Labels(form.name, tuple(named), left_out=left_out)


def _listed(plain: Any) -> list[Any]:
    """The rows of a file: its list, the list in it, or columns that were written side by side."""
    if isinstance(plain, dict):
        plain = next((plain[name] for name in _LISTS if isinstance(plain.get(name), list)), plain)
    if isinstance(plain, dict) and all(isinstance(one, list | dict) for one in plain.values()):
        columns = [[*one.values()] if isinstance(one, dict) else one for one in plain.values()]
        plain = [dict(zip(plain, row, strict=True)) for row in zip_longest(*columns)]
    return plain if isinstance(plain, list) else []


def _flat(row: Mapping[Any, Any]) -> Row:
    """A row with what lies in its inner rows and assertions, names in lower case."""
    plain = {str(name).strip().lower(): value for name, value in row.items()}
    for name in _INNER:
        if isinstance(inner := plain.get(name), dict):
            plain = {**_flat(inner), **{one: of for one, of in plain.items() if one != name}}
    cells = [_assertion(str(plain[name])) for name in plain if name.startswith("__expected")]
    asserted = plain.get("assert") or cells
    quoted = [
        (kind, value)
        for one in (asserted if isinstance(asserted, list) else ())
        if isinstance(one, dict) and _QUOTING.fullmatch(kind := str(one.get("type")))
        for value in _as_list(one.get("value"))
    ]
    if wanted := [value for kind, value in quoted if not kind.endswith("-any")]:
        return {**plain, "asserted": wanted}
    return {**plain, "alternatives": [[value] for _, value in quoted]} if quoted else plain


def _assertion(cell: str) -> Row:
    cell = cell.strip()
    found = _ASSERTION.fullmatch(cell)
    kind, value = (found[1], found[2] or "") if found else ("", cell)
    known = kind.removeprefix("not-")
    if not _QUOTING.fullmatch(known) and not _JUDGING.fullmatch(known):
        return {"type": "equals", "value": cell}
    several = kind.endswith(("-any", "-all"))
    return {"type": kind, "value": [one.strip() for one in value.split(",")] if several else value}


def _labelled(row: Row, form: DatasetFormat, where: str) -> Labelled:
    kind, name = _value(row, "kind"), _text(row, "id")
    return Labelled(
        id=name,
        text=_text(row, "question"),
        gold=tuple(_answers(row, form)),
        kind=_said(kind[0] if isinstance(kind, list) and kind else kind),
        within=tuple(map(str, _as_list(row.get("within") or []))) or None,
        draft=_is_draft(_value(row, "draft"), f"{where} ({name})" if name else where),
    )


def _answers(row: Row, form: DatasetFormat) -> list[tuple[Quote, ...]]:
    """The answers of a row, each enough; a page alone is one."""
    document = _said(row.get(form.document)) or _text(row, "document") or None
    pages = _pages(_value(row, "page"))
    values = (row.get(name) for name in form.gold.split() or COLUMNS["gold"])
    others = row.get("alternatives") or []
    listed = [
        _parsed(next(filter(None, values), None)),
        *([others] if isinstance(others, str | dict) else others),
    ]
    found = [
        tuple(_quote(one, document, pages) for one in _as_list(of) if one) for of in listed if of
    ]
    if not any(found) and pages:
        return [(Quote("", document, pages=pages),)]
    return [one for one in found if one]


def _parsed(value: Any) -> Any:
    """A value; a cell with a list of quotes as JSON or as Python writes it, as that list."""
    if isinstance(value, str) and value.startswith("[") and value.endswith("]"):
        for read in (json.loads, ast.literal_eval):
            with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
                found = read(value)
                is_quote = found and not any(isinstance(one, str | dict | None) for one in found)
                return found if isinstance(found, list) and not is_quote else value  # as "[1]"
    return value


def _quote(plain: Any, document: str | None, pages: tuple[int, int] | None) -> Quote:
    if not isinstance(plain, dict):
        return Quote(_HOP.sub("", _said(plain), count=1), document, pages=pages)
    match plain.get("span"):
        case [start, end]:
            pass
        case _:
            start, end = _value(plain, "start"), _value(plain, "end")
    return Quote(
        text=_text(plain, "text"),
        document=_text(plain, "document") or document,
        start=_whole(start),
        end=_whole(end),
        pages=_pages(_value(plain, "page")) or pages,
    )


def _pages(value: object) -> tuple[int, int] | None:
    """Pages as people write them: 12, "12", "p. 12", "12-14"; None where there is no number."""
    if isinstance(value, list):
        value = ",".join(map(str, value))
    found = _PAGES.search(str(value or ""))
    numbers = [int(one) for one in re.findall("[0-9]+", found[0])] if found else []
    if not numbers or not 0 < numbers[0] < _MOST_PAGES:
        return None
    return numbers[0], max(numbers[0], min(numbers[-1], _MOST_PAGES))


def _merged(rows: Iterable[Labelled]) -> list[Labelled]:
    """Rows of one question as one."""
    found: list[Labelled] = []
    for one in rows:
        last = found[-1] if found else one
        is_same = (last.id or last.text) == (one.id or one.text)
        # Two texts with one id are two questions, which `Dataset` refuses; merged cells have one.
        if not found or not is_same or (one.text and last.text and one.text != last.text):
            found.append(one)
        else:
            together = tuple(quote for each in (last, one) for quote in next(iter(each.gold), ()))
            found[-1] = replace(last, gold=(together,), draft=last.draft or one.draft)
    return found


def _is_draft(mark: object, where: str) -> bool:
    said = str(mark).strip().lower()
    if said not in _DRAFT | _ACCEPTED:
        # Taken for an accepted question, a draft would choose.
        raise DatasetError(f"{where} has {mark!r} as mark of a draft; write true or false")
    return said in _DRAFT


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _value(row: Row, what: str) -> Any:
    return next((row[name] for name in COLUMNS[what] if name in row), None)


def _text(row: Row, what: str) -> str:
    """The first of the columns with that meaning that has a text, or a number."""
    return next((said for one in COLUMNS[what] if (said := _said(row.get(one)))), "")


def _said(value: object) -> str:
    """A text without blank space around it, or a whole number as one; "" for anything else."""
    if (number := _whole(value)) is not None:
        return str(number)
    return encodable(value.strip()) if isinstance(value, str) else ""


def _whole(value: object) -> int | None:
    """A whole number, as spreadsheets and pandas write them, too: 12.0."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None
