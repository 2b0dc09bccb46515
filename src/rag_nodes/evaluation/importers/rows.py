"""One question a row: our own JSON, sheets, and what tools for evaluation write.

What a column may be called stands in one table. So the same reader takes our own format, a sheet in
one of several languages, LlamaIndex's `LabelledRagDataset`, test sets of RAGAS, TruLens, LangSmith
and promptfoo, and LegalBench-RAG; they differ in names and in what lies within what. Our own is

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
from collections import Counter
from dataclasses import replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from rag_nodes.errors import ConfigurationError, DatasetError
from rag_nodes.evaluation.importers.labels import Labelled, Labels, Quote, number_of, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rag_nodes.evaluation.dataset import Dataset

VERSION = 1
"""Of our own format; raised when a field changes its meaning."""
FIELDS: Mapping[str, tuple[str, ...]] = {
    "question": (
        "question", "query", "user_input", "query_text", "input", "frage", "pregunta", "domanda",
        "pergunta", "vraag", "вопрос", "ερώτηση", "سؤال", "प्रश्न", "问题", "問題", "質問", "질문",
    ),
    "gold": (
        "gold", "references", "reference_contexts", "expected_chunks", "snippets", "gold_snippets",
        "quote", "snippet", "passage", "evidence", "zitat", "cita", "citation", "citazione",
        "citação", "citaat", "цитата", "παράθεμα", "اقتباس", "उद्धरण", "引用", "인용",
        "answer", "text", "antwort", "textstelle", "respuesta", "réponse", "risposta", "resposta",
        "antwoord", "ответ", "απάντηση", "إجابة", "उत्तर", "答案", "回答", "答え", "답변",
        # In somebody's own words, so that they seldom stand in a document.
        "reference", "reference_answer", "ground_truth", "expected_response", "expected_output",
        "output",
    ),
    "document": (
        "document", "file", "corpus", "url", "source", "file_path", "file_name", "filename",
        "datei", "dokument", "archivo", "documento", "fichier", "bestand", "файл", "документ",
        "αρχείο", "ملف", "फ़ाइल", "文件", "ファイル", "파일",
    ),
    "page": (
        "page", "pages", "page_number", "seite", "página", "pagina", "страница", "σελίδα", "صفحة",
        "पृष्ठ", "页", "頁", "ページ", "페이지",
    ),
    "kind": ("kind", "type", "category", "synthesizer_name", "evolution_type", "tags"),
    "id": ("id", "query_id", "question_id", "number", "nr"),
    "draft": ("draft", "entwurf"),
    "start": ("start", "start_index", "start_char"),
    "end": ("end", "end_index", "end_char"),
    "text": ("text", "content", "quote", "answer", "page_content"),
}  # fmt: skip
"""What a column may be called, the first there is being meant; case and blanks do not count."""
_LISTS = ("questions", "examples", "tests", "samples", "data", "rows")
"""Under what name a file may hold its list of questions."""
_FORMS: tuple[tuple[str, frozenset[str]], ...] = (
    ("LlamaIndex's LabelledRagDataset", frozenset({"reference_contexts", "query"})),
    ("RAGAS", frozenset({"user_input"})),
    ("RAGAS", frozenset({"evolution_type"})),
    ("TruLens", frozenset({"query", "expected_chunks"})),
    ("TruLens", frozenset({"query", "expected_response"})),
    ("LangSmith", frozenset({"inputs", "outputs"})),
    ("promptfoo", frozenset({"vars"})),
    ("promptfoo", frozenset({"__expected"})),
    ("LegalBench-RAG", frozenset({"snippets"})),
)
"""Formats by columns that no other has, for people."""
_GIVEN = frozenset({"contexts", "retrieved_contexts"})
"""Columns of what a system found: an `answer` beside them is what it said, and no gold."""
_INNER = ("inputs", "outputs", "vars", "metadata")
"""What the columns of a row may lie in."""
_QUOTING = frozenset(
    {"contains", "icontains", "contains-all", "icontains-all", "contains-any", "icontains-any",
     "equals", "starts-with", "context-recall"}
)  # fmt: skip
"""Assertions of promptfoo that quote words."""
_ANY = frozenset({"contains-any", "icontains-any"})
"""Those of which one is enough."""
_KIND = re.compile("[a-z]+(-[a-z0-9]+)*")
"""How the kind of an assertion is written in a cell of a promptfoo sheet."""
_PAGES = re.compile(
    "(?<![-0-9])[0-9]{1,6}(?![0-9])(?: ?(?:[-–—,;&+]|to|bis|and|und) ?[0-9]{1,6}(?![0-9]))*"  # noqa: RUF001
)
"""Pages as people write them: of "12 of 300" only the first, of -1 none."""
_HOP = re.compile("<[0-9]{1,2}-hop>\\s*")
"""What RAGAS writes before each context of a question that needs several."""
_NO_ROW = "something else than a question with its columns"
_PAIR = 2
_DRAFT = frozenset({"true", "yes", "1", "x", "draft", "wahr", "ja"})
"""What is written in a sheet's column of drafts of a question that nobody has accepted."""
_ACCEPTED = frozenset({"", "false", "no", "0", "falsch", "nein"})
"""What is written there of one that somebody has."""
_MOST_PAGES = 100_000
"""Pages beyond which a number is no page."""


def is_rows(plain: Any) -> bool:
    """Whether this is a list of rows, one of which at least has a question and what answers it."""
    rows = (_flat(row) for row in _listed(plain) if isinstance(row, dict))
    return any(_column(row, "question") and _answers(row) for row in rows)


def read_rows(plain: Any, source: str = "the questions", *, sheet: bool = False) -> Labels:
    """The questions of a list of rows.

    Args:
        plain: content of a JSON or YAML file, or the rows of a sheet.
        source: what an error calls it.
        sheet: cells are texts, and rows of one id, or else of one question, that follow each other
            are passages that are wanted together.

    Raises:
        DatasetError: the mark of a draft is neither true nor false.
    """
    listed = [*_listed(plain)]
    given = [row for row in listed if isinstance(row, dict)]
    rows = [_flat(row) for row in given]
    found = [_labelled(row, number, source, sheet) for number, row in enumerate(rows, start=1)]
    if sheet:
        found = _merged(one for one in found if one.text or any(one.gold))
    first = "row-" if sheet else "q"
    named = (
        replace(one, id=one.id or f"{first}{number}") for number, one in enumerate(found, start=1)
    )
    columns = (
        {str(name).strip().lower() for row in given[:1] for name in row} | {*rows[0]}
        if rows
        else set()
    )
    no_rows = len(listed) - len(given)
    form = _form(columns) or ("sheet" if sheet else "own JSON")
    return Labels(form, tuple(named), left_out={_NO_ROW: no_rows} if no_rows else {})


def plain_of(dataset: Dataset) -> dict[str, Any]:
    """A dataset's questions as `read_rows` takes them; passages carry their text and offsets.

    Of documents that are called the same the id is given.

    Raises:
        ConfigurationError: they are probes, which nobody asks.
    """
    if dataset.probed:
        raise ConfigurationError("probes are no questions and stand in no file; draft questions")
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


def _listed(plain: Any) -> Iterator[Any]:
    """The rows of a file: its list, the list in it, or columns that were written side by side."""
    if isinstance(plain, dict):
        plain = next((plain[name] for name in _LISTS if isinstance(plain.get(name), list)), plain)
    if isinstance(plain, dict) and all(isinstance(one, list | dict) for one in plain.values()):
        columns = {
            name: [*one.values()] if isinstance(one, dict) else one for name, one in plain.items()
        }
        plain = [dict(zip(columns, row, strict=True)) for row in zip_longest(*columns.values())]
    return iter(plain if isinstance(plain, list) else ())


def _flat(row: Mapping[Any, Any]) -> dict[str, Any]:
    """A row with what lies in its inner rows, names in lower case."""
    plain = {str(name).strip().lower(): value for name, value in row.items()}
    for name in _INNER:
        inner = plain.get(name)
        if isinstance(inner, dict):
            plain = {**_flat(inner), **{one: of for one, of in plain.items() if one != name}}
    if isinstance(plain.get("assert"), list):
        plain.update(_asserted(plain.pop("assert")))
    cells = [str(plain[name]) for name in plain if name.startswith("__expected")]
    if cells:
        plain.update(_asserted([_assertion(cell) for cell in cells]))
    return plain


def _asserted(assertions: Sequence[Any]) -> dict[str, Any]:
    """What assertions of promptfoo quote, as gold and alternatives."""
    wanted: list[Any] = []
    enough: list[Any] = []
    for one in assertions:
        kind = one.get("type") if isinstance(one, dict) else None
        if kind in _QUOTING:
            value = one.get("value")
            (enough if kind in _ANY else wanted).extend(
                value if isinstance(value, list) else [value]
            )
    if not wanted and enough:
        return {"gold": enough[:1], "alternatives": [[one] for one in enough[1:]]}
    return {"gold": wanted}


def _assertion(cell: str) -> dict[str, Any]:
    """A cell of a promptfoo sheet; one without a kind is compared with the answer."""
    kind, _, value = cell.partition(":")
    name, bracket, _ = kind.strip().lower().partition("(")
    if not _KIND.fullmatch(name) or not (value or bracket):
        return {"type": "equals", "value": cell.strip()}
    listed = (
        [part.strip() for part in value.split(",")] if name.endswith(("-any", "-all")) else None
    )
    return {"type": name, "value": listed or value.strip()}


def _labelled(row: Mapping[str, Any], number: int, source: str, sheet: bool) -> Labelled:  # noqa: FBT001
    name = _text(row, "id")
    kind = _value(row, "kind")
    within = row.get("within") or None
    searched = within if isinstance(within, list | None) else [within]
    return Labelled(
        id=name,
        text=_text(row, "question"),
        gold=tuple(_answers(row)),
        kind=text_of(kind[0] if isinstance(kind, list) and kind else kind),
        within=tuple(map(str, searched)) if searched else None,
        draft=_is_draft(_value(row, "draft"), f"{source}: question {name or number!r}", sheet),
    )


def _answers(row: Mapping[str, Any]) -> list[tuple[Quote, ...]]:
    """The answers of a row, each enough; a page alone is one."""
    document = _text(row, "document") or None
    pages = _pages(_value(row, "page"))
    others = row.get("alternatives") or []
    listed = [_gold(row), *([others] if isinstance(others, str | dict) else others)]
    found = [
        tuple(_quote(one, document, pages) for one in (of if isinstance(of, list) else [of]) if one)
        for of in listed
        if of
    ]
    if not any(found) and pages:
        return [(Quote("", document, pages=pages),)]
    return [one for one in found if one]


def _gold(row: Mapping[str, Any]) -> Any:
    """What stands in the first column of gold that is not empty."""
    if "evolution_type" in row and row.get("contexts"):
        # RAGAS 0.1 wrote what a question was made from where others write what was found.
        return _parsed(row["contexts"])
    said = ("answer", "text") if _GIVEN & row.keys() else ()
    named = (row.get(name) for name in FIELDS["gold"] if name not in said)
    return _parsed(next((value for value in named if value), None))


def _parsed(value: Any) -> Any:
    """A value; a cell with a list as JSON or as Python writes it, as that list."""
    if not (isinstance(value, str) and value.startswith("[") and value.endswith("]")):
        return value
    for read in (json.loads, ast.literal_eval):
        try:
            found = read(value)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(found, list):
            return found
    return value


def _quote(plain: Any, document: str | None, pages: tuple[int, int] | None) -> Quote:
    if not isinstance(plain, dict):
        return Quote(_HOP.sub("", _said(plain), count=1), document, pages=pages)
    span = plain.get("span")
    start, end = span if isinstance(span, list) and len(span) == _PAIR else (None, None)
    return Quote(
        text=_text(plain, "text"),
        document=_text(plain, "document") or document,
        start=number_of(_value(plain, "start") if start is None else start),
        end=number_of(_value(plain, "end") if end is None else end),
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
        last = found[-1] if found else None
        if last is None or (last.id or last.text) != (one.id or one.text):
            found.append(one)
            continue
        together = (*(last.gold[0] if last.gold else ()), *(one.gold[0] if one.gold else ()))
        found[-1] = replace(last, gold=(together,), draft=last.draft or one.draft)
    return found


def _is_draft(mark: object, where: str, in_words: bool) -> bool:  # noqa: FBT001
    if isinstance(mark, bool | None):
        return bool(mark)
    said = str(mark).strip().lower()
    if not in_words or said not in _DRAFT | _ACCEPTED:
        # Taken for an accepted question, a draft would choose.
        remedy = "true or false" if in_words else "true or false, without quotes"
        raise DatasetError(f"{where} has {mark!r} as mark of a draft; write {remedy}")
    return said in _DRAFT


def _column(row: Mapping[str, Any], what: str) -> str | None:
    return next((name for name in FIELDS[what] if name in row), None)


def _value(row: Mapping[str, Any], what: str) -> Any:
    column = _column(row, what)
    return row[column] if column else None


def _text(row: Mapping[str, Any], what: str) -> str:
    """The first of the columns with that meaning that has a text, or a number."""
    values = (row.get(name) for name in FIELDS[what])
    return next((said for one in values if (said := _said(one))), "")


def _said(value: object) -> str:
    """A text, or a whole number as one."""
    return str(value) if number_of(value) is not None else text_of(value)


def _form(columns: Iterable[str]) -> str | None:
    there = {*columns}
    return next((name for name, wanted in _FORMS if wanted <= there), None)
