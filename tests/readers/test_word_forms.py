"""Forms in Word files: values stand beside their labels, ticks are `[x]` and `[ ]`."""

from pathlib import Path

import pytest
from docx_files import members, run, table, write_docx

from rag_nodes.core import metadata as keys
from rag_nodes.readers import read

ENTRIES = "".join(f'<w:listEntry w:val="{size}"/>' for size in ("small", "medium", "large"))


def legacy(kind: str, data: str = "", result: str = "") -> str:
    """A legacy field, as Word writes it."""
    shown = f'<w:r><w:fldChar w:fldCharType="separate"/></w:r>{result}' if result else ""
    return (
        f'<w:r><w:fldChar w:fldCharType="begin"><w:ffData>{data}</w:ffData></w:fldChar></w:r>'
        f"<w:r><w:instrText> FORM{kind} </w:instrText></w:r>{shown}"
        '<w:r><w:fldChar w:fldCharType="end"/></w:r>'
    )


def tick_box(state: str) -> str:
    return legacy("CHECKBOX", f"<w:checkBox>{state}</w:checkBox>")


def drop_down(choice: str) -> str:
    return legacy("DROPDOWN", f"<w:ddList>{choice}{ENTRIES}</w:ddList>")


def control(properties: str, content: str) -> str:
    return f"<w:sdt><w:sdtPr>{properties}</w:sdtPr><w:sdtContent>{content}</w:sdtContent></w:sdt>"


def box(state: str, content: str) -> str:
    return control(f"<w14:checkbox>{state}</w14:checkbox>", content)


def symbol(font: str, place: str) -> str:
    return f'<w:r><w:sym w:font="{font}" w:char="{place}"/></w:r>'


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        (tick_box("<w:checked/>") + run(" smoker"), "[x] smoker"),
        (tick_box('<w:default w:val="1"/>') + run(" smoker"), "[x] smoker"),
        (
            tick_box('<w:default w:val="1"/><w:checked w:val="0"/>') + run(" smoker"),
            "[ ] smoker",
        ),
        (run("Size: ") + drop_down('<w:result w:val="2"/>'), "Size: large"),
        (run("Size: ") + drop_down('<w:default w:val="1"/>'), "Size: medium"),
        (run("Size: ") + drop_down('<w:default w:val="1"/><w:result w:val="0"/>'), "Size: small"),
        (run("Size: ") + drop_down(""), "Size: small"),
        (run("Size:") + drop_down('<w:result w:val="9"/>'), "Size:"),
        (
            run("Name: ") + legacy("TEXT", "<w:textInput/>", run("Ada Lovelace")),
            "Name: Ada Lovelace",
        ),
        (
            run("Member: ") + box('<w14:checked w14:val="1"/>', run("☒")) + run(" yes"),
            "Member: [x] yes",
        ),
        (box('<w14:checked w14:val="0"/>', run("☐")) + run(" no"), "[ ] no"),
        (box("", symbol("Wingdings 2", "F0A3")) + run(" no"), "[ ] no"),
        (
            run("Colour: ") + control('<w:dropDownList w:lastValue="g"/>', run("green")),
            "Colour: green",
        ),
        (run("Town: ") + control("<w:comboBox/>", run("Bergen")), "Town: Bergen"),
        (
            run("Date: ") + control('<w:date w:fullDate="2026-05-04"/>', run("4 May 2026")),
            "Date: 4 May 2026",
        ),
        (run("Name: ") + control("<w:text/>", run("Ada")), "Name: Ada"),
        (
            symbol("Wingdings", "F0FE") + run(" tea ") + symbol("Wingdings", "00A8"),
            "[x] tea [ ]",
        ),
    ],
)
def test_each_field_has_its_value(tmp_path: Path, fields: str, text: str) -> None:
    document = read(write_docx(tmp_path / "a.docx", members(f"<w:p>{fields}</w:p>")))
    assert document.text == text
    assert keys.READ_WARNINGS not in document.metadata


PROMPT = "<w:showingPlcHdr/>"
CLICK = run("Click or tap here to enter text.")
EMPTY = control(PROMPT + "<w:text/>", CLICK)


def paragraph(content: str) -> str:
    return f"<w:p>{content}</w:p>"


EMPTY_CELL = control(PROMPT, f"<w:tc>{paragraph(CLICK)}</w:tc>")


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (paragraph(run("Name: ") + EMPTY), "Name:"),
        (paragraph(run("Size: ") + EMPTY + run("cm")), "Size: cm"),
        (control(PROMPT, 2 * paragraph(CLICK)) + paragraph(run("End")), "End"),
        (
            table([paragraph(run("Date")), paragraph(run("Day"))]).replace(
                "</w:tbl>",
                f"<w:tr>{EMPTY_CELL}<w:tc>{paragraph(run('Monday'))}</w:tc></w:tr></w:tbl>",
            ),
            "| Date | Day |\n| --- | --- |\n|  | Monday |",
        ),
        (
            f"<w:p>{run('Ten')}<w:r><w:footnoteReference w:id='2'/></w:r></w:p>",
            "Ten[^1]\n\n[^1]: See",
        ),
    ],
)
def test_prompts_of_empty_fields_are_left_out_and_counted(
    tmp_path: Path, body: str, text: str
) -> None:
    note = f'<w:footnote w:id="2"><w:p>{run("See ")}{control(PROMPT, CLICK)}</w:p></w:footnote>'
    notes = note if "footnote" in body else ""
    document = read(write_docx(tmp_path / "a.docx", members(body, footnotes=notes)))
    assert document.text == text
    (warning,) = document.metadata[keys.READ_WARNINGS]
    assert warning == "1 prompt of an empty form field was left out"


def test_filled_fields_and_check_boxes_keep_their_values(tmp_path: Path) -> None:
    off = control('<w:showingPlcHdr w:val="0"/>', run("Ada"))
    ticked = control(f"{PROMPT}<w14:checkbox><w14:checked/></w14:checkbox>", run("☐"))
    document = read(write_docx(tmp_path / "a.docx", members(f"<w:p>{off}{run(' ')}{ticked}</w:p>")))
    assert document.text == "Ada [x]"
    assert keys.READ_WARNINGS not in document.metadata


def test_a_box_alone_in_a_table_cell_or_a_paragraph_is_ticked(tmp_path: Path) -> None:
    cell = box('<w14:checked w14:val="true"/>', f"<w:p>{run('☒')}</w:p>")
    row = [f"<w:p>{run('Member')}</w:p>", cell]
    body = table([f"<w:p>{run('Question')}</w:p>", f"<w:p>{run('Answer')}</w:p>"], row) + cell
    document = read(write_docx(tmp_path / "a.docx", members(body)))
    assert document.text == "| Question | Answer |\n| --- | --- |\n| Member | [x] |\n\n[x]"
