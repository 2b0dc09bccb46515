"""Values for the template of a question with its answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.apps.markup import count, render, seconds
from rag_nodes.apps.panes.difference import all_of, difference
from rag_nodes.apps.panes.hits import anchor, cited_for, hit_view, places_of
from rag_nodes.apps.panes.text import answer_text, growing_text, quote_text
from rag_nodes.apps.visitors.columns import headline_of
from rag_nodes.evaluation.compare.evidence import found_also_by
from rag_nodes.evaluation.wording import all_of as all_of_names
from rag_nodes.models.prices import dollars
from rag_nodes.parsers.recovery import recovery_in_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from markupsafe import Markup

    from rag_nodes.apps.panes.difference import Difference, SharedSentence
    from rag_nodes.apps.panes.hits import CitedPlace
    from rag_nodes.apps.visitors.turns import Turn
    from rag_nodes.evaluation.compare import Column
    from rag_nodes.query import Answer

_KINDS = {
    "extract": "Quoted from the documents",
    "nothing": "No answer found",
    "retrieval": "Retrieved passages",
}
_UNSOURCED = "answered without naming a source: nothing to show on the page"


class SentencePlace(NamedTuple):
    """A place that is cited for a sentence, and by which columns: title, and place in its answer.

    `place` is that of the first of them.
    """

    place: CitedPlace
    cited_by: tuple[tuple[str, CitedPlace], ...]


class SentenceView(NamedTuple):
    """A sentence as HTML, and what to know of it.

    `said_by` names who says it in words, `names` by name. `sign` is "+" if the baseline does not
    say it, a minus if the baseline says it and other columns do not, as `missed_by` says, else "".
    `broken` has who breaks off in what, `unknown` who cites which sources that were not given.
    """

    text: Markup
    said_by: str
    names: tuple[str, ...]
    sign: str
    missed_by: str
    broken: tuple[tuple[str, str], ...]
    unknown: tuple[tuple[str, str], ...]
    places: tuple[SentencePlace, ...]


class ComparedTurn(NamedTuple):
    """Comparison of the answers to a question: a headline, sentences and cited places.

    `against` has for each other column how many sentences it gains and loses against the baseline.
    """

    headline: str
    sentences: list[SentenceView]
    places: dict[str, list[CitedPlace]]
    against: dict[str, tuple[int, int]]


def compared_turn(turn: Turn, baseline: str = "") -> ComparedTurn:
    """Compare the answers to a question with each other, and with that of the baseline."""
    answers = {
        column.name: column.answer
        for column in turn.columns
        if column.answer and column.answer.text and column.answer.kind != "nothing"
    }
    compared = difference(answers, turn.edges)
    places = {
        column.name: places_of(turn, position, column.answer)
        for position, column in enumerate(turn.columns, start=1)
        if column.answer
    }
    sentences = [
        SentenceView(
            quote_text(sentence.text),
            _said_by(sentence, compared),
            tuple(sentence.by_column),
            *_sign(sentence, compared.names, baseline),
            tuple((name, sentence.by_column[name].broken) for name in sentence.broken),
            tuple(_unknown(sentence, answers)),
            _places_of(sentence, answers, places),
        )
        for sentence in compared.sentences
    ]
    sentences.sort(key=lambda sentence: ("", "\N{MINUS SIGN}", "+").index(sentence.sign))
    headline = " ".join([compared.headline, *_silent(turn)]).strip()
    return ComparedTurn(headline, sentences, places, _against(turn, compared, baseline))


def _sign(sentence: SharedSentence, names: Sequence[str], baseline: str) -> tuple[str, str]:
    """Return how a sentence compares with the baseline, and who misses it in words."""
    if baseline not in names:
        return "", ""
    if baseline not in sentence.by_column:
        return "+", ""
    missed = [name for name in names if name not in sentence.by_column]
    misses = "misses" if len(missed) == 1 else "miss"
    return ("\N{MINUS SIGN}", f"{all_of_names(missed)} {misses} it") if missed else ("", "")


def _against(turn: Turn, compared: Difference, baseline: str) -> dict[str, tuple[int, int]]:
    """Count the sentences that each column gains and loses against the baseline."""
    if not any(column.name == baseline and column.answer for column in turn.columns):
        return {}
    keys = {
        column.name: {
            sentence.key for sentence in compared.sentences if column.name in sentence.by_column
        }
        for column in turn.columns
        if column.answer
    }
    base = keys[baseline]
    return {name: (len(own - base), len(base - own)) for name, own in keys.items()
            if name != baseline}  # fmt: skip


def turn_view(turn: Turn, baseline: str = "", *, several: bool = False) -> Markup:
    """Render a question with its answers: what differs, each sentence, a line for each column.

    Args:
        turn: the question.
        baseline: name of the column that the others are compared with; "" for none.
        several: more than one document is loaded, so that a page alone names no place.
    """
    compared = compared_turn(turn, baseline)
    cards = list(_cards(turn, compared.places))
    for card in cards:
        gained, lost = compared.against.get(str(card["name"]), (0, 0))
        is_compared = card["name"] in compared.against
        card |= {"gained": gained, "lost": lost, "is_compared": is_compared}
    # The baseline comes first, then what got worse.
    cards.sort(key=lambda card: (card["name"] != baseline, -compared.against.get(
        str(card["name"]), (0, 0))[1]))  # fmt: skip
    return render(
        "turn",
        turn=turn,
        baseline=baseline,
        headline=compared.headline,
        sentences=compared.sentences,
        cards=cards,
        faults=[(names, error) for error, names in _shared_faults(turn).items()],
        several=several
        or len({place.file for group in compared.places.values() for place in group}) > 1,
    )


def _silent(turn: Turn) -> Iterator[str]:
    """Name the columns without an answer, and say why each has none."""
    if all(column.answer and column.answer.kind == "nothing" for column in turn.columns):
        yield "No answer was found. Ask in the words of the document, or with fewer of them."
        return
    shared = {name for names in _shared_faults(turn).values() for name in names}
    for column in turn.columns:
        if column.name in shared:
            continue
        if column.name in turn.stopped:
            yield f"{column.name} was stopped."
        elif column.answer is None:
            yield f"{column.name} {'broke off' if column.partial else 'failed'}."
        elif column.answer.kind == "nothing":
            yield f"{column.name} found no answer."
        elif column.answer.kind == "generated" and not column.answer.sources:
            yield f"{column.name} {_UNSOURCED}."


def _shared_faults(turn: Turn) -> dict[str, list[str]]:
    """Return the columns that failed by the same error, by that error; it is shown once."""
    names: dict[str, list[str]] = {}
    for column in turn.columns:
        if column.answer is None and column.error and column.name not in turn.stopped:
            names.setdefault(column.error, []).append(column.name)
    return {error: failed for error, failed in names.items() if len(failed) > 1}


def _said_by(sentence: SharedSentence, compared: Difference) -> str:
    titles = [*sentence.by_column]
    if len(compared.names) == 1:
        return ""
    if len(titles) == len(compared.names):
        return f"{all_of(len(titles))} say"
    return f"Only {titles[0]}" if len(titles) == 1 else all_of_names(titles)


def _unknown(sentence: SharedSentence, answers: Mapping[str, Answer]) -> Iterator[tuple[str, str]]:
    """Yield who cites sources for a sentence that were not given, and the sources."""
    for name, version in sentence.by_column.items():
        numbers = [number for number in version.numbers if number in answers[name].unknown_sources]
        if numbers:
            yield name, ", ".join(map(str, numbers))


def _places_of(
    sentence: SharedSentence,
    answers: Mapping[str, Answer],
    places: Mapping[str, Sequence[CitedPlace]],
) -> tuple[SentencePlace, ...]:
    """Return where a sentence stands, by each column that cites something for it.

    A page of a file is one place, whoever cites it.
    """
    groups: dict[tuple[object, ...], dict[str, CitedPlace]] = {}
    for name in sorted(sentence.by_column, key=lambda name: bool(sentence.by_column[name].broken)):
        for cited in cited_for(sentence.by_column[name], answers[name], places[name]):
            key = (cited.file, cited.where or cited.headings)
            groups.setdefault(key, {}).setdefault(name, cited)
    return tuple(
        SentencePlace(next(iter(cited.values())), tuple(cited.items())) for cited in groups.values()
    )


def _cards(turn: Turn, places: Mapping[str, Sequence[CitedPlace]]) -> Iterator[dict[str, object]]:
    shared = found_also_by(
        {column.name: column.answer.hits for column in turn.columns if column.answer}
    )
    hits = [hit for column in turn.columns if column.answer for hit in column.answer.hits]
    faults = _shared_faults(turn)
    best = max((hit.similarity for hit in hits if hit.similarity is not None), default=None)
    for position, column in enumerate(turn.columns, start=1):
        answer, statistics = column.answer, column.statistics
        stored = [count(statistics.chunks, "chunk")] if statistics.chunks else []
        if statistics.mean_tokens:
            stored.append(f"{statistics.mean_tokens:.0f} tokens each")
        foreign = "splitter_class" in column.parser or "found_by" in column.parser
        card: dict[str, object] = {
            "position": position,
            "name": column.name,
            "configuration": headline_of(column.name, column.parser),
            "stored": " · ".join(stored),
            "recovery": recovery_in_words(
                statistics.not_located, statistics.chunks, always=foreign
            ),
            "warning": statistics.error,
            "stopped": growing_text(turn.stopped[column.name], quoted=False)
            if column.name in turn.stopped
            else None,
            "error": column.error or "no answer",
            "is_shared": column.error in faults,
            "partial": growing_text(column.partial, quoted=False) if column.partial else None,
            "answer": answer,
            "places": places.get(column.name, ()),
            "mark": turn.marks.get(column.name),
        }
        if answer:
            card |= {
                "anchor": anchor(turn, position),
                "kind": _kind_of(answer),
                "text": _text(turn, position, answer),
                "unknown": ", ".join(map(str, answer.unknown_sources)),
                "truncated": answer.truncated,
                "effort": _effort(column, answer),
                "passages": any(hit.found is not hit.node for hit in answer.hits),
                "hits": [
                    hit_view(turn, position, answer, hit, best, shared.get((column.name, hit.rank)))
                    for hit in answer.hits
                ],
            }
        yield card


def _kind_of(answer: Answer) -> str:
    if answer.kind == "generated":
        unsourced = "" if answer.sources else f"; it {_UNSOURCED}"
        return f"Written by {answer.answer_model or 'your query engine'}{unsourced}"
    return _KINDS.get(answer.kind, _KINDS["retrieval"])


def _text(turn: Turn, position: int, answer: Answer) -> Markup:
    """Draw the answer, its source numbers as buttons that open the chunk they were cited from."""
    anchors = [f"{anchor(turn, position)}-{hit.rank}" if (hit := answer.hit_of(citation)) else ""
               for citation in answer.citations]  # fmt: skip
    numbers = [citation.number for citation in answer.citations]
    quoted = answer.kind == "extract"

    def link(mark: int, number: int) -> tuple[str, int]:
        # Each extract has a mark and a citation of its own.
        if quoted and numbers[mark : mark + 1] == [number]:
            return anchors[mark], mark + 1
        return next((to for own, to in zip(numbers, anchors, strict=True)
                     if own == number and to), ""), 0  # fmt: skip

    return answer_text(answer.text, answer.marks, link, quoted=quoted)


def _effort(column: Column, answer: Answer) -> str:
    notes = [f"{answer.left_out} left out"] if answer.left_out else []
    notes += ["last chunk truncated"] if answer.context_truncated else []
    if lacking := answer.unsearched:
        notes.append(f"{count(lacking, 'chunk')} without keyword vector not searched")
    left = f" ({', '.join(notes)})" if notes else ""
    context = count(answer.context_tokens, "context token")
    spent = [f"{context}{left}", *([answer.widening] if answer.widening else [])]
    spent.append(seconds(column.seconds.get("total", 0.0)))
    if answer.tokens_out:
        about = "about " if answer.tokens_estimated else ""
        spent.append(f"{about}{count(answer.tokens_in, 'token')} read, {answer.tokens_out} written")
    if answer.cost:
        spent.append(dollars(answer.cost))
    if answer.embedding_tokens:
        tokens = count(answer.embedding_tokens, "token")
        spent.append(f"question embedded: {tokens}, {dollars(answer.embedding_cost)}")
    return " · ".join(spent)
