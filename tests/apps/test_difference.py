"""What answers have in common: each sentence once, who says it, and who breaks off in it."""

import re
from dataclasses import replace
from typing import Any

import pytest
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo
from replies import make_column, make_report

from rag_nodes.apps.panes.answers import compared_turn, turn_view
from rag_nodes.apps.panes.difference import Difference, difference
from rag_nodes.apps.visitors.turns import Turn
from rag_nodes.text.edges import Edges

CODE = "```sh\n  pip install pump"
RAIN, SNOW, WIND = "It rained all day.", "Snow fell at night.", "The wind was from the east."


def compare_answers(*answers: tuple[str, ...], kind: str = "extract") -> Difference:
    """The difference of answers, each the sentences it quotes."""
    names = ("fixed", "heading", "semantic", "recursive")
    between = "\n\n" if kind == "extract" else " "
    columns = [
        make_column(
            name=name,
            text=between.join(
                f"{sentence} [Source {n}]" for n, sentence in enumerate(sentences, start=1)
            ),
            kind=kind,
        )
        for name, sentences in zip(names, answers, strict=False)
    ]
    return difference({column.name: column.answer for column in columns if column.answer}, {})


def _columns_by_sentence(report: Difference) -> dict[str, list[str]]:
    return {sentence.text: list(sentence.by_column) for sentence in report.sentences}


@pytest.mark.parametrize("kind", ["extract", "generated"])
def test_a_sentence_of_several_answers_is_there_once_with_all_who_say_it(kind: str) -> None:
    report = compare_answers((RAIN, SNOW), (SNOW,), (WIND, RAIN), kind=kind)
    assert _columns_by_sentence(report) == {
        RAIN: ["fixed", "semantic"],
        SNOW: ["fixed", "heading"],
        WIND: ["semantic"],
    }
    assert "Source" not in "".join(_columns_by_sentence(report))


@pytest.mark.parametrize(
    ("answers", "headline"),
    [
        ([(RAIN,)], ""),
        ([(RAIN,), (RAIN,)], "Both answers agree."),
        ([(RAIN, SNOW), (SNOW, RAIN), (RAIN, SNOW)], "All 3 answers agree."),
        (
            [(RAIN,), (RAIN,), (RAIN, SNOW), (WIND,)],
            "2 of 4 answers agree; semantic adds 1 sentence; recursive says something else.",
        ),
        (
            [(RAIN, SNOW), (RAIN, SNOW), (RAIN,)],
            "2 of 3 answers agree; semantic leaves out 1 sentence.",
        ),
        (
            [(RAIN, SNOW), (RAIN, WIND), (RAIN,)],
            "All 3 answers share 1 sentence; fixed adds 1; heading adds 1.",
        ),
        ([(RAIN,), (SNOW,)], "No sentence is in both answers."),
        (
            [(RAIN,), (RAIN,), (RAIN,), ("It rained all d",)],
            "All 4 answers agree; recursive is cut off in mid-sentence.",
        ),
    ],
)
def test_one_line_says_what_differs(answers: list[tuple[str, ...]], headline: str) -> None:
    assert compare_answers(*answers).headline == headline


def test_a_source_before_a_full_stop_or_comma_leaves_no_gap() -> None:
    column = make_column(
        text="It rained [Source 1]. Snow fell [Source 1], they say.", kind="generated"
    )
    assert column.answer
    report = difference({"fixed": column.answer}, {})
    assert [*_columns_by_sentence(report)] == ["It rained.", "Snow fell, they say."]


def test_a_block_of_code_is_said_once_and_shown_as_code_and_its_fence_is_no_sentence() -> None:
    code = "pip install pump\n  pump --start"
    texts = [f"Run this [Source 1]:\n\n```{text}\n{code}\n```\n{RAIN}" for text in ("bash", "sh")]
    texts.append(f"- Run it:\n  ~~~\n  {code}")
    columns = [
        make_column(name=name, text=text, kind="generated")
        for name, text in zip(("fixed", "heading", "semantic"), texts, strict=True)
    ]
    report = difference({column.name: column.answer for column in columns if column.answer}, {})
    assert _columns_by_sentence(report) == {
        f"```bash\n{code}\n```": ["fixed", "heading", "semantic"],
        "Run this:": ["fixed", "heading"],
        RAIN: ["fixed", "heading"],
        "Run it:": ["semantic"],
    }
    html = str(turn_view(Turn(1, "Why?", make_report(*columns), None, None)))
    shown = html[html.index("rn-statements") : html.index("</ul>")]
    assert f"<code>{code}" in shown
    assert "bash" not in shown


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        (
            f"- {CODE}\n  ```\n- {RAIN}",
            [f"{CODE}\n  ```", RAIN],
        ),
        (f"```pump``` is its name.\n{RAIN}", ["```pump``` is its name.", RAIN]),
    ],
)
def test_text_after_code_in_a_list_or_sentence_is_a_separate_sentence(
    text: str, sentences: list[str]
) -> None:
    column = make_column(name="fixed", text=text, kind="generated")
    assert column.answer
    assert [*_columns_by_sentence(difference({"fixed": column.answer}, {}))] == sentences


def test_a_quotation_that_breaks_off_counts_as_its_whole_sentence() -> None:
    [sentence] = compare_answers(("It rained all d",), (RAIN,)).sentences
    assert (sentence.text, sentence.broken) == (RAIN, ["fixed"])
    assert len(compare_answers(("It rained all d",), (RAIN,), kind="generated").sentences) == 2


def test_a_quotation_at_the_edge_of_a_chunk_is_broken_where_the_chunk_is() -> None:
    chunk = "The roof leaks. It rained and the sto"
    cut = make_column(chunk=chunk, quote="It rained and the sto", text="It rained and the sto [1]")
    assert cut.answer
    node = cut.answer.hits[0].node.node_id
    [sentence] = difference({"fixed": cut.answer}, {node: Edges(end="word")}).sentences
    assert sentence.by_column["fixed"].broken == "word"
    [sentence] = difference({"fixed": cut.answer}, {node: Edges(start="word")}).sentences
    assert sentence.by_column["fixed"].broken == ""


def test_the_page_shows_shared_sentences_once_and_whose_the_others_are() -> None:
    columns = (
        make_column(name="fixed", text=f"{RAIN} [Source 1]"),
        make_column(name="heading", text=f"{RAIN} [Source 1]\n\n{SNOW} [Source 1]"),
        make_column(name="semantic", kind="nothing", text="Nothing answers this."),
    )
    report = make_report(*columns)
    html = str(turn_view(Turn(1, "Why?", report, None, None)))
    shown = html[html.index("rn-statements") : html.index("</ul>")]
    assert shown.count(RAIN) == 1
    assert "Both say" in shown
    assert "Only heading" in shown
    assert "Source" not in shown
    assert "semantic found no answer." in html


def test_a_text_without_sources_is_compared_and_said_to_name_none() -> None:
    sourced = make_column(name="ours", text=f"{RAIN} [Source 1]")
    generated = make_column(name="mine", kind="generated", text=f"{RAIN} {SNOW}", packed=False)
    assert generated.answer
    column = replace(generated, answer=replace(generated.answer, citations=()))
    turn = Turn(1, "Why?", make_report(sourced, column), None, None)
    html = str(turn_view(turn))
    assert "mine answered without naming a source: nothing to show on the page." in html
    assert "Both say" in html
    assert "Only mine" in html
    assert "found no answer" not in html


def test_an_error_names_its_column() -> None:
    columns = (make_column(name="ours"), make_column(name="mine", error="House did not answer"))
    html = str(turn_view(Turn(1, "Why?", make_report(*columns), None, None)))
    assert "mine: House did not answer" in html


def _statements(*columns: Any, several: bool = False) -> str:
    """Return what the page shows of the sentences that answers share."""
    turn = Turn(1, "Why?", make_report(*columns), None, None)
    html = str(turn_view(turn, several=several))
    return html[html.index("rn-statements") : html.index("</ul>")]


def _generated_column(name: str, **given: Any) -> Any:
    return make_column(name=name, text=f"{RAIN} [Source 1]", kind="generated", **given)


def test_each_place_that_is_cited_for_a_shared_sentence_is_listed_with_who_cites_it() -> None:
    shown = _statements(
        _generated_column("fixed", page=40),
        _generated_column("heading", page=31),
        _generated_column("semantic", page=31),
    )
    first, second = shown.split('title="diary.pdf"')[1], shown.partition("p. 31")[2]
    assert "p. 40" in first
    assert "fixed" in shown.partition("p. 31")[0]
    assert "heading" in second
    assert "semantic" in second


def test_every_column_opens_its_own_place_of_a_sentence() -> None:
    placed = {"chunk": f"The roof leaks. {RAIN} Nobody came.", "quote": RAIN}
    columns = [_generated_column(name, **placed) for name in ("fixed", "heading")]
    for column in columns:
        node = column.answer.hits[0].node
        node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id="diary")
    shown = _statements(*columns)
    assert re.findall(r'data-column="(\d)" data-cited="1"', shown) == ["1", "1", "2"]
    assert shown.count(">p. 3<") == 1


def test_sentences_are_signed_against_the_baseline_and_what_it_loses_comes_first() -> None:
    columns = (
        make_column(name="fixed", text=f"{RAIN} [Source 1]"),
        make_column(name="heading", text=f"{SNOW} [Source 1]"),
    )
    turn = Turn(1, "Why?", make_report(*columns), None, None)
    compared = compared_turn(turn, "fixed")
    assert [(sentence.sign, sentence.missed_by) for sentence in compared.sentences] == [
        ("\N{MINUS SIGN}", "heading misses it"),
        ("+", ""),
    ]
    assert compared.against == {"heading": (1, 1)}
    assert compared_turn(turn).against == {}
    html = str(turn_view(turn, "fixed"))
    assert "baseline</span>" in html
    assert '<b class="rn-plus">+1</b> <b class="rn-minus">−1</b>' in html  # noqa: RUF001


def test_a_source_that_was_not_given_is_reported_beside_the_sentence_and_in_the_card() -> None:
    invented = make_column(name="fixed", text=f"{RAIN} [Source 7]", kind="generated", unknown=(7,))
    columns = (invented, _generated_column("heading"))
    assert "fixed: cites a source that was not given: 7" in _statements(*columns)
    html = str(turn_view(Turn(1, "Why?", make_report(*columns), None, None)))
    card = html[html.index('<details class="rn-column') :]
    assert "cites a source that was not given: 7" in card


def test_an_answer_that_reached_the_limit_of_tokens_says_so() -> None:
    whole = make_column(text="It leaks", kind="generated")
    assert whole.answer is not None
    cut_off = replace(whole, answer=replace(whole.answer, truncated=True))
    notice = "cut off: the LLM reached its limit of output tokens"
    assert notice in str(turn_view(Turn(1, "Why?", make_report(cut_off), None, None)))
    assert notice not in str(turn_view(Turn(1, "Why?", make_report(whole), None, None)))


@pytest.mark.parametrize("several", [False, True])
def test_the_file_is_named_beside_a_page_if_several_documents_are_loaded(*, several: bool) -> None:
    shown = _statements(_generated_column("fixed"), _generated_column("heading"), several=several)
    assert ("diary.pdf</bdi>" in shown) is several
