"""CSV and TSV files: one block of `column: value` lines per row."""

import csv
import io
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_nodes.core import errors
from rag_nodes.core import metadata as keys
from rag_nodes.readers import Limits, read
from rag_nodes.readers.markup import plain_line
from rag_nodes.readers.tabular import _entry, form_of, read_tabular
from rag_nodes.text.markdown import Kind, scan_blocks

HUGE = "word " * 30_000


def table(tmp_path: Path, content: str | bytes, name: str = "table.csv") -> tuple[str, list[str]]:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    document = read(path)
    return document.text, document.metadata.get(keys.READ_WARNINGS, [])


def test_each_row_is_a_block_of_its_named_values_without_empty_cells(tmp_path: Path) -> None:
    assert table(tmp_path, "name,cups,note\nAnna,3,\nBert,,late\n\n,,\n") == (
        "name: Anna\ncups: 3\n\nname: Bert\nnote: late",
        [],
    )


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found_among_commas_and_quoted_line_breaks(
    tmp_path: Path, delimiter: str
) -> None:
    out = io.StringIO()
    rows = [["name", "text"], ["Anna", "a, b; c\nd"], ["Bert", "1,5 | x"], ["Cleo", "1,5"]]
    csv.writer(out, delimiter=delimiter).writerows(rows)
    text, warnings = table(tmp_path, out.getvalue())
    assert text.split("\n\n")[0] == "name: Anna\ntext: a, b; c\n  d"
    assert warnings == []


def test_decimal_commas_do_not_beat_semicolons() -> None:
    assert form_of("1,5;2,5\n3,5;4,5\n", complete=True).delimiter == ";"


def test_text_with_commas_in_one_column_is_not_split(tmp_path: Path) -> None:
    text, _ = table(tmp_path, "Remark\nWell, yes\nNo\nNot quite\n")
    assert text == "Remark: Well, yes\n\nRemark: No\n\nRemark: Not quite"


def test_a_line_that_names_the_delimiter_is_believed(tmp_path: Path) -> None:
    assert table(tmp_path, "sep=;\na,x;b\n1;2\n")[0] == "a,x: 1\nb: 2"


@pytest.mark.parametrize(
    ("rows", "names"),
    [
        ("name,age\nAnna,3\n", ("name", "age")),
        ("Country,2019,2020\nChad,15.9,16.4\n", ("Country", "2019", "2020")),
        (",a,a\n1,2,3\n", ("column 1", "a", "a (2)")),
        ("Anna,3\nBert,4\n", ()),
        ("1999,2000\n2001,2002\n", ()),
        ("2020-01-01,x\n2020-01-02,y\n", ()),
        ("yes,no\nyes,maybe\n", ()),
        ("only,one\n", ()),
    ],
)
def test_a_header_is_told_from_data(rows: str, names: tuple[str, ...]) -> None:
    assert form_of(rows, complete=True).names == names


def test_columns_without_a_header_are_numbered(tmp_path: Path) -> None:
    assert table(tmp_path, "Anna,3\nBert,4\n")[0].startswith("column 1: Anna\ncolumn 2: 3")


def test_rows_of_another_length_are_kept_and_counted(tmp_path: Path) -> None:
    text, warnings = table(tmp_path, "a,b\n1,2\n3\n4,5,6\n7,8\n")
    assert "a: 4\nb: 5\ncolumn 3: 6" in text
    assert warnings == [
        "2 rows have more or fewer cells than there are columns (the first ends in line 3)"
    ]


@given(
    st.lists(
        st.text(st.sampled_from("#>-+*=_~`|<[]:1.) \n\r\tab")).filter(str.strip),
        min_size=1,
        max_size=6,
    )
)
def test_no_value_turns_into_a_markdown_block_or_falls_out_of_its_row(values: list[str]) -> None:
    text = "\n".join(_entry(name, value) for name, value in zip("abcdef", values, strict=False))
    kinds = [block.kind for block in scan_blocks(text)]
    assert kinds == [Kind.PARAGRAPH]


@pytest.mark.parametrize(
    ("line", "plain"),
    [
        ("an open ` tick", "an open \\` tick"),
        ("# `", "\\# \\`"),
        ("a `pair` stays", "a `pair` stays"),
        ("`` ` ``", "`` ` ``"),
        ("`" * 3 + "js", "\\`" * 3 + "js"),
    ],
)
def test_a_backtick_without_its_partner_makes_no_code_of_the_lines_below(
    line: str, plain: str
) -> None:
    assert plain_line(line) == plain


def test_a_file_in_another_encoding_is_read_and_says_so(tmp_path: Path) -> None:
    rows = "Straße;Größe\n" + "Königsallee;groß und schön\n" * 5
    text, warnings = table(tmp_path, rows.encode("cp1252"))
    assert text.startswith("Straße: Königsallee\nGröße: groß")
    assert "cp1252" in warnings[0]
    assert table(tmp_path, rows.encode("utf-16"))[0] == text


def test_nul_characters_and_very_long_cells_are_read(tmp_path: Path) -> None:
    long = "x" * 200_000
    text, warnings = table(tmp_path, f'a,b\n1,2\n"{long}",n\0l\n')
    assert text.endswith(f"a: {long}\nb: n\ufffdl")
    assert warnings == ["1 invalid character (NUL or half a surrogate pair) became U+FFFD"]


def test_a_quote_that_is_never_closed_is_reported(tmp_path: Path) -> None:
    _, [warning] = table(tmp_path, 'a,b\n1,2\n3,"4\n' + "5,6\n" * 40_000)
    assert warning.startswith("1 cells hold over 131,072 characters (the first ends in line 40003)")


def test_bad_tables_have_their_error(tmp_path: Path) -> None:
    with pytest.raises(errors.EmptyFileError):
        table(tmp_path, ",,\n,,\n")
    with pytest.raises(errors.EmptyFileError):
        table(tmp_path, "\n \n")
    with pytest.raises(errors.MisnamedFileError, match="ZIP"):
        table(tmp_path, b"PK\x03\x04" + bytes(100))
    path = tmp_path / "long.csv"
    path.write_text("a,b\n" + "1,2\n" * 1000)
    with pytest.raises(errors.FileTooLargeError, match="characters"):
        read(path, limits=Limits(characters=500))


def test_rows_are_streamed_so_only_the_text_is_held(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_text("name,cups\nAnna,3\n" + ("," * 200 + "\n") * 1_500)  # 300,000 empty cells
    read_tabular(path, Limits(characters=1000))  # what loads once is loaded
    tracemalloc.start()
    text = read_tabular(path, Limits(characters=1000)).text
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert text == "name: Anna\ncups: 3"
    assert peak < 1_500_000


# --- as programs export them ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("above", "rows"),
    [
        (["Sales of ferries"], "Sales of ferries\n\na,b,c\n1,2,3\n"),
        (["Sales", "May to July"], "Sales;;\n;;\nMay to July;;\n\nregion;sales;target\nN;10;12\n"),
        (["Report: fees 2026"], "Report: fees,2026,,,\na,b,c,d,e\n1,2,3,4,5\n6,7,8,9,1\n"),
        (
            ["Account DE12"],
            "sep=;\nAccount DE12\ndate;text;amount\n1.5.;tea;3,50\n2.5.;milk;1,20\n",
        ),
        (
            ["Sales", "Unit: EUR thousands"],
            "Sales\nUnit: EUR, thousands\n\nregion,sales,target\nN,10,12\nS,11,13\n",
        ),
        (["Exported by Ann"], "Exported by Ann\nname\tage\nBo\t5\n"),
        ([], "name,age,town\nBo,5,Oslo\nCy,6,Bergen\n"),
        ([], "Bo\nCy,6,Bergen\nDi,7,Oslo\n"),
        ([], "name\nBo\nCy\n"),
        ([], "note\nCome early, please\nBring tea\nLeave late, or stay\n"),
    ],
)
def test_lines_above_the_header_are_told_from_it(above: list[str], rows: str) -> None:
    assert list(form_of(rows, complete=True).above) == above


def test_a_report_s_name_is_the_title_and_no_line_is_lost_without_a_word(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("Sales\nMay\n\nregion,sales,target\nNorth,10,12\n", encoding="utf-8")
    document = read(path)
    assert document.text == "region: North\nsales: 10\ntarget: 12"
    assert document.metadata[keys.TITLE] == "Sales"
    assert document.metadata[keys.READ_WARNINGS] == [
        "2 lines above the header left out: Sales | May"
    ]


@pytest.mark.parametrize(
    ("row", "cell"),
    [
        (r'"he said \"hi\" loudly"', 'he said "hi" loudly'),
        (r'"\"hi\", she said"', '"hi", she said'),
        (r'"one\" or two\" wide"', 'one" or two" wide'),
        (r'"C:\temp\new and \"x\" too"', r'C:\temp\new and "x" too'),
        (r'"say \"x\" in C:\\"', 'say "x" in C:' + "\\\\"),
        (r'"C:\temp\"', "C:\\temp\\"),
        (r"5\" pipe", r"5\" pipe"),
        ('"he said ""hi"" loudly"', 'he said "hi" loudly'),
    ],
)
def test_quotes_inside_of_quotes_are_doubled_or_follow_a_backslash(
    tmp_path: Path, row: str, cell: str
) -> None:
    text, _ = table(tmp_path, f"id,text\n1,{row}\n2,plain\n")
    assert text == f"id: 1\ntext: {cell}\n\nid: 2\ntext: plain"


def test_a_backslash_far_behind_the_start_is_enough(tmp_path: Path) -> None:
    rows = "".join(f'{number},"plain"\n' for number in range(9_000))
    text, warnings = table(tmp_path, f'id,text\n{rows}9000,"said \\"hi, you\\" loudly"\n')
    assert text.endswith('\n\nid: 9000\ntext: said "hi, you" loudly')
    assert warnings == []


@pytest.mark.parametrize(
    "rows",
    [
        f"id,text\n1,{HUGE}\n2,b\n",
        f'id,text\n1,"{HUGE}"\n2,b\n',
        f"id,text\n1,a\n2,{HUGE}\n3,b\n",
        f"id;text;more\n1;{HUGE};x\n",
        f"Report\nid,text\n1,{HUGE}\n2,b\n",
    ],
)
def test_a_huge_cell_does_not_cost_the_header(tmp_path: Path, rows: str) -> None:
    text, warnings = table(tmp_path, rows)
    assert text.startswith("id: 1\ntext: ")
    assert "may be missing" not in str(warnings)
