"""Accents and vowel points that a file prints apart from their letters."""

from collections.abc import Sequence
from pathlib import Path
from unicodedata import normalize

import pytest
from printed_pdfs import print_pdf

from rag_nodes import locate
from rag_nodes.readers import read

CASES = Path(__file__).parents[1] / "data" / "cases" / "pdf"
ACUTE = "\u0301"
DIAERESIS = "\u0308"
KAMATZ, HOLAM = "\u05b8", "\u05b9"


def page(path: Path, *prints: tuple[float, float, Sequence[str]]) -> Path:
    """Make a page of 12 points: each letter takes 6 points, a mark none."""
    path.write_bytes(print_pdf(*((x, y, 12, words) for x, y, words in prints)))
    return path


@pytest.mark.parametrize(
    ("prints", "text"),
    [
        ([(50, 700, "cafe"), (71, 700, ACUTE), (74, 700, " au lait")], "café au lait"),
        ([(50, 700, "cafe au lait"), (71, 700, ACUTE)], "café au lait"),
        ([(50, 700, "cafE au lait"), (71, 702.5, ACUTE)], "cafÉ au lait"),
        ([(50, 700, "cafe au lait"), (50, 686, "resume of it"), (71, 700, ACUTE),
          (59, 686, ACUTE), (83, 686, ACUTE)], "café au lait résumé of it"),
        ([(50, 700, "Zurich in May"), (59, 700, DIAERESIS)], "Zürich in May"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("pdf_engine")
def test_accents_stand_behind_their_letters(
    tmp_path: Path, prints: list[tuple[float, float, str]], text: str
) -> None:
    assert normalize("NFC", read(page(tmp_path / "a.pdf", *prints)).text) == text


def test_a_quote_with_accents_is_located(tmp_path: Path) -> None:
    path = page(tmp_path / "a.pdf", (50, 700, "cafe au lait"), (71, 700, ACUTE))
    (box,) = locate(path, 1, "cafe" + ACUTE, engine="pdfium")
    assert (box.left, box.right) == pytest.approx((50, 74), abs=1)


@pytest.mark.usefixtures("pdf_engine")
def test_vowel_points_stand_behind_their_letters(tmp_path: Path) -> None:
    prints = [(50.0, 700.0, "םולש"), (71.0, 700.0, KAMATZ), (59.0, 700.0, HOLAM)]
    assert read(page(tmp_path / "a.pdf", *prints)).text == "ש\u05b8ל\u05d5\u05b9ם"


@pytest.mark.usefixtures("pdf_engine")
def test_vowel_points_of_chromium_stand_behind_their_letters() -> None:
    """The font has no Unicode value of its glyph for fatha over shadda."""
    text = (
        "שָׁלוֹם עֲלֵיכֶם, בְּרֵאשִׁית בָּרָא אֱלֹהִים אֵת הַשָּׁמַיִם. וְהָאָרֶץ הָיְתָה תֹהוּ וָבֹהוּ. "
        "שָׁלוֹם cafe\u0301 x\u0301y עֲלֵיכֶם cafe\u0301 x\u0301y q\u0308\u0301 "
        "مُحَمَّدٌ رَسُولُ بِسْمِ اللَّهِ الرَّحْمَٰنِ الرَّحِيمِ"
    )
    document = read(CASES / "vowel_points.pdf")
    assert normalize("NFC", document.text).split() == normalize("NFC", text).split()
    assert "read_warnings" not in document.metadata
