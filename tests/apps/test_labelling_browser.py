"""From what is selected on the page to the very characters of the document, in a real Chromium."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from llama_index.core.schema import TextNode

from rag_nodes.apps.tabs.chunks.document import Drawing, document_page
from rag_nodes.apps.tabs.chunks.labelling import SELECT
from rag_nodes.text.spans import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

HOSTILE = {
    "markup": "<b>&amp; ${x} {{y}} `z` <!-- ]]> \"'\n\n</span></div>",
    "line ends": "\r\nOne\r\ntwo\rthree\n\r\n\r\r\nfour\n\n\n five \r",
    "pictures": "a\U0001f600b\U0001f469\u200d\U0001f467\U0001f1e9\U0001f1eae\u0301 \U0010ffff z",
    "right to left": "\u05e9\u05dc b 12 \u0627\u0644 \u202eabc\u202c \u2067def\u2069 \u200fz",
    "unprintable": "a\x00b\x01\x0b\x0cc\x1fd\x7fe\ud800f\ufeffg\u200bh\u00adi\u2028j\tk",
    "blank": "   \n\t\n  x  \n   ",
}
_OPEN = """([html, select]) => {
  document.body.innerHTML = '<p>before</p><div id="home"></div><p>after</p>';
  const element = document.getElementById('home');
  element.innerHTML = html;
  window.sent = [];
  new Function('element', 'trigger', select)(element, (name, data) => window.sent.push(data));
}"""
_SELECT_ALL = """() => {
  const text = document.querySelector('.rn-doc'), places = [];
  const walk = document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    if (node.parentElement.closest('.rn-start, .rn-both')) continue;
    let at = 0;
    for (const one of [...node.data, '']) { places.push([node, at]); at += one.length; }
  }
  const sent = [];
  for (let low = 0; low < places.length; low += 1)
    for (let high = low + 1; high < places.length; high += 1) {
      getSelection().setBaseAndExtent(...places[low], ...places[high]);
      if (getSelection().isCollapsed) continue;
      window.sent = [];
      document.querySelector('.rn-mark-here').click();
      sent.push(...window.sent);
    }
  return sent;
}"""
"""Select from every place of the text to every later one."""


def _overlapping(text: str) -> list[TextNode]:
    """Chunks that overlap, touch and leave gaps, with cuts inside of anything."""
    size = max(3, len(text) // 4)
    spans = [Span(at, min(len(text), at + size + 2)) for at in range(1, len(text), size)]
    return [
        TextNode(text=span.of(text), start_char_idx=span.start, end_char_idx=span.end)
        for span in spans
    ]


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    opened = browser.new_page()
    yield opened
    opened.close()


def _opened(page: Page, text: str, before: str = "") -> None:
    drawing = Drawing(
        "fixed",
        before + text,
        _overlapping(before + text),
        [0, len(before)] if before else [0],
        page=2 if before else 1,
        document="d",
        gold=[Span(len(before) + 2, len(before) + 5)],
    )
    page.evaluate(_OPEN, [str(document_page(drawing)), SELECT])


def _shown(text: str) -> str:
    """The text as it is drawn, whatever of it can be."""
    unprintable = {*map(chr, range(32)), "\x7f", "\ud800"} - set("\t\n\r")
    return "".join("\ufffd" if one in unprintable else one for one in text).replace("\r", "\n")


@pytest.mark.parametrize("name", HOSTILE)
def test_whatever_is_selected_is_sent_as_exactly_these_characters(page: Page, name: str) -> None:
    text, before = HOSTILE[name], "👋 page one\r\n"
    _opened(page, text, before)
    sent: list[dict[str, Any]] = page.evaluate(_SELECT_ALL)
    spans = {(int(one["start"]), int(one["end"])) for one in sent}
    places = range(len(before), len(before) + len(text) + 1)
    assert spans == {(low, high) for low in places for high in places if low < high}
    for one in sent:
        chosen = (before + text)[int(one["start"]) : int(one["end"])]
        assert one["text"].replace("\r", "\n") == _shown(chosen)
        assert one["document"] == "d"


def test_a_selection_that_leaves_the_text_ends_where_the_text_does(page: Page) -> None:
    _opened(page, "It rained. Nobody came.")
    page.evaluate("getSelection().selectAllChildren(document.body)")
    page.evaluate("document.querySelector('.rn-mark-here').click()")
    assert page.evaluate("[sent[0].start, sent[0].end]") == ["0", "23"]


def test_what_is_selected_elsewhere_can_not_be_marked(page: Page) -> None:
    _opened(page, "It rained. Nobody came.")
    for place in ("p", "#home + p", ".rn-doc-facts", ".rn-doc .rn-start"):
        page.evaluate("one => getSelection().selectAllChildren(document.querySelector(one))", place)
        page.evaluate("document.querySelector('.rn-mark-here').click()")
    assert page.evaluate("sent") == []


def test_the_button_is_there_while_text_is_selected_and_stays_inside_the_page(page: Page) -> None:
    _opened(page, "It rained. " * 200)
    mark = page.locator(".rn-mark-here")
    assert mark.is_hidden()
    page.evaluate("getSelection().selectAllChildren(document.querySelector('.rn-doc'))")
    mark.wait_for(state="visible")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    mark.click()
    mark.wait_for(state="hidden")
