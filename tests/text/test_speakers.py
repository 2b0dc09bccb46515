import pytest

from rag_nodes.text.passages.units import Speakers, TextRun, units_of

MEETING = "Ann: We met. The pump is old.\nBob: Is it? Ann said so.\nAnn: It is. Buy one.\nBob: Yes."


def speaker_of(said: str, text: str = MEETING) -> tuple[str, ...]:
    return Speakers(text).at(text.index(said))


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
