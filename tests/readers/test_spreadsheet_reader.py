"""Excel workbooks: a section per sheet, its rows as those of CSV files."""

import io
import zipfile
from datetime import datetime, time, timedelta
from pathlib import Path

import openpyxl
import pytest
from docx_files import members, paragraph, write_docx

from rag_nodes.core import errors
from rag_nodes.core import metadata as keys
from rag_nodes.parsers import get_parser
from rag_nodes.readers import Limits, Skipped, read, read_all
from rag_nodes.readers.inside_openpyxl import Merge, cells_of

ROWS = [["region", "price"], ["North", 3], ["South", 4]]


def workbook(path: Path, **sheets: list[list[object]]) -> openpyxl.Workbook:
    """Save a workbook with these sheets, and return it to be changed and saved again."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return book


def test_a_sheet_is_a_section_and_its_rows_are_blocks_of_named_values(tmp_path: Path) -> None:
    book = workbook(tmp_path / "a.xlsx", Costs=ROWS, Empty=[], Notes=[["Note"], ["# one\n\ntwo"]])
    book.properties.title = "Budget"
    book.save(tmp_path / "a.xlsx")
    document = read(tmp_path / "a.xlsx")
    assert document.text == (
        "# Costs\n\nregion: North\nprice: 3\n\nregion: South\nprice: 4\n\n"
        "# Notes\n\nNote: # one\n  two"
    )
    assert document.metadata[keys.TITLE] == "Budget"
    nodes = get_parser("heading", min_chunk_size=0)([document])
    assert [node.metadata[keys.HEADING_PATH] for node in nodes] == [["Costs"], ["Notes"]]


def test_rows_read_as_those_of_the_same_table_in_csv(tmp_path: Path) -> None:
    rows = [
        ["name", "name", "", "2020"],
        ["Änne", "x, y", "late", "1986. A year"],
        ["Bo", "", "", "7"],
    ]
    (tmp_path / "a.csv").write_text(
        "\n".join(",".join(f'"{cell}"' for cell in row) for row in rows)
    )
    workbook(tmp_path / "a.xlsx", A=rows)
    assert read(tmp_path / "a.xlsx").text == f"# A\n\n{read(tmp_path / 'a.csv').text}"


def test_values_are_written_as_excel_shows_them(tmp_path: Path) -> None:
    values = [
        (1.1 + 2.2, "3.3"),
        (3.0, "3"),
        (12345678, "12345678"),
        (True, "TRUE"),
        (datetime(2024, 5, 1), "2024-05-01"),  # noqa: DTZ001 -- Excel has none
        (datetime(2024, 5, 1, 13, 45), "2024-05-01 13:45:00"),  # noqa: DTZ001
        (time(8, 30), "08:30:00"),
        (timedelta(hours=30), "1 day, 6:00:00"),
        ("#N/A", "#N/A"),
        (" padded_x000D_\n", "padded"),
    ]
    workbook(tmp_path / "a.xlsx", A=[["k", "v"], *(["x", value] for value, _ in values)])
    text = read(tmp_path / "a.xlsx").text
    assert [block.split("v: ")[1] for block in text.split("\n\n")[1:]] == [w for _, w in values]


def test_a_value_merged_over_rows_stands_in_each_of_them(tmp_path: Path) -> None:
    rows = [["region", "item"], ["North", "rope"], [None, "paint"], ["South", "oil"], [None, "tar"]]
    book = workbook(tmp_path / "a.xlsx", A=rows)
    book["A"].merge_cells("A2:A3")
    book.save(tmp_path / "a.xlsx")
    blocks = read(tmp_path / "a.xlsx").text.split("\n\n")[1:]
    assert blocks[1:] == ["region: North\nitem: paint", "region: South\nitem: oil", "item: tar"]


def test_lines_above_a_table_are_left_out_as_in_csv_files(tmp_path: Path) -> None:
    above: list[list[object]] = [["Costs of 2024"], [], ["in euros"], []]
    workbook(tmp_path / "a.xlsx", A=[*([None, None, *row] for row in (*above, *ROWS))], B=ROWS)
    csv = "Costs of 2024,\n\nin euros,\n\nregion,price\nNorth,3\nSouth,4\n"
    (tmp_path / "a.csv").write_text(csv, encoding="utf-8")
    sheet, table = read(tmp_path / "a.xlsx"), read(tmp_path / "a.csv")
    assert sheet.text == f"# A\n\n{table.text}\n\n# B\n\n{table.text}"
    assert sheet.metadata[keys.TITLE] == table.metadata[keys.TITLE] == "Costs of 2024"
    (warning,) = table.metadata[keys.READ_WARNINGS]
    assert warning == "2 lines above the header left out: Costs of 2024 | in euros"
    assert sheet.metadata[keys.READ_WARNINGS] == [f"sheet A: {warning}"]


@pytest.mark.parametrize(
    "rows",
    [
        [["Note"], ["one"], ["two"]],
        [["only", None], [None, "cells"], ["here", None]],
        [["1", "2"], ["3", "4"]],
        [["Total", "", ""], ["x", "1", "2"], ["y", "3", "4"]],
    ],
)
def test_rows_above_no_header_stay(tmp_path: Path, rows: list[list[object]]) -> None:
    workbook(tmp_path / "a.xlsx", A=rows)
    document = read(tmp_path / "a.xlsx")
    assert all(str(cell) in document.text for row in rows for cell in row if cell)
    assert keys.READ_WARNINGS not in document.metadata


def test_hidden_sheets_and_formulas_without_a_result_are_named(tmp_path: Path) -> None:
    book = workbook(tmp_path / "a.xlsx", A=[*ROWS, ["Sum", "=B2+B3"]], B=ROWS, C=ROWS)
    book["B"].sheet_state, book["C"].sheet_state = "hidden", "veryHidden"
    book.save(tmp_path / "a.xlsx")
    document = read(tmp_path / "a.xlsx")
    assert document.text.endswith("region: Sum")
    assert document.metadata[keys.READ_WARNINGS] == [
        "2 hidden sheets were left out, B and others: unhide what is to be read",
        "1 formula has no saved result: open it in Excel or LibreOffice and save it again as XLSX",
    ]
    workbook(tmp_path / "b.xlsx", A=[["=1+1"]])
    with pytest.raises(
        errors.EmptyFileError, match=r"1 formula has no saved result.*save it again"
    ):
        read(tmp_path / "b.xlsx")


def replace_in_workbook(path: Path, name: str, old: str, new: str) -> Path:
    """Replace text of one part of a workbook."""
    with zipfile.ZipFile(path) as archive:
        parts = {info.filename: archive.read(info) for info in archive.infolist()}
    parts[name] = parts[name].replace(old.encode(), new.encode())
    return write_docx(path, parts)  # type: ignore[arg-type]


def test_a_saved_result_is_the_value_of_a_formula_also_where_it_is_empty(tmp_path: Path) -> None:
    workbook(tmp_path / "a.xlsx", A=[["k", "v"], ["x", "=B3"], ["y", "=1"]])
    replace_in_workbook(
        tmp_path / "a.xlsx", "xl/worksheets/sheet1.xml", "<f>1</f><v></v>", "<f>1</f><v>5</v>"
    )
    replace_in_workbook(tmp_path / "a.xlsx", "xl/worksheets/sheet1.xml", 'r="B2"', 'r="B2" t="str"')
    document = read(tmp_path / "a.xlsx")
    assert document.text == "# A\n\nk: x\n\nk: y\nv: 5"
    assert keys.READ_WARNINGS not in document.metadata


def test_cells_of_a_sheet_that_lies_about_its_size_are_those_it_has(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    workbook(path, A=ROWS)
    replace_in_workbook(path, "xl/worksheets/sheet1.xml", 'ref="A1:B3"', 'ref="A1:XFD1048576"')
    merged = '</sheetData><mergeCells><mergeCell ref="A2:XFD1048576"/></mergeCells>'
    replace_in_workbook(path, "xl/worksheets/sheet1.xml", "</sheetData>", merged)
    book = openpyxl.load_workbook(path, read_only=True)
    cells = cells_of(book.active, lambda _: None)
    book.close()
    assert list(cells.rows) == [1, 2, 3]
    assert cells.merges == [Merge(1, 2, 1048576)]
    assert cells.rows[1] == {1: "region", 2: "price"}
    assert read(path).text.startswith("# A\n\nregion")


def test_xlsm_and_xlsx_in_a_folder_are_read_but_not_their_locks(tmp_path: Path) -> None:
    for name in ("a.xlsx", "b.XLSM", "~$a.xlsx"):
        workbook(tmp_path / name.lower(), A=ROWS)
    skipped = Skipped()
    assert [r.error for r in read_all(tmp_path, skipped=skipped)] == [None, None]
    assert not skipped


def test_bad_workbooks_have_their_error_and_remedy(tmp_path: Path) -> None:
    good = tmp_path / "good.xlsx"
    workbook(good, A=ROWS)
    data = good.read_bytes()
    sheet = "xl/worksheets/sheet1.xml"
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    laughs = b'<!DOCTYPE x [<!ENTITY a "ha">' + b"".join(
        b'<!ENTITY %c "%s">' % (98 + n, b"&%c;" % (97 + n) * 20) for n in range(9)
    )
    entities = parts[sheet].replace(b"<worksheet", laughs + b"]><worksheet", 1)
    entities = entities.replace(b"<v>3</v>", b"<v>&j;</v>")
    ole = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(2000)
    cases: list[tuple[bytes | dict[str, bytes], type[errors.ReadError], str]] = [
        (ole + "EncryptedPackage".encode("utf-16-le"), errors.EncryptedFileError, "password"),
        (ole, errors.MisnamedFileError, "an old Microsoft Office document, not an Excel workbook"),
        (b"a,b\n1,2\n", errors.MisnamedFileError, "text, not an Excel workbook"),
        (data[:-300], errors.CorruptFileError, "cut off"),
        ({**parts, "xl/workbook.bin": b"x"}, errors.MisnamedFileError, "XLSB; .* save it again"),
        ({**parts, sheet: parts[sheet][:-40]}, errors.CorruptFileError, "damaged: .*save it again"),
        (
            {k: v for k, v in parts.items() if k != "xl/workbook.xml"},
            errors.CorruptFileError,
            "damaged: .*xl/workbook",
        ),
        ({**parts, sheet: entities}, errors.CorruptFileError, "damaged: "),
        ({**parts, sheet: bytes(30_000_000)}, errors.FileTooLargeError, "as ZIP bombs do"),
        ({**parts, "xl/media/a.png": bytes(30_000_000)}, errors.FileTooLargeError, "ZIP bombs"),
    ]
    bad = tmp_path / "bad.xlsx"
    for content, error, match in cases:
        if isinstance(content, bytes):
            bad.write_bytes(content)
        else:
            write_docx(bad, content)  # type: ignore[arg-type]
        with pytest.raises(error, match=match) as caught:
            read(bad)
        assert type(caught.value) is error
    write_docx(bad, members(paragraph("text")))
    with pytest.raises(errors.MisnamedFileError, match="not an Excel workbook"):
        read(bad)
    with pytest.raises(errors.FileTooLargeError, match="characters"):
        read(good, limits=Limits(characters=10))
