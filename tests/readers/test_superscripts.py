"""Superscripts of web pages and Word files are read as raised characters."""

from pathlib import Path

import pytest
from docx_files import members, run, write_docx

from rag_nodes.readers import read
from rag_nodes.readers.html import reading_of_html

SUPERSCRIPT = '<w:vertAlign w:val="superscript"/>'
TERM = "<m:r><m:t>2</m:t></m:r>"
STYLES = (
    '<w:style w:type="character" w:styleId="up"><w:name w:val="Exponent"/>'
    f"<w:rPr>{SUPERSCRIPT}</w:rPr></w:style>"
    '<w:style w:type="character" w:styleId="mine"><w:name w:val="Mine"/>'
    '<w:basedOn w:val="up"/></w:style>'
)


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>10<sup>3</sup> and H<sub>2</sub>O", "10³ and H2O"),
        ("<p>note<sup><a href='#n'>12</a></sup>", "note¹²"),
        ("<p>note<sup><a href='#n'>[12]</a></sup>", "note[12]"),
        (
            "<p>so<sup><a href='https://e.org/1'>1</a>,<a href='https://e.org/2'>2</a></sup>",
            "so[¹](https://e.org/1),[²](https://e.org/2)",
        ),
        ("<p>2<span style='font-size: 8pt; vertical-align: super'>8</span>", "2⁸"),
        ("<p>2<span style='vertical-align: baseline'>8</span>", "28"),
        ("<p><math><msup><mi>x</mi><mrow><mo>-</mo><mn>2</mn></mrow></msup></math>", "x⁻²"),
        ("<math><msubsup><mi>a</mi><mn>1</mn><mn>3</mn></msubsup></math>", "a1³"),
        ("<p>the 4<sup>th</sup>, x<sup><i>n</i>+1</sup>", "the 4th, xⁿ⁺¹"),
        ("<table><tr><td>a<td>10<sup>6</sup></table>", "| a | 10⁶ |\n| --- | --- |"),
    ],
)
def test_superscripts_of_web_pages(html: str, text: str) -> None:
    assert reading_of_html(html).text == text


@pytest.mark.parametrize(
    ("runs", "text"),
    [
        (run("10") + run("3", SUPERSCRIPT) + run(" kg"), "10³ kg"),
        (run("40 m") + run("2", '<w:rStyle w:val="up"/>'), "40 m²"),
        (run("note") + run("12", '<w:rStyle w:val="mine"/>'), "note¹²"),
        (run("2") + run("8", '<w:position w:val="7"/><w:sz w:val="14"/>'), "2⁸"),
        (run("2") + run("8", '<w:position w:val="2"/>'), "28"),
        (run("H") + run("2", '<w:vertAlign w:val="subscript"/>') + run("O"), "H2O"),
        (run("1") + run("2", '<w:rStyle w:val="up"/><w:vertAlign w:val="baseline"/>'), "12"),
        (run("4") + run("th", SUPERSCRIPT), "4th"),
        (f"<m:oMath><m:sSup><m:e>{TERM}</m:e><m:sup>{TERM}</m:sup></m:sSup></m:oMath>", "2²"),
    ],
)
def test_superscripts_of_word_files(tmp_path: Path, runs: str, text: str) -> None:
    body = f"<w:p>{runs}</w:p>"
    assert read(write_docx(tmp_path / "a.docx", members(body, styles=STYLES))).text == text


def test_references_of_footnotes_keep_their_form(tmp_path: Path) -> None:
    note = f'<w:r><w:rPr>{SUPERSCRIPT}</w:rPr><w:footnoteReference w:id="2"/></w:r>'
    body = f"<w:p>{run('Ten')}{note}{run('.')}</w:p>"
    notes = f'<w:footnote w:id="2"><w:p>{run("A")}{run("1", SUPERSCRIPT)}</w:p></w:footnote>'
    document = read(write_docx(tmp_path / "a.docx", members(body, footnotes=notes)))
    assert document.text == "Ten[^1].\n\n[^1]: A¹"
