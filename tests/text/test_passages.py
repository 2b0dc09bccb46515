"""What of retrieved text is worth reading, sentence by sentence."""

from collections.abc import Callable
from itertools import pairwise
from math import log
from random import Random

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from steps import steps_of
from strategies import TEXTS

from rag_nodes.text.filling import MOST_LOST, Ranked, fill
from rag_nodes.text.passages import (
    LEAST_WEIGHT,
    PassageRanker,
    Read,
    Similarity,
    TextRun,
    equal_in,
    joined_runs,
    normalised,
)
from rag_nodes.text.passages.scorer import MultiWidthScorer
from rag_nodes.text.passages.speakers import Speakers, is_transcript
from rag_nodes.text.passages.units import Units, units_of
from rag_nodes.text.spans import Span

FERRY = (
    "The ferry leaves at nine. Dogs travel free on the car deck. Bicycles cost four euros each. "
    "The café opens at ten and sells soup. The last boat returns at six in the evening."
)
MUSEUM = (
    "The museum opens at ten. Children pay nothing. A ticket costs nine euros. The guide is free."
)


def similar(near: Callable[[TextRun, int], float], largest: float = LEAST_WEIGHT) -> Similarity:
    return Similarity(near, lambda _: largest)


def passages_of(question: str, runs: list[TextRun], budget: int) -> list[Read]:
    return PassageRanker(question, runs).passages(budget)


def read_passages(question: str, texts: dict[str, str], budget: int) -> list[str]:
    runs = [TextRun(name, 0, text) for name, text in texts.items()]
    return [text_of(passage, runs) for passage in passages_of(question, runs, budget)]


def text_of(passage: Read, runs: list[TextRun]) -> str:
    run = runs[passage.run]
    return run.text[passage.span.start - run.start : passage.span.end - run.start]


def test_the_sentence_with_the_words_of_the_question_is_read_first() -> None:
    best, *_ = read_passages("What do bicycles cost?", {"ferry": FERRY}, 10)
    assert best == "Bicycles cost four euros each."


def test_words_meet_in_any_of_their_forms() -> None:
    best, *_ = read_passages("Is there a bicycle?", {"ferry": FERRY}, 10)
    assert best == "Bicycles cost four euros each."


@pytest.mark.parametrize(
    ("question", "text", "answer"),
    [
        ("Was kosten die Fahrräder?", "Die Fähre ist blau. Ein Fahrrad kostet vier.", "Ein F"),
        ("狗可以上船吗?", "渡轮九点出发。狗可以免费乘船。咖啡馆十点开门。", "狗"),
        ("कुत्ते कैसे यात्रा करते हैं?", "नाव नौ बजे चलती है। कुत्ते मुफ्त यात्रा करते हैं।", "कुत्ते"),
        ("สุนัข", "เรือออกเก้าโมง\n\nสุนัขเดินทางฟรี", "สุนัข"),
        ("Сколько стоит билет?", "Это не паром, и он синий. Билеты стоят девять.", "Бил"),
    ],
)
def test_the_answer_is_read_first_in_every_script(question: str, text: str, answer: str) -> None:
    best, *_ = read_passages(question, {"ferry": text}, 8)
    assert best.startswith(answer)


def test_context_decides_between_equal_sentences() -> None:
    texts = {
        "museum": "The museum is old. It has a garden. A ticket costs nine euros.",
        "ferry": "The ferry is blue. It has a deck. A ticket costs four euros.",
    }
    passages = read_passages("What does a ticket cost on the ferry?", texts, 40)
    wanted = [
        next(at for at, passage in enumerate(passages) if euros in passage)
        for euros in ("four", "nine")
    ]
    assert wanted == sorted(wanted)


def test_the_headings_above_a_sentence_count_for_it_however_far_up_they_are() -> None:
    below = "It was built long ago and is blue. " * 20 + "Dogs travel free."
    runs = [TextRun(name, 0, f"## {name}\n\n{below}") for name in ("Buses", "Ferries")]
    best, *_ = passages_of("Do dogs travel free on a ferry?", runs, 20)
    assert runs[best.run].document == "Ferries"
    assert text_of(best, runs) == "Dogs travel free."


def test_a_sentence_nearly_as_good_as_the_best_is_read_with_it() -> None:
    text = "Dogs bark. A bicycle costs four euros. A bicycle costs five euros. Cats sleep."
    best, *_ = read_passages("What does a bicycle cost in euros?", {"ferry": text}, 60)
    assert best == "A bicycle costs four euros. A bicycle costs five euros."


@pytest.mark.parametrize("question", ["", " ", "?!", "zzz", "\ud800"])
def test_a_question_that_says_nothing_is_answered_in_reading_order(question: str) -> None:
    passages = passages_of(question, [TextRun("ferry", 0, FERRY)], 1_000)
    assert [passage.span for passage in passages] == sorted(passage.span for passage in passages)
    assert passages[0].span.start == 0


def test_a_question_of_function_words_alone_asks_for_them() -> None:
    best, *_ = read_passages("on the", {"museum": MUSEUM, "ferry": FERRY}, 10)
    assert best == "Dogs travel free on the car deck."


@pytest.mark.parametrize("runs", [[], [TextRun("a", 0, "")], [TextRun("a", 0, " \n")]])
def test_empty_texts_have_no_sentences(runs: list[TextRun]) -> None:
    assert passages_of("What do bicycles cost?", runs, 100) == []


def test_one_ranker_serves_every_budget() -> None:
    question = "What does a ticket for a bicycle cost?"
    runs = [TextRun("ferry", 0, FERRY * 9), TextRun("museum", 0, MUSEUM * 9)]
    ranker = PassageRanker(question, runs)
    for budget in (400, 50, 100):
        assert ranker.passages(budget) == passages_of(question, runs, budget)


RUNS = st.lists(TEXTS, max_size=4).map(
    lambda texts: [TextRun(f"d{at % 2}", at * 100_000, text) for at, text in enumerate(texts)]
)
QUESTIONS = TEXTS | st.text(st.characters(), max_size=40) | st.just("Where is the quick brown fox?")


@given(QUESTIONS, RUNS, st.integers(1, 300))
def test_passages_are_disjoint_visible_slices_that_fill_the_budget(
    question: str, runs: list[TextRun], budget: int
) -> None:
    passages = passages_of(question, runs, budget)
    assert passages == passages_of(question, runs, budget)
    spans = sorted((runs[passage.run].document, passage.span) for passage in passages)
    assert all(a[0] < b[0] or a[1].end <= b[1].start for a, b in pairwise(spans))
    texts = [text_of(passage, runs) for passage in passages]
    assert all(
        len(text) == passage.span.length for passage, text in zip(passages, texts, strict=True)
    )
    assert not any(text.isspace() for text in texts)
    filled = fill(
        [
            Ranked(runs[passage.run].document, passage.span, text_of(passage, runs))
            for passage in passages
        ],
        budget,
    )
    whole = sum(len("".join(run.text.split())) for run in runs)
    repeats = PassageRanker(question, runs).repeats
    again = any(repeats.places(run.document, Span(0, 10**9)) for run in runs)
    everything = again or sum(len("".join(text.split())) for text in texts) == whole
    assert filled.truncated or everything or filled.tokens >= budget * (1 - MOST_LOST)


@given(QUESTIONS, RUNS, st.randoms(use_true_random=False))
def test_the_order_of_runs_decides_nothing_but_ties(
    question: str, runs: list[TextRun], random: Random
) -> None:
    repeats = PassageRanker(question, runs).repeats  # of equal sentences the first is read
    assume(not any(repeats.places(run.document, Span(0, 10**9)) for run in runs))
    mixed = sorted(runs, key=lambda _: random.random())
    ours, others = (passages_of(question, each, 10**6) for each in (runs, mixed))
    assert sum(passage.score for passage in ours[:1]) == sum(
        passage.score for passage in others[:1]
    )
    assert sorted(text_of(passage, runs) for passage in ours) == sorted(
        text_of(passage, mixed) for passage in others
    )


@pytest.mark.parametrize(
    "piece", ["The ferry leaves. ", "ferry ", "渡轮", "# ferry\n", "ferry\n\n"]
)
def test_steps_grow_with_the_length_of_the_text_and_no_faster(
    piece: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    passages_of("ferry", [TextRun("a", 0, piece * 10)], 100)
    once, twice = (
        steps_of(
            lambda text=piece * count: passages_of("ferry", [TextRun("a", 0, text)], 100),
            monkeypatch,
        )
        for count in (3_000, 6_000)
    )
    assert twice < 2.5 * once


def first_of(near: dict[str, float] | None) -> str:
    """The document of the best passage, of two that say the same of boats in different words."""
    runs = [TextRun("ferry", 0, "The boat is cheap."), TextRun("tram", 0, "The boat is quick.")]
    ranker = PassageRanker(
        "What does a boat cost?", runs, near and similar(lambda run, _: near[run.document])
    )
    return runs[ranker.passages(5)[0].run].document


def test_similarity_decides_if_words_are_tied() -> None:
    assert first_of(None) == "ferry"
    assert first_of({"ferry": 0.1, "tram": 0.6}) == "tram"
    assert first_of({"ferry": 0.6, "tram": 0.1}) == "ferry"


def test_nearness_that_is_the_same_everywhere_changes_nothing() -> None:
    runs = [TextRun("ferry", 0, FERRY), TextRun("museum", 0, MUSEUM)]
    for budget in (5, 20, 60):
        plain = PassageRanker("When does it open at ten?", runs).passages(budget)
        same = similar(lambda *_: 0.3, 1.6)
        alike = PassageRanker("When does it open at ten?", runs, same).passages(budget)
        assert [passage.span for passage in alike] == [passage.span for passage in plain]


def test_nearness_alone_finds_nothing_where_no_word_of_the_question_is() -> None:
    runs = [TextRun("ferry", 0, FERRY)]
    passages = PassageRanker("zebra?", runs, similar(lambda _, offset: float(offset))).passages(30)
    assert all(passage.score == 0 for passage in passages)


def test_nearness_is_asked_for_places_of_the_document() -> None:
    asked: list[tuple[str, int]] = []

    def near(run: TextRun, offset: int) -> float:
        asked.append((run.document, offset))
        return 0.0

    PassageRanker("boat", [TextRun("ferry", 100, FERRY)], similar(near))
    assert asked[0] == ("ferry", 100)
    assert asked[1] == ("ferry", 100 + FERRY.index("Dogs"))


def test_a_sentence_with_the_word_is_read_before_one_with_the_word_only_in_its_heading() -> None:
    runs = [
        TextRun("above", 0, "# Ferry\n\nIt was built long ago.\n\nThe deck is blue today."),
        TextRun("own", 0, "# Boats\n\nIt was built long ago.\n\nThe ferry is blue too."),
    ]
    blue = [
        passage
        for passage in passages_of("A blue ferry?", runs, 30)
        if "blue" in text_of(passage, runs)
    ]
    assert runs[blue[0].run].document == "own"


def test_shorter_sentences_weigh_more_as_in_bm25() -> None:
    letters, counts = np.array([100.0, 300.0, 200.0]), np.array([[1.0], [1.0], [0.0]])
    spans = [Span(0, 100), Span(101, 401), Span(402, 602)]
    units = Units(
        np.zeros(3, np.intp),
        spans,
        spans,
        letters,
        counts,
        {},
        {"": "en"},
        *[np.zeros(3, bool)] * 2,
    )
    alone = (
        MultiWidthScorer(units).scores(0) / 2
    )  # the widest window is that of the unit alone, too
    rarity = log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    assert alone.tolist() == pytest.approx(
        [
            rarity * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 100 / 200)),
            rarity * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 300 / 200)),
            0.0,
        ]
    )


def test_a_short_sentence_with_the_word_is_read_before_a_long_one_that_has_it_twice() -> None:
    long = (
        "In the long years before the war the old dog of the harbour master slept on the quay "
        "beside another dog until the evening boat came back from the island with the mail."
    )
    runs = [TextRun("long", 0, long), TextRun("short", 0, "The dog travels free.")]
    best, *_ = passages_of("What about a dog?", runs, 60)
    assert runs[best.run].document == "short"


def test_overlapping_and_touching_pieces_of_a_document_become_one_run() -> None:
    pieces = [TextRun("a", 6, "world"), TextRun("b", 0, "other"), TextRun("a", 0, "hello worl")]
    assert joined_runs(pieces) == [TextRun("a", 0, "hello world"), TextRun("b", 0, "other")]


TEXT = "The ferry leaves at nine. Dogs travel free on the car deck."


@given(st.lists(st.tuples(st.integers(0, len(TEXT)), st.integers(0, 20)), max_size=12))
def test_runs_are_slices_with_gaps_between_them_and_hold_what_the_pieces_hold(
    places: list[tuple[int, int]],
) -> None:
    pieces = [TextRun("a", start, TEXT[start : start + size]) for start, size in places]
    runs = joined_runs(pieces)
    held = [set(range(run.start, run.start + len(run.text))) for run in runs]
    assert all(TEXT.startswith(run.text, run.start) for run in runs)
    assert all(max(low) + 1 < min(high) for low, high in pairwise(filter(None, held)))
    assert set().union(*held) == {
        at for piece in pieces for at in range(piece.start, piece.start + len(piece.text))
    }


def score_sentences(monkeypatch: pytest.MonkeyPatch, *scores: float) -> None:
    """Have the sentences of a text scored like this, whatever their words."""
    monkeypatch.setattr(MultiWidthScorer, "scores", lambda *_: np.array(scores))


def test_a_neighbour_joins_a_passage_if_it_scores_85_percent_of_the_best_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    score_sentences(monkeypatch, 0.84, 1.0, 0.86, 0.2)
    text = "The boat leaves. It costs four euros. Dogs are free. Soup is sold."
    passage, *_ = read_passages("boat", {"ferry": text}, 100)
    assert passage == "It costs four euros. Dogs are free."


@pytest.mark.parametrize(("words", "best"), [(0.7, "second"), (0.62, "first")])
def test_nearness_in_meaning_outweighs_a_small_difference_of_the_words_only(
    monkeypatch: pytest.MonkeyPatch, words: float, best: str
) -> None:
    score_sentences(monkeypatch, 1.0, words, 0.0)
    runs = [TextRun(name, 0, "The boat is cheap.") for name in ("first", "second", "third")]
    near = similar(lambda run, _: float(run.document == "second"))
    ranker = PassageRanker("boat", runs, near)
    assert runs[ranker.passages(100)[0].run].document == best


def meeting(turns: int = 12, names: tuple[str, ...] = ("Ann", "Ben"), other: int = 0) -> list[str]:
    """Return the lines of a meeting: turns of each name in order, then lines without a label."""
    spoken = [f"{names[at % len(names)]}: Turn {at} is about boat {at}." for at in range(turns)]
    return [*spoken, *[f"Line {at} is said by nobody." for at in range(other)]]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (meeting(10), True),
        (meeting(9), False),
        (meeting(12, ("Ann",)), False),
        (meeting(10, ("Ann", "Ben", "Cleo", "Dan", "Eve")), True),
        (meeting(10, ("Ann", "Ben", "Cleo", "Dan", "Eve", "Finn")), False),
        (meeting(12, other=4), True),
        (meeting(12, other=5), False),
    ],
)
def test_a_text_is_a_transcript_if_most_lines_begin_with_one_of_few_names(
    lines: list[str], expected: bool
) -> None:
    assert is_transcript([Speakers("\n\n".join(lines))]) is expected
    parts = ("\n".join(lines[:3]), "\n".join(lines[3:]))
    assert is_transcript(map(Speakers, parts)) is expected


def test_an_answer_goes_on_over_the_turns_of_a_transcript_and_of_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    score_sentences(monkeypatch, *[0.4] * 5, 0.6, 1.0, 0.84, 0.49, *[0.4] * 3)
    lines = meeting()
    [spoken, *_] = read_passages("boat", {"meeting": "\n\n".join(lines)}, 100)
    assert spoken == "\n\n".join(lines[5:8])
    plain = [line.replace(":", "") for line in lines]
    [written, *_] = read_passages("boat", {"report": "\n\n".join(plain)}, 100)
    assert written == plain[6]


def test_the_widest_window_counts_four_times_in_a_transcript() -> None:
    text = "\n\n".join(meeting())
    units = units_of("boat 7?", [TextRun("meeting", 0, text)])
    assert units.transcripts.all()
    plain = MultiWidthScorer(units._replace(transcripts=~units.transcripts)).scores(400)
    widest = MultiWidthScorer(units)._at(400)
    # Widths of 0, 200 and 400 letters.
    assert MultiWidthScorer(units).scores(400) == pytest.approx((plain + 3 * widest) * 3 / 6)


def test_a_document_that_is_no_transcript_is_scored_as_without_one_beside_it() -> None:
    runs = [TextRun("meeting", 0, "\n\n".join(meeting())), TextRun("ferry", 0, FERRY)]
    units = units_of("Which boat?", runs)
    assert units.transcripts.tolist() == (units.runs == 0).tolist()
    plain = units._replace(transcripts=np.zeros_like(units.transcripts))
    same = MultiWidthScorer(units).scores(400) == MultiWidthScorer(plain).scores(400)
    assert same[units.runs == 1].all()


@given(
    TEXTS, st.integers(0, 60), st.integers(1, 30), st.sampled_from([str, str.upper, str.casefold])
)
def test_a_quote_is_found_in_any_case_and_white_space(
    text: str, start: int, size: int, change: Callable[[str], str]
) -> None:
    quote = change("  ".join(text[start : start + size].split()))
    assume(normalised(quote) in normalised(text))
    place = equal_in(quote, text)
    assert (place is None) == (not quote)
    if place:
        assert normalised(quote) in normalised(place.of(text))
        assert normalised(quote) not in normalised(text[place.start + 1 : place.end])
        assert normalised(quote) not in normalised(text[place.start : place.end - 1])


def test_a_quote_is_found_where_a_letter_folds_into_several() -> None:
    assert equal_in("große STRASSE 7", "In der Große\n Straße 7a.") == Span(7, 22)


@pytest.mark.parametrize(
    ("quote", "text", "start"),
    [
        ("1 metres per second", "It rises 21 metres per second.", None),
        ("21 metres", "It rises 21 metres.", 9),
        ("1 metres", "21 metres or 1 metres", 13),
        ("5 metres", "2.5 metres", None),
        ("2", "2.5 metres", None),
        ("250 metres", "1,250 metres", None),
        ("it is 2", "It is 2.", 0),
        ("able", "The cable is stable.", None),
        ("5 m", "5 m² of sand", None),
        ("pumpe", "die Pumpe¹ läuft", 4),
        ("cafe", "cafe\u0301", None),
        ("5 米高", "机器15 米高。", None),
        ("米高", "机器15 米高。", 5),
        ("器有二米", "机器有二米高。", 1),
        ("スト", "テストです", 1),
        ("สวย", "เมืองสวยมาก", 5),
        ("서울", "나는 서울에서 왔다", 3),
    ],
)
def test_a_quote_is_found_in_whole_words_and_numbers(
    quote: str, text: str, start: int | None
) -> None:
    place = equal_in(quote, text, whole_words=True)
    assert (place and place.start) == start
    assert equal_in(quote, text)
