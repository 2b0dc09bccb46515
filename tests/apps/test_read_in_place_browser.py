"""Columns that find by one text and read another show both."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from browser_page import loading, unfold_parsers

from rag_nodes.parsers import PRESETS

if TYPE_CHECKING:
    from pathlib import Path

    import gradio as gr
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

TEXT = "# Machines\n\n" + "\n\n".join(
    f"## Machine {n}\n\nMachine {n} is red. It needs oil on day {n}. It stands in hall {n}."
    for n in range(60)
)


def test_a_chunk_shows_what_matched_and_what_was_read_in_its_place(
    browser: Browser, app: gr.Blocks, tmp_path: Path
) -> None:
    document = tmp_path / "machines.md"
    document.write_text(TEXT, encoding="utf-8")
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(60_000)
    page.goto(str(app.local_url))
    page.wait_for_selector(".rn-empty")
    with loading(page):
        page.set_input_files("#rn-files input[type=file]", str(document))
    unfold_parsers(page)
    for name, preset in PRESETS.items():
        box = page.locator("#rn-parsers").get_by_label(preset.title, exact=True)
        box.set_checked(name in {"sentence-window", "parent-child"})
    with loading(page):
        page.locator("#rn-process:enabled").click()
    page.locator("#rn-question textarea:enabled").fill("When does machine 17 need oil?")
    page.locator("#rn-question textarea").press("Enter")
    page.locator(".rn-turn .rn-column").nth(1).wait_for()
    for column in page.locator(".rn-turn .rn-column").all():
        column.locator(".rn-chunks > summary").click()
        first = column.locator(".rn-hit").first
        assert "read with it:" in first.locator(".rn-facts").first.inner_text()
        first.locator(".rn-chunk > summary").click()
        found, read = (first.locator(".rn-text").nth(place).inner_text() for place in (0, 1))
        assert first.locator(".rn-read .rn-facts").inner_text() == "Read in its place"
        assert len(read) > len(found)
        assert " ".join(found.split()) in " ".join(read.split())
    page.close()
