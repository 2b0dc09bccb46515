"""DOCX files: what of them becomes Markdown, and how."""

from pathlib import Path

import pytest
from docx_files import (
    HEADINGS,
    item,
    members,
    paragraph,
    run,
    styled_paragraph,
    table,
    write_docx,
)
from llama_index.core.schema import Document

from rag_nodes.core import metadata as keys
from rag_nodes.core.errors import EmptyFileError, FileTooLargeError
from rag_nodes.readers import Limits, read
from rag_nodes.text.markdown import scan_blocks


def document(tmp_path: Path, body: str, **parts: str) -> Document:
    return read(write_docx(tmp_path / "file.docx", members(body, **parts)))


def text_of(tmp_path: Path, body: str, **parts: str) -> str:
    return document(tmp_path, body, **parts).text


def numbering(*levels: tuple[str, str]) -> str:
    level_elements = "".join(
        f'<w:lvl w:ilvl="{at}"><w:start w:val="1"/><w:numFmt w:val="{kind}"/>'
        f'<w:lvlText w:val="{pattern}"/></w:lvl>'
        for at, (kind, pattern) in enumerate(levels)
    )
    return (
        f'<w:abstractNum w:abstractNumId="0">{level_elements}</w:abstractNum>'
        '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
    )


# --- headings -----------------------------------------------------------------------------------


def test_headings_are_known_by_style_name_outline_level_and_what_they_are_based_on(
    tmp_path: Path,
) -> None:
    styles = HEADINGS + (
        '<w:style w:styleId="mine"><w:name w:val="Kapitel"/><w:basedOn w:val="berschrift2"/>'
        "</w:style>"
        '<w:style w:styleId="de3"><w:name w:val="Überschrift 3"/></w:style>'
        '<w:style w:styleId="loop"><w:name w:val="A"/><w:basedOn w:val="loop"/></w:style>'
    )
    body = (
        styled_paragraph("One", "berschrift1")
        + styled_paragraph("Two", "mine")
        + styled_paragraph("Three", "de3")
        + paragraph("Four", '<w:outlineLvl w:val="3"/>')
        + styled_paragraph("Nine", "berschrift9")
        + styled_paragraph("Plain", "loop")
        + styled_paragraph("", "berschrift1")
    )
    assert text_of(tmp_path, body, styles=styles) == (
        "# One\n\n## Two\n\n### Three\n\n#### Four\n\n###### Nine\n\nPlain"
    )


def test_headings_are_found_in_a_file_that_lost_its_styles(tmp_path: Path) -> None:
    assert (
        text_of(tmp_path, styled_paragraph("One", "Heading1") + paragraph("Text"))
        == "# One\n\nText"
    )


def test_a_body_level_takes_a_paragraph_out_of_the_headings(tmp_path: Path) -> None:
    body = paragraph("Text", '<w:pStyle w:val="berschrift1"/><w:outlineLvl w:val="9"/>')
    assert text_of(tmp_path, body, styles=HEADINGS) == "Text"


def test_numbered_headings_carry_the_number_that_word_shows(tmp_path: Path) -> None:
    styles = HEADINGS.replace(
        "<w:outlineLvl", '<w:numPr><w:numId w:val="1"/></w:numPr><w:outlineLvl'
    )
    levels = "".join(
        f'<w:lvl w:ilvl="{at}"><w:start w:val="1"/><w:numFmt w:val="{kind}"/>'
        f'<w:lvlText w:val="{pattern}"/><w:pStyle w:val="berschrift{at + 1}"/></w:lvl>'
        for at, (kind, pattern) in enumerate([("upperRoman", "%1"), ("decimal", "%1.%2")])
    )
    lists = (
        f'<w:abstractNum w:abstractNumId="7">{levels}</w:abstractNum>'
        '<w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num>'
    )
    body = "".join(
        styled_paragraph(text, f"berschrift{level}")
        for text, level in [("A", 1), ("B", 2), ("C", 2), ("D", 1), ("E", 2)]
    )
    assert text_of(tmp_path, body, styles=styles, numbering=lists).split("\n\n") == [
        "# I A",
        "## I.1 B",
        "## I.2 C",
        "# II D",
        "## II.1 E",
    ]


def test_the_title_comes_from_the_properties_else_from_the_title_paragraph(tmp_path: Path) -> None:
    title = '<w:style w:styleId="T"><w:name w:val="Title"/></w:style>'
    parts = members(styled_paragraph("On the page", "T"), styles=title)
    assert read(write_docx(tmp_path / "a.docx", parts)).metadata[keys.TITLE] == "On the page"
    parts["docProps/core.xml"] = (
        '<p xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>In the file</dc:title>'
        "<dc:subject>Tea</dc:subject></p>"
    )
    metadata = read(write_docx(tmp_path / "b.docx", parts)).metadata
    assert (metadata[keys.TITLE], metadata[keys.DESCRIPTION]) == ("In the file", "Tea")


# --- lists --------------------------------------------------------------------------------------


def test_nested_lists_are_indented_to_the_text_of_the_item_above(tmp_path: Path) -> None:
    lists = numbering(("decimal", "%1."), ("bullet", "o"), ("lowerLetter", "%3)"))
    body = item("a") + item("b", 1) + item("c", 2) + item("d") + paragraph("end")
    assert text_of(tmp_path, body, numbering=lists) == ("1. a\n   - b\n     - a) c\n2. d\n\nend")


def test_counting_restarts_where_a_list_says_so_and_goes_on_elsewhere(tmp_path: Path) -> None:
    lists = numbering(("decimal", "%1.")) + (
        '<w:num w:numId="2"><w:abstractNumId w:val="0"/><w:lvlOverride w:ilvl="0">'
        '<w:startOverride w:val="5"/></w:lvlOverride></w:num>'
    )
    body = item("a") + paragraph("between") + item("b") + item("c", 0, 2) + item("d", 0, 2)
    assert text_of(tmp_path, body, numbering=lists) == "1. a\n\nbetween\n\n2. b\n5. c\n6. d"


def test_numbers_without_bounds_do_not_make_a_small_file_large(tmp_path: Path) -> None:
    lists = numbering(("lowerLetter", "%1" * 5000)).replace(
        'w:start w:val="1"', 'w:start w:val="999999999"'
    )
    assert len(text_of(tmp_path, item("a") * 3, numbering=lists)) < 3000


# --- text that must stay text -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "read_as"),
    [
        ("# not a heading", "\\# not a heading"),
        ("1986. A good year", "1986\\. A good year"),
        ("- not an item", "\\- not an item"),
        ("---", "\\---"),
        ("```", "\\`\\`\\`"),
        ("&gt; no quote", "\\> no quote"),
        ("&lt;div> no HTML", "\\<div> no HTML"),
        ("    indented", "indented"),
        ("It cost 5 * 3 = 15_000 #1.", "It cost 5 * 3 = 15_000 #1."),
        ("2.5 litres", "2.5 litres"),
    ],
)
def test_text_does_not_turn_into_markdown_by_accident(
    tmp_path: Path, written: str, read_as: str
) -> None:
    assert text_of(tmp_path, paragraph(written)) == read_as


# --- tables -------------------------------------------------------------------------------------


def test_tables_become_markdown_tables_with_pipes_and_line_breaks_escaped(tmp_path: Path) -> None:
    body = table(
        [paragraph("Name"), paragraph("Note")],
        [paragraph("a|b"), paragraph("first") + paragraph("second")],
        [paragraph(""), paragraph("")],
    )
    assert text_of(tmp_path, body) == (
        "| Name | Note |\n| --- | --- |\n| a\\|b | first<br>second |"
    )


def test_merged_cells_repeat_downwards_and_are_blank_sideways(tmp_path: Path) -> None:
    down = "<w:tcPr><w:vMerge w:val='restart'/></w:tcPr>" + paragraph("tea")
    more = "<w:tcPr><w:vMerge/></w:tcPr>" + paragraph("")
    wide = "<w:tcPr><w:gridSpan w:val='2'/></w:tcPr>" + paragraph("wide")
    body = table(
        [paragraph("kind"), paragraph("cups")],
        [down, paragraph("1")],
        [more, paragraph("2")],
        [wide],
    )
    assert text_of(tmp_path, body).splitlines()[2:] == ["| tea | 1 |", "| tea | 2 |", "| wide |  |"]


def test_a_table_within_a_cell_is_flattened_and_a_warning_says_so(tmp_path: Path) -> None:
    inner = table([paragraph("a"), paragraph("b")], [paragraph("c"), paragraph("d")])
    body = table([paragraph("x"), paragraph("y")], [paragraph("see"), inner])
    converted = document(tmp_path, body)
    assert converted.text.splitlines()[-1] == "| see | a, b; c, d |"
    assert converted.metadata[keys.READ_WARNINGS] == [
        "1 table inside a table cell was flattened into it"
    ]


def test_a_frame_around_text_is_no_table(tmp_path: Path) -> None:
    body = table([styled_paragraph("Head", "berschrift1") + paragraph("text")])
    assert text_of(tmp_path, body, styles=HEADINGS) == "# Head\n\ntext"


def test_a_huge_span_does_not_make_a_small_file_large(tmp_path: Path) -> None:
    wide = "<w:tcPr><w:gridSpan w:val='999999999'/></w:tcPr>" + paragraph("x")
    assert len(text_of(tmp_path, table(*([[wide, paragraph("y")]] * 20)))) < 1000


# --- inside paragraphs --------------------------------------------------------------------------


def test_links_are_kept_and_dangerous_ones_are_text(tmp_path: Path) -> None:
    links = {"ok": "https://example.org/a b(c)", "bad": "java\tscript:alert(1)"}
    body = "".join(
        f'<w:p><w:hyperlink r:id="{name}">{run(f"go {name}")}</w:hyperlink></w:p>'
        for name in ("ok", "bad", "none")
    )
    links["bad"] = links["bad"].replace("\t", "&#9;")
    converted = read(write_docx(tmp_path / "file.docx", members(body, links)))
    assert converted.text == "[go ok](https://example.org/a%20b%28c%29)\n\ngo bad\n\ngo none"


def test_links_made_of_fields_are_kept_and_instructions_are_not_text(tmp_path: Path) -> None:
    def mark(kind: str) -> str:
        return f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>'

    address = '<w:r><w:instrText> HYPERLINK "https://example.org" </w:instrText></w:r>'
    body = f"<w:p>{mark('begin')}{address}{mark('separate')}{run('site')}{mark('end')}</w:p>"
    assert text_of(tmp_path, body) == "[site](https://example.org)"


def test_inserted_text_stays_and_deleted_and_hidden_text_goes(tmp_path: Path) -> None:
    shown = run(" shown", '<w:vanish w:val="0"/>')
    body = (
        f"<w:p><w:ins>{run('new')}</w:ins><w:del><w:r><w:delText>old</w:delText></w:r></w:del>"
        f"<w:moveFrom>{run('here')}</w:moveFrom>{run('secret', '<w:vanish/>')}"
        f"{shown}</w:p>"
    )
    converted = document(tmp_path, body)
    assert converted.text == "new shown"
    assert converted.metadata[keys.READ_WARNINGS] == ["1 hidden piece of text was left out"]


def test_notes_are_marked_in_the_text_and_written_at_its_end(tmp_path: Path) -> None:
    def reference(kind: str, note: int) -> str:
        return f'<w:r><w:{kind}Reference w:id="{note}"/></w:r>'

    body = (
        f"<w:p>{run('a')}{reference('endnote', 3)}{run(' b')}{reference('footnote', 3)}</w:p>"
        f"<w:p>{run('c')}{reference('endnote', 3)}</w:p>"
    )
    notes = {
        kind + "s": f'<w:{kind} w:id="3">{paragraph(kind)}{paragraph("more")}</w:{kind}>'
        for kind in ("footnote", "endnote")
    }
    assert text_of(tmp_path, body, **notes) == (
        "a[^1] b[^2]\n\nc[^1]\n\n[^1]: endnote more\n\n[^2]: footnote more"
    )


def test_text_boxes_are_read_once_and_images_are_counted(tmp_path: Path) -> None:
    box = f"<v:textbox><w:txbxContent>{paragraph('boxed')}</w:txbxContent></v:textbox>"
    both = (
        f"<mc:AlternateContent><mc:Choice><w:drawing>{box}</w:drawing></mc:Choice>"
        f"<mc:Fallback><w:pict>{box}</w:pict></mc:Fallback></mc:AlternateContent>"
    )
    body = f"<w:p>{run('around')}<w:r>{both}</w:r><w:r><w:drawing/></w:r></w:p>"
    converted = document(tmp_path, body)
    assert converted.text == "around\n\nboxed"
    assert converted.metadata[keys.READ_WARNINGS] == [
        "1 image, chart or embedded object was left out"
    ]


def test_content_controls_are_transparent_and_the_table_of_contents_is_left_out(
    tmp_path: Path,
) -> None:
    styles = '<w:style w:styleId="V1"><w:name w:val="toc 1"/></w:style>'
    gallery = '<w:docPartObj><w:docPartGallery w:val="Table of Contents"/></w:docPartObj>'

    def control(inner: str, properties: str = "") -> str:
        return f"<w:sdt><w:sdtPr>{properties}</w:sdtPr><w:sdtContent>{inner}</w:sdtContent></w:sdt>"

    body = (
        control(paragraph("Contents"), gallery)
        + styled_paragraph("One ... 1", "V1")
        + control(paragraph("kept"))
        + f"<w:p>{control(run('this too'))}</w:p>"
    )
    assert text_of(tmp_path, body, styles=styles) == "kept\n\nthis too"


def test_breaks_tabs_and_equations_are_characters(tmp_path: Path) -> None:
    body = (
        f"<w:p>{run('a')}<w:r><w:tab/></w:r>{run('b')}<w:r><w:br/></w:r>{run('# c')}"
        "<w:r><w:noBreakHyphen/></w:r><m:oMath><m:r><m:t>E=mc</m:t></m:r></m:oMath></w:p>"
    )
    assert text_of(tmp_path, body) == "a\tb\n\\# c\u2011E=mc"


def test_files_in_the_strict_variant_of_the_format_are_read(tmp_path: Path) -> None:
    parts = members(styled_paragraph("One", "Heading1"))
    xml = str(parts["word/document.xml"]).replace(
        "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
        "http://purl.oclc.org/ooxml/wordprocessingml/main",
    )
    document = read(write_docx(tmp_path / "file.docx", {**parts, "word/document.xml": xml}))
    assert document.text == "# One"


def test_a_document_without_text_is_empty_and_one_over_the_limit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EmptyFileError):
        document(tmp_path, paragraph("") + table([paragraph("")]))
    path = write_docx(tmp_path / "long.docx", members(paragraph("x" * 100) * 20))
    with pytest.raises(FileTooLargeError, match="characters"):
        read(path, limits=Limits(characters=1500))


# --- what few files have ------------------------------------------------------------------------


def test_a_note_that_refers_to_another_note_brings_it_along(tmp_path: Path) -> None:
    notes = (
        f'<w:footnote w:id="2"><w:p>{run("see ")}<w:r><w:footnoteReference w:id="3"/></w:r></w:p>'
        f'</w:footnote><w:footnote w:id="3">{paragraph("there")}</w:footnote>'
    )
    body = f'<w:p>{run("text")}<w:r><w:footnoteReference w:id="2"/></w:r></w:p>'
    assert text_of(tmp_path, body, footnotes=notes) == "text[^1]\n\n[^1]: see [^2]\n\n[^2]: there"


def test_a_link_within_a_link_is_one_link(tmp_path: Path) -> None:
    field = (
        '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>HYPERLINK "{}"'
        '</w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r>'
    )
    end = '<w:r><w:fldChar w:fldCharType="end"/></w:r>'
    inner = f"{field.format('http://in.test')}{run('tea')}{end}"
    body = f"<w:p>{field.format('http://out.test')}{run('hot ')}{inner}{run(' here')}{end}</w:p>"
    assert text_of(tmp_path, body) == "hot [tea](http://in.test) here"


def test_a_link_that_leads_nowhere_leaves_the_one_around_it(tmp_path: Path) -> None:
    body = (
        "<w:p><w:fldSimple w:instr='HYPERLINK \"http://out.test\"'>"
        f"<w:fldSimple w:instr='HYPERLINK \"javascript:x\"'>{run('tea')}</w:fldSimple>"
        "</w:fldSimple></w:p>"
    )
    assert text_of(tmp_path, body) == "[tea](http://out.test)"


def test_hashes_at_the_end_of_a_heading_are_part_of_it(tmp_path: Path) -> None:
    body = styled_paragraph("Written in C #", "berschrift1") + styled_paragraph("C#", "berschrift2")
    text = text_of(tmp_path, body, styles=HEADINGS)
    assert [block.title.of(text) for block in scan_blocks(text)] == ["Written in C \\#", "C#"]


def test_line_ends_in_the_xml_are_none_in_the_text(tmp_path: Path) -> None:
    body = "<w:p><w:r><w:t>one\n\tline</w:t><w:br/><w:t>and another</w:t></w:r></w:p>"
    assert text_of(tmp_path, body) == "one  line\nand another"


@pytest.mark.parametrize(("length", "times"), [(200, 3), (201, 1)])
def test_only_a_short_cell_is_repeated_in_the_rows_it_spans(
    tmp_path: Path, length: int, times: int
) -> None:
    begins, goes_on = (
        f'<w:tcPr><w:vMerge w:val="{kind}"/></w:tcPr>' for kind in ("restart", "continue")
    )
    rows = [[begins + paragraph("x" * length), paragraph("a")]]
    rows += [[goes_on + paragraph(""), paragraph(name)] for name in ("b", "c")]
    assert text_of(tmp_path, table(*rows)).count("x" * length) == times
