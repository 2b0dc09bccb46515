"""The questions of a file over documents: each answer with its characters, or why it has none.

What is found only nearly says how surely; what is found nowhere, or in too many places, is listed
and never guessed.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from rag_nodes.core.processes import current_interrupt
from rag_nodes.core.several import several_nodes
from rag_nodes.evaluation.dataset import Dataset, NotLocated, Question, reachable
from rag_nodes.evaluation.importers.names import DocumentNames, ending
from rag_nodes.evaluation.importers.quotes import MOST_LOOKED_AT, FoundQuote, SearchedDocument
from rag_nodes.evaluation.wording import all_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llama_index.core.schema import Document

    from rag_nodes.evaluation.importers.formats import Labelled, Labels, Quote

_MOST_PLACES = 5
"""Places of one quote that count as alternatives; in more it is a phrase and no answer."""
_ELLIPSIS = re.compile(r"(?:[\[(]\s*)?(?:…|\.\s?\.\s?\.)[.…]*(?:\s*[\])])?")
"""Mark of words that are left out of a quote. It begins with no blank: a search that may
begin at each of many takes the square of their time."""
_LEAST_PART = 3
"""Visible characters of a part of a quote between two ellipses."""
_NOT_QUOTED = (
    "no answer is quoted; quote the words that answer it, or name their page by its number"
)


class _UnknownError(Exception):
    """Reason why a quote was not located: passed up, never shown as an error."""


def place(labels: Labels, documents: Document | Sequence[Document], name: str) -> Dataset:
    """The questions of a file as a dataset over documents.

    Args:
        labels: what the file says.
        documents: whose characters are gold; several or a single one.
        name: of the dataset.

    Raises:
        DatasetError: two questions or documents have one id.
        MissingExtraError: a quote is not there word for word, and rapidfuzz is not installed.
        CancelledError: see `interruptible`.
    """
    given: Sequence[Document] = list(several_nodes(documents))
    searched = _Documents(given)
    questions, not_located = [], []
    interrupt = current_interrupt()
    for question in labels.questions:
        interrupt.check("looking up the answers")
        try:
            questions.append(searched.question(question))
        except _UnknownError as reason:
            quote = next((quote.text for answer in question.gold for quote in answer), "")
            line = " ".join(quote.split())
            shown = line if len(line) <= 80 else line[:79] + "…"  # noqa: PLR2004 -- of a terminal
            not_located.append(NotLocated(question.id, question.text, shown, str(reason)))
    return Dataset(
        name,
        tuple(given),
        tuple(questions),
        tuple(not_located),
        left_out=dict(labels.left_out),
        notes=labels.notes,
    )


class _Documents:
    """Documents, found by all that they may be called."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._documents = {document.id_: SearchedDocument(document) for document in documents}
        self._names = DocumentNames(documents)

    def question(self, labelled: Labelled) -> Question:
        """A question with the places of its answers."""
        if not labelled.text:
            raise _UnknownError(
                "the question is missing; write it into every row, also for merged cells"
            )
        named = (document.id for name in labelled.within or () for document in self._named(name))
        within = tuple(dict.fromkeys(named)) or None
        answers: list[list[FoundQuote]] = []
        why = ""
        for quotes in filter(None, labelled.gold):  # of rows that quote nothing
            try:
                answers += self._answers(quotes)
            except _UnknownError as reason:
                why = why or str(reason)
        if not answers:
            raise _UnknownError(why or _NOT_QUOTED)
        gold = dict.fromkeys(
            tuple(dict.fromkeys(quote.passage for quote in answer)) for answer in answers
        )
        if not reachable(gold, within):
            raise _UnknownError(
                "none of the documents that it searches contains its answer; name that document too"
            )
        surest = max(min(quote.confidence for quote in answer) for answer in answers)
        return Question(
            labelled.id,
            labelled.text,
            tuple(gold),
            labelled.kind,
            within,
            labelled.draft,
            surest,
            next(filter(None, (quote.off_page for answer in answers for quote in answer)), ""),
        )

    def _answers(self, quotes: Sequence[Quote]) -> list[list[FoundQuote]]:
        """Return the answers of quotes: each location of a single quote is an answer of its own."""
        parts = [
            places for quote in quotes for places in self._off_page(quote, self._places(quote))
        ]
        return [[part] for part in parts[0]] if len(parts) == 1 else [[part[0] for part in parts]]

    def _off_page(self, quote: Quote, parts: list[list[FoundQuote]]) -> list[list[FoundQuote]]:
        """Return the parts of a quote, the first place with its page if none is on the label's."""
        places = [place for part in parts for place in part]
        pages = self._pages_of(places)
        if not quote.pages or not pages or self._on(quote.pages, places):
            return parts
        named = "-".join(map(str, dict.fromkeys(quote.pages)))
        words = (
            f"its quote is not on {_called([named])}, but on {_called(pages)}; pages are counted "
            "from 1, whatever number is printed on them"
        )
        (first, *others), *following = parts
        return [[first._replace(off_page=words), *others], *following]

    def _pages_of(self, places: Sequence[FoundQuote]) -> list[str]:
        """Return the pages that places begin on, in order; empty for documents without pages."""
        numbers = (
            self._documents[place.passage.document].page_of(place.passage.span.start)
            for place in places
        )
        return [str(number) for number in sorted({*filter(None, numbers)})]

    def _on(self, pages: tuple[int, int], places: Sequence[FoundQuote]) -> list[FoundQuote]:
        """Return those places that are on some pages."""
        return [
            place
            for place in places
            if self._documents[place.passage.document].pages(pages).overlap(place.passage.span)
        ]

    def _places(self, quote: Quote) -> list[list[FoundQuote]]:
        """Return the locations of each part of a quote, best first; ellipses separate parts."""
        documents = self._named(quote.document) if quote.document else [*self._documents.values()]
        if len(documents) == 1 and (claimed := documents[0].claimed(quote)):
            return [[claimed]]
        parts = _parts(quote.text)
        if not parts:
            return [[_page(quote, documents)]]
        places = _as_written(quote.text, quote, documents)
        if not places and len(parts) > 1:
            return _in_order(parts, quote, documents)
        if not places and parts != [quote.text.strip()]:  # an ellipsis at an end
            places = _as_written(parts[0], quote, documents)
        if not places:
            nearly = [
                candidate for document in documents if (candidate := document.nearly(parts[0]))
            ]
            places = sorted(nearly, key=lambda candidate: -candidate.confidence)[:1]
        return [self._meant(places, quote)]

    def _meant(self, places: list[FoundQuote], quote: Quote) -> list[FoundQuote]:
        """Return those places of a quote that its label means."""
        on = self._on(quote.pages, places) if quote.pages else []
        places = on or places  # printed numbers may be others
        files = self._names.files(candidate.passage.document for candidate in places)
        if quote.document and len(files) > 1:
            raise _UnknownError(
                f"it stands in {len(files)} files called '{quote.document}'; write the folder "
                f"before the name, such as '{ending(files[0])}'"
            )
        if len(places) > _MOST_PLACES:
            where, remedy = "", f", or name the {'page' if quote.document else 'file or the page'}"
            if quote.pages:
                where = f"{'' if on else ', but not'} on page {quote.pages[0]}"
                remedy = "" if on else ", or correct the page"
            raise _UnknownError(
                f"it stands in more than {_MOST_PLACES} places{where}; quote more words{remedy}"
            )
        if not places:
            raise _UnknownError(self._elsewhere(quote))
        if (start := quote.start) is not None:
            return [min(places, key=lambda candidate: abs(candidate.passage.span.start - start))]
        return places

    def _elsewhere(self, quote: Quote) -> str:
        """Say why a quote was not found: it is in another document than its label names, if so."""
        named = self._named(quote.document) if quote.document else [*self._documents.values()]
        others = [document for document in self._documents.values() if document not in named]
        if others and (places := _as_written(quote.text, quote, others)):
            name = ending(*self._names.files([places[0].passage.document]))
            return (
                f"its quote is not in {quote.document}, but in {name}: correct the file column or "
                "leave it empty"
            )
        return "its quote is not in the documents, nor anything like it; was the text changed?"

    def _named(self, name: str) -> list[SearchedDocument]:
        """Return the documents that are called so: the pages of a file may be one each."""
        if ids := self._names.find(name):
            return [self._documents[name] for name in ids]
        names = self._names.shown(name)
        raise _UnknownError(
            f"no document is called '{name}'; write one of the names there are ({names}), or no "
            "name"
        )


def _called(pages: Sequence[str]) -> str:
    """Return pages as a sentence names them."""
    is_single = len(pages) == 1 and pages[0].isdecimal()
    return f"page{'' if is_single else 's'} {all_of(pages)}"


def _parts(quote: str) -> list[str]:
    """Return the parts between the ellipses of a quote; empty if it consists of ellipses."""
    pieces = [piece.strip() for piece in _ELLIPSIS.split(quote)]
    parts = [piece for piece in pieces if len("".join(piece.split())) >= _LEAST_PART]
    return parts or ([quote.strip()] if any(pieces) else [])


def _as_written(text: str, quote: Quote, documents: Sequence[SearchedDocument]) -> list[FoundQuote]:
    """Places of a text as it is: in whole words, else in parts of words, else spelt otherwise."""
    most = MOST_LOOKED_AT if quote.pages else _MOST_PLACES + 1
    for way in zip(*(document.as_written(text) for document in documents), strict=True):
        pairs = zip(documents, way, strict=True)
        if places := [
            *islice((document.at(span) for document, spans in pairs for span in spans), most)
        ]:
            return places
    return []


def _in_order(
    parts: Sequence[str], quote: Quote, documents: Sequence[SearchedDocument]
) -> list[list[FoundQuote]]:
    """The parts of a quote around its ellipses: what somebody shortened stands close together."""
    chains = [
        (*chain, document)
        for document in documents
        if (chain := document.in_order(parts, quote.pages))
    ]
    if not chains:
        raise _UnknownError(
            "no document has the parts around the ellipsis in this order; quote one passage "
            "without leaving words out"
        )
    *_, spans, document = min(chains, key=lambda chain: chain[:2])
    return [[document.at(span)] for span in spans]


def _page(quote: Quote, documents: Sequence[SearchedDocument]) -> FoundQuote:
    """The pages that are named, as an answer."""
    if quote.pages is None:
        has_offsets = quote.start is not None or quote.end is not None
        only = "offsets alone say nothing outside the document; quote the words"
        raise _UnknownError(only if has_offsets else _NOT_QUOTED)
    if quote.document:
        documents = [
            document for document in documents if document.pages(quote.pages).length
        ] or documents[:1]
    if len(documents) != 1:
        raise _UnknownError("a page number alone does not name a document; name the file")
    span = documents[0].pages(quote.pages)
    if not span.of(documents[0].text).strip():
        raise _UnknownError(
            f"there is no text on page {quote.pages[0]} of its document; quote the words"
        )
    return documents[0].at(span)
