"""Tables as spreadsheets, surveys, shops and databases export them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ehnn
from ehnn.io._cells import is_missing
from ehnn.tables.labels import class_remarks
from ehnn.tables.later import as_trained
from ehnn.tables.layouts import Layout
from ehnn.tables.reader import Reader, Source
from ehnn.tables.sheet import Sheet
from ehnn.tables.sheets import read_sheet

pd = pytest.importorskip("pandas")
pytestmark = pytest.mark.usefixtures("folder")


def sheet_of(text: str, name: str = "t.csv", **layout: Any) -> Sheet:
    Path(name).write_text(text, encoding="utf-8")
    return read_sheet(Path(name), Layout(**layout))


def baskets(*cells: str, **layout: Any) -> Sheet:
    """A table of sets with a list in each of ``cells``."""
    return read_sheet(pd.DataFrame({"items": cells, "kind": range(len(cells))}), Layout(**layout))


def test_lists_with_a_member_in_each_line_of_a_cell() -> None:
    """As Alt+Enter makes them: names of two words, and names with commas, stay whole."""
    assert baskets("red fig\nnut", "nut\r\nred fig").h.node_names == ("red fig", "nut")
    assert baskets("Roe, Ann\nPoe, E.", "Poe, E.").h.node_names == ("Roe, Ann", "Poe, E.")
    assert baskets("plum", "red fig", "sour nut\nplum").h.node_names == ("plum", "red fig", "sour nut")
    assert baskets("red fig;\nnut", "nut;\nred fig;plum").h.node_names == ("red fig", "nut", "plum")


def test_a_separator_without_a_character_is_refused() -> None:
    with pytest.raises(ValueError, match="--separator must be one character or more, got ''"):
        baskets("a b", "b", separator="")


@pytest.mark.parametrize(
    ("cells", "told", "separator"),
    [
        (("ann and bo", "bo and cy"), "'and' is in 2 of 2 cells and is taken for a member", " and "),
        (("H2 + O2", "O2 + C", "N2"), "'+' is in 2 of 3 cells and is taken for a member", " + "),
        (("Roe, A. and Poe, E.", "Poe, E. and Lo, B."), "is taken for a part of names", " and "),
    ],
)
def test_words_between_members_are_told(cells: tuple[str, ...], told: str, separator: str) -> None:
    (remark,) = baskets(*cells).remarks
    assert told in remark
    assert f"where it stands between members: --separator '{separator}'" in remark
    assert baskets(*cells, separator=separator).remarks == ()
    assert sheet_of("\n".join(cells), "t.txt").remarks[0] == f"t.txt: {remark.partition(': ')[2]}"


def test_cells_with_another_separator_are_told() -> None:
    """Else the whole list would be one member."""
    told = (
        "'fig, nut' is taken for one member, and a part of it for another; write one separator in all cells"
    )
    cells = ("fig; nut", "fig, nut", "nut; pear")
    assert baskets(*cells).remarks == (f"the table: {told}",)
    assert sheet_of("\n".join(cells), "t.txt", kind="lines").remarks == (f"t.txt: {told}",)


def test_words_within_names_are_not_told() -> None:
    assert baskets("Smith & Co;Roe", "Roe;Smith & Co").remarks == ()
    assert baskets("Cher - Hit, Abba - Song", "Abba - Song, Cher - Hit").remarks == ()
    assert baskets("a b c and d", "a b", "c d").remarks == ()


def test_several_names_for_none_are_told_together() -> None:
    table = pd.DataFrame({"node": list("abcde"), "edge": ["e", "nan", "none", "e", "nan"]})
    told = ehnn.tables.read(table, task="nodes").remarks
    assert told[0].startswith(
        "the table: column 'edge' has the names 'nan', 'none' in 3 rows; where it means"
    )


@pytest.mark.parametrize("name", ["#N/A", "#REF!", "\\N", "(null)", "<NA>", "unknown", "-"])
def test_names_and_classes_that_programs_write_for_none_are_told(name: str) -> None:
    """Else all rows whose set was not found would be one large set."""
    table = pd.DataFrame({"node": list("abcd"), "edge": ["e", name, name, "e"], "team": ["x", "y", "x", "y"]})
    told = ehnn.tables.read(table, "team").remarks
    assert told == [
        f"the table: column 'edge' has the name {name!r} in 2 rows; where it means that there is none, leave "
        "it blank"
    ]
    assert f"{name!r} is taken for the name of a member" in baskets(f"a;b;{name}", "a;b").remarks[0]
    if not is_missing(name):
        assert class_remarks(["x", name])[0].startswith(f"a class {name!r}; where it means")


@pytest.mark.parametrize("wrong", ["nan", "inf", "-1", "1e39"])
@pytest.mark.parametrize("of", ["weight", "edge_weight"])
def test_weights_that_are_none_are_named_by_their_line(of: str, wrong: str) -> None:
    told = f"t.csv, line 3: column 'w' has weights, which must be finite and not negative, got '{wrong}'"
    with pytest.raises(ValueError, match=told):
        sheet_of(f"node,edge,w\na,e,1\nb,f,{wrong}\n", **{of: "w"})
    if of == "edge_weight":
        with pytest.raises(ValueError, match=told):
            sheet_of(f"items,w\na;b,1\nb;c,{wrong}\n", edge_weight="w")


@pytest.mark.parametrize("name", ["t.txt", "t.dat", "t.json", "t.csv"])
def test_a_later_table_in_a_file_of_text_is_a_table(name: str) -> None:
    """Such a file was read as sets in lines, of which the header was one."""
    table = pd.DataFrame({"person": list("abca"), "club": list("eeff"), "team": ["x", "y", "x", "x"]})
    if name == "t.json":
        table.to_json(name, orient="records")
    else:
        table.to_csv(name, sep="\t", index=False)
    reader = ehnn.tables.read(table, "team", node_column="person", edge_column="club").reader
    found = as_trained(reader, Source(name)).read()
    assert (found.h.node_names, found.h.edge_names) == (("a", "b", "c"), ("e", "f"))
    Path("lines.txt").write_text("a b c\nb c\n", encoding="utf-8")
    assert as_trained(reader, Source("lines.txt")).read().layout.kind == "lines"


def test_a_table_in_a_file_of_text() -> None:
    text = "basket\titems\tkind\n" + "b{i}\ta,c{i}\tx\n" * 12
    text = "".join(line.replace("{i}", str(i)) for i, line in enumerate(text.splitlines(keepends=True)))
    assert sheet_of(text, "t.txt", edge="basket").h.num_nodes == 13
    with pytest.raises(ValueError, match="all 13 lines have as many names, none of them in two columns"):
        sheet_of(text, "t.txt")
    assert sheet_of(text, "t.txt", kind="lines").h.num_edges == 13
    assert sheet_of("a b c\nc a d\nb a d\n" * 5, "t.txt").h.num_edges == 15
    assert sheet_of("".join(f"a{i} b{i} c{i}\n" for i in range(20)), "t.txt").h.num_edges == 20


def test_lines_below_the_header_that_belong_to_it_are_refused() -> None:
    with pytest.raises(ValueError, match=r"t.csv, line 2: the line holds no names; leave it out"):
        sheet_of("| node | edge |\n|:---|---:|\n| a | e |\n| b | e |\n")
    qualtrics = 'node,edge\nWho?,What?\n"{""ImportId"":""Q1""}","{""ImportId"":""Q2""}"\na,e\nb,e\n'
    with pytest.raises(
        ValueError,
        match=r"t.csv, line 3: Qualtrics .* leave out the lines below the header, from t.csv, line 2",
    ):
        sheet_of(qualtrics)


def test_columns_that_are_called_by_numbers_or_tuples() -> None:
    table = pd.DataFrame([("a", "e", "x"), ("b", "e", "y"), ("b", "f", "y")])
    numbered = ehnn.tables.read(table, 2, node_column=0, edge_column=1)
    table.columns = pd.MultiIndex.from_tuples([("who", "p"), ("who", "c"), ("is", "team")])
    named = ehnn.tables.read(table, ("is", "team"), node_column=("who", "p"), edge_column=("who", "c"))
    assert numbered.y == named.y == ["x", "y"]
    lists = pd.DataFrame([("a;b", "x"), ("b", "y"), ("a", "x")])
    assert ehnn.tables.read(lists, 1, member_columns=0).h.edges() == [[0, 1], [1], [0]]


def test_one_column_in_python_is_a_name() -> None:
    pairs = pd.DataFrame({"node": list("abc"), "edge": list("eee")})
    nodes = pd.DataFrame({"node": list("abc"), "team": list("xyx"), "age": [1, 2, 3], "size": [3, 4, 6]})
    found = ehnn.tables.read(pairs, "team", nodes=nodes, feature_columns="age")
    assert [feature.column for feature in found.reader.node_features] == ["age"]
    with pytest.raises(ValueError, match=r"label_column must be the name of one column, got \['team'\]"):
        ehnn.tables.read(pairs, ["team"], nodes=nodes)


PURCHASES = {"order": [1, 1, 2, 2, 3], "product": [1, 2, 2, 3, 9]}


def test_the_column_of_names_is_that_of_the_sets_before_any_id() -> None:
    """Row numbers in a column ``id`` would join the labels of other nodes."""
    nodes = pd.DataFrame({"id": [1, 2, 3, 9], "product": [9, 3, 2, 1], "kind": list("xyxy")})
    found = ehnn.tables.read(
        pd.DataFrame(PURCHASES), "kind", nodes=nodes, node_column="product", edge_column="order"
    )
    assert dict(zip(found.h.node_names, found.y, strict=True)) == {"9": "x", "3": "y", "2": "x", "1": "y"}


@pytest.mark.parametrize("key", ["order", "Bestellung"])
def test_a_table_of_sets_is_not_joined_to_nodes(key: str) -> None:
    """Orders and products that are both numbered are not one."""
    pairs = pd.DataFrame(PURCHASES)
    pairs["order"] += 100 * (key != "order")
    orders = pd.DataFrame({key: sorted(set(pairs["order"])), "channel": list("xyx")})
    id_column = None if key == "order" else key
    names = {"node_column": "product", "edge_column": "order", "id_column": id_column}
    with pytest.raises(ValueError, match=r"it is about the sets: .* exchange node_column and edge_column"):
        ehnn.tables.read(pairs, "channel", nodes=orders, **names)
    names = {"node_column": "order", "edge_column": "product", "id_column": id_column}
    assert ehnn.tables.read(pairs, "channel", nodes=orders, **names).y == ["x", "y", "x"]


def test_lists_in_columns_of_names_are_told() -> None:
    """A row per set, or per node with all of its sets, that is read as a row per member."""
    papers = pd.DataFrame({"paper": list("efg"), "authors": ["a;b", "b;c;d", "a"], "kind": list("xyx")})
    names = {"node_column": "authors", "edge_column": "paper"}
    told = "column 'authors' may hold lists; where a row is a list of names: --edge-column paper"
    assert told in read_sheet(papers, Layout(node="authors", edge="paper")).remarks[0]
    told = read_sheet(papers, Layout(node="paper", edge="authors")).remarks[0]
    assert "--edge-column paper --member-columns authors; each name of column 'paper' is a set then" in told
    papers["authors"] = papers["authors"].str.split(";")
    told = "node_column: column 'authors' holds lists; where .*: edge_column paper member_columns authors"
    with pytest.raises(ValueError, match=told):
        ehnn.tables.read(papers, "kind", task="sets", **names)
    assert (
        read_sheet(pd.DataFrame({"node": ["Roe, A", "Poe, E"], "edge": ["e", "e"]}), Layout()).remarks == ()
    )


def test_blank_cells_below_a_name_are_told() -> None:
    """Merged cells of a spreadsheet: the name is in the first row alone."""
    told = sheet_of("node,edge\na,e\nb,\nc,\nb,f\nd,\n").remarks
    assert told[0].endswith("where a blank cell means the name above it, as merged cells do, fill it in")


def test_sums_and_shortened_numbers_of_spreadsheets_are_told() -> None:
    told = sheet_of("node;edge\na;e\nb;e\nGesamtergebnis:;2\n").remarks
    assert any("the name 'Gesamtergebnis:' in one row" in remark for remark in told)
    assert "names such as '1.2E+11'" in baskets("1.2E+11;b", "b;c").remarks[0]


def people(**columns: Any) -> ehnn.tables.TableData:
    """Twelve people with columns, and a club."""
    names = list("abcdefghijkl")
    nodes = pd.DataFrame({"node": names, "team": list("xxxxxxyyyyyy"), **columns})
    return ehnn.tables.read(pd.DataFrame({"node": names, "edge": "e"}), "team", nodes=nodes)


@pytest.mark.parametrize(("name", "start"), [("id", 1), ("row", 0), ("Unnamed: 0", 5)])
def test_numbers_of_rows_are_no_feature(name: str, start: int) -> None:
    """In a file that is sorted by class they would give the labels away."""
    found = people(**{name: range(start, start + 12)}, size=[1, 2, 3] * 4)
    assert [feature.column for feature in found.reader.node_features] == ["size"]
    assert f"the table of nodes: column '{name}' counts the rows: not used" in found.remarks


@pytest.mark.parametrize("regression", [False, True])
def test_points_between_thousands_are_told(regression: bool) -> None:
    """In German tables 12.500 is twelve thousand, and 999 has no point."""
    pairs = pd.DataFrame({"node": list("abcd"), "edge": "e"})
    Path("n.csv").write_text("node;team;pay\na;1;999\nb;2;12.500\nc;1;1.250\nd;2;900\n", encoding="utf-8")
    label = "pay" if regression else "team"
    found = ehnn.tables.read(pairs, label, nodes="n.csv", regression=regression)
    told = (
        "column 'pay' has '1.250', which is read as 1.25; where the point is between thousands, leave it out"
    )
    assert f"n.csv: {told}" in found.remarks
    Path("n.csv").write_text("node;team;pay\na;1;0.999\nb;2;12.500\nc;1;1.250\nd;2;9\n", encoding="utf-8")
    assert ehnn.tables.read(pairs, label, nodes="n.csv", regression=regression).remarks == []


@pytest.mark.parametrize("regression", [False, True])
@pytest.mark.parametrize(
    ("cells", "others"),
    [
        (["-999", "18", "25", "90"], "the number -999 in 3 rows, and others from 18 to 90"),
        (["1", "2", "5", "99"], "the number 99 in 3 rows, and others from 1 to 5"),
        ([-9999.0, 0.5, 1.5, 2.5], "the number -9999 in 3 rows, and others from 0.5 to 2.5"),
        (["-999", "-998", "990", "1000"], ""),  # a range of its own
        (["-1", "1", "2", "3"], ""),
        (["99", "0", "50", "100"], ""),
    ],
)
def test_codes_for_missing_numbers_are_told(cells: list[Any], others: str, regression: bool) -> None:
    nodes = pd.DataFrame({"node": list("abcdefghijkl"), "team": list("xy") * 6, "age": cells * 3})
    pairs = pd.DataFrame({"node": nodes["node"], "edge": "e"})
    found = ehnn.tables.read(pairs, "age" if regression else "team", nodes=nodes, regression=regression)
    told = (
        f"the table of nodes: column 'age' has {others}; where it stands for a missing number, leave it blank"
    )
    assert found.remarks == ([told] if others else [])


@pytest.mark.parametrize(
    ("pattern", "hint"),
    [
        ("{}.5%", "; write numbers without currencies, % and signs between thousands"),
        ("1.{}00,5", "; write numbers without currencies, % and signs between thousands"),
        ("{} kg", "; write numbers without their unit"),
        ("2024-05-{:02}", "; write dates as numbers, such as days"),
        ("{}.05.2024", "; write dates as numbers, such as days"),
        ("room {}", ""),
    ],
)
def test_why_a_column_of_numbers_is_not_used(pattern: str, hint: str) -> None:
    told = "the table of nodes: column 'a' has 12 different texts in 12 cells, like names: not used"
    assert people(a=[pattern.format(i + 1) for i in range(12)]).remarks == [f"{told}{hint}"]


def test_remarks_on_many_columns_are_few() -> None:
    money = {f"c{i}": [f"{k % 2},{k % 2}00" for k in range(12)] for i in range(300)}
    remarks = people(**money).remarks
    assert len(remarks) == 6
    assert remarks[-1] == "the table of nodes: 295 more columns are like that"


@pytest.mark.parametrize("cells", [["a;b", "a", "b"], ["a, b", "b", "a"], [["a", "b"], ["a"], ["b"]]])
def test_lists_that_are_read_as_classes_are_told(cells: list[Any]) -> None:
    (told,) = people(skills=cells * 4).remarks
    assert "column 'skills' is read as 3 classes" in told
    assert "to split lists, give a column of 0 and 1 for each word" in told
    (told,) = people(team=cells * 4).remarks
    assert "which may be a list; it counts as one class" in told
    assert people(team=["Paris, France", "Lyon, France", "x"] * 4).remarks == []


def test_a_column_that_was_made_from_the_label_is_told() -> None:
    codes = {"x": 1, "y": 2}
    remarks = people(team=list("xxyyxyxyxxyy"), code=[codes[t] for t in "xxyyxyxyxxyy"]).remarks
    assert [told.partition(";")[0] for told in remarks] == [
        "the table of nodes: column 'code' tells the labels of all 12 rows"
    ]
    assert people(team=list("xxyyxyxyxxyy"), code=[codes[t] for t in "xyyyxyxyxxyy"]).remarks == []
    assert people(team=list("xxyyxyxyxxyy"), size=range(3, 15)).remarks == []


@pytest.mark.parametrize("orient", ["columns", "index", "split", "table"])
def test_json_of_pandas_that_is_no_list_of_records_is_named(orient: str) -> None:
    pd.DataFrame({"node": list("abc"), "edge": list("eef")}).to_json("t.json", orient=orient)
    with pytest.raises(ValueError, match=r"an object with the keys \[.*to_json\(..., orient='records'\)"):
        read_sheet("t.json", Layout(node="node", edge="edge"))
    pd.DataFrame({"items": [["a", "b"]], "tags": [["x"]]}).to_json("one.json", orient="records", lines=True)
    assert read_sheet("one.json", Layout(members=("items",))).h.node_names == ("a", "b")


def test_small_floats_are_written_as_a_person_would() -> None:
    found = people(team=np.float32([0.1, 0.2] * 6))
    assert found.y[:2] == ["0.1", "0.2"]


def later(reader: Reader, table: Any) -> tuple[Sheet, list[str]]:
    """A later table as the model reads it, and what is told about its columns."""
    sheet = as_trained(reader, Source(table)).read(loose=True)
    return sheet, reader.remarks(sheet)


@pytest.mark.parametrize("one_hot", [True, False])
def test_later_columns_of_members_are_read_by_the_pattern_of_training(one_hot: bool) -> None:
    cells = ([1, 0], [0, 1], [1, 1]) if one_hot else (["a", "b"], ["b", "c"], ["c", "a"])
    columns = dict(zip(("item_1", "item_2", "item_3"), cells, strict=True))
    table = pd.DataFrame({**columns, "kind": ["x", "y"]})
    reader = ehnn.tables.read(table, "kind", member_columns="item_*").reader
    sheet, told = later(reader, table.rename(columns={"item_2": "item_9"}))
    assert sheet.h.orders.tolist() == [len([1 for cell in row if cell]) for row in zip(*cells, strict=True)]
    assert told == [
        "the table: columns of members that training had not: ['item_9']",
        "the table: columns of members that are not there: ['item_2']",
    ]
    assert later(reader, table)[1] == []


def test_later_columns_that_may_hold_members_are_told() -> None:
    table = pd.DataFrame({"first": list("abc"), "second": list("bca"), "kind": list("xyx")})
    reader = ehnn.tables.read(table, "kind", member_columns=["first", "second"]).reader
    assert later(reader, table.assign(third=list("cab")))[1] == [
        "the table: columns that are not read: ['third']; to read them as members: --member-columns"
    ]


def test_later_columns_of_sets_are_read_by_the_pattern_of_training() -> None:
    table = pd.DataFrame({"node": list("abc"), "team": list("xyx"), "in_1": [1, 0, 1], "in_2": [1, 1, 0]})
    reader = ehnn.tables.read(table, "team", set_columns="in_*").reader
    sheet, told = later(reader, table.assign(in_3=1))
    assert sheet.h.edge_names == ("in_1", "in_2", "in_3")
    assert told == ["the table: columns of sets that training had not: ['in_3']"]


def test_long_numbers_that_were_rounded_are_told() -> None:
    """pandas keeps whole numbers beside blanks as floats; twenty digits do not fit."""
    table = pd.DataFrame({"node": [1e18, 1e18 + 1, np.nan], "edge": list("eff")})
    told = "the table: column 'node' has numbers with a point that are rounded: several may be one"
    assert any(remark.startswith(told) for remark in read_sheet(table, Layout()).remarks)
    table["node"] = pd.Series([10**18, 10**18 + 1, None], dtype=object)
    assert not any("rounded" in remark for remark in read_sheet(table, Layout()).remarks)
    table["node"] = pd.array([1e18, 2.0, None], dtype="Float64")
    assert any(remark.startswith(told) for remark in read_sheet(table, Layout()).remarks)


def test_columns_that_differ_within_a_node_may_be_left_out() -> None:
    nodes = pd.DataFrame({"node": list("aab"), "team": list("xxy"), "day": [1, 2, 3]})
    pairs = pd.DataFrame({"node": list("ab"), "edge": "e"})
    told = "leave out one of the two rows, or the column, by naming others with feature_columns"
    with pytest.raises(ValueError, match=f"column 'day' says '2' of node 'a', but .* says '1'; {told}"):
        ehnn.tables.read(pairs, "team", nodes=nodes)
    assert ehnn.tables.read(pairs, "team", nodes=nodes, feature_columns=[]).y == ["x", "y"]


def test_a_column_that_repeats_does_not_name_the_nodes() -> None:
    """Ages are names too where nodes are numbered."""
    pairs = pd.DataFrame({"node": range(40), "edge": [i // 4 for i in range(40)]})
    nodes = pd.DataFrame({"team": list("xy") * 10, "age": [20, 21, 30, 30] * 5})
    with pytest.raises(ValueError, match="id_column must say which column names the nodes"):
        ehnn.tables.read(pairs, "team", nodes=nodes)


def test_labels_beside_the_sets_and_features_of_nodes() -> None:
    nodes = pd.DataFrame({"node": list("ab"), "age": [1, 2]})
    pairs = pd.DataFrame({"node": list("ab"), "edge": "e", "team": list("xy")})
    with pytest.raises(ValueError, match="the table has it: put it into the table of nodes"):
        ehnn.tables.read(pairs, "team", nodes=nodes)


def test_a_cell_may_hold_a_long_list() -> None:
    members = ",".join(f"track number {i}" for i in range(10_000))
    assert sheet_of(f'items,kind\n"{members}",x\n"a,b",y\n').h.orders.tolist() == [10_000, 2]
    assert sheet_of(f'"{members}"\na,b\n', "t.txt", separator=",").h.orders.tolist() == [1, 2]


def test_later_numbers_in_another_unit_are_told() -> None:
    reader = people(size=[4.5, 5, 6] * 4, town=list("pq") * 6, age=range(20, 32)).reader
    pairs = pd.DataFrame({"node": list("abc"), "edge": "e"})
    nodes = pd.DataFrame({"node": list("abc"), "size": [450, 500, 600], "town": "p", "age": [33, 35, 37]})
    sheet = as_trained(reader, Source(pairs, nodes)).read(loose=True)
    told = "column 'size' has numbers from 450 to 600, in training from 4.5 to 6; is the unit the same?"
    assert reader.remarks(sheet) == [f"the table of nodes: {told}"]


def test_a_column_of_counts_among_those_of_members_is_told() -> None:
    """A known table of baskets has the columns Item(s), Item 1, Item 2 …"""
    text = "Item(s),Item 1,Item 2\n1,milk,\n2,milk,tea\n2,tea,rye\n"
    told = sheet_of(text, members=("Item*",)).remarks
    assert told[0].startswith(
        "t.csv: column 'Item(s)' of --member-columns holds numbers, which are taken for"
    )
    assert sheet_of(text, members=("Item ?",)).remarks == ()
