from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_nodes.text.word_counts import RUN, counted, counted_behind_metadata, in_runs
from rag_nodes.text.words import words

TEXTS = st.lists(st.text(alphabet="ab 天ßé\u0301\n", max_size=40), max_size=20)
LINES = st.lists(st.sampled_from(["breadcrumb: a > b", "title: 1,250 b", "no metadata"]))


@given(LINES, st.text(alphabet="ab: 1,250天ßé\u0301\n", max_size=60))
def test_a_text_behind_metadata_counts_as_all_of_it_in_the_same_order(
    lines: list[str], text: str
) -> None:
    whole = "\n".join(lines) + "\n\n" + text
    assert list(counted_behind_metadata(whole).items()) == list(Counter(words(whole)).items())


def test_what_stands_behind_metadata_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def noted(text: str) -> list[str]:
        read.append(text)
        return words(text)

    monkeypatch.setattr("rag_nodes.text.word_counts.words", noted)
    text = "The pump has a valve.\n\nNote: the valve leaks."
    counted_behind_metadata(f"breadcrumb: Manual > Pump\n\n{text}")
    counted(text)
    assert read == ["breadcrumb: Manual > Pump", text]


def test_a_long_text_is_not_remembered() -> None:
    text = "word " * 10_000
    assert counted(text) == {"word": 10_000}
    assert counted(text) is not counted(text)


@given(TEXTS)
def test_a_run_holds_the_counts_of_every_text(texts: list[str]) -> None:
    expected = [Counter(words(text)) for text in texts]
    found = []
    for run in in_runs(expected):
        pairs = [(run.vocabulary[n], c) for n, c in zip(run.words, run.counts, strict=True)]
        ends = [0, *run.different.cumsum()]
        found += [pairs[start:end] for start, end in pairwise(ends)]
        assert [list(run.rows()).count(n) for n in range(len(run.different))] == [*run.different]
    assert found == [list(text.items()) for text in expected]


def test_many_texts_come_in_runs_of_which_none_is_large() -> None:
    sizes = [len(run.different) for run in in_runs(Counter(["a"]) for _ in range(2 * RUN + 1))]
    assert sizes == [RUN, RUN, 1]
