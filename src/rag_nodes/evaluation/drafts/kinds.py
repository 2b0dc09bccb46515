"""The kinds of drafts: what each finds in a document, and what it asks."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from rag_nodes.evaluation.drafts.grammar import GRAMMARS, is_term, mine, plain, tells
from rag_nodes.evaluation.drafts.sections import bare
from rag_nodes.text.languages import FUNCTION_WORDS
from rag_nodes.text.words import words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rag_nodes.evaluation.drafts.sections import Page
    from rag_nodes.text.spans import Span

DraftKind = Literal["asked", "howto", "definition", "number", "table", "phrase"]
"""What a draft was made of: a heading that is a question or says what is done, a definition, a
number of days, a row of a table, or a heading as a search phrase."""
DRAFT_KINDS: tuple[DraftKind, ...] = get_args(DraftKind)
QUESTIONS: tuple[DraftKind, ...] = DRAFT_KINDS[:-1]
"""Those that read as a question."""
_CODE = re.compile(r"`[^`\s]{2,40}`")
_OPTION = re.compile(r"(`?)(--?[A-Za-z][\w-]*)\b[^`]*\1(?:,.*)?")
_SAYS_NOTHING = frozenset(["", "-", "–", "—", "yes", "no", "none", "n/a", "true", "false"])  # noqa: RUF001
_LEAST_CELL = 4
"""Words of a cell that explains something."""
_PHRASE = range(2, 7)
"""Content words of a search phrase."""
_LONGEST_PHRASE = 60
_LONGEST = 160
"""Characters of a question."""
_LEAST_ASKED = 2
"""Content words of a heading that is a question; "How does it work?" has one."""
_RELATIVE = re.compile(r"\b(?:which|that|who|not|may|this|these|it|they|if|when)\b", re.IGNORECASE)
_EACH = {"within": "Within how many {unit}", "for": "For how many {unit}", "every": "How often"}


class Draft(NamedTuple):
    """A question about a document, and the characters that answer it.

    By its `label`, or else its text, it must be unique; `table` is the number of its table.
    """

    kind: DraftKind
    text: str
    span: Span
    label: str = ""
    table: int | None = None


def _asked(page: Page) -> Iterator[Draft]:
    for heading, _, body, _ in page.sections:
        if heading.endswith(("?", "？", "؟")) and len(_content(heading)) >= _LEAST_ASKED:  # noqa: RUF001
            yield Draft("asked", heading, body)


def _howto(page: Page) -> Iterator[Draft]:
    grammar = GRAMMARS[page.language]
    for heading, _, body, is_whole in page.sections:
        if done := grammar.howto(heading) if is_whole and plain(heading) else "":
            yield Draft("howto", grammar.how.format(mine(page.cased(done), page.language)), body)


def _definition(page: Page) -> Iterator[Draft]:
    """Sentences that begin with what something is, where the text makes a term of it."""
    grammar = GRAMMARS[page.language]
    for span, found in _said(page, grammar.defines):
        term, article = found["term"], (found["article"] or "").casefold()
        if article in ("the", "der", "die", "das") and term.islower():
            continue  # "The secure heap is a ...": that of the sentences before it
        if is_term(term) and (found["short"] or page.names(term)):
            is_name = " " in term and term.istitle()
            shown = term if is_name or article else page.cased(term, begins=True)
            text = grammar.what_is.format(f"{found['is']} {f'{article} {shown}'.strip()}")
            yield Draft("definition", text, span, term.casefold())


def _number(page: Page) -> Iterator[Draft]:
    """Sentences that say within how many days something must be done."""
    for span, found in _said(page, GRAMMARS[page.language].number):
        if not _RELATIVE.search(f"{found['subject']} {found['done']}"):
            subject = page.cased(found["subject"], begins=True)
            often = _EACH[found["how"]].format(unit=found["unit"])
            yield Draft("number", f"{often} {found['modal']} {subject} {found['done']}?", span)


def _table(page: Page) -> Iterator[Draft]:
    """Rows whose first cell is a name in code or an option, where a column says what it means."""
    grammar = GRAMMARS[page.language]
    for row in page.rows():
        option = _OPTION.fullmatch(row.name)
        if not option and not _CODE.fullmatch(row.name):
            continue
        name = option[2] if option else row.name
        does = grammar.meaning.replace(" mean?", " do?") if option else grammar.meaning
        meant = [cell for head, cell in row.cells.items() if head in grammar.meanings]
        usual = [cell for head, cell in row.cells.items() if head in grammar.defaults]
        if any(len(one.split()) >= _LEAST_CELL for one in meant):
            yield Draft("table", does.format(name), row.span, name, row.table)
        elif any(one.casefold() not in _SAYS_NOTHING for one in usual):
            yield Draft("table", grammar.default.format(name), row.span, name, row.table)


def _phrase(page: Page) -> Iterator[Draft]:
    """Headings as somebody might type them into a search, in any language."""
    bodies = defaultdict[str, set[str]](set)
    for heading, _, body, _ in page.sections:
        bodies[heading.casefold()].add(" ".join(body.of(page.text).split()))
    for heading, path, body, _ in page.sections:
        text, own = heading, _content(heading)
        if len(own) == 1 or (own and len(bodies[heading.casefold()]) > 1):
            above = path[-2] if len(path) > 1 else page.title
            is_name = above and tells(above) and FUNCTION_WORDS.isdisjoint(words(above))
            text = f"{above} {heading}" if is_name else ""
        fits = len(_content(text)) in _PHRASE and len(text) <= _LONGEST_PHRASE
        if fits and tells(heading) and not text.endswith("?"):
            yield Draft("phrase", text, body)


def _said(page: Page, pattern: re.Pattern[str] | None) -> Iterator[tuple[Span, re.Match[str]]]:
    for span in page.sentences() if pattern else ():
        if pattern and (found := pattern.match(bare(span.of(page.text)))):
            yield span, found


def _content(text: str) -> list[str]:
    return [word for word in words(text) if word not in FUNCTION_WORDS]


RULES: dict[DraftKind, Callable[[Page], Iterator[Draft]]] = {
    "asked": _asked, "howto": _howto, "definition": _definition, "number": _number,
    "table": _table, "phrase": _phrase,
}  # fmt: skip


def drafts_of(page: Page, kinds: tuple[DraftKind, ...]) -> Iterator[Draft]:
    """All drafts of some kinds; where the language has no grammar, of those that need none."""
    for kind in kinds:
        if kind in ("asked", "phrase") or page.language:
            yield from (one for one in RULES[kind](page) if len(one.text) <= _LONGEST)
