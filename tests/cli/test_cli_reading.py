"""What is read in cells: lists, numbers, missing labels, columns with odd names; and what is said of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("typer")


from ehnn.io import read_hif
from ehnn.tables.columns import Category, Number, encode, learn_feature, with_node_table
from ehnn.tables.labels import read_labels
from ehnn.tables.layouts import Layout
from ehnn.tables.sheet import Sheet
from ehnn.tables.sheets import read_sheet

from .own_tables import COLUMNS, QUICK, SETS, members, nodes_table, run, write

pytestmark = pytest.mark.usefixtures("folder")


def sheet_of(text: str, layout: Layout = Layout(), name: str = "a.csv") -> Sheet:  # noqa: B008 (frozen)
    Path(name).write_text(text, encoding="utf-8")
    return read_sheet(Path(name), layout)


# ---------------------------------------------------------------------- lists


PLACES = ("new york{}paris", "paris", "london", "rome", "san marino", "berlin")


def test_a_stray_comma_among_words_is_part_of_a_name() -> None:
    lines = ["a b c", "b, c", *["c d", "a d"] * 5]
    sheet = sheet_of("\n".join(lines), name="a.txt")
    assert sheet.layout.separator is None
    assert sheet.h.node_names == ("a", "b", "c", "b,", "d")


def test_a_rate_that_is_no_number_is_refused() -> None:
    write(Path("b.csv"), ["items", "kind"], [("a;b", "x"), ("b;c", "y")])
    told = run("train", "--data", "b.csv", "--label-column", "kind", "--lr", "nan", code=2)
    assert "lr must be above 0 and finite, got nan" in told


@pytest.mark.parametrize("separator", [";", "|", ",", "\t"])
def test_a_separator_in_few_lists_is_no_part_of_a_name(separator: str) -> None:
    rows = "".join(f'{i},"{place.format(separator)}"\n' for i, place in enumerate(PLACES))
    sheet = sheet_of("basket,items\n" + rows)
    assert sheet.h.node_names == ("new york", "paris", "london", "rome", "san marino", "berlin")
    assert sheet.layout.separator == separator
    lines = sheet_of("\n".join(PLACES).format(separator), name="a.txt")
    assert lines.h.node_names == sheet.h.node_names


@pytest.mark.parametrize(
    ("cells", "expected", "separator"),
    [
        (["a b", "b  c", "d"], [["a", "b"], ["b", "c"], ["d"]], " "),
        (["a", "b"], [["a"], ["b"]], None),
        (["['a', 'b']", "[]"], [["a", "b"], []], None),
        (["a,b", "b,c", "a,c", "d,e", "a,d", "x;y,a"], None, ","),
        (["Lee, jr|b", "a|c"], [["Lee, jr", "b"], ["a", "c"]], "|"),
    ],
    ids=["white-space", "none", "literals", "few-semicolons-in-names", "commas-in-names"],
)
def test_the_separator_that_was_found_is_kept(cells: list[str], expected: list | None, separator) -> None:
    text = "items\n" + "".join(f'"{cell}"\n' for cell in cells)
    sheet = sheet_of(text)
    assert sheet.layout.separator == separator
    names = sheet.h.node_names
    if expected is not None:
        assert [[names[v] for v in edge] for edge in sheet.h.edges()] == expected
    assert read_sheet(Path("a.csv"), sheet.layout).h == sheet.h


@pytest.mark.parametrize(
    ("cell", "names"),
    [
        ('["\\ud83c\\udf4e", "b\\/c"]', ["🍎", "b/c"]),
        ("('ann')", ["ann"]),
        ("{'b', 'a'}", ["a", "b"]),
        ('["a", null]', ["a"]),
        ("['a', None, 3]", ["a", "3"]),
        ("nan", []),
    ],
)
def test_lists_as_json_and_python_write_them(cell: str, names: list[str]) -> None:
    write(Path("l.csv"), ["items"], [(cell,), ("['x', 'y']",), ("['y', 'z']",)])
    sheet = read_sheet(Path("l.csv"), Layout())
    assert [sheet.h.node_names[v] for v in sheet.h.edges()[0]] == names


@pytest.mark.parametrize(
    "cell", ["['a' 'b']", "a, b", "frozenset({'a'})", '["\\ud83c"]', "{'a': 1}", "[['a']]"]
)
def test_a_cell_that_is_no_list_among_lists_is_named(cell: str) -> None:
    write(Path("l.csv"), ["items"], [("['x', 'y']",), (cell,), ("['y', 'z']",)])
    with pytest.raises(ValueError, match=r"l\.csv, line 3: .* is not a list of names"):
        read_sheet(Path("l.csv"), Layout())


def test_a_rare_semicolon_parts_names_of_two_words() -> None:
    rows = ["red apple", "big saw", "yellow plum", "old file", "green fig"] * 2 + ["red apple; old file"]
    sheet = sheet_of("items\n" + "\n".join(rows))
    assert sheet.layout.separator == ";"
    assert set(sheet.h.node_names) == {"red apple", "big saw", "yellow plum", "old file", "green fig"}


def test_missing_members_are_no_members() -> None:
    sheet = sheet_of("basket,m1,m2,m3\nb1,a,b,NA\nb2,b,NA,NA\n", Layout(members=("m1", "m2", "m3")))
    assert sheet.h.node_names == ("a", "b")


def test_an_open_quote_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"al\.txt, line"):
        sheet_of('"Weird Al;Ann\nCy;Ann\nDan;Ann\nEve;Cy\n', name="al.txt")


def test_lines_that_are_written_can_be_read_again() -> None:
    names = ["Last1,First1", "Last2,First2", "Last3,First3"]
    write(Path("c.csv"), ["author", "paper"], [(n, p) for p in "xyz" for n in names if p != n[4]])
    run("data", "convert", "c.csv", "c.txt", "--node-column", "author", "--edge-column", "paper")
    assert set(read_sheet(Path("c.txt"), Layout()).h.node_names) == set(names)
    odd = ["a;b", "c|d", "e,f"]
    write(Path("d.csv"), ["node", "edge"], [(n, "x") for n in odd])
    assert "every separator occurs in a name" in run("data", "convert", "d.csv", "d.txt", code=2)
    assert not Path("d.txt").exists()


def test_predict_splits_lists_as_training_did(baskets: Path) -> None:
    run("train", "--data", baskets, *SETS, "--label-column", "kind", "--out", "mine", *QUICK)
    assert (
        json.loads(Path("mine/model.json").read_text(encoding="utf-8"))["reader"]["layout"]["separator"]
        == ";"
    )
    new = write(
        Path("new.csv"),
        ["basket", "items"],
        list(zip("abcd", ("i1", "i1", "new item", "new item"), strict=True)),
    )
    assert "new.csv: 1 of 2 nodes were not there" in run("predict", "--model", "mine", "--data", new)


# ---------------------------------------------------------------------- labels


def test_convert_reads_missing_labels_and_trims_names() -> None:
    Path("a.csv").write_text("node,edge,y\n a ,e,red\na,f,\nb,e,\nc ,f,blue\n", encoding="utf-8")
    run("data", "convert", "a.csv", "a.json")
    h = read_hif("a.json")
    assert (h.node_names, h.y.tolist()) == (("a", "b", "c"), [1, -1, 0])


def test_one_number_is_nothing_to_learn(pairs: Path) -> None:
    rows = [(person, 4) for person in sorted({person for person, _, _ in members()})]
    nodes = write(Path("nodes.csv"), ["id", "age"], rows)
    command = (
        "train", "--data", pairs, "--node-column", "person", "--edge-column", "club", "--nodes", nodes,
        "--label-column", "age", "--regression", *QUICK,
    )  # fmt: skip
    said = run(*command, code=2)
    assert "nodes.csv: column 'age' has only one number, 4; there is nothing to tell apart" in said
    write(nodes, ["id", "age"], [(person, i) for i, (person, _) in enumerate(rows[:4])])
    assert "test R²: none, its labels (1) are all one number" in run(*command, "--out", "mine")
    assert json.loads(Path("mine/run.json").read_text(encoding="utf-8"))["test"]["r2"] is None
    assert "Written" in run("report", "mine")


def test_labels_of_sets_in_a_table_of_members() -> None:
    Path("a.csv").write_text("node,set,kind\nx,s,a\ny,s,a\nx,t,b\n", encoding="utf-8")
    said = run("train", "--data", "a.csv", "--label-column", "kind", code=2)
    assert "a.csv, line 4: column 'kind' says 'b' of node 'x', but a.csv, line 2 says 'a'" in said
    assert "for labels of sets: --task sets" in said
    Path("b.csv").write_text("node,kind\nx,a\ny,b\nx,b\n", encoding="utf-8")
    said = run("train", "--data", "a.csv", "--nodes", "b.csv", "--label-column", "kind", code=2)
    assert "says 'b' of node 'x', but b.csv, line 2 says 'a'" in said
    assert "--task sets" not in said


# ---------------------------------------------------------------------- columns


def feature_of(cells: list[str], delimiter: str = ";") -> tuple[Sheet, object]:
    header = delimiter.join(("node", "edge", "size"))
    rows = [delimiter.join((f"n{i}", "e", cell)) for i, cell in enumerate(cells)]
    sheet = sheet_of("\n".join([header, *rows]))
    return sheet, learn_feature(sheet.nodes, "size", len(cells))


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_decimal_commas(delimiter: str) -> None:
    sheet, found = feature_of(["4,3", "5", "", "-1,2e1"], delimiter)
    mean = (4.3 + 5 - 12) / 3
    assert isinstance(found, Number)
    assert found.mean == pytest.approx(mean)
    assert encode([found], sheet.nodes, 4)[:, 0].tolist() == pytest.approx([4.3, 5, mean, -12])
    assert read_labels(sheet.nodes, "size", 4, True) == [4.3, 5.0, None, -12.0]


@pytest.mark.parametrize(
    ("cells", "delimiter"),
    [(["4,3", "old"], ";"), (["4,3", "1.500"], ";"), (["1,2,3", "4"], ";"), (['"4,3"', '"5,1"'], ",")],
    ids=["a-text", "points-too", "two-commas", "commas-separate"],
)
def test_commas_that_are_not_decimal(cells: list[str], delimiter: str) -> None:
    _, found = feature_of(cells, delimiter)
    assert found == Category("size", tuple(sorted(cell.strip('"') for cell in cells)))


def test_commas_between_thousands_are_not_taken_for_fractions() -> None:
    with pytest.raises(ValueError, match=r"'1,115' may be 1115 or 1\.115"):
        feature_of(["830", "1,115", "978", "1,186"])
    assert feature_of(["0,125", "1,250"])[1] == Number("size", 0.6875)


def test_numbers_that_are_not_finite() -> None:
    with pytest.raises(ValueError, match=r"a\.csv, line 4: column 'size' must be a finite number, got 'inf'"):
        feature_of(["1", "2", "inf"])
    sheet, _ = feature_of(["x", "-inf", "3"])
    with pytest.raises(ValueError, match="line 3: column 'size' must be a finite number, got '-inf'"):
        encode([Number("size", 0.0)], sheet.nodes, 3)


def test_a_column_of_mostly_different_texts_is_told(pairs: Path) -> None:
    said = run("train", "--data", pairs, *COLUMNS, "--nodes", nodes_table(), *QUICK)
    people = len({person for person, _, _ in members()})
    assert f"Note: nodes.csv: column 'remark' has {people} different texts in {people} cells, like" in said
    assert "column 'town'" not in said


def test_columns_with_commas_in_their_names(pairs: Path) -> None:
    people = sorted({(person, team) for person, _, team in members()})
    rows = [(person, team, i, i) for i, (person, team) in enumerate(people)]
    write(Path("nodes.csv"), ["id", "team", "price, EUR", "age"], rows)
    command = ("train", "--data", pairs, *COLUMNS, "--nodes", "nodes.csv", *QUICK, "--out", "mine")
    run(*command, "--feature-columns", "price, EUR")
    features = json.loads(Path("mine/model.json").read_text(encoding="utf-8"))["reader"]["node_features"]
    assert [feature["column"] for feature in features] == ["price, EUR"]
    assert "no column 'age,price'" in run(*command, "--fresh", "--feature-columns", "age,price", code=2)
    write(Path("sets.csv"), ["first, one", "second"], [("a", "b"), ("b", "c")])
    run("data", "convert", "sets.csv", "a.json", "--member-columns", "first, one", "second")
    assert read_hif("a.json").edges() == [[0, 1], [1, 2]]


# ---------------------------------------------------------------------- messages


@pytest.mark.parametrize(
    ("name", "hint"),
    [("p190", ""), ("P1", " (did you mean 'p1'?)"), ("p 1", " (did you mean 'p1'?)"), ("q", "")],
)
def test_other_digits_are_another_name(name: str, hint: str) -> None:
    sheet = sheet_of("node,edge\np1,e\np2,e\np19,e\n")
    nodes = write(Path("nodes.csv"), ["id"], [("p1",), ("p2",), (name,)])
    remarks = list(with_node_table(sheet, nodes).remarks)
    place = f"{name!r} (nodes.csv, line 4){hint}"
    assert remarks == [
        f"in no set of a.csv: 1 of the nodes of nodes.csv, the first is {place}",
        "not in nodes.csv: 1 of the 3 nodes of a.csv",
    ]


def test_names_that_begin_so_are_suggested_first(pairs: Path) -> None:
    said = run("train", "--data", pairs, *COLUMNS, "--model", "ehnn", code=2)
    assert "unknown model 'ehnn' (did you mean 'ehnn-transformer' or 'ehnn-mlp'" in said
