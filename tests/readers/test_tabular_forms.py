"""Tables as programs export them: a report's name above the header, backslashes, huge cells."""

from pathlib import Path

import pytest

from rag_nodes.core import metadata as keys
from rag_nodes.readers import read
from rag_nodes.readers.tabular import form_of

HUGE = "word " * 30_000


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
    path = tmp_path / "a.csv"
    path.write_text(f"id,text\n1,{row}\n2,plain\n", encoding="utf-8")
    assert read(path).text == f"id: 1\ntext: {cell}\n\nid: 2\ntext: plain"


def test_a_backslash_far_behind_the_start_is_enough(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    rows = "".join(f'{number},"plain"\n' for number in range(9_000))
    path.write_text(f'id,text\n{rows}9000,"said \\"hi, you\\" loudly"\n', encoding="utf-8")
    document = read(path)
    assert document.text.endswith('\n\nid: 9000\ntext: said "hi, you" loudly')
    assert keys.READ_WARNINGS not in document.metadata


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
    path = tmp_path / "a.csv"
    path.write_text(rows, encoding="utf-8")
    document = read(path)
    assert document.text.startswith("id: 1\ntext: ")
    assert "may be missing" not in str(document.metadata.get(keys.READ_WARNINGS))
