"""Pages made to choke a parser cost time in proportion to their length, counted in steps."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from steps import lines_of

from rag_nodes.readers.html import reading_of_html
from rag_nodes.readers.html.page import DEEPEST, parse_page

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
    "open bold": "<b>a",
    "open bold in paragraphs": "<p><b>a",
    "open links": "<a>a<div>",
    "text in a table": "<table>a<b>",
    "stray ends": "a</i>",
    "templates": "<template>a",
    "less than": "< ",
    "frames": "<iframe srcdoc='<p>a'></iframe>",
    "headings by role": "<div role=heading aria-level=3>a",
    "superscripts": "<sup>2</sup>",
    "open superscripts": "<sup>2",
    "exponents": "<math><msup><mi>a",
}


@pytest.mark.parametrize("unit", [*ENDLESS.values(), *WIDE.values()], ids=[*ENDLESS, *WIDE])
def test_four_times_the_page_takes_no_more_than_five_times_the_steps(unit: str) -> None:
    few, many = (lines_of(lambda n=n: reading_of_html(unit * n)) for n in (100, 400))  # type: ignore[misc]
    assert many < 5 * few


def test_ten_thousand_levels_become_a_hundred() -> None:
    page = parse_page("<div>" * 10_000 + "deep" + "</div>" * 10_000)
    assert len(page.content.find_all("div")) == DEEPEST
    assert page.content.get_text().strip() == "deep"
    assert page.warnings == (f"elements nested over {DEEPEST} levels deep were read as plain text",)


@pytest.mark.parametrize("unit", ENDLESS.values(), ids=ENDLESS)
def test_markup_without_an_end_is_left_out_with_a_warning(unit: str) -> None:
    reading = reading_of_html(HELLO + unit * 10_000)
    assert reading.text == "Hello"
    assert "breaks off" in reading.warnings[0]


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
def test_markup_of_any_kind_is_read(html: str) -> None:
    assert "\x1c" not in reading_of_html(html).text


@pytest.mark.parametrize("html", ["<p>a", "a", "", "<p>a</p>\n", "<nav>a", "<table>", "<ul><li>a"])
def test_a_page_whose_elements_stay_open_does_not_break_off(html: str) -> None:
    assert reading_of_html(html).warnings == ()
