"""Pages made to choke a parser cost time in proportion to their length, counted in steps."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_nodes.readers.html import bounds as html_bounds
from rag_nodes.readers.html import reading_of_html
from rag_nodes.readers.html.bounds import bounded
from rag_nodes.readers.html.tree import DEEPEST

HELLO = "<p>Hello</p>"
ENDLESS = {
    "comments": "<!--",
    "declarations": "<!x ",
    "instructions": "<?x ",
    "tags": "<a ",
    "end tags": "</a ",
    "quotes": "<a b='",
    "quoted ends": '<a b=">" ',
    "scripts": "<script>",
}
WIDE = {
    "line breaks": "a<br>",
    "controls": "a<input>",
    "drawings": "<svg></svg>a",
    "scripts": "<script></script>",
    "levels": "<div>",
    "levels of text": "<p><span>a",
    "lists": "<ul><li>a",
    "tables": "<table><tr><td>",
    "bold": "<b>a</b> ",
    "less than": "< ",
}


def lines_of(work: Callable[[], object]) -> int:
    """Lines of Python that were run, loops without a call included."""
    lines = 0

    def seen(_frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal lines
        lines += event == "line"
        return seen

    sys.settrace(seen)
    try:
        work()
    finally:
        sys.settrace(None)
    return lines


@pytest.mark.parametrize("unit", ENDLESS.values(), ids=ENDLESS)
def test_what_never_ends_is_looked_through_once_and_kept_from_the_parser(
    unit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched: list[int] = []
    behind = html_bounds._Simplifier._behind

    def noted(page: html_bounds._Simplifier, mark: Any, at: int) -> int:
        end = behind(page, mark, at)
        searched.append(end - at)
        return end

    monkeypatch.setattr(html_bounds._Simplifier, "_behind", noted)
    page = HELLO + unit * 10_000
    simple, warnings = bounded(page, DEEPEST)
    assert simple == HELLO
    assert sum(searched) <= len(page)
    assert "left out, as browsers do" in warnings[0]


@pytest.mark.parametrize("unit", WIDE.values(), ids=WIDE)
def test_four_times_the_page_takes_no_more_than_five_times_the_steps(unit: str) -> None:
    few, many = (lines_of(lambda n=n: reading_of_html(unit * n)) for n in (100, 400))  # type: ignore[misc]
    assert many < 5 * few


def test_a_hundred_thousand_levels_reach_the_parser_as_a_hundred() -> None:
    simple, warnings = bounded("<div>" * 100_000 + "deep" + "</div>" * 100_000, DEEPEST)
    assert simple.count("<div>") == simple.count("</div>") == DEEPEST
    assert simple.split() == ["<div>" * DEEPEST, "deep", "</div>" * DEEPEST]
    assert warnings == (f"elements nested over {DEEPEST} levels deep were read as plain text",)


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("a<!-- b --><!-->c<!--->d<!--x--!>e", "acde"),
        ("<p>3 < 4 and 5 <6 <é</p>", "3 < 4 and 5 <6 <é"),
        (
            '<a title="x > y" href=http://t.test/z>one</a> <img alt="it\'s > all">',
            "[one](http://t.test/z) it's > all",
        ),
        ("a<script>if (a </b) { '<!--' }</SCRIPT >b<style>x</style >c", "abc"),
        ("<!doctype html><?xml version='1.0'?><![if !IE]>kept<![endif]>", "kept"),
        ("one <b>two</b> three <b", "one two three"),
        ("a < b <!-- never ends", "a < b"),
    ],
)
def test_a_page_reads_as_a_browser_shows_it(html: str, text: str) -> None:
    assert reading_of_html(html).text == text


def test_unclosed_items_and_paragraphs_are_not_deep() -> None:
    page = "<ul>" + "".join(f"<li>item {n}<p>more" for n in range(500)) + "</ul>"
    reading = reading_of_html(page)
    assert reading.warnings == ()
    assert reading.text.count("- item") == 500


@given(st.text("<>!-/?=\"' abp&;scriptyle", max_size=200))
def test_whatever_the_markup_no_tag_stays_open_and_nothing_is_read_twice(html: str) -> None:
    simple, _ = bounded(html, 5)
    assert bounded(simple, 5)[0] == simple
    assert "<!--" not in simple


def test_an_end_that_was_left_out_with_its_parent_is_not_taken_from_a_later_element() -> None:
    page, warnings = bounded("<a><b><i>deep</b></a><i>flat</i>", 2)
    assert page.endswith("</b></a><i>flat</i>")
    assert len(warnings) == 1
