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


def test_a_box_alone_in_a_table_cell_or_a_paragraph_is_ticked(tmp_path: Path) -> None:
    cell = box('<w14:checked w14:val="true"/>', f"<w:p>{run('☒')}</w:p>")
    row = [f"<w:p>{run('Member')}</w:p>", cell]
    body = table([f"<w:p>{run('Question')}</w:p>", f"<w:p>{run('Answer')}</w:p>"], row) + cell
    document = read(write_docx(tmp_path / "a.docx", members(body)))
    assert document.text == "| Question | Answer |\n| --- | --- |\n| Member | [x] |\n\n[x]"
