"""Fractions, roots and matrices of formulas are the same text in web pages and Word files."""

from pathlib import Path

import pytest
from docx_files import members, write_docx

from rag_nodes.core import metadata as keys
from rag_nodes.readers import read
from rag_nodes.readers.html import reading_of_html

Formula = str | tuple["str | Formula", ...]
"""A text, or the name of a form and its parts."""

HTML = {
    "row": ("mrow", ("", "", "", "")),
    "over": ("mfrac", ("", "")),
    "stack": ("mfrac linethickness='0'", ("", "")),
    "power": ("msup", ("", "")),
    "root": ("msqrt", ("",)),
    "nth": ("mroot", ("", "")),
    "matrix": ("mtable", ("", "")),
    "cells": ("mtr", ("mtd", "mtd")),
}
WORD = {
    "row": ("e", ("", "", "", "")),
    "over": ("f", ("num", "den")),
    "stack": ("f", ("num", "den")),
    "power": ("sSup", ("e", "sup")),
    "root": ("rad", ("e",)),
    "nth": ("rad", ("e", "deg")),
    "matrix": ("m", ("", "")),
    "cells": ("mr", ("e", "e")),
}
OPTIONS = {"stack": '<m:fPr><m:type m:val="noBar"/></m:fPr>'}


def write_formula(formula: "Formula", *, is_word: bool) -> str:
    """The markup of a formula."""
    if isinstance(formula, str):
        return f"<m:r><m:t>{formula}</m:t></m:r>" if is_word else f"<mn> {formula} </mn>"
    form, *parts = formula
    assert isinstance(form, str)
    tag, roles = (WORD if is_word else HTML)[form]
    inside = OPTIONS.get(form, "") if is_word else ""
    for part, name in zip(parts, roles, strict=False):
        text = write_formula(part, is_word=is_word)
        role = f"m:{name}" if is_word and name else name
        inside += f"<{role}>{text}</{role}>" if role else f" {text} "
    tag = f"m:{tag}" if is_word else tag
    return f"<{tag}>{inside}</{tag.split()[0]}>"


SUM = ("row", "a", "+", "b")


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (("over", "1", "2"), "1/2"),
        (("over", SUM, "c"), "(a+b)/c"),
        (("over", "a", SUM), "a/(a+b)"),
        (("over", ("power", "x", "2"), "y"), "x²/y"),
        (("over", ("over", "a", "b"), "c"), "(a/b)/c"),
        (("over", "(a+b)", "c"), "(a+b)/c"),
        (("row", "3", ("over", "1", "2")), "3 1/2"),
        (("row", "3", ("over", "1", "2"), "x"), "3 1/2 x"),
        (("row", "y=", ("over", "1", "2"), "+c"), "y=1/2+c"),
        (("power", ("over", "a", "b"), "2"), "(a/b)²"),
        (("power", "x", ("over", "1", "2")), "x¹/²"),
        (("root", "2"), "√2"),
        (("root", SUM), "√(a+b)"),
        (("over", ("row", "1", "+", ("root", "5")), "2"), "(1+√5)/2"),
        (("nth", "8", "3"), "³√8"),
        (("row", "(", ("stack", "n", "k"), ")"), "(n k)"),
        (("matrix", ("cells", "1", "2"), ("cells", "3", "4")), "1 2 3 4"),
    ],
)
def test_formulas_are_the_same_text_in_both_formats(
    tmp_path: Path, formula: "Formula", text: str
) -> None:
    html = f"<p>So <math>{write_formula(formula, is_word=False)}</math>."
    assert reading_of_html(html).text == f"So {text}."
    body = f"<w:p><m:oMath>{write_formula(formula, is_word=True)}</m:oMath></w:p>"
    document = read(write_docx(tmp_path / "a.docx", members(body)))
    assert document.text == text
    assert document.metadata[keys.READ_WARNINGS] == ["1 equation was written on one line"]


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<mi>sin</mi><mi>x</mi>", "sin x"),
        ("<mn>1</mn><mtext>if</mtext><mi>x</mi>", "1 if x"),
        ("<semantics><mn>2</mn><annotation>\\two</annotation></semantics>", "2"),
        ("<mfrac><mn>1</mn></mfrac>", "1"),
        ("x<mo>=</mo>", "x="),
    ],
)
def test_words_and_sources_in_formulas_of_web_pages(html: str, text: str) -> None:
    assert reading_of_html(f"<p>So <math>{html}</math>").text == f"So {text}"


@pytest.mark.parametrize(
    ("omml", "text"),
    [
        ("<m:d><m:e>a</m:e><m:e>b</m:e></m:d>", "(a|b)"),
        ('<m:d><m:dPr><m:begChr m:val="["/><m:endChr m:val=""/></m:dPr><m:e>a</m:e></m:d>', "[a"),
        ("<m:nary><m:sub>0</m:sub><m:sup>1</m:sup><m:e>x</m:e></m:nary>", "∫0¹x"),
        ('<m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr><m:e>x</m:e></m:nary>', "∑x"),
    ],
)
def test_signs_that_word_draws_without_text(tmp_path: Path, omml: str, text: str) -> None:
    for letter in "ab01x":
        omml = omml.replace(f">{letter}<", f"><m:r><m:t>{letter}</m:t></m:r><")
    body = f"<w:p><m:oMath>{omml}</m:oMath></w:p>"
    assert read(write_docx(tmp_path / "a.docx", members(body))).text == text
