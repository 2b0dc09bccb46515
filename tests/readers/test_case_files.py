"""Small files that were once read wrongly, and what is right of each.

The files in `tests/data/cases` were made for these tests; each stands for a kind of fault that
users of several tools have reported.
"""
# ruff: noqa: RUF001 -- letters of other alphabets are meant

from pathlib import Path

import pytest
from llama_index.core.schema import Document

from rag_nodes.readers import read, read_all
from rag_nodes.text.markdown import scan_blocks

CASES = Path(__file__).parents[1] / "data" / "cases"

CODE_PAGES = {
    "big5_zh.txt": "渡輪九點開。票價七克朗，兒童免費。請提早到達。",
    "cp1250_cs.txt": (
        "Příliš žluťoučký kůň úpěl ďábelské ódy. Vstupné je deset korun a děti mají vstup "
        "zdarma. Šatna je v přízemí."
    ),
    "cp1250_hu.txt": (
        "Árvíztűrő tükörfúrógép. A belépő ára tíz forint, a gyerekeknek ingyenes. Kérjük, "
        "hozzon törülközőt. Őszi szünetben zárva."
    ),
    "cp1250_pl.txt": (
        "Zażółć gęślą jaźń. Ćwiczenia w Łodzi są codziennie, a wstęp kosztuje dziesięć "
        "złotych. Proszę przynieść własną szklankę i ręcznik."
    ),
    "cp1251_ru.txt": (
        "Паром отходит в девять часов. Билет стоит семь крон, дети бесплатно. Просим "
        "приходить заранее."
    ),
    "cp1253_el.txt": (
        "Το πλοίο φεύγει στις εννέα. Το εισιτήριο κοστίζει επτά κορώνες και τα παιδιά "
        "ταξιδεύουν δωρεάν."
    ),
    "cp1255_he.txt": (
        "המעבורת יוצאת בתשע. הכרטיס עולה שבעה כתרים וילדים נוסעים חינם. נא להגיע מוקדם."
    ),
    "cp1256_ar.txt": (
        "تغادر العبارة في الساعة التاسعة. ثمن التذكرة سبع كرونات والأطفال مجانا. يرجى الحضور مبكرا."
    ),
    "cp1257_lt.txt": (
        "Keltas išplaukia devintą valandą. Bilietas kainuoja septynias kronas, vaikams "
        "nemokamai. Prašome ateiti anksčiau. Žuvų šašlykai."
    ),
    "cp850_fr.txt": (
        "Le bac part à neuf heures. Le billet coûte sept couronnes, les élèves entrent "
        "gratuitement. Prière d'être à l'heure."
    ),
    "eucjp_ja.txt": (
        "フェリーは九時に出発します。切符は七クローネで、子供は無料です。早めにお越しください。"
    ),
    "euckr_ko.txt": (
        "페리는 아홉 시에 출발합니다. 표는 일곱 크로네이고 어린이는 무료입니다. 일찍 오십시오."
    ),
    "koi8_ru.txt": (
        "Паром отходит в девять часов. Билет стоит семь крон, дети бесплатно. Просим "
        "приходить заранее."
    ),
    "latin2_pl.txt": (
        "Zażółć gęślą jaźń. Ćwiczenia w Łodzi są codziennie, a wstęp kosztuje dziesięć "
        "złotych. Proszę przynieść własną szklankę."
    ),
    "macroman_de.txt": (
        "Die Fähre fährt um neun Uhr. Die Karte kostet sieben Kronen, für Schüler ist es "
        "kostenlos. Bitte früh da sein, Größe zählt."
    ),
    "sjis_ja.txt": (
        "フェリーは九時に出発します。切符は七クローネで、子供は無料です。早めにお越しください。"
    ),
    "tis620_th.txt": "เรือข้ามฟากออกเวลาเก้าโมง ตั๋วราคาเจ็ดโครน เด็กฟรี กรุณามาก่อนเวลา",
}
"""Text of each file in an encoding that is not Unicode, which repeats it."""


def case(name: str) -> Document:
    return read(CASES / name)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("html/head_unclosed.html", "# Ferry times\n\nThe last ferry leaves at 21:40."),
        ("html/head_no_body_tag.html", "# Ferry times\n\nThe last ferry leaves at 21:40."),
        ("html/tabs.html", "# Install\n\nUse apt on Linux.\n\nUse winget on Windows."),
        (
            "html/script_selfclosed.xhtml",
            "First paragraph.\n\nThe last ferry leaves at 21:40.\n\nTail sentence.",
        ),
        ("docx/legacy_form.docx", "Size: medium wanted.\n\n[x] smoker\n\n[ ] non-smoker"),
        ("docx/altchunk_mht_only.docx", "# Résumé\n\nOnly the alternate chunk has text."),
    ],
)
def test_the_whole_text_of_a_file(name: str, text: str) -> None:
    assert case(name).text == text


def test_superscripts_are_no_digits_of_the_number_before_them() -> None:
    assert "に行く。10³ and H2O[1]." in case("html/ruby_sup.html").text


def test_elements_with_the_role_of_a_heading_are_headings() -> None:
    text = case("html/roles.html").text
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        "# Role title",
        "## Role section",
        "## Anchored",
        "## Line broken heading",
    ]


def test_a_frame_is_read_and_text_for_browsers_without_scripts_is_named() -> None:
    document = case("html/srcdoc_select.html")
    assert "title" not in document.metadata
    assert "Frame text about the policy." in document.text
    assert document.metadata["read_warnings"] == [
        "6 words in <noscript>, for browsers without scripts, were left out"
    ]


def test_comments_of_mdx_are_no_headings() -> None:
    text = case("md/mdx_as_md.md").text
    titles = [block.title.of(text) for block in scan_blocks(text) if block.level]
    assert titles == ["MDX page", "Install"]


def test_a_price_list_beside_an_article_is_named_in_a_warning() -> None:
    [warning] = case("html/main_plus_outside.html").metadata["read_warnings"]
    assert warning.startswith("67% of the visible words stand outside the page's <article>")


def test_a_page_within_a_word_file_stands_where_it_is_inserted() -> None:
    assert case("docx/altchunk_html_middle.docx").text.split("\n\n") == [
        "# Report",
        "Text before the chunk.",
        "## Inserted chapter",
        "The mail merge letter is addressed to the harbour master.",
        "Text after the chunk.",
    ]


@pytest.mark.parametrize(
    ("name", "text", "source"),
    [
        ("sdk_snake.json", "# Snake\n\nText.", "https://a.example/snake"),
        ("v2_search.json", "# S1\n\nSearch text.", "https://a.example/s1"),
    ],
)
def test_pages_of_a_crawl_are_read(name: str, text: str, source: str) -> None:
    [row] = read_all(CASES / "crawl" / name)
    assert row.document is not None
    assert (row.document.text, row.document.metadata["source"]) == (text, source)


@pytest.mark.parametrize(("name", "text"), CODE_PAGES.items(), ids=CODE_PAGES)
def test_each_code_page_is_recognised(name: str, text: str) -> None:
    rest = set(case(f"txt/{name}").text.split(text))
    assert not any(map(str.strip, rest))
