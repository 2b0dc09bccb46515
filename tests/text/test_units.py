"""Units of reading: sentences, what stands for them where there are none, and who says them."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from steps import steps_of
from strategies import MARKDOWN, PLAIN

from rag_nodes.text.packing import Packer
from rag_nodes.text.passages.speakers import Speakers
from rag_nodes.text.passages.units import LONGEST, TextRun, letters, units_in, units_of

MEETING = "Ann: We met. The pump is old.\nBob: Is it? Ann said so.\nAnn: It is. Buy one.\nBob: Yes."


def read_units(text: str, language: str = "en") -> list[str]:
    return [span.of(text) for span in units_in(Packer(text, language=language))]


@pytest.mark.parametrize(
    ("language", "sentences"),
    [
        ("en", ["Dr. Smith has two dogs.", "They bark at the ferry."]),
        ("de", ["Am 3. Mai fährt die Fähre.", "Danach ist Pause."]),
        ("hi", ["नाव नौ बजे चलती है।", "कुत्ते मुफ्त यात्रा करते हैं।"]),
        ("ar", ["تغادر العبارة في التاسعة.", "هل تسافر الكلاب مجانا؟"]),
    ],
)
def test_a_unit_is_a_sentence_in_every_script_that_marks_them(
    language: str, sentences: list[str]
) -> None:
    assert read_units(" ".join(sentences), language) == sentences


@pytest.mark.parametrize(
    ("language", "sentences"),
    [
        ("zh", ["渡轮九点出发。", "狗可以免费乘船。"]),
        ("ja", ["船は九時に出ます。", "犬は無料です。"]),
    ],
)
def test_sentences_need_no_blanks_between_them(language: str, sentences: list[str]) -> None:
    assert read_units("".join(sentences), language) == sentences


def test_a_heading_belongs_to_what_follows_it() -> None:
    text = "# Ferries\n\n## Prices\n\nBicycles cost four euros. Dogs travel free."
    assert read_units(text) == [
        "# Ferries\n\n## Prices\n\nBicycles cost four euros.",
        "Dogs travel free.",
    ]


def test_words_of_the_headings_above_a_unit_count_half() -> None:
    text = "# Ferries\n\nThey are blue.\n\n## Prices\n\nDogs travel free. Cats too."
    units = units_of("ferries, prices?", [TextRun("d", 0, text)])
    assert units.counts.tolist() == [[1.5, 0], [0.5, 1.5], [0.5, 0.5]]


def test_a_heading_that_nothing_follows_is_a_unit() -> None:
    assert read_units("Dogs travel free.\n\n## Prices") == ["Dogs travel free.", "## Prices"]


def test_headings_alone_are_not_one_unit_however_many_they_are() -> None:
    text = "\n\n".join(f"## Chapter {number} of a long book" for number in range(200))
    assert all(len(unit) <= LONGEST for unit in read_units(text))


def test_rows_of_a_table_are_units() -> None:
    rows = [f"| error {at} | {'what went wrong and what to do about it ' * 3}|" for at in range(4)]
    table = "\n".join(["| code | meaning |", "|---|---|", *rows])
    assert read_units(table)[1:] == rows[1:]


def test_lines_of_code_are_read_several_at_a_time() -> None:
    code = "```\n" + "\n".join("}" for _ in range(20)) + "\n```"
    assert read_units(code) == [code]


def test_a_text_without_marks_is_split_between_words_into_about_equal_parts() -> None:
    text = "so we went to the harbour and then we saw the ferry coming in slowly " * 20
    parts = read_units(text)
    assert " ".join(parts) == text.strip()
    assert max(map(len, parts)) < 2 * min(map(len, parts))


def test_a_long_sentence_is_split_behind_phrases_rather_than_words() -> None:
    text = ", ".join(["the ferry that leaves from the old harbour in the north"] * 12) + "."
    assert all(part.endswith((",", ".")) for part in read_units(text))


def test_a_script_without_sentence_ends_is_split_at_its_blanks() -> None:
    clause = "เรือเฟอร์รี่ออกเดินทางเวลาเก้าโมงเช้าและสุนัขเดินทางฟรี"
    text = " ".join([clause] * 12)
    assert all(
        part.replace(clause, "").isspace() or part == clause for part in read_units(text, "th")
    )


def test_a_script_without_any_blank_is_split_between_what_is_seen_as_characters() -> None:
    text = "กำ" * 600
    parts = read_units(text, "th")
    assert "".join(parts) == text
    assert len(parts) > 1
    assert all(part.startswith("ก") for part in parts)


def test_a_chinese_character_stands_for_several_letters() -> None:
    assert letters("ferry") == 5
    assert letters("渡轮") == 6


@given(MARKDOWN | PLAIN | st.text(st.characters()), st.sampled_from(["en", "hi", "zh", "xx", ""]))
def test_units_are_disjoint_and_together_hold_every_visible_character(
    text: str, language: str
) -> None:
    spans = list(units_in(Packer(text, language=language)))
    assert all(span.end <= other.start for span, other in pairwise(spans))
    assert all(not span.of(text).isspace() for span in spans)
    kept = "".join("".join(span.of(text).split()) for span in spans)
    assert kept == "".join(text.split())


@pytest.mark.parametrize("piece", ["a ", "a", "天", "# a\n", "| a |\n", "e\u0301", "-", ", ", "กำ"])
def test_steps_grow_with_the_length_of_the_text_and_no_faster(
    piece: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_units(piece * 10)
    once, twice = (
        steps_of(lambda text=piece * count: read_units(text), monkeypatch)
        for count in (3_000, 6_000)
    )
    assert twice < 2.5 * once


def speaker_of(words: str, text: str = MEETING) -> tuple[str, ...]:
    return Speakers(text).at(text.index(words))


def test_a_turn_lasts_until_the_next_label() -> None:
    assert speaker_of("We met") == speaker_of("The pump") == speaker_of("Buy one") == ("Ann",)
    assert speaker_of("Is it?") == speaker_of("Ann said") == speaker_of("Yes") == ("Bob",)


def test_a_label_itself_is_in_no_turn_so_that_it_counts_once() -> None:
    assert speaker_of("Ann: We") == ()
    assert speaker_of("Bob: Is") == ()


@pytest.mark.parametrize(
    "text",
    [
        "Ann: one.\nAnn: two.",
        "host: a\nport: b\nuser: c\nname: d",
        "Note: see below.\nWarning: hot.\nNote: cold.",
        "No labels at all.",
        "",
    ],
)
def test_few_labels_or_names_that_do_not_repeat_are_no_transcript(text: str) -> None:
    speakers = Speakers(text)
    assert {speakers.at(offset) for offset in range(len(text) + 1)} == {()}


def test_a_word_of_the_label_counts_half_for_all_that_its_speaker_says() -> None:
    units = units_of("What did Ann buy?", [TextRun("d", 0, MEETING)])
    texts = [span.of(MEETING) for span in units.spans]
    named = dict(zip(texts, units.counts[:, 0].tolist(), strict=True))
    assert named["The pump is old."] == 0.5
    assert named["Ann: We met."] == named["Ann said so."] == 1
    assert named["Bob: Is it?"] == 0
