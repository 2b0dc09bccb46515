"""What answers have in common: each sentence once, who says it, and who breaks off in it."""

from typing import Any

import pytest
from replies import make_column, make_report

from rag_nodes.apps.tabs.compare.diff import Difference, difference
from rag_nodes.apps.tabs.compare.events import history
from rag_nodes.apps.visitors.turns import Turn
from rag_nodes.text.edges import Edges

CODE = "```sh\n  pip install pump"
RAIN, SNOW, WIND = "It rained all day.", "Snow fell at night.", "The wind was from the east."


def compared(*answers: tuple[str, ...], kind: str = "extract") -> Difference:
    """The difference of answers, each the sentences it quotes."""
    names = ("fixed", "heading", "semantic", "recursive")
    between = "\n\n" if kind == "extract" else " "
    columns = [
        make_column(
            name=name,
            text=between.join(f"{one} [Source {n}]" for n, one in enumerate(said, start=1)),
            kind=kind,
        )
        for name, said in zip(names, answers, strict=False)
    ]
    return difference({one.name: one.answer for one in columns if one.answer}, {})


def _said(found: Difference) -> dict[str, list[str]]:
    return {one.text: list(one.said) for one in found.sentences}


@pytest.mark.parametrize("kind", ["extract", "generated"])
def test_a_sentence_of_several_answers_is_there_once_with_all_who_say_it(kind: str) -> None:
    found = compared((RAIN, SNOW), (SNOW,), (WIND, RAIN), kind=kind)
    assert _said(found) == {
        RAIN: ["fixed", "semantic"],
        SNOW: ["fixed", "heading"],
        WIND: ["semantic"],
    }
    assert "Source" not in "".join(_said(found))


@pytest.mark.parametrize(
    ("answers", "headline"),
    [
        ([(RAIN,)], ""),
        ([(RAIN,), (RAIN,)], "Both answers agree."),
        ([(RAIN, SNOW), (SNOW, RAIN), (RAIN, SNOW)], "All 3 answers agree."),
        (
            [(RAIN,), (RAIN,), (RAIN, SNOW), (WIND,)],
            "2 of 4 answers agree; Semantic adds 1 sentence; Recursive says something else.",
        ),
        (
            [(RAIN, SNOW), (RAIN, SNOW), (RAIN,)],
            "2 of 3 answers agree; Semantic leaves out 1 sentence.",
        ),
        (
            [(RAIN, SNOW), (RAIN, WIND), (RAIN,)],
            "All 3 answers share 1 sentence; Fixed size adds 1; Heading hierarchy adds 1.",
        ),
        ([(RAIN,), (SNOW,)], "No sentence is in both answers."),
        (
            [(RAIN,), (RAIN,), (RAIN,), ("It rained all d",)],
            "All 4 answers agree; Recursive is cut off in mid-sentence.",
        ),
    ],
)
def test_one_line_says_what_differs(answers: list[tuple[str, ...]], headline: str) -> None:
    assert compared(*answers).headline == headline


def test_a_source_before_a_full_stop_or_comma_leaves_no_gap() -> None:
    told = make_column(
        text="It rained [Source 1]. Snow fell [Source 1], they say.", kind="generated"
    )
    assert told.answer
    found = difference({"fixed": told.answer}, {})
    assert [*_said(found)] == ["It rained.", "Snow fell, they say."]


def test_a_block_of_code_is_said_once_and_shown_as_code_and_its_fence_is_no_sentence() -> None:
    code = "pip install pump\n  pump --start"
    texts = [f"Run this [Source 1]:\n\n```{one}\n{code}\n```\n{RAIN}" for one in ("bash", "sh")]
    texts.append(f"- Run it:\n  ~~~\n  {code}")
    columns = [
        make_column(name=name, text=text, kind="generated")
        for name, text in zip(("fixed", "heading", "semantic"), texts, strict=True)
    ]
    found = difference({one.name: one.answer for one in columns if one.answer}, {})
    assert _said(found) == {
        f"```bash\n{code}\n```": ["fixed", "heading", "semantic"],
        "Run this:": ["fixed", "heading"],
        RAIN: ["fixed", "heading"],
        "Run it:": ["semantic"],
    }
    html = history([Turn(1, "Why?", make_report(*columns), None, None)], ready=True)
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
def test_what_follows_code_in_a_list_or_within_a_sentence_is_a_sentence_of_its_own(
    text: str, sentences: list[str]
) -> None:
    column = make_column(name="fixed", text=text, kind="generated")
    assert column.answer
    assert [*_said(difference({"fixed": column.answer}, {}))] == sentences


def test_a_quotation_that_breaks_off_counts_as_its_whole_sentence() -> None:
    [one] = compared(("It rained all d",), (RAIN,)).sentences
    assert (one.text, one.broken) == (RAIN, ["fixed"])
    assert len(compared(("It rained all d",), (RAIN,), kind="generated").sentences) == 2


def test_a_quotation_at_the_edge_of_a_chunk_is_broken_where_the_chunk_is() -> None:
    chunk = "The roof leaks. It rained and the sto"
    cut = make_column(chunk=chunk, quote="It rained and the sto", text="It rained and the sto [1]")
    assert cut.answer
    node = cut.answer.hits[0].node.node_id
    [one] = difference({"fixed": cut.answer}, {node: Edges(end="word")}).sentences
    assert one.said["fixed"].broken == "word"
    [one] = difference({"fixed": cut.answer}, {node: Edges(start="word")}).sentences
    assert one.said["fixed"].broken == ""


def test_the_page_shows_shared_sentences_once_and_whose_the_others_are() -> None:
    columns = (
        make_column(name="fixed", text=f"{RAIN} [Source 1]"),
        make_column(name="heading", text=f"{RAIN} [Source 1]\n\n{SNOW} [Source 1]"),
        make_column(name="semantic", kind="nothing", text="Nothing answers this."),
    )
    report = make_report(*columns)
    html = history([Turn(1, "Why?", report, None, None)], ready=True)
    shown = html[html.index("rn-statements") : html.index("</ul>")]
    assert shown.count(RAIN) == 1
    assert "Both say" in shown
    assert "Only Heading hierarchy" in shown
    assert "Source" not in shown
    assert "Semantic found no answer." in html


def _statements(*columns: Any, several: bool = False) -> str:
    """Return what the page shows of the sentences that answers share."""
    turn = Turn(1, "Why?", make_report(*columns), None, None)
    html = history([turn], ready=True, several=several)
    return html[html.index("rn-statements") : html.index("</ul>")]


def _generated(name: str, **given: Any) -> Any:
    return make_column(name=name, text=f"{RAIN} [Source 1]", kind="generated", **given)


def test_each_place_that_is_cited_for_a_shared_sentence_is_listed_with_who_cites_it() -> None:
    shown = _statements(
        _generated("fixed", page=40),
        _generated("heading", page=31),
        _generated("semantic", page=31),
    )
    first, second = shown.split('class="rn-where"')[1:]
    assert "Fixed size:" in first
    assert "p. 40" in first
    assert "Heading hierarchy, Semantic:" in second
    assert "p. 31" in second


def test_a_place_that_all_answers_cite_is_listed_once_without_their_names() -> None:
    [shown] = _statements(_generated("fixed"), _generated("heading")).split('"rn-where"')[1:]
    assert "p. 3" in shown
    assert "Fixed size" not in shown


def test_a_source_that_was_not_given_is_reported_beside_the_sentence_and_in_the_card() -> None:
    invented = make_column(name="fixed", text=f"{RAIN} [Source 7]", kind="generated", unknown=(7,))
    columns = (invented, _generated("heading"))
    assert "Fixed size: cites a source that was not given: 7" in _statements(*columns)
    html = history([Turn(1, "Why?", make_report(*columns), None, None)], ready=True)
    card = html[html.index("<article") : html.index("</article>")]
    assert card.index("</div>\n<div>") < card.index("rn-notice"), "not in the part that is hidden"


@pytest.mark.parametrize("several", [False, True])
def test_the_file_is_named_beside_a_page_if_several_documents_are_loaded(*, several: bool) -> None:
    shown = _statements(_generated("fixed"), _generated("heading"), several=several)
    assert ("diary.pdf</bdi>" in shown) is several
