"""Characters become lines: none is lost, doubled or moved, and only blanks are added."""

from hypothesis import given
from hypothesis import strategies as st

from rag_nodes.readers.pdf.engines.flow import GlyphRun, flow, glyph_lines, text_lines, words
from rag_nodes.readers.pdf.engines.protocol import Font

places = st.floats(-50, 600, allow_nan=False, width=32)


@st.composite
def runs(draw: st.DrawFn) -> GlyphRun:
    letters = draw(st.lists(st.sampled_from("ab "), min_size=1, max_size=8))
    starts = draw(st.lists(places, min_size=len(letters), max_size=len(letters)))
    if draw(st.booleans()):
        starts.sort()
    size = draw(st.sampled_from([0.1, 6.0, 10.0, 24.0]))
    baseline = draw(st.sampled_from([100.0, 103.0, 112.0, 300.0]))
    ends = [start + size / 2 for start in starts]
    return GlyphRun(
        letters, starts, ends, Font(size, bold=False, mono=False), baseline, baseline - size,
        baseline, draw(st.integers(0, 3)),
    )  # fmt: skip


@given(st.lists(runs(), max_size=8))
def test_no_character_is_lost_doubled_or_moved(given_runs: list[GlyphRun]) -> None:
    wanted = "".join("".join(run.letters) for run in given_runs).replace(" ", "")
    lines = flow(given_runs)
    shown = text_lines(lines)
    texts = ["".join(run.text for run in line.runs) for line in shown]
    assert "".join(texts).replace(" ", "") == wanted
    assert ["".join(glyph.text for glyph in line) for line in glyph_lines(lines)] == texts
    assert [word[4] for word in words(lines)] == [word for text in texts for word in text.split()]
    blocks = [line.block for line in shown]
    assert blocks == sorted(blocks)
    assert set(blocks) == set(range(len(set(blocks))))
