"""Web pages: what a visitor reads becomes Markdown, the rest is left out."""

from pathlib import Path

import pytest

from rag_nodes.core import errors
from rag_nodes.core import metadata as keys
from rag_nodes.readers import Limits, read
from rag_nodes.readers.html import read_html, reading_of_html


def markdown(html: str) -> str:
    return reading_of_html(html).text


def page(tmp_path: Path, content: bytes | str, name: str = "page.html") -> Path:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<h1>A <b>bold</b> title<a class=headerlink href=#a>¶</a></h1>", "# A bold title"),
        ("<p>one\n  two<p>three", "one two\n\nthree"),
        ("<p>one<br># two", "one\n\\# two"),
        ("<p>1986. A <i>good</i> year</p>", "1986\\. A good year"),
        ("<p>snake_case * 2</p>", "snake_case * 2"),
        ("<ul><li>a<li>b<ol start=4><li>x<li>y</ol></ul>", "- a\n- b\n  4. x\n  5. y"),
        ("<blockquote><p>said</p></blockquote>", "> said"),
        ("<p>see <img src=x.png alt='a  duck'></p>", "see a duck"),
        ("<p><code>a_b</code></p>", "`a_b`"),
        ("<a href='/a b'>go</a>", "go"),
        ("<a href='#part'>go</a>", "go"),
        ("<a href='java\nscript:alert(1)'>go</a>", "go"),
        ("<a href='https://e.org'><h2>Card</h2></a>", "## Card"),
    ],
)
def test_each_element_has_its_markdown(html: str, text: str) -> None:
    assert markdown(html) == text


@pytest.mark.parametrize(
    "gone",
    [
        "<script>gone()</script>",
        "<style>gone {}</style>",
        "<nav>gone</nav>",
        "<div role=navigation>gone</div>",
        "<p hidden>gone</p>",
        "<p aria-hidden=true>gone</p>",
        "<p style='color: red; display : none'>gone</p>",
        "<noscript>gone</noscript>",
        "<template>gone</template>",
        "<button>gone</button>",
        "<footer>gone</footer>",
        "<aside>gone</aside>",
        "<!-- gone -->",
    ],
)
def test_invisible_elements_are_left_out(gone: str) -> None:
    assert markdown(f"<body><p>kept</p>{gone}</body>") == "kept"


def test_code_keeps_its_lines_and_language_and_a_fence_that_holds_fences() -> None:
    html = '<div class="highlight-python"><pre>\ndef f():\n    return "```"\n</pre></div>'
    assert markdown(html) == '````python\ndef f():\n    return "```"\n````'
    assert markdown('<pre><code class="language-sh">a<br>b</code></pre>') == "```sh\na\nb\n```"


def test_tables_keep_their_grid_where_cells_span_rows_and_columns() -> None:
    html = (
        "<table><caption>Cups</caption><tr><th>kind|sort<th>cups<th>of"
        "<tr><td rowspan=2>tea<td>1<td>2<tr><td colspan=2>3</table>"
    )
    assert markdown(html) == (
        "Cups\n\n| kind\\|sort | cups | of |\n| --- | --- | --- |\n| tea | 1 | 2 |\n| tea | 3 |  |"
    )


def test_a_table_that_only_arranges_the_page_is_no_table() -> None:
    inner = "<table><tr><th>a<th>b<tr><td>1<td>2</table>"
    html = f"<table><tr><td><h1>Head</h1><td>{inner}</table>"
    assert markdown(html) == "# Head\n\n| a | b |\n| --- | --- |\n| 1 | 2 |"


def test_huge_spans_do_not_make_a_small_page_large() -> None:
    row = "<tr><td rowspan=999999999 colspan=999999999>x"
    assert len(markdown(f"<table>{row * 20}</table>")) < 20_000


@pytest.mark.parametrize("main", ["main", "article", "div role=main"])
def test_the_one_main_element_stands_for_the_page(main: str) -> None:
    end = main.partition(" ")[0]
    body = f"<p>around</p><{main}><p>core of the page</p><aside>note</aside></{end}>"
    assert markdown(body).startswith("core of the page")


@pytest.mark.parametrize(("core", "stands"), [(30, True), (20, False)])
def test_a_main_element_stands_for_the_page_from_a_quarter_of_its_text_on(
    core: int, stands: bool
) -> None:
    text = markdown(f"<p>{'around' * 10}</p><main>{'core' * (core * 15 // (100 - core))}</main>")
    assert text.startswith("core") is stands


def article_beside(other: str, times: int) -> str:
    return f"<h1>News</h1>{other * times}<article>{'<p>core of the page</p>' * 10}</article>"


@pytest.mark.parametrize(("times", "share"), [(4, None), (5, "11%"), (40, "50%")])
def test_a_warning_names_the_share_of_words_outside_the_main_element(
    times: int, share: str | None
) -> None:
    html = article_beside("<p>word </p>", times - 1)
    warnings = reading_of_html(html).warnings
    assert (warnings == ()) if share is None else f"{share} of the visible words" in warnings[0]
    assert all("remove <article> from the file" in warning for warning in warnings)
    assert reading_of_html(html.replace("article", "div")).warnings == ()


@pytest.mark.parametrize(
    "boilerplate",
    [
        "<header><p>My site of many words</p></header>",
        "<nav><p>Menu with words</p></nav>",
        "<aside><p>Related words</p></aside>",
        "<ul><li><a href='https://e.org'>Another page of the site</a></li></ul>",
        "<footer><p>All rights reserved</p></footer>",
        "<script>let words = 1</script>",
    ],
)
def test_boilerplate_around_the_main_element_is_left_out_without_a_warning(
    boilerplate: str,
) -> None:
    assert reading_of_html(article_beside(boilerplate, 4)).warnings == ()


@pytest.mark.parametrize(
    "hidden",
    [
        *("hidden", "hidden=hidden", "aria-hidden=true", "style='display:none'"),
        "class=tab style='color:red; visibility : hidden'",
    ],
)
def test_panels_of_tabs_are_read_when_another_tab_is_open(hidden: str) -> None:
    html = f"<div role=tabpanel><p>a</div><div role=tabpanel {hidden}><p>b<p hidden>c</div>"
    assert markdown(html) == "a\n\nb"


def test_a_part_that_a_search_of_the_page_opens_is_read() -> None:
    assert markdown("<p>a</p><div hidden=until-found>b</div>") == "a\n\nb"


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<html><head><title>t</title><body><p>b</body></html>", "b"),
        ("<html lang=en><head><meta charset=utf-8><title>t</title><h1>a</h1><p>b", "# a\n\nb"),
        ("<title>t</title><p>b", "b"),
        ("<html><head><title>t</title></head><body style='display:none'><p>b", "b"),
        ("<p>a<b>b<p>c</b>d", "ab\n\ncd"),
        ("<table><tr><td>a<td>b<tr><td>c<td>d<p>e</table>f",
         "| a | b |\n| --- | --- |\n| c | d e |\n\nf"),
        ("<svg><title>x</title></svg><title>t</title>b", "b"),
    ],
)  # fmt: skip
def test_a_page_with_omitted_tags_is_parsed_as_the_standard_says(html: str, text: str) -> None:
    reading = reading_of_html(html)
    assert reading.text == text
    assert reading.title == ("t" if "<title>" in html else None)


@pytest.mark.parametrize(
    "start", ["<?xml version='1.0'?><html>", "<html xmlns='http://www.w3.org/1999/xhtml'>"]
)
def test_elements_of_xhtml_may_end_in_their_start_tag(start: str) -> None:
    head = "<head><title>t</title><script src='a.js'/></head>"
    body = "<p>a <a id='x'/>b<br/>c</p><div/><textarea/><p>d</p>"
    assert markdown(f"{start}{head}<body>{body}</body></html>") == "a b\nc\n\nd"


def test_several_articles_or_an_empty_main_leave_the_page_whole() -> None:
    assert markdown("<p>top</p><article>a</article><article>b</article>") == "top\n\na\n\nb"
    assert markdown("<p>all of the text</p><main><p>x</p></main>") == "all of the text\n\nx"


def test_title_and_description_come_from_the_head(tmp_path: Path) -> None:
    head = "<title> On\nducks </title><meta name=description content='All of it'>"
    metadata = read(page(tmp_path, f"<head>{head}</head><p>x</p>", "page.xhtml")).metadata
    assert (metadata[keys.TITLE], metadata[keys.DESCRIPTION]) == ("On ducks", "All of it")
    assert read(page(tmp_path, f"{head}<p>x</p>")).text == "x"


@pytest.mark.parametrize(
    ("html", "encoding"),
    [
        ("<meta charset=windows-1251><p>Теплица</p>", "cp1251"),
        ("<meta charset='iso-8859-1'><p>„Größe“</p>", "cp1252"),
        ("<meta http-equiv=x content='text/html; charset=shift_jis'><p>家鴨</p>", "shift_jis"),
        ("<meta charset=iso-2022-jp><p>家鴨</p>", "iso-2022-jp"),
        ("<meta charset=windows-1251><p>Größe</p>", "utf-8"),  # stated wrongly
        ("<meta charset=no-such-thing><p>Größe</p>", "utf-8"),
        ("<?xml version='1.0' encoding='koi8-r'?><p>Теплица</p>", "koi8-r"),
        ("\ufeff<meta charset=windows-1251><p>Größe</p>", "utf-16-le"),
    ],
)
def test_the_encoding_is_the_one_that_the_page_states_unless_the_bytes_say_otherwise(
    tmp_path: Path, html: str, encoding: str
) -> None:
    document = read(page(tmp_path, html.encode(encoding)))
    assert document.text == html.rpartition("<p>")[2].removesuffix("</p>")
    assert keys.READ_WARNINGS not in document.metadata


@pytest.mark.parametrize("tag", ["div", "span", "ul><li", "table><tr><td", "blockquote"])
def test_a_page_nested_a_thousand_times_over_is_read_and_says_what_was_lost(tag: str) -> None:
    reading = reading_of_html("<p>top</p>" + f"<{tag}>x" * 5000 + " deep text")
    assert reading.text.startswith("top")
    assert "deep text" in reading.text
    assert "levels deep" in reading.warnings[0]


def test_a_hundred_thousand_nested_elements_do_not_crash() -> None:
    assert markdown("<div>" * 100_000 + "text").strip() == "text"


def test_items_and_paragraphs_without_end_tags_are_siblings() -> None:
    text = markdown("<ol>" + "<li>x" * 300 + "</ol>" + "<p>y" * 300)
    assert text.count("\n") < 1000
    assert text.startswith("1. x\n2. x\n")
    assert text.count("\n\ny") == 300


def test_pages_that_are_none_have_their_error(tmp_path: Path) -> None:
    with pytest.raises(errors.MisnamedFileError, match="HTML tag"):
        read(page(tmp_path, "just a note"))
    with pytest.raises(errors.MisnamedFileError, match="PDF"):
        read(page(tmp_path, b"%PDF-1.7\n"))
    with pytest.raises(errors.EmptyFileError, match="no text on the page"):
        read(page(tmp_path, "<html><script>let x</script></html>"))
    with pytest.raises(errors.FileTooLargeError):
        read_html(page(tmp_path, "<p>" + "x" * 99), Limits(characters=50))
