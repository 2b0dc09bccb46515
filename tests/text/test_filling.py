from itertools import pairwise

import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

from rag_nodes.text import filling
from rag_nodes.text.filling import MOST_LOST, Ranked, Repeat, fill
from rag_nodes.text.spans import Span, merge
from rag_nodes.text.tokens import count_tokens
from rag_nodes.text.tokens.encodings import DEFAULT_ENCODING, Encoder, load_encoder

SENTENCES = [f"Pump number {n} is checked on day {n * 3} of the month." for n in range(400)]
TEXT = " ".join(SENTENCES)
WORDS = st.sampled_from(
    [
        "pump",
        "Wasser.",
        "ポンプ。",
        "👩🏽‍🚀",
        "e\u0301e\u0301",
        "\r\n",
        "\n\n",
        "| a | b |\n",
        "# A\n",
        "क्षि",
    ]
)
MOST_TOKENS_OF_A_CHARACTER = 24


def rank_spans(*spans: tuple[int, int], text: str = TEXT, document: str = "a") -> list[Ranked]:
    return [Ranked(document, Span(*span), text[slice(*span)]) for span in spans]


def tokens(spans: list[Span], text: str = TEXT) -> int:
    return sum(count_tokens(text[span.start : span.end]) for span in spans)


@st.composite
def rankings(draw: st.DrawFn) -> tuple[str, list[Ranked]]:
    text = " ".join(draw(st.lists(WORDS, min_size=1, max_size=120)))
    offsets = st.integers(0, len(text))
    spans = draw(st.lists(st.tuples(offsets, offsets), min_size=1, max_size=12))
    passages = []
    for left, right in spans:
        start, end = sorted((left, right))
        core = Span(start, (start + end) // 2) if draw(st.booleans()) else None
        if draw(st.booleans()):
            core = Span((start + end) // 2, end)
        passages.append(Ranked("a", Span(start, end), text[start:end], core))
    return text, passages


def test_parts_stand_in_the_order_of_the_text_though_that_with_the_core_is_read_first() -> None:
    whole = Span(0, len(TEXT))
    inner, outer = rank_spans((2000, 3000))[0], Ranked("a", whole, TEXT, core=Span(4000, 4100))
    assert fill([inner, outer], None).parts[1] == (Span(0, 2000), Span(3000, len(TEXT)))


@given(rankings(), st.integers(1, 400))
def test_the_budget_is_filled_and_never_exceeded_and_nothing_is_paid_twice(
    ranking: tuple[str, list[Ranked]], budget: int
) -> None:
    text, passages = ranking
    filled = fill(passages, budget)
    parts = [part for own in filled.parts for part in own]
    assert filled.tokens == tokens(parts, text) <= budget
    assert sum(part.length for part in parts) == sum(span.length for span in merge(parts))
    for passage, own in zip(passages, filled.parts, strict=False):
        assert all(passage.span.start <= p.start < p.end <= passage.span.end for p in own)
    everything = fill(passages, None)
    if everything.tokens > budget:
        # What is left is at most the loss that is allowed, or too small for the next character.
        assert budget - filled.tokens <= budget * MOST_LOST + MOST_TOKENS_OF_A_CHARACTER
    else:
        assert budget - filled.tokens <= budget * MOST_LOST or filled == everything


ACCENTED = "pump e\u0301e\u0301 pump"
FAMILY = "👩🏽‍🚀"


@given(rankings(), st.integers(1, 100))
@example((ACCENTED, [Ranked("a", Span(0, 14), ACCENTED, core=Span(8, 14))]), 1)
@example((FAMILY, [Ranked("a", Span(0, 4), FAMILY, core=Span(2, 4))]), 2)
def test_no_split_falls_inside_what_a_reader_sees_as_one_character(
    ranking: tuple[str, list[Ranked]], budget: int
) -> None:
    _, passages = ranking
    for passage, own in zip(passages, fill(passages, budget).parts, strict=False):
        inner = {passage.span.start + match.end() for match in regex.finditer(r"\X", passage.text)}
        edges = {edge for other in passages for edge in other.span}
        for part in own:
            assert part.end in inner | edges
            assert part.start in inner | edges


def test_the_last_passage_is_truncated_after_a_sentence_where_that_loses_little() -> None:
    [[part]] = fill(rank_spans((0, len(TEXT))), 1500).parts
    assert TEXT[: part.end].endswith("of the month.")
    assert 1500 * (1 - MOST_LOST) <= tokens([part]) <= 1500


def test_the_last_passage_is_truncated_after_a_word_where_a_sentence_would_lose_much() -> None:
    filled = fill(rank_spans((0, len(TEXT))), 107)
    [[part]] = filled.parts
    assert filled.tokens >= 105
    assert TEXT[part.end] == " "
    assert not TEXT[: part.end].endswith(".")


def test_a_text_without_words_is_split_at_a_token() -> None:
    text = "水" * 500
    filled = fill(rank_spans((0, 500), text=text), 100)
    assert filled.tokens >= 98
    assert filled.parts[0][0].start == 0


@given(rankings(), st.integers(1, 400))
def test_an_exact_budget_is_full_but_for_a_character_of_several_tokens(
    ranking: tuple[str, list[Ranked]], budget: int
) -> None:
    text, passages = ranking
    filled = fill(passages, budget, exact=True)
    parts = [part for own in filled.parts for part in own]
    assert filled.tokens == tokens(parts, text) <= budget
    if fill(passages, None).tokens > budget:
        assert budget - filled.tokens <= MOST_TOKENS_OF_A_CHARACTER


@pytest.mark.parametrize("size", [40, 400, 4000])
@pytest.mark.parametrize("budget", [500, 1000, 1001, 1999])
def test_an_exact_budget_of_words_is_full_to_a_token(size: int, budget: int) -> None:
    starts = range(0, len(TEXT) - size, size)
    assert (
        fill(rank_spans(*((at, at + size) for at in starts)), budget, exact=True).tokens == budget
    )


def test_shared_text_of_passages_is_read_and_counted_once() -> None:
    filled = fill(rank_spans((0, 600), (300, 900), (100, 200)), None)
    assert filled.parts == ((Span(0, 600),), (Span(600, 900),), ())
    assert filled.tokens == tokens([Span(0, 600), Span(600, 900)])


def test_a_passage_around_one_that_was_read_adds_what_stands_on_either_side() -> None:
    assert fill(rank_spans((300, 600), (0, 900)), None).parts[1] == (Span(0, 300), Span(600, 900))


def test_passages_of_two_documents_share_nothing() -> None:
    both = [*rank_spans((0, 300)), *rank_spans((0, 300), document="b")]
    assert fill(both, None).parts == ((Span(0, 300),), (Span(0, 300),))


@pytest.mark.parametrize("core", [Span(0, 55), Span(9000, 9055), Span(19000, 19055)])
def test_a_match_is_kept_if_its_context_does_not_fit(core: Span) -> None:
    passage = Ranked("a", Span(0, 20_000), TEXT[:20_000], core)
    filled = fill([passage], 300)
    [[part]] = filled.parts
    assert part.start <= core.start
    assert core.end <= part.end
    assert filled.tokens >= 294


def test_a_budget_with_two_percent_left_is_full_and_begins_no_further_passage() -> None:
    first = next(at for at in range(len(TEXT)) if count_tokens(TEXT[:at]) == 197)
    filled = fill(rank_spans((0, first), (first, first + 400)), 200)
    assert filled.tokens == 197
    assert len(filled.parts) == 1
    assert not filled.truncated


def test_a_match_is_read_before_the_text_in_front_of_it() -> None:
    match, core = Span(600, 700), Span(700, 800)
    around = Ranked("a", Span(0, 1000), TEXT[:1000], core)
    budget = count_tokens(TEXT[600:700]) + count_tokens(TEXT[700:800])
    filled = fill([*rank_spans((match.start, match.end)), around], budget)
    assert all(part.start >= core.start for part in filled.parts[1])
    assert sum(part.overlap(core) for part in filled.parts[1]) > 0


HEADED = "# Deck\n\nIt is blue. The pump is on the left side of the deck.\n\n# Hall\n\nIt is red."


def in_sentences(core: Span | None = None, *, text: str = HEADED) -> Ranked:
    """Return a text whose sentences are known."""
    sentence_starts = (text.index(own) for own in ("It is blue.", "The pump", "It is red."))
    ends = (text.index(".", at) + 1 for at in sentence_starts)
    starts = (text.index(own) for own in ("It is blue.", "The pump", "It is red."))
    sentences = tuple(map(Span, starts, ends))
    return Ranked("a", Span(0, len(text)), text, core, sentences=sentences)


@pytest.mark.parametrize(
    ("budget", "read"),
    [
        (7, "# Deck\n\nIt is blue."),
        (13, "# Deck\n\nIt is blue."),
        (23, "# Deck\n\nIt is blue. The pump is on the left side of the deck."),
        (5, "It is blue."),
        (2, "It is"),
    ],
)
def test_known_sentences_are_read_whole_below_their_headings(budget: int, read: str) -> None:
    first = in_sentences().sentences[0]
    [[part]] = fill([in_sentences(first)], budget).parts
    assert part.of(HEADED) == read
    assert fill([in_sentences(first)], budget).truncated == (read == "It is")


def test_sentences_behind_one_that_does_not_fit_are_read() -> None:
    first, pump, last = in_sentences().sentences
    passages = [
        in_sentences()._replace(span=own, text=own.of(HEADED), sentences=(own,), core=own)
        for own in (first, pump, last)
    ]
    assert fill(passages, 9).parts == ((first,), (), (last,))


def test_a_heading_alone_is_not_read() -> None:
    cut = HEADED.index("It is red.") - 2
    headed = in_sentences()
    short = headed._replace(span=Span(0, cut), text=HEADED[:cut], sentences=headed.sentences[:2])
    assert fill([short], None).parts == ((Span(0, headed.sentences[1].end),),)


def test_a_copy_inside_a_passage_is_left_out() -> None:
    headed = in_sentences()
    copy = Repeat("a", headed.sentences[1])
    parts = fill([headed._replace(repeats=(copy,))], None).parts[0]
    assert [part.of(HEADED) for part in parts] == ["# Deck\n\nIt is blue.", "# Hall\n\nIt is red."]


class PlainCounts:
    """Counts of spans of a text, each of which is encoded on its own."""

    def __init__(self, text: str) -> None:
        self.text = text

    def count(self, start: int, end: int) -> int:
        return count_tokens(self.text[start:end])


@given(st.lists(WORDS, min_size=1, max_size=60), st.data())
def test_sentences_are_chosen_as_if_each_try_was_encoded_on_its_own(
    words: list[str], data: st.DataObject
) -> None:
    text = " ".join(words)
    cuts = data.draw(st.lists(st.integers(0, len(text)), min_size=2, max_size=40, unique=True))
    sentences = tuple(Span(*pair) for pair in pairwise(sorted(cuts)))
    start = data.draw(st.integers(0, sentences[0].start))
    core = data.draw(st.none() | st.sampled_from(sentences))
    passage = Ranked("a", Span(start, len(text)), text[start:], core, sentences=sentences)
    budget = data.draw(st.integers(1, count_tokens(text) + 1))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(filling, "token_index", PlainCounts)
        plain = fill([passage], budget)
    assert fill([passage], budget) == plain


def test_the_work_of_filling_a_budget_with_sentences_grows_with_the_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    encoder = type(load_encoder(DEFAULT_ENCODING))
    encode, encoded = encoder.encode, [0]

    def counting(self: Encoder, text: str) -> object:
        encoded[0] += len(text)
        return encode(self, text)  # type: ignore[arg-type] # the same class

    monkeypatch.setattr(encoder, "encode", counting)
    places = [TEXT.index(sentence) for sentence in SENTENCES]
    own = tuple(Span(at, at + len(text)) for at, text in zip(places, SENTENCES, strict=True))
    fill([Ranked("a", Span(0, len(TEXT)), TEXT, own[0], sentences=own)], 3000)
    assert encoded[0] < 6 * len(TEXT)


@given(rankings(), st.integers(1, 200), st.data())
def test_what_was_read_is_known_as_if_all_of_it_was_compared(
    ranking: tuple[str, list[Ranked]], budget: int, data: st.DataObject
) -> None:
    _, passages = ranking
    copies = st.lists(st.sampled_from(passages), max_size=3)
    passages = [
        passage._replace(repeats=tuple(Repeat("a", copy.span) for copy in data.draw(copies)))
        for passage in passages
    ]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(filling, "_touching", lambda read, _: slice(0, len(read)))
        plain = fill(passages, budget)
    assert fill(passages, budget) == plain


def test_the_work_of_filling_a_budget_with_passages_grows_with_their_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    merged: list[Span] = []

    def noted(spans: list[Span]) -> list[Span]:
        merged.extend(spans)
        return merge(spans)

    monkeypatch.setattr(filling, "merge", noted)
    fill(rank_spans(*((at, at + 10) for at in range(0, 10_000, 20))), None)
    assert len(merged) < 4 * 500
