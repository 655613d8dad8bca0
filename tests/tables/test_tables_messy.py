"""Tables as people have them: each is read right, or refused with a message that says what to do."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import ehnn
from ehnn.tables.columns import Category, Number, encode, learn_feature, with_node_table
from ehnn.tables.labels import class_remarks, read_labels
from ehnn.tables.later import as_trained
from ehnn.tables.layouts import Layout
from ehnn.tables.reader import Reader, Source
from ehnn.tables.sheet import Sheet
from ehnn.tables.sheets import read_sheet

pytestmark = pytest.mark.usefixtures("folder")

LONG = "a very long name, " * 20


def sheet_of(text: str | bytes, name: str = "t.csv", **layout: object) -> Sheet:
    Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_sheet(Path(name), Layout(**layout))  # type: ignore[arg-type]


def sets(sheet: Sheet) -> dict[object, list[object]]:
    names = sheet.h.node_names
    return dict(zip(sheet.h.edge_names, [[names[v] for v in e] for e in sheet.h.edges()], strict=True))


AB = {"e": ["a", "b"], "f": ["b"]}
MESSY = {
    "byte-order mark and Windows line ends": "\ufeffnode,edge\r\na,e\r\nb,e\r\nb,f\r\n",
    "old Macintosh line ends": "node,edge\ra,e\rb,e\rb,f\r",
    "sep= line of Excel": "sep=;\r\nnode;edge\r\na;e\r\nb;e\r\nb;f\r\n",
    "delimiter at the end of all lines": "node,edge,\na,e,\nb,e,\nb,f,\n",
    "delimiter at the end of rows": "node,edge\na,e,\nb,e,\nb,f,\n",
    "the same with quotes": 'node,edge\n"a",e,\nb,e,\nb,f,\n',
    "blank lines": "\n\nnode,edge\n\na,e\n  \nb,e\n\nb,f\n\n",
    "comments above the header": "# made by a program, in 2024\n# for you\nnode,edge\na,e\nb,e\nb,f\n",
    "header behind a mark": "#node,edge\na,e\nb,e\nb,f\n",
    "rows of blank cells": "node,edge\na,e\n,\nb,e\nb,f\n",
    "row numbers of pandas": ",node,edge\n0,a,e\n1,b,e\n2,b,f\n",
    "bars": "node|edge\na|e\nb|e\nb|f\n",
    "spaces": "node   edge\na      e\nb  e\nb f\n",
    "names in capitals, the sets first": "EDGE,NODE\ne,a\ne,b\nf,b\n",
    "duplicate rows": "node,edge\na,e\nb,e\nb,f\na,e\n",
    "white space around cells": "node , edge\n a , e\nb ,e \nb, f\n",
}


@pytest.mark.parametrize("kind", MESSY)
def test_messy_tables_are_read_right(kind: str) -> None:
    assert sets(sheet_of(MESSY[kind])) == AB


def test_repeated_rows_are_told() -> None:
    assert "1 of 4 rows repeat" in sheet_of(MESSY["duplicate rows"]).remarks[0]


def test_names_that_look_like_numbers_or_dates_stay_as_they_are() -> None:
    sheet = sheet_of("node,edge\n007,2024-01-05\n7,2024-01-05\n1e3,2024-01-05\n1000,x\n٣,x\n")
    assert sheet.h.node_names == ("007", "7", "1e3", "1000", "٣")
    assert sheet.h.edge_names == ("2024-01-05", "x")


def test_long_names_quotes_and_line_ends_in_cells() -> None:
    sheet = sheet_of(f'node,edge\n"{LONG}","two\nlines"\n"say ""hi""","two\nlines"\n')
    assert sets(sheet) == {"two\nlines": [LONG.strip(), 'say "hi"']}


def test_an_id_column_at_the_end_and_a_label_with_blanks() -> None:
    sheet = sheet_of("node,edge\na,e\nb,e\nc,e\n")
    Path("n.csv").write_text("size,team,id\n1,red,a\n2,?,b\n,blue,c\n", encoding="utf-8")
    found = with_node_table(sheet, Path("n.csv"))
    assert (found.remarks, found.id_column) == ((), "id")
    assert read_labels(found.nodes, "team", 3, False) == ["red", None, "blue"]
    assert encode([learn_feature(found.nodes, "size", 3)], found.nodes, 3)[:, 0].tolist() == [1, 2, 1.5]


def test_labels_of_minus_one_are_classes() -> None:
    sheet = sheet_of("node,edge,vote\na,e,-1\nb,e,0\nc,e,1\nd,f,-1\nf,f,0\ng,f,1\n")
    assert read_labels(sheet.nodes, "vote", 6, False) == ["-1", "0", "1", "-1", "0", "1"]


def test_many_numbers_as_classes_are_told() -> None:
    rows = "".join(f"n{i},e{i % 5},{i % 67}\n" for i in range(200))
    values = read_labels(sheet_of("node,edge,age\n" + rows).nodes, "age", 200, False)
    told = "67 different numbers, read as classes; to predict a number: --regression"
    assert class_remarks(values) == [told]
    assert class_remarks(["a", "b", None]) == []


def test_600_classes_and_columns_of_mixed_types() -> None:
    rows = "".join(f"n{i},e{i % 7},c{i % 600},{'x' if i % 2 else i}\n" for i in range(1800))
    sheet = sheet_of("node,edge,kind,mixed\n" + rows)
    assert len(set(read_labels(sheet.nodes, "kind", 1800, False))) == 600
    with pytest.raises(ValueError, match=r"line 3: column 'mixed' holds numbers elsewhere, got 'x'"):
        learn_feature(sheet.nodes, "mixed", 1800)


def test_decimal_commas_of_a_semicolon_table() -> None:
    sheet = sheet_of("node;edge;size\na;e;1,5\nb;e;2,25\nc;f;-3\n")
    assert isinstance(learn_feature(sheet.nodes, "size", 3), Number)
    classes = sheet_of("node,edge,k\na,e,x\nb,e,y\nc,e,x\n").nodes
    assert learn_feature(classes, "k", 3) == Category("k", ("x", "y"))


# ---------------------------------------------------------------------- 0 and 1


def test_a_column_of_0_and_1_for_each_member() -> None:
    text = "basket,apple,pear,fig\nb1,1,0,1\nb2,0,1,0\nb3,0,0,0\n"
    sheet = sheet_of(text, members=("apple", "pear", "fig"), edge="basket")
    assert sets(sheet) == {"b1": ["apple", "fig"], "b2": ["pear"], "b3": []}
    assert sheet.h.node_names == ("apple", "pear", "fig")
    assert sets(sheet_of(text, members=("[apf]*",), edge="basket")) == sets(sheet)


def test_a_column_of_0_and_1_for_each_set() -> None:
    sheet = sheet_of("name,team,c_x,c_y\nann,red,1,0\nbob,blue,TRUE,yes\ncy,red,,no\n", sets=("c_*",))
    assert sets(sheet) == {"c_x": ["ann", "bob"], "c_y": ["bob"]}
    assert sheet.h.node_names == ("ann", "bob", "cy")
    assert read_labels(sheet.nodes, "team", 3, False) == ["red", "blue", "red"]
    with pytest.raises(ValueError, match=r"line 3: column 'c' of --set-columns must hold 0 and 1, got '2'"):
        sheet_of("name,c\na,1\nb,2\n", sets=("c",))


# ---------------------------------------------------------------------- no header


PAIRS = "".join(f"n{i % 9} s{i % 4}\n" for i in range(30))


def test_lines_of_two_names_are_not_taken_for_sets_unless_told() -> None:
    with pytest.raises(ValueError, match=r"each of the 30 lines has two names.*--no-header.*--layout lines"):
        sheet_of(PAIRS, "a.txt")
    assert sheet_of(PAIRS, "a.txt", kind="lines").h.num_edges == 30
    sheet = sheet_of(PAIRS, "a.txt", kind="pairs", header=False, node="1", edge="2")
    assert (sheet.h.num_nodes, sheet.h.num_edges) == (9, 4)
    assert sheet.nodes.table.place(0) == "a.txt, line 1"


def test_a_table_without_a_header_is_told() -> None:
    text = "n1,s1\nn2,s1\nn1,s2\n"
    with pytest.raises(ValueError, match=r"\['n1', 's1'\]; if the first line is no header: --no-header"):
        sheet_of(text)
    with pytest.raises(ValueError, match=r"no column '1'.*for a file without a header line: --no-header"):
        sheet_of(text, node="1", edge="2")
    assert sets(sheet_of(text, header=False, node="1", edge="2")) == {"s1": ["n1", "n2"], "s2": ["n1"]}
    assert sets(sheet_of("# a comment\n" + text, header=False, node="1", edge="2"))["s2"] == ["n1"]


# ---------------------------------------------------------------------- weights


def test_weights_are_read_or_told() -> None:
    text = "node,edge,w,v\na,e,2,0.5\nb,e,1,0.5\nb,f,3,4\n"
    h = sheet_of(text, weight="w", edge_weight="v").h
    assert h.incidence_weight.tolist() == [2, 1, 3]
    assert h.edge_weight.tolist() == [0.5, 4]
    h = sheet_of("members,v\na;b,0.5\nb,4\n", edge_weight="v").h
    assert h.edge_weight.tolist() == [0.5, 4]
    assert sheet_of("node;edge;w\na;e;2,5\nb;e;3\n", weight="w").h.incidence_weight.tolist() == [2.5, 3]
    assert sheet_of("node;edge;v\na;e;2,5\nb;f;3\n", edge_weight="v").h.edge_weight.tolist() == [2.5, 3]
    with pytest.raises(ValueError, match=r"'1,500' may be 1500 or 1.500"):
        sheet_of("node;edge;w\na;e;1,500\nb;e;3\n", weight="w")
    with pytest.raises(ValueError, match=r"line 3: column 'w' must be a number, got 'x'"):
        sheet_of("node,edge,w\na,e,2\nb,e,x\n", weight="w")
    assert sheet_of("node,edge,w\na,e,2\na,e,2.0\nb,e,3\n", weight="w").h.incidence_weight.tolist() == [2, 3]
    with pytest.raises(ValueError, match=r"line 4: column 'w' says '5' .* line 2 says '2' of in"):
        sheet_of("node,edge,w\na,e,2\nb,e,3\na,e,5\n", weight="w")
    with pytest.raises(ValueError, match="--weight-column is for a row per member"):
        sheet_of("members,v\na;b,0.5\n", weight="v")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("node,edge,\na,e,1\n", "column 3 has no name in the header; give it one"),
        ("node,edge\na,e\nb\n", "line 3: expected 2 cells, got 1"),
        ("# only\n# comments\n", "t.csv is empty"),
        ("node,edge\na,e,x\nb,e,y\n", "line 2: expected 2 cells, got 3"),
        ("node,node\na,e\n", "the column 'node' appears twice"),
    ],
)
def test_what_cannot_be_read_is_named(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sheet_of(text)


def test_names_that_may_be_none_or_several_are_told() -> None:
    told = sheet_of("node,edge\na,e\nNA,e\nNA,f\n").remarks
    assert any("column 'node' has the name 'NA' in 2 rows" in remark for remark in told)
    told = sheet_of("node,edge\n1.23457E+11,e\nb,e\n").remarks
    assert any("'1.23457E+11': a spreadsheet may have made one of several" in remark for remark in told)
    told = sheet_of("x,y,kind\na,NA,p\nb,c,q\n", members=("x", "y")).remarks
    assert any("cells that say NA are taken as blank" in remark for remark in told)
    assert sheet_of("node,edge\n1E,e\nE5,e\n,f\n").remarks == ()


def test_a_header_in_the_middle_of_a_file_is_refused() -> None:
    with pytest.raises(ValueError, match="line 4: the row repeats the names of the columns; leave it out"):
        sheet_of("node,edge,y\na,e,1\nb,e,2\nnode,edge,y\nc,e,1\n")
    assert sheet_of("node,edge,y\na,e,1\nnode,edge,2\n").h.num_nodes == 2


def test_tags_in_angle_brackets_are_lists() -> None:
    sheet = sheet_of("id,tags,kind\n1,<python><pandas>,a\n2,<c++>,b\n3,,a\n", members=("tags",))
    assert sets(sheet) == {"1": ["python", "pandas"], "2": ["c++"], "3": []}


def test_sets_of_one_member_each_are_told() -> None:
    assert sheet_of("id,members\n1,a/b\n2,c/d\n3,e\n").remarks == (
        "t.csv: each set has one member at most, 'a/b' for one; if the cells are lists: --separator",
    )
    assert sheet_of("id,members\n1,a;b\n2,c\n").remarks == ()


def test_names_that_differ_in_case_or_form_alone_are_told() -> None:
    names = ["Müller", "Mu\u0308ller", "ann lee", "Ann  Lee", "ann\u00a0lee", "bo"]
    told = "names of nodes that differ in capitals, white space, forms of letters or zeros alone"
    told += " count as different"
    text = "".join(f"{name},e\n" for name in names)
    assert sheet_of(f"node,edge\n{text}").remarks == (
        f"t.csv: {told}: 3, 'Müller' and 'Mu\u0308ller' for one",
    )
    assert sheet_of("id,members\n1,ann;Bob\n2,bob;cy\n").remarks == (
        f"t.csv: {told}: 1, 'Bob' and 'bob' for one",
    )
    assert "names of sets" in sheet_of("node,edge\nx1,e\nx2,E\n").remarks[0]
    assert sheet_of("node,edge\nx1,e\nx2,e\n").remarks == ()


@pytest.mark.parametrize("cells", [["30,000", "9,500"], ["$30", "$95"], ["3%", "9%"], ["1 234", "2 000"]])
def test_formatted_numbers_are_told(cells: list[str]) -> None:
    text = "".join(f'p{i},"{cells[i % 2]}",{"ab"[i % 2]}\n' for i in range(8))
    Path("n.csv").write_text("node,pay,team\n" + text, encoding="utf-8")
    Path("t.csv").write_text("node,edge\n" + "".join(f"p{i},e\n" for i in range(8)), encoding="utf-8")
    hint = "write numbers without currencies, % and signs between thousands"
    found = ehnn.tables.read("t.csv", "team", nodes="n.csv")
    assert found.remarks == [f"n.csv: column 'pay' is read as 2 classes, {cells[0]!r} for one; {hint}"]
    with pytest.raises(ValueError, match=f"line 2: column 'pay' must be a finite number, got .*; {hint}"):
        ehnn.tables.read("t.csv", "pay", nodes="n.csv", regression=True)


def test_leading_zeros_are_hinted_at() -> None:
    sheet = sheet_of("node,edge\n01,e\n02,e\n")
    Path("n.csv").write_text("node,team\n1,a\n2,b\n", encoding="utf-8")
    with pytest.raises(ValueError, match="'01' is known: write them in the same way in all tables"):
        with_node_table(sheet, Path("n.csv"))


@pytest.mark.parametrize("column", ["node", "edge", "members"])
def test_the_label_is_not_where_the_sets_are(column: str) -> None:
    Path("t.csv").write_text("node,edge,members\na,e,x;y\nb,f,x\n", encoding="utf-8")
    how = {"member_columns": "members"} if column == "members" else {}
    with pytest.raises(ValueError, match=f"'{column}' is the label, which would give the answer away"):
        ehnn.tables.read("t.csv", column, **how)


def test_marks_beside_blanks_are_columns_of_0_and_1() -> None:
    for mark in ("x", "1", "yes", "TRUE"):
        sheet = sheet_of(f"id,a,b,c\n1,{mark},,{mark}\n2,,{mark},\n3,,,\n", members=("a", "b", "c"))
        assert sets(sheet) == {"1": ["a", "c"], "2": ["b"], "3": []}
    names = sheet_of("id,first,second\n1,x,y\n2,y,\n", members=("first", "second"))
    assert sets(names) == {"1": ["x", "y"], "2": ["y"]}


def test_counts_of_members_are_refused() -> None:
    told = "line 3: --member-columns hold numbers, and 0 in several columns: .* 0 and 1"
    with pytest.raises(ValueError, match=told):
        sheet_of("id,apples,pears,figs\n1,2,1,0\n2,0,0,3\n", members=("apples", "pears", "figs"))
    names = sheet_of("id,first,second\n1,12,0\n2,7,12\n", members=("first", "second"))
    assert sets(names) == {"1": ["12", "0"], "2": ["12", "7"]}
    assert "'0' is taken for the name of a member" in names.remarks[0]


def test_a_later_table_has_columns_of_0_and_1_as_in_training() -> None:
    """A row of ones alone could be a set whose one member is called 1."""
    rows = "".join(f"{i},{i % 2},{1 - i % 2},{i % 3 % 2},{'ab'[i % 2]}\n" for i in range(12))
    Path("t.csv").write_text(f"id,a,b,c,kind\n{rows}", encoding="utf-8")
    found = ehnn.tables.read("t.csv", "kind", member_columns=["a", "b", "c"])
    again = Reader.restore(json.loads(json.dumps(found.reader.about())), found.reader.tensors())
    for cells, members in (("1,1,1", ["a", "b", "c"]), ("0,0,0", []), (",,", [])):
        Path("q.csv").write_text(f"id,a,b,c\nnew,{cells}\n", encoding="utf-8")
        sheet = as_trained(again, Source("q.csv")).read(loose=True)
        assert sets(sheet) == {"new": members}
    Path("q.csv").write_text("id,a,b,c\nnew,2,1,0\n", encoding="utf-8")
    with pytest.raises(ValueError, match="line 2: column 'a' of --member-columns must hold 0 and 1, got '2'"):
        as_trained(again, Source("q.csv")).read(loose=True)


def test_a_pattern_does_not_mean_the_names_of_the_rows() -> None:
    sheet = sheet_of("id,i1,i2\n7,1,0\n8,0,1\n", members=("i*",))
    assert sets(sheet) == {"7": ["i1"], "8": ["i2"]}
    sheet = sheet_of("name,n1,n2\n7,1,0\n8,0,1\n", sets=("n*",))
    assert sets(sheet) == {"n1": ["7"], "n2": ["8"]}


@pytest.mark.parametrize(
    ("names", "pair"),
    [
        (["1", "1.0", "2"], "'1' and '1.0'"),
        (["7", "007", "A"], "'7' and '007'"),
        (["2024-05-01", "2024-05-01 00:00:00", "a"], "'2024-05-01' and '2024-05-01 00:00:00'"),
    ],
)
def test_names_that_are_one_number_or_day_are_told(names: list[str], pair: str) -> None:
    remarks = sheet_of("node,edge\n" + "".join(f"{name},e\n" for name in names)).remarks
    assert any(f"or zeros alone count as different: 1, {pair} for one" in told for told in remarks)


@pytest.mark.parametrize(
    "items", ["milk:2;bread:1|milk:1", "2 x milk|1 x milk;3 x tea", "milk (2);tea|milk (1);rye (3)"]
)
def test_counts_in_names_of_members_are_told(items: str) -> None:
    text = "set,items\n" + "".join(f"{i},{cell}\n" for i, cell in enumerate(items.split("|")))
    assert any("are two members; if the number says how often" in told for told in sheet_of(text).remarks)
    plain = "set,items\n1,person 1;person 2\n2,person 2;person 3\n"
    assert not any("are two members" in told for told in sheet_of(plain).remarks)


def test_rows_of_sums_and_members_without_a_name_are_told() -> None:
    told = sheet_of("node,edge\na,e\nb,e\nTotal,2\n").remarks
    assert any("the name 'Total' in one row; where that is a row of sums, leave it out" in t for t in told)
    told = sheet_of("set,items\n1,NA;b\n2,b;c\n3,NA\n").remarks
    assert any("'NA' is taken for the name of a member; where it means that there is none" in t for t in told)


def test_lists_hold_names_and_no_records(folder: Path) -> None:
    for cell in ([["a", "b"], ["c"]], [{"sku": "a", "count": 2}]):
        Path("a.jsonl").write_text(json.dumps({"set": 1, "items": cell}) + "\n", encoding="utf-8")
        with pytest.raises(ValueError, match=r"column 'items' must hold lists of names, got .* in a list"):
            read_sheet("a.jsonl", Layout())
    Path("b.jsonl").write_text('{"items": [1.0, 2]}\n{"items": [1]}\n', encoding="utf-8")
    assert read_sheet("b.jsonl", Layout()).h.node_names == ("1", "2")


def test_members_of_columns_with_gaps_have_one_writing() -> None:
    """Programs write whole numbers with .0 where a column has blanks."""
    sheet = sheet_of("p1,p2,p3\n1,2.0,\n2,3.0,4.0\n3,1.0,\n", members=("p1", "p2", "p3"))
    assert sets(sheet) == {"1": ["1", "2"], "2": ["2", "3", "4"], "3": ["1", "3"]}
    assert sheet.remarks == ("t.csv: members are whole numbers, some with .0: '1.0' is taken for '1'",)


def test_rows_that_say_less_than_they_seem_to_are_told() -> None:
    told = sheet_of("node,edge\na,e\nb,\nb,e\n").remarks
    assert told == (
        "t.csv: rows without a name in column 'edge' put their node in no set: 1, the first is t.csv, line 3",
    )
    told = sheet_of("node,edge,count\na,e,0\nb,e,2\n", weight="count").remarks
    assert told == (
        "t.csv: column 'count' is 0 in 1 rows, which count as members of the set, the first is t.csv, line 2",
    )
    told = sheet_of("items,kind\na;b,x\n,y\n").remarks
    assert told == ("t.csv: sets without a member: 1, the first is t.csv, line 3",)


def with_score(scores: list[str]) -> Any:
    """Two clubs, and a table of their members with a score."""
    people = [f"p{i}" for i in range(len(scores))]
    clubs = pd.DataFrame({"person": people, "club": [f"c{i % 2}" for i in range(len(scores))]})
    nodes = pd.DataFrame(
        {"person": people, "team": [f"t{i % 3}" for i in range(len(scores))], "score": scores}
    )
    return ehnn.tables.read(clubs, "team", nodes=nodes, node_column="person", edge_column="club")


def test_a_minus_of_texts_for_people_is_told() -> None:
    (told,) = with_score(["\u22125", "3", "\u22121,5", "3"] * 5).remarks
    assert told.endswith("read as 3 classes, '\u22121,5' for one; write negative numbers with the sign '-'")
    with pytest.raises(ValueError, match="numbers elsewhere, got '\u22125'; write negative numbers with"):
        with_score(["\u22125", "3", "4", "6", "7", "8"] * 5)


def test_texts_of_a_feature_that_may_be_one_are_told() -> None:
    (told,) = with_score(["yes", "Yes", "no", "no", "yes"] * 5).remarks
    assert told.endswith("column 'score' has texts that may be one: 'Yes' and 'yes' count as different")
    assert with_score(["yes", "no", "perhaps", "no", "yes"] * 5).remarks == []


@pytest.mark.parametrize(
    ("weight", "hint"),
    [("1,5", "write fractions with a point"), ("2 kg", "write numbers without their unit"),
     ("$ 1.50", "write numbers without currencies"), ("\u22122", "with the sign '-'"), ("", "''")],
)  # fmt: skip
def test_weights_that_are_formatted_say_how_to_write_them(weight: str, hint: str) -> None:
    table = pd.DataFrame(
        {"node": ["a", "b", "c"], "edge": "e", "w": ["1", weight, "2"], "y": ["p", "q", "p"]}
    )
    for option in ("weight_column", "edge_weight_column"):
        if weight or option == "weight_column":
            with pytest.raises(
                ValueError, match=f"row 1 .*column 'w' must be a number, got .*{re.escape(hint)}"
            ):
                ehnn.tables.read(table, "y", **{option: "w"})


def test_a_column_of_nodes_that_is_called_as_one_of_sets_is_told() -> None:
    Path("t.csv").write_text("person,club,team\np0,c0,x\np1,c0,y\np2,c1,x\np3,c1,y\n")
    Path("n.csv").write_text("person,club,age\np0,north,5\np1,south,6\np2,north,9\np3,south,7\n")
    given: dict[str, Any] = {"node_column": "person", "edge_column": "club", "task": "nodes"}
    found = ehnn.tables.read("t.csv", nodes="n.csv", **given)
    assert [feature.column for feature in found.reader.node_features] == ["age"]
    told = "n.csv: columns called as those of t.csv that say who is in which set: ['club']; not used"
    assert told in "".join(found.remarks)
    found = ehnn.tables.read("t.csv", nodes="n.csv", feature_columns=["club"], **given)
    assert [feature.column for feature in found.reader.node_features] == ["club"]
    assert not any("called as" in told for told in found.remarks)
