"""Twice the text costs twice the steps (L12), on texts on which careless parsers take the square.

Steps are counted, never seconds: see `steps`.
"""

import pytest
from llama_index.core.schema import Document
from steps import steps_of

from rag_nodes.parsers import PRESETS, get_parser

LENGTH = 3_000
MOST = 2.5
"""Times the steps of a text that one of twice its length may take; the square would be 4."""
WARM_UP = Document(text="# A heading\n\nOne sentence. Another one.\n\n- an item\n")
CUT_EITHER_WAY: dict[str, dict[str, int]] = {
    "web": {"chunk_size": 1000, "split_only_if_over": 500},
    "page": {"chunk_size": 500},
}
"""Sizes of presets that would leave the shorter text whole."""

RUNS = {
    "flags": "\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7",
    "flags of joined emoji": "\U0001f3f3\ufe0f\u200d\U0001f308",
    "flags of tags": "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "joined emoji": "\U0001f469\u200d",
    "marks": "\u0301",
    "letters that come before all others": "\u0600",
    "Hangul parts": "\u1100",
}


def growth(preset: str, pattern: str, patch: pytest.MonkeyPatch) -> float:
    """Steps of a text, in times of those of its first half."""
    parser = get_parser(preset, **CUT_EITHER_WAY.get(preset, {}))
    parser([WARM_UP])
    texts = [(pattern * length)[:length] for length in (LENGTH, 2 * LENGTH)]
    once, twice = (
        steps_of(lambda text=text: parser([Document(text=text)]), patch) for text in texts
    )
    return twice / once


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("preset", ["fixed", "recursive", "sentence", "heading"])
def test_steps_grow_with_the_length_of_a_run_of_clusters(
    preset: str, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert growth(preset, RUNS[run], monkeypatch) < MOST


@pytest.mark.parametrize("pattern", ["- x\n", "# x\n", "x\n\n"])
@pytest.mark.parametrize("preset", PRESETS)
def test_steps_of_every_preset_grow_with_the_length_of_a_text(
    preset: str, pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert growth(preset, pattern, monkeypatch) < MOST
