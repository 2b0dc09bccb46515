"""Lists of questions, one a row: our own JSON, sheets, and test sets of RAGAS.

One table lists the names that a column may have, another what is special about RAGAS. Our own
format is

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

from rag_nodes.core.errors import DatasetError
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
    `within` are the documents that are searched, as the file calls them, None for all; `rows` are
    the rows of a sheet that it is in, from 1.
    """

    id: str
    text: str
    gold: tuple[tuple[Quote, ...], ...]
    kind: str = ""
    within: tuple[str, ...] | None = None
    draft: bool = False
    rows: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Labels:
    """The questions of a file of some format, in its order.

    `texts` are the documents that come with them, by name; `left_out` counts by reason the entries
    that are no question to measure with; `notes` are sentences on what may be meant otherwise.
    """

    form: str
    questions: tuple[Labelled, ...]
    texts: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


_TRUTH = "ground_truths ground_truth reference_contexts reference"
"""Names of the right answer in RAGAS, whose `answer` is the reply of a system."""
_RAGAS = {
    "user_input": "reference_contexts reference",
    "question evolution_type": f"contexts {_TRUTH}",
    "question contexts": _TRUTH,
    "question retrieved_contexts": _TRUTH,
}
"""Columns that only a version of RAGAS has, and its columns of the answer, of which the first that
is not empty counts."""
COLUMNS: Mapping[str, tuple[str, ...]] = {
    name: tuple(called.split())
    for name, called in {
        "question": "question query user_input frage pregunta domanda pergunta "
        "vraag вопрос ερώτηση سؤال प्रश्न 问题 問題 質問 질문",
        "gold": "gold references quote snippet passage evidence zitat cita citation citazione "
        "citação citaat цитата παράθεμα اقتباس उद्धरण 引用 인용 answer text antwort textstelle "
        "respuesta réponse risposta resposta antwoord ответ απάντηση إجابة उत्तर 答案 回答 答え "
        "답변 "
        # In somebody's own words, so that they seldom stand in a document.
        "reference ground_truth",
        "document": "document file corpus url source file_path file_name filename datei dokument "
        "archivo documento fichier bestand файл документ αρχείο ملف फ़ाइल 文件 ファイル 파일",
        "page": "page pages page_number seite página pagina страница σελίδα صفحة पृष्ठ 页 頁 ページ "
        "페이지",
        "kind": "kind type category synthesizer_name evolution_type art kategorie tipo categoría "
        "categoria catégorie soort тип είδος نوع प्रकार 类型 類型 種類 종류",
        "id": "id query_id question_id number nr",
        "draft": "draft entwurf",
        "start": "start start_index start_char",
        "end": "end end_index end_char",
        "text": "text content quote answer page_content",
    }.items()
}
"""Names of each column, of which the first that exists is used; case and blanks do not count."""
_LISTS = ("questions", "samples")
"""Under what name a file may hold its list of questions."""
_PAGES = re.compile(
    "(?<![-0-9])[0-9]{1,6}(?![0-9])(?: ?(?:[-–—,;&+]|to|bis|and|und) ?[0-9]{1,6}(?![0-9]))*"  # noqa: RUF001
)
"""Pages as people write them: of "12 of 300" only the first, of -1 none."""
_MOST_PAGES = 100_000
"""Pages beyond which a number is no page."""
_HOP = re.compile("<[0-9]{1,2}-hop>\\s*")
"""Prefix that RAGAS writes before each context of a question that needs several."""
_NO_ROW = "something else than a question with its columns"
_DRAFT = frozenset({"true", "yes", "1", "x", "draft", "wahr", "ja"})
_ACCEPTED = frozenset({"", "false", "no", "0", "falsch", "nein", "none"})
"""Values in the column of drafts for a draft, and for an accepted question."""


def read_rows(plain: Any, source: str = "the questions", *, sheet: bool = False) -> Labels | None:
    """The questions of a list of rows; None if no row has a question and an answer.

    Args:
        plain: content of a JSON file, or the rows of a sheet.
        source: what an error calls it.
        sheet: neighbouring rows of one id, or question, are passages that are wanted together.

    Raises:
        DatasetError: the mark of a draft is neither true nor false.
    """
    listed, notes = _listed(plain), list[str]()
    rows = [
        {str(name).strip().lower(): value for name, value in row.items()}
        for row in listed
        if isinstance(row, dict)
    ]
    names = rows[0].keys() if rows else ()
    ragas = next((gold for columns, gold in _RAGAS.items() if {*columns.split()} <= {*names}), "")
    gold = ragas.split() or COLUMNS["gold"]
    labels = [_labelled(row, gold, f"{source}: question {number}")
             for number, row in enumerate(rows, start=1)]  # fmt: skip
    if not any(labelled.text and labelled.gold for labelled in labels):
        return None
    if sheet:
        numbers = (getattr(row, "number", 0) for row in listed if isinstance(row, dict))
        labels = [
            replace(labelled, rows=(number,))
            for labelled, number in zip(labels, numbers, strict=True)
        ]
        labels, notes = _merged(
            labelled for labelled in labels if labelled.text or any(labelled.gold)
        )
    named = tuple(
        replace(labelled, id=labelled.id or (f"row {labelled.rows[0]}" if sheet else f"q{number}"))
        for number, labelled in enumerate(labels, start=1)
    )
    if sheet:
        _check_ids(named, source)
    left_out = {_NO_ROW: len(listed) - len(rows)} if len(rows) < len(listed) else {}
    form = "RAGAS" if ragas else "sheet" if sheet else "own JSON"
    return Labels(form, named, left_out=left_out, notes=tuple(notes))


def _listed(plain: Any) -> list[Any]:
    """The rows of a file: its list, the list in it, or columns that were written side by side."""
    if isinstance(plain, dict):
        plain = next((plain[name] for name in _LISTS if isinstance(plain.get(name), list)), plain)
    if isinstance(plain, dict) and all(
        isinstance(column, list | dict) for column in plain.values()
    ):
        columns = [
            [*column.values()] if isinstance(column, dict) else column for column in plain.values()
        ]
        plain = [dict(zip(plain, row, strict=True)) for row in zip_longest(*columns)]
    return plain if isinstance(plain, list) else []


def _labelled(row: Row, gold: Iterable[str], where: str) -> Labelled:
    name = _text(row, "id")
    return Labelled(
        id=name,
        text=_text(row, "question"),
        gold=tuple(_answers(row, gold)),
        kind=_text(row, "kind"),
        within=tuple(map(str, _as_list(row.get("within") or []))) or None,
        draft=_is_draft(_value(row, "draft"), f"{where} ({name})" if name else where),
    )


def _answers(row: Row, gold: Iterable[str]) -> list[tuple[Quote, ...]]:
    """The answers of a row, each enough; a page alone is one."""
    document = _text(row, "document") or None
    pages = _pages(_value(row, "page"))
    values = (row.get(name) for name in gold)
    others = row.get("alternatives") or []
    listed = [
        _parsed(next(filter(None, values), None)),
        *([others] if isinstance(others, str | dict) else others),
    ]
    answers = [
        tuple(_quote(quote, document, pages) for quote in _as_list(answer) if quote)
        for answer in listed
        if answer
    ]
    if not any(answers) and pages:
        return [(Quote("", document, pages=pages),)]
    return [quote for quote in answers if quote]


def _parsed(value: Any) -> Any:
    """A value; a cell with a list of quotes as JSON or as Python writes it, as that list."""
    if isinstance(value, str) and value.startswith("[") and value.endswith("]"):
        for read in (json.loads, ast.literal_eval):
            with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
                content = read(value)
                is_quote = content and not any(
                    isinstance(value, str | dict | None) for value in content
                )
                return content if isinstance(content, list) and not is_quote else value  # as "[1]"
    return value


def _quote(plain: Any, document: str | None, pages: tuple[int, int] | None) -> Quote:
    if not isinstance(plain, dict):
        return Quote(_HOP.sub("", _said(plain), count=1), document, pages=pages)
    return Quote(
        text=_text(plain, "text"),
        document=_text(plain, "document") or document,
        start=_whole(_value(plain, "start")),
        end=_whole(_value(plain, "end")),
        pages=_pages(_value(plain, "page")) or pages,
    )


def _pages(value: object) -> tuple[int, int] | None:
    """Pages as people write them: 12, "12", "p. 12", "12-14"; None where there is no number."""
    if isinstance(value, list):
        value = ",".join(map(str, value))
    match = _PAGES.search(str(value or ""))
    numbers = [int(number) for number in re.findall("[0-9]+", match[0])] if match else []
    if not numbers or not 0 < numbers[0] < _MOST_PAGES:
        return None
    return numbers[0], max(numbers[0], min(numbers[-1], _MOST_PAGES))


def _merged(rows: Iterable[Labelled]) -> tuple[list[Labelled], list[str]]:
    """Rows of one question as one, and a note on each question whose rows only repeat its text."""
    questions: list[Labelled] = []
    repeated = dict[int, Labelled]()
    for row in rows:
        last = questions[-1] if questions else row
        is_same = (last.id or last.text) == (row.id or row.text)
        # Two texts with one id are two questions, which `Dataset` refuses; merged cells have one.
        if not questions or not is_same or (row.text and last.text and row.text != last.text):
            questions.append(row)
        else:
            together = tuple(quote for each in (last, row) for quote in next(iter(each.gold), ()))
            questions[-1] = replace(
                last, gold=(together,), draft=last.draft or row.draft, rows=last.rows + row.rows
            )
            if row.text and not row.id:
                repeated[len(questions)] = questions[-1]
    return questions, [_repeated(labelled) for labelled in repeated.values()]


def _check_ids(labels: Iterable[Labelled], source: str) -> None:
    """Refuse one id for two questions of a sheet, and name their rows."""
    first: dict[str, Labelled] = {}
    for labelled in labels:
        other = first.setdefault(labelled.id, labelled)
        if other is not labelled:
            raise DatasetError(
                f"{source}: rows {other.rows[0]} and {labelled.rows[0]} have the id "
                f"'{labelled.id}', but are two questions; give each question its own id, and one "
                "id only to neighbouring rows of one question"
            )


def _repeated(labelled: Labelled) -> str:
    *first, last = map(str, labelled.rows)
    passages = "both passages" if len(first) == 1 else f"all {len(labelled.rows)} passages"
    return (
        f"Rows {', '.join(first)} and {last} are one question that wants {passages}; give them ids "
        "if not."
    )


def _is_draft(mark: object, where: str) -> bool:
    word = str(mark).strip().lower()
    if word not in _DRAFT | _ACCEPTED:
        # Taken for an accepted question, a draft would choose.
        raise DatasetError(f"{where} has '{mark}' as mark of a draft; write true or false")
    return word in _DRAFT


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _value(row: Row, what: str) -> Any:
    return next((row[name] for name in COLUMNS[what] if name in row), None)


def _text(row: Row, what: str) -> str:
    """The first of the columns with that meaning that has a text, or a number."""
    return next((text for column in COLUMNS[what] if (text := _said(row.get(column)))), "")


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
