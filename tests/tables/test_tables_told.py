"""Tables that are read in another way than their authors may think: remarks, or errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from ehnn.tables import Layout, Sheet, TableData, read, read_sheet
from ehnn.tables.labels import class_remarks

pytestmark = pytest.mark.usefixtures("folder")


def sheet_of(text: str, layout: Layout = Layout(), name: str = "t.csv") -> Sheet:  # noqa: B008 (frozen)
    Path(name).write_text(text, encoding="utf-8")
    return read_sheet(Path(name), layout)


def sets(sheet: Sheet) -> list[list[object]]:
    names = sheet.h.node_names or ()
    return [[names[v] for v in edge] for edge in sheet.h.edges()]


def test_rows_that_repeat_sets_without_names_are_told() -> None:
    rows = "".join(f"a{i};b{i},x\n" for i in range(5))
    told = sheet_of(f"items,kind\n{rows}{rows}").remarks
    assert [remark[:45] for remark in told] == ["t.csv: 5 of 10 rows repeat an earlier row; wh"]
    assert sheet_of(f"items,kind\n{rows}a0;b0,y\n").remarks == ()
    columns = "".join(f"c{i}," for i in range(40))
    rows = "".join(",".join(str(i >> k & 1) for k in range(40)) + ",x\n" for i in range(64))
    assert sheet_of(f"{columns}kind\n{rows}", Layout(members=("c*",))).remarks == (
        "t.csv: sets without a member: 1, the first is t.csv, line 2",
    )


@pytest.mark.parametrize(
    ("yes", "no"),
    [
        ("WAHR", "FALSCH"),
        ("VRAI", "FAUX"),
        ("VERDADERO", "FALSO"),
        ("ja", "nein"),
        ("oui", "non"),
        ("Sí", "no"),
    ],
)
def test_truths_in_other_languages_are_truths(yes: str, no: str) -> None:
    text = f"id,a,b,c\n1,{yes},{no},{yes}\n2,{no},{yes},{no}\n3,{no},{no},\n"
    assert sets(sheet_of(text, Layout(members=("a", "b", "c")))) == [["a", "c"], ["b"], []]
    assert sets(sheet_of(text, Layout(sets=("a", "b", "c")))) == [["1"], ["2"], ["1"]]


def test_a_check_mark_beside_blanks_is_a_truth() -> None:
    assert sets(sheet_of("id,a,b\n1,✓,\n2,,✓\n3,✓,✓\n", Layout(members=("a", "b")))) == [
        ["a"],
        ["b"],
        ["a", "b"],
    ]


@pytest.mark.parametrize(
    "rows", [",•,•\n•,,\n", ",•,\n•,,\n", "1,,2\n1,1,\n,2,1\n", "in,in,out\nout,in,in\n", "3,1,1\n1,1,1\n"]
)
def test_marks_and_counts_are_not_taken_for_names(rows: str) -> None:
    with pytest.raises(ValueError, match=r"t\.csv: the 3 columns of --member-columns hold .* write 1 and 0"):
        sheet_of(f"a,b,c\n{rows}", Layout(members=("a", "b", "c")))


@pytest.mark.parametrize("rows", ["x,y,\ny,,x\nx,x,\n", "1,2,\n2,,1\n", "x,y,x\ny,x,z\nz,z,\n", "z,,\n,,\n"])
def test_few_names_in_columns_of_members_are_names(rows: str) -> None:
    sheet = sheet_of(f"a,b,c\n{rows}", Layout(members=("a", "b", "c")))
    assert set(sheet.h.node_names or ()) <= {"x", "y", "z", "1", "2"}


def test_names_with_a_hash_are_rows_where_there_is_no_header() -> None:
    layout = Layout(header=False, node="1", edge="2")
    sheet = sheet_of("#python,u1\n#java,u1\nann,u2\n", layout)
    assert (sets(sheet), sheet.remarks) == ([["#python", "#java"], ["ann"]], ())
    assert sheet.line(1) == "t.csv, line 3"
    assert sets(sheet_of("#python,u1\n#java,u1\n", layout)) == [["#python", "#java"]]
    sheet = sheet_of("# who, what\n#made by a program\n#python,u1\nann,u2\n", layout)
    assert sets(sheet) == [["#python"], ["ann"]]
    assert sheet.remarks == ("t.csv: lines at the top that begin with '#' are left out: 2",)
    assert sheet.line(1) == "t.csv, line 4"
    sheet = sheet_of("#comment\n\n#a,u1\nann,u2\n", layout)
    assert sets(sheet) == [["#a"], ["ann"]]
    assert sheet.line(0) == "t.csv, line 3"
    sheet = sheet_of("# c\n#a\nb\n", Layout("sets", members=("1",), header=False))
    assert sets(sheet) == [["#a"], ["b"]]
    assert sets(sheet_of("#node,edge\n\nann,u2\n")) == [["ann"]]
    with pytest.raises(ValueError, match=r"t\.csv, line 2: expected 2 cells, got 3"):
        sheet_of("#python,u1\n#c,d,e\nann,u2\n", layout)


@pytest.mark.parametrize("above", ["sep=,\n", "# a comment\n# another\n", "\n\n"])
def test_an_error_names_the_line_of_the_header(above: str) -> None:
    line = 1 + above.count("\n")
    for text, told in (("person,edge\n", "there is no column 'node'"), ("node,\n", "column 2 has no name")):
        with pytest.raises(ValueError, match=rf"t\.csv, line {line}: {told}"):
            sheet_of(f"{above}{text}ann,x\n", Layout(node="node", edge="edge"))


@pytest.mark.parametrize("mark", ["; ", "|", "\n"])
def test_commas_in_names_do_not_part_members(mark: str) -> None:
    cells = ["Smith, John", "Lee, Bo", "Roe, Ann", "Poe, Cy", "Doe, Di", f"Smith, John{mark}Lee, Bo"]
    sheet = sheet_of("items\n" + "".join(f'"{cell}"\n' for cell in cells))
    assert sheet.h.node_names == ("Smith, John", "Lee, Bo", "Roe, Ann", "Poe, Cy", "Doe, Di")
    separator = mark.strip(" ")
    assert sheet.layout.separator == separator
    assert f"members are split at {separator!r}, which is in 1 of 6 cells" in sheet.remarks[0]
    cells = ["a, b", "a, c", "b, c", "a, b, c", "b, d", f"a{mark}b, c"]
    sheet = sheet_of("items\n" + "".join(f'"{cell}"\n' for cell in cells))
    assert sheet.layout.separator == ","


@pytest.mark.parametrize(
    ("cells", "word", "sign"),
    [
        (["New York/Los Angeles/Rome", "Rome/New York", "Paris"], "York/Los", "/"),
        (["red wine+white bread", "white bread+tea", "tea"], "wine+white", "+"),
    ],
)
def test_lists_that_are_split_at_spaces_are_told(cells: list[str], word: str, sign: str) -> None:
    told = f"members are split at spaces, {word!r} for one; where {sign!r} stands between members: "
    told = f"t.csv: {told}--separator '{sign}'"
    text = "id,items\n" + "".join(f"{i},{cell}\n" for i, cell in enumerate(cells))
    assert sheet_of(text).remarks == (told,)
    assert sheet_of(text, Layout(separator=sign)).remarks == ()
    lines = "".join(f"{cell} x\n" for cell in cells)
    assert sheet_of(lines, name="a.txt").remarks == (told.replace("t.csv", "a.txt"),)
    assert sheet_of("items\nA/B c d\nc d e\nd e f\n").remarks == ()


def test_a_class_of_minus_one_is_told() -> None:
    told = "a class -1; where it means that there is no label, leave it blank"
    assert class_remarks(["-1", "0", "1"]) == class_remarks(["0", "1", "2", "-1", None]) == [told]
    assert class_remarks(["-1", "0"]) == class_remarks(["1", "2", "-1"]) == [told]
    for values in (["-1", "1"], ["-2", "-1", "0", "1"], ["-1", "0", "x"], [0, 1]):
        assert class_remarks(values) == []


def test_rows_between_stray_quotes_are_told() -> None:
    told = ", which holds a line break and ','; is a quote missing or too many before t.csv, line 5?"
    sheet = sheet_of('node,edge\nann,b1\n"nail,b1\na,b1\nd",b2\ne,b2\n')
    assert sheet.remarks == (f"t.csv: column 'node' has the name 'nail,b1\\na,b1\\nd'{told}",)
    sheet = sheet_of('id,members\no,x;y\n"1,a;b\n2,b;c\n3",c;d\n4,a;c\n')
    assert sheet.remarks == (f"t.csv: column 'id' has the name '1,a;b\\n2,b;c\\n3'{told}",)
    assert sheet_of('node,edge\n"two\nlines",b1\n"a, b",b1\n').remarks == ()


def nodes_of(column: str, cells: list[str]) -> TableData:
    rows = "".join(f'p{i},"{cells[i % len(cells)]}",{"ab"[i % 2]}\n' for i in range(12))
    Path("n.csv").write_text(f"node,{column},team\n{rows}", encoding="utf-8")
    Path("t.csv").write_text("node,edge\n" + "".join(f"p{i},e\n" for i in range(12)), encoding="utf-8")
    return read("t.csv", "team", nodes="n.csv")


@pytest.mark.parametrize("cells", [["01.03.1980", "24.12.1991"], ["1980-03-01", "1991-12-24"]])
def test_dates_are_not_taken_for_formatted_numbers(cells: list[str]) -> None:
    told = f"is read as 2 classes, {cells[0]!r} for one; write dates as numbers, such as days"
    assert f"n.csv: column 'born' {told}" in nodes_of("born", [*cells, cells[0]]).remarks


def test_versions_are_classes_and_grouped_numbers_are_told() -> None:
    assert nodes_of("version", ["1.2.0", "1.10.0", "1.2.0"]).remarks == []
    assert (
        "write numbers without currencies"
        in nodes_of("n", ["1.200.000", "1.300.000", "1.200.000"]).remarks[0]
    )


def test_a_formatted_number_among_numbers_is_told_so() -> None:
    told = (
        r"line 7: column 'pay' holds numbers elsewhere, got '1,000'; write numbers without currencies, % and"
    )
    with pytest.raises(ValueError, match=told):
        nodes_of("pay", ["950", "951", "952", "953", "954", "1,000"])


def test_a_column_that_was_taken_for_the_names_is_told() -> None:
    Path("t.csv").write_text("node,edge\nk1,e\nk2,e\nk3,e\nk4,e\n", encoding="utf-8")
    Path("n.csv").write_text("name,code,y\nAnn,k1,a\nBo,k2,b\nCy,k3,a\nDi,k4,b\n", encoding="utf-8")
    told = r"'Ann' \(n\.csv, line 2\); column 'name' was taken for the names, id_column says otherwise"
    with pytest.raises(ValueError, match=told):
        read("t.csv", "y", nodes="n.csv")
    assert read("t.csv", "y", nodes="n.csv", id_column="code").y == ["a", "b", "a", "b"]
