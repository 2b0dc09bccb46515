"""What becomes of the Markdown of an answer: all of it reads well, none of it does anything."""

import re
import sys
from collections.abc import Callable
from urllib.parse import urlsplit

import pytest
from hostile_views import PAYLOADS, Seen
from hypothesis import given
from hypothesis import strategies as st

from rag_nodes.apps.panes.text import answer_text, growing_text
from rag_nodes.query.citations import marks_of

ANSWER = """\
## Steps

1. Open the **valve** [Source 1].
2. Wait for `pump`, *slowly*.
   - then look

| part | bar |
|:-----|----:|
| valve | 2.4 | [Source 2]

```sh
run --now <all>
```

> Mind the pressure.

See [the manual](https://manuals.example/pump) or [inside](/wiki/Pump).
"""
PARTS = (
    "<h4 ",
    "<ol>",
    '<li dir="auto">Open the <strong>valve</strong>',
    "<code>pump</code>, <em>slowly</em>",
    '<li dir="auto">then look</li>',
    '<th dir="auto" class="rn-at-left">part</th>',  # `rn-left` is a badge
    '<th dir="auto" class="rn-at-right">bar</th>',
    "<code>run --now &lt;all&gt;\n</code></pre>",
    "<blockquote>\n<p",
    'href="https://manuals.example/pump" target="_blank" rel="noopener noreferrer nofollow"',
    "or inside.",
)
ELEMENTS = frozenset(
    re.findall(
        r"\w+",
        "a blockquote br button code div em h4 h5 h6 hr li ol p pre s span strong table tbody td "
        "th thead tr ul",
    )
)
ATTRIBUTES = frozenset(
    re.findall(
        r"[\w-]+",
        "aria-label class data-quote data-to dir href rel start tabindex target title type",
    )
)
PIECES = st.sampled_from(
    [
        *PAYLOADS,
        *"[]()!*_`~#>|-+=<&\\\n \t",
        "](",
        "![",
        "1. ",
        "\n\n",
        "    ",
        "[Source 1]",
        "```",
        "[a](https://a.example)",
        "[a](JAVASCRIPT:alert(1))",
        "[a](data:text/html,x)",
        "&#2;0&#3;",
        "\x020\x03",
        "|-|-|\n",
        "<https://u@a.example/?q=1>",
        "[a](//a.example)",
        "[a](http:evil)",
    ]
)


def links(_: int, number: int) -> tuple[str, int]:
    return ("there" if number == 1 else "", 0)


def _html(text: str, *, quoted: bool = False) -> str:
    return answer_text(text, marks_of(text), links, quoted=quoted)


def test_an_answer_shows_headings_lists_tables_code_emphasis_and_links() -> None:
    assert [part for part in PARTS if part not in _html(ANSWER)] == []


def test_the_sources_an_answer_names_stay_buttons_wherever_they_stand() -> None:
    text = (
        f"# On [Source 1]\n\n- so [1]\n\n**so [1]** and *this [1]*\n\n> [1]\n\n{ANSWER}\n\n    [1]"
    )
    assert _html(text).count("<button") == 7
    assert "[Source" not in _html(text)
    assert re.search(r'2\.4 +<span class="rn-chip">\[2\]</span></td>', _html(text))


def test_a_line_that_looks_like_a_reference_does_not_vanish() -> None:
    assert "as the manual says" in _html("[note]: as\n[a]: /b 'as the manual says'")


def test_headings_begin_below_that_of_the_column_and_leave_no_level_out() -> None:
    html = _html("### Deep\n\n# High\n\n###### Deepest")
    assert re.findall(r"<(h\d)", html) == ["h4", "h4", "h5"]


def test_a_link_names_the_host_it_leads_to_whatever_its_text_says() -> None:
    html = _html("[https://bank.example](https://bank.example@evil.example/?bank.example)")
    assert '<span class="rn-host"> (evil.example)</span>' in html
    assert "rn-host" not in _html("<https://a.example/x>")


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "JaVaScRiPt:x",
        "data:text/html,x",
        "vbscript:x",
        "file:///etc/passwd",
        "//evil.example",
        "/wiki/x",
        "ftp://a.example",
        "mailto:a@b.example",
        "java\tscript:x",
        "&#106;avascript:x",
        "http:",
        "blob:https://a.example/x",
    ],
)
def test_only_addresses_on_the_web_become_links(address: str) -> None:
    assert "<a" not in _html(f"[click]({address}) <{address}> ![click]({address})")


def test_an_image_is_never_loaded_but_linked_to() -> None:
    html = _html("![pixel](https://evil.example/p.png?q=secret)")
    assert "<img" not in html
    assert '>pixel</a><span class="rn-host"> (evil.example)</span>' in html


def test_sentences_of_a_document_read_well_and_lose_nothing_that_means_something() -> None:
    text = (
        "## The **pump** [Source 1]\n\n4. Rinse `it`. [Source 1]\n\n| a | b | |--|--| | 1 | 2 |"
        "\n\n2*3*4 is __init__ and -5 [5]"
    )
    assert answer_text(text, (), links, quoted=True) == (
        '<p dir="auto">The <strong>pump</strong> [Source 1]</p>'
        '<p dir="auto">4. Rinse <code>it</code>. [Source 1]</p>'
        '<p dir="auto">a · b · 1 · 2</p>'
        '<p dir="auto">2*3*4 is __init__ and -5 [5]</p>'
    )


def test_a_partial_answer_is_rendered_like_the_whole_one() -> None:
    grown = [growing_text(ANSWER[:end], quoted=False) for end in range(1, len(ANSWER) + 1)]
    assert "<strong>valve</strong> <span" in growing_text(ANSWER[:50], quoted=False)
    assert all(Seen(grown_text).tags <= ELEMENTS for grown_text in grown)
    assert grown[-1].count("rn-chip") == 2


@given(st.lists(PIECES, max_size=25).map("".join), st.booleans())
def test_whatever_an_answer_holds_nothing_but_our_elements_and_web_links_come_of_it(
    text: str,
    quoted: bool,
) -> None:
    html = _html(text, quoted=quoted)
    seen = Seen(html)
    assert seen.tags <= ELEMENTS
    assert {name for name, _ in seen.attributes} <= ATTRIBUTES
    for name, value in seen.attributes:
        if name == "href":
            assert urlsplit(str(value)).scheme in {"http", "https"}
    assert html.count("<a ") == html.count('target="_blank" rel="noopener noreferrer nofollow"')
    assert seen.other == []
    html.encode()


@pytest.mark.parametrize(
    "piece",
    [
        "[",
        "![",
        "*a **b ",
        "`",
        "<",
        "&",
        "\\",
        "- a\n",
        "|a|\n|-|\n",
        "[a](",
        "_a __b",
        "| x |\n",
        "> ",
        "**x",
        "a\n",
        "# \n",
        "[1] ",
        "| [1]",
        " |\t",
        "~~a",
        "<a x=",
        "<!--",
        "1. a\n",
    ],
)
def test_the_work_for_an_answer_grows_with_its_length(piece: str) -> None:
    once, twice = (_steps(lambda n=n: _html(piece * n)) for n in (300, 600))
    assert twice < 2.6 * once + 500


def _steps(work: Callable[[], object]) -> int:
    """Calls of functions, C's included, that some work makes."""
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    _html("warm")
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls
