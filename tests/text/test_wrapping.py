"""Line breaks inside running text are told from those that separate."""

import textwrap

import pytest

from rag_nodes.text.wrapping import soft_breaks

PROSE = (
    "The pump stands in the hall beside the door and was painted red in spring. Nobody may move it "
    "without a permit from the office, which is open in the morning. A second pump is kept in the "
    "cellar, where it is dry, for emergencies and for the yearly test of the whole installation."
)
WRAPPED = textwrap.fill(PROSE, 60)
LONG = "This line is long enough to go on in the line that comes below it"


def join_wrapped_lines(text: str) -> list[str]:
    """The lines of a text, with a space for each line break inside running text."""
    starts = soft_breaks(text)
    pieces = [text[a:b] for a, b in zip([0, *starts], [*starts, len(text)], strict=True)]
    return "\x00".join(piece.rstrip("\r\n") for piece in pieces).replace("\x00", " ").splitlines()


def test_lines_of_a_wrapped_paragraph_are_one() -> None:
    assert join_wrapped_lines(WRAPPED) == [PROSE]


@pytest.mark.parametrize("end", ["\r\n", "\r", " \n"])
def test_every_kind_of_line_end_is_recognised_at_its_own_offset(end: str) -> None:
    text = WRAPPED.replace("\n", end)
    assert [text[:at].endswith(end) for at in soft_breaks(text)] == [True] * WRAPPED.count("\n")


def test_blank_lines_separate_paragraphs() -> None:
    assert join_wrapped_lines(f"{WRAPPED}\n\n{WRAPPED}") == [PROSE, "", PROSE]


@pytest.mark.parametrize("mark", ".?!:…。؟।")
@pytest.mark.parametrize("closing", ["", '"', ")", "»", "*"])
def test_a_line_that_ends_a_sentence_is_not_continued(mark: str, closing: str) -> None:
    assert soft_breaks(f"{LONG}{mark}{closing}\nand more of it") == []


@pytest.mark.parametrize("end", ["", ",", ";", "-", ")", "»"])
def test_a_line_that_ends_inside_a_sentence_is_continued(end: str) -> None:
    text = f"{LONG}{end}\nand more of it"
    assert soft_breaks(text) == [text.index("and more")]


def test_a_word_broken_at_the_line_end_is_left_as_it_is() -> None:
    text = "These lines come from a page with words that are divi-\nded at the ends of its lines."
    assert soft_breaks(text) == [text.index("ded")]


def test_a_line_under_60_percent_of_the_median_is_not_continued() -> None:
    lines = ["x" * 100, "y" * 100, "z" * 100, "a" * 59, "b" * 100, "c" * 60, "d" * 100]
    text = "\n\n".join(lines[:3]) + "\n\n" + "\n".join(lines[3:])
    assert soft_breaks(text) == [text.index("c"), text.index("d")]


def test_a_paragraph_on_one_line_is_not_continued() -> None:
    assert soft_breaks(f"{PROSE} and\nso on and so forth") == []
    assert soft_breaks(f"{LONG}\nand more of it\n\n{PROSE}") == []


@pytest.mark.parametrize(
    "line",
    [
        "- an item of a list",
        "* an item of a list",
        "• an item of a list",
        "2. an item of a list",
        "12) an item of a list",
        "(b) an item of a list",
        "# A heading",
        "3.2 A numbered heading",
        "| a | row |",
        "total | 16 | 24",
        "== A heading of a wiki ==",
        "_10 a numbered line of code",
        "pump   red   hall",
        "pump\tred\thall",
        "1 Introduction ........ 7",
        "-----------",
        "```",
        "<table>",
        "if (pump.red()) {",
        "Chair: Thank you all for coming here today",
        "Subject: pumps",
        "> quoted by someone else",
        "    an indented line begins a paragraph or is code",
    ],
)
def test_a_line_of_its_own_does_not_continue_the_line_above(line: str) -> None:
    assert soft_breaks(f"{LONG}\n{line}") == []


@pytest.mark.parametrize(
    "line", ["# A heading that is as long as any line of the text", "| a | b | c | d | e | f | g |"]
)
def test_nothing_continues_a_heading_or_a_row(line: str) -> None:
    assert soft_breaks(f"{line}\nand text below it") == []


def test_code_is_left_alone_between_fences_and_where_it_is_indented() -> None:
    code = "first = function_of(some, more, values)\nsecond = function_of(other, kinds, of_values)"
    assert soft_breaks(f"{PROSE}\n\n```\n{code}\n```\n\n{PROSE}") == []
    assert soft_breaks(f"{PROSE}\n\n{textwrap.indent(code, '    ')}\n\n{PROSE}") == []


def test_text_that_is_indented_as_a_whole_is_running_text() -> None:
    lines = textwrap.indent(WRAPPED, " " * 7)
    assert len(soft_breaks(lines)) == WRAPPED.count("\n")


def test_an_item_of_a_list_goes_on_in_indented_lines() -> None:
    text = textwrap.fill(f"1.  {PROSE}", 60, subsequent_indent=" " * 4)
    assert len(soft_breaks(text)) == text.count("\n")


def test_quoted_lines_of_one_level_are_running_text_and_levels_stay_apart() -> None:
    quoted = textwrap.indent(WRAPPED, "> ")
    assert len(soft_breaks(quoted)) == WRAPPED.count("\n")
    assert soft_breaks(f"> {LONG}\n>> and another voice\nand more of it") == []


def test_lines_of_an_address_below_each_other_stay_apart() -> None:
    assert soft_breaks(
        f"{WRAPPED}\n\nAnna Example\nLong Street 12\n12345 Sampletown"
    ) == soft_breaks(WRAPPED)


def test_verse_stays_as_it_is() -> None:
    verse = (
        "Tyger Tyger, burning bright,\nIn the forests of the night;\n"
        "What immortal hand or eye,\nCould frame thy fearful symmetry?"
    )
    assert soft_breaks(verse) == []
    prose = f"{WRAPPED}\n\n{WRAPPED}"
    assert soft_breaks(f"{prose}\n\n{verse.lower()}") == soft_breaks(prose)


def test_entries_stay_apart_where_lines_have_no_full_stop() -> None:
    log = "\n".join(
        f"2024-03-0{day} 10:00:00 INFO pump number {day} started" for day in range(1, 9)
    )
    inventory = "\n".join(f"Item {n} of the inventory, value {n * 7}" for n in range(1, 9))
    assert soft_breaks(log) == []
    assert soft_breaks(inventory) == []


def test_turns_of_a_meeting_stay_apart() -> None:
    turns = "\n".join(
        f"{name}: so what we wanted to say about the remote control is that it {verb}"
        for name, verb in [
            ("Project Manager", "works"),
            ("Marketing", "sells"),
            ("User Interface", "fits"),
        ]
    )
    assert soft_breaks(turns) == []


def test_text_in_capitals_is_running_text() -> None:
    assert join_wrapped_lines(WRAPPED.upper()) == [PROSE.upper()]


def test_scripts_without_case_and_from_right_to_left_are_running_text() -> None:
    japanese = (
        "多くの方は、このマニュアルを読まずにインストールしたいと思ってい\n"
        "ることでしょう。また、それが可能なように設計され\n"
        "ています。"
    )
    assert len(soft_breaks(japanese)) == 2
    arabic = textwrap.fill(
        "تقف المضخة في القاعة بجانب الباب وقد طليت باللون الأحمر في الربيع الماضي " * 2, 40
    )
    assert len(soft_breaks(arabic)) == arabic.count("\n")


@pytest.mark.parametrize("text", ["", "\n", "\n\n \n", "one line", "\r\r\n", "> \n> \n>"])
def test_a_text_without_two_lines_has_none(text: str) -> None:
    assert soft_breaks(text) == []
