import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.text.extracts import extract

MANUAL = """# Backup service

The service copies every changed file to a second disk. It starts each night at 02:30.

## Restoring a file

Open the archive, choose the day and press Restore. A restored file keeps its old name.

| Plan | Storage | Price per month |
|------|---------|-----------------|
| Home | 200 GB | 4 euros |
| Office | 2 TB | 19 euros |

Page 3 of 10
"""
GARDEN = """Tomatoes need six hours of sun. Water them at the root, never on the leaves.
Late blight spreads in wet summers and can be slowed by wide spacing between plants."""


def quotes(question: str, *passages: str, limit: int = 3) -> list[str]:
    extracts = extract(question, passages, limit=limit)
    return [passages[span.passage][span.start : span.end] for span in extracts]


@pytest.mark.parametrize(
    ("question", "quote"),
    [
        ("How do I restore a file from the archive?", "Open the archive, choose the day and"),
        ("What slows the spread of late blight?", "Late blight spreads in wet summers"),
        ("What does the office plan cost?", "Office | 2 TB | 19 euros"),
    ],
)
def test_the_sentence_that_answers_comes_first_wherever_its_passage_ranks(
    question: str, quote: str
) -> None:
    assert quote in quotes(question, GARDEN, MANUAL)[0]
    assert quote in quotes(question, MANUAL, GARDEN)[0]


@pytest.mark.parametrize(
    ("question", "quote"),
    [
        ("Did anybody lie?", "The lying man was found by two of his friends."),
        ("Wie viele Häuser?", "Das Haus wurde im Mai an die Stadt verkauft."),
    ],
)
def test_words_of_one_stem_match_where_they_begin_differently(question: str, quote: str) -> None:
    assert quotes(question, f"Nobody was awake before seven. {quote}") == [quote]


def test_a_passage_of_a_higher_score_is_quoted_first() -> None:
    halls = ["The pump of the north hall is red.", "The pump of the south hall is blue."]
    question = "What colour has the pump?"
    usual, scored = (
        extract(question, halls, scores=scores, limit=1)[0].passage for scores in ((), (0.2, 1.0))
    )
    assert (usual, scored) == (0, 1)


@pytest.mark.parametrize("scores", [(0.0, 0.0), (-3.0, -1.0), (-1.0, -3.0)])
def test_passages_without_a_score_above_0_count_as_without_scores(scores: list[float]) -> None:
    halls = ["The pump of the north hall is red.", "The pump of the south hall is blue."]
    question = "What colour has the pump?"
    assert extract(question, halls, scores=scores) == extract(question, halls)
    below, none = (extract(question, halls, scores=(extract_, 1.0)) for extract_ in (-5.0, 0.0))
    assert below == none


@pytest.mark.parametrize("scores", [(0.2,), (0.2, 0.1, 0.3)])
def test_scores_that_are_not_one_per_passage_are_refused(scores: list[float]) -> None:
    with pytest.raises(ConfigurationError, match="give one score per passage"):
        extract("pump?", ["The pump is red.", "The pump is blue."], scores=scores)


@pytest.mark.parametrize(
    ("question", "passage", "quote"),
    [
        (
            "Wann wurde die Brücke gebaut?",
            "Der Fluss ist breit. Die alte Brücke wurde 1887 aus Stein gebaut. Viele Leute kommen.",
            "Die alte Brücke wurde 1887 aus Stein gebaut.",
        ),
        (
            "Combien de pages compte le rapport annuel ?",
            "Le comité se réunit en mai. Le rapport annuel compte 240 pages. Il est gratuit.",
            "Le rapport annuel compte 240 pages.",
        ),
        (
            "¿Dónde nace el río Tajo?",
            "El clima es seco. El río Tajo nace en la sierra de Albarracín. Hay pocos bosques.",
            "El río Tajo nace en la sierra de Albarracín.",
        ),
        (
            "Когда открылся музей?",
            "Вход платный. Музей открылся в 1912 году. Рядом находится парк.",
            "Музей открылся в 1912 году.",
        ),
        (
            "图书馆几点开门?",
            "今天的天气很好。图书馆每天早上八点开门。学生可以借五本书。",
            "图书馆每天早上八点开门。",
        ),
        (
            "図書館は何時に開きますか",
            "今日は晴れです。図書館は朝九時に開きます。本は五冊まで借りられます。",
            "図書館は朝九時に開きます。",
        ),
        (
            "पुस्तकालय कब खुलता है?",
            "आज मौसम अच्छा है। पुस्तकालय सुबह आठ बजे खुलता है। किताबें मुफ़्त हैं।",
            "पुस्तकालय सुबह आठ बजे खुलता है।",
        ),
    ],
)
def test_answers_are_found_in_many_languages(question: str, passage: str, quote: str) -> None:
    assert quotes(question, passage)[0] == quote


@pytest.mark.parametrize(
    "question",
    ["What is the capital of France?", "Who won the chess tournament in 1972?", "", "???"],
)
def test_a_question_about_something_else_gets_nothing(question: str) -> None:
    assert extract(question, [MANUAL, GARDEN]) == []


@pytest.mark.parametrize("passages", [[], [""], [" \n\n"], ["---\n\n***"]])
def test_passages_without_sentences_give_nothing(passages: list[str]) -> None:
    assert extract("Where is it?", passages) == []


def test_headings_rules_code_and_page_numbers_are_never_quoted() -> None:
    passage = (
        "# Restart the pump\n\nRestart the pump ........ 14\n\n```\nrestart pump now please\n```\n"
        "Page 14\n\nTo restart the pump, hold the red button for five seconds.\n"
    )
    assert quotes("How do I restart the pump?", passage) == [
        "To restart the pump, hold the red button for five seconds."
    ]


@pytest.mark.parametrize(
    "line",
    [
        "3.2.4. Threats to the data storage zone ... 12",
        "Threats to the data storage zone . . . . 12",
        "Threats to the data storage zone … 12",
        "Threats to the data storage zone ... 12, 24",
        "Threats to the data storage zone ... iv",
        "Threats to the data storage zone .......",
        "| Threats to the data storage zone ... 12 |",
    ],
)
def test_an_entry_of_a_table_of_contents_is_never_quoted(line: str) -> None:
    passage = f"{line}\n{line}\n\nThe storage zone is under threats from failing disks.\n"
    assert quotes("Which threats has the data storage zone?", passage) == [
        "The storage zone is under threats from failing disks."
    ]


def test_a_sentence_that_trails_off_is_no_entry() -> None:
    sentence = "The threats to the data storage zone are many, and more..."
    assert quotes("Which threats has the data storage zone?", f"{sentence}\n") == [sentence]


def test_a_long_row_of_dots_is_read_in_no_time() -> None:
    assert extract("Which threats?", [". " * 50_000 + "threats", "." * 100_000 + "threats"])


def test_a_list_item_is_quoted_without_its_marker() -> None:
    passage = "Before you start:\n\n- Charge the battery for eight hours.\n- Remove the label.\n"
    assert quotes("How long must the battery charge?", passage) == [
        "Charge the battery for eight hours."
    ]


def test_a_sentence_that_opens_with_a_pronoun_brings_the_one_before() -> None:
    (first, *_) = quotes("When does the service start at night?", MANUAL)
    assert first == (
        "The service copies every changed file to a second disk. It starts each night at 02:30."
    )


def test_a_sentence_that_overlapping_passages_share_is_quoted_once() -> None:
    sentence = "The warranty of the engine ends after five years."
    quoted = quotes("When does the engine warranty end?", f"One. {sentence}", f"{sentence} Two.")
    assert quoted == [sentence]


def test_a_fragment_is_quoted_only_where_there_is_nothing_else() -> None:
    assert quotes("What is the melting point?", "Melting point: 80") == ["Melting point: 80"]
    longer = "The melting point of the wax is 80 degrees."
    assert quotes("What is the melting point?", f"Melting point.\n\n{longer}") == [longer]


def test_the_earlier_of_two_equally_good_passages_wins() -> None:
    passages = ["Valve A opens at five bar today.", "Valve B opens at five bar today."]
    extracts = extract("At which pressure in bar opens the valve?", passages)
    assert [extract_.passage for extract_ in extracts] == [0, 1]


@pytest.mark.parametrize("limit", [0, 1, 2])
def test_no_more_extracts_than_asked_for(limit: int) -> None:
    sentences = " ".join(f"Pump {number} moves {number} litres of water." for number in range(9))
    assert len(extract("How much water moves the pump?", [sentences], limit=limit)) == limit


def test_a_word_no_passage_has_does_not_silence_the_words_all_have() -> None:
    passage = " ".join(f"Pump {number} moves {number} litres of water." for number in range(9))
    assert quotes("Does the rusty pump move water?", passage)


@given(st.text(max_size=60), st.lists(st.text(max_size=200), max_size=4))
def test_offsets_are_inside_the_passage_and_quotes_hold_something(
    question: str, passages: list[str]
) -> None:
    extracts = extract(question, passages)
    for span in extracts:
        assert passages[span.passage][span.start : span.end].strip()
        assert 0 <= span.start < span.end <= len(passages[span.passage])
        assert 0.0 < span.score <= 1.001
    assert extract(question, passages) == extracts


@pytest.mark.parametrize("unit", ["\n", " ", ".", "| ", "- ", "a", "1 ", "`", "#", "天"])
def test_degenerate_passages_are_read_in_one_go(unit: str) -> None:
    # Quadratic scanning would take minutes here and hit the limit of the whole run.
    passage = unit * 50_000 + "x\n\nThe pump moves nine litres."
    assert quotes("How many litres moves the pump?", passage)[0] == "The pump moves nine litres."


def test_the_part_of_a_sentence_that_an_overlapping_chunk_repeats_is_not_quoted_again() -> None:
    whole = "The sand filter must be rinsed backwards when the pressure is over 2.4 bar."
    parts = ["ust be rinsed backwards when the pressure is over 2.4 bar.", whole[:60]]
    extracts = extract("When must the sand filter be rinsed backwards?", [whole, *parts])
    assert [(span.passage, span.start, span.end) for span in extracts] == [(0, 0, len(whole))]


def test_neighbouring_words_of_the_question_found_side_by_side_win() -> None:
    apart = "Nodes are for data, and a transfer costs money there."
    together = "There, data transfer nodes are what costs money."
    extracts = extract("What do data transfer nodes cost?", [apart, together], limit=1)
    assert [extract_.passage for extract_ in extracts] == [1]


@pytest.mark.parametrize(
    "passage",
    [
        "Pump\n====\n\nTo restart the pump, hold the red button for five seconds.\n",
        (
            "~~~~ {.sh}\nrestart pump now please\n~~~~\n\n"
            "To restart the pump, hold the red button for five seconds.\n"
        ),
        (
            "<!-- how to restart the pump\n\nrestart the pump now please -->\n\n"
            "To restart the pump, hold the red button for five seconds.\n"
        ),
        (
            "- Do this:\n\n      ```sh\n      restart pump now please\n      ```\n\n"
            "- To restart the pump, hold the red button for five seconds.\n"
        ),
        (
            "- Do this:\n\n  ~~~ sh\n  restart pump now please\n  ~~~\n\n"
            "- To restart the pump, hold the red button for five seconds.\n"
        ),
        (
            "x = 1\n```\n\n## Restart the pump now\n\n"
            "To restart the pump, hold the red button for five seconds.\n"
        ),
        (
            "To restart the pump, hold the red button for five seconds.\r\n\r\n```\r\n"
            "restart the pump now please\r\n```\r\n"
        ),
    ],
)
def test_code_headings_and_comments_are_not_quoted(
    passage: str,
) -> None:
    assert quotes("How do I restart the pump?", passage, limit=1) == [
        "To restart the pump, hold the red button for five seconds."
    ]
    quoted = quotes("How do I restart the pump now please?", passage)
    assert not [quote for quote in quoted if "now" in quote]
