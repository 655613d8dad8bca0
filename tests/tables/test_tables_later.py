"""Later tables that lack what the table of training had, or say it in another way."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from ehnn.tables import Layout, Sheet, Source, TableData, read
from ehnn.tables.later import as_trained, ask_sheet

pytestmark = pytest.mark.usefixtures("folder")

ORDERS = "order,items,kind\n" + "".join(f"o{i},a{i % 5};b{i % 3},{'xy'[i % 2]}\n" for i in range(12))


def trained(text: str = ORDERS, edge: str | None = "order") -> TableData:
    Path("t.csv").write_text(text, encoding="utf-8")
    return read("t.csv", "kind", edge_column=edge)


def later(table: TableData, text: str, layout: Layout = Layout()) -> Sheet:  # noqa: B008 (frozen)
    Path("q.csv").write_text(text, encoding="utf-8")
    return as_trained(table.reader, Source("q.csv", layout=layout)).read(loose=True)


def told(table: TableData, text: str, layout: Mapping[str, str] | None = None) -> list[str]:
    sheet = later(table, text, Layout(**(layout or {})))
    return [*sheet.remarks, *ask_sheet(table.reader, sheet).remarks]


def test_names_of_sets_that_are_missing_are_told() -> None:
    said = "q.csv: there is no column 'order', so sets are numbered by row; --edge-column names it"
    assert said in told(trained(), "items\na1;b1\n")
    assert f"{said} (did you mean 'order_id'?)" in told(trained(), "order_id,items\no7,a1;b1\n")
    assert told(trained(), "order_id,items\no7,a1;b1\n", {"edge": "order_id"})[0].startswith(
        "q.csv: 1 of 1 sets"
    )
    assert said not in told(trained("items,kind\na;b,x\nb;c,y\nc;d,x\n", None), "items\na;b\n")


def test_a_column_that_was_named_and_is_missing_is_an_error() -> None:
    with pytest.raises(
        ValueError, match=r"q\.csv, line 1: there is no column 'order'.*did you mean 'order_id'"
    ):
        later(trained(), "order_id,items\no7,a1;b1\n", Layout(edge="order"))


def test_numbers_of_rows_are_no_names_of_sets() -> None:
    for edge, text in ((None, "items\na1;b1\na2;b2;a3\n"), ("order", "items\na1;b1\na2;b2;a3\n")):
        assert not any("sets were not there" in remark for remark in told(trained(edge=edge), text))


def test_known_sets_with_other_members_are_told() -> None:
    said = told(trained(), "order,items\no1,a1;b1\no2,a2;a3\nnew,a1;b2\nO3,a3\n")
    assert said == [
        "q.csv: 1 of 4 sets were not there in training with these members, 'o2' for one; a known name with "
        "other members counts as a new set",
        "q.csv: 2 of 4 sets were not there in training, 'new' for one; 'o3' is known, and 'O3' is not: "
        "they are different names",
    ]


def test_columns_of_the_model_that_are_missing_are_named_at_once() -> None:
    text = "order,items,kind,price,w1\n" + "".join(
        f"o{i},a{i % 5};b{i % 3},{'xy'[i % 2]},{i % 7},{i % 4}\n" for i in range(12)
    )
    Path("t.csv").write_text(text, encoding="utf-8")
    table = read("t.csv", "kind", edge_column="order", feature_columns=["price", "w1"])
    said = r"q\.csv, line 1: the model reads the columns \['price', 'w1'\], which are not there; found "
    with pytest.raises(ValueError, match=rf"{said}.*add them with blank cells$"):
        told(table, "order,items\no1,a1;b1\n")
    with pytest.raises(ValueError, match=r"\['price'\].*did you mean 'Price'\?"):
        told(table, "order,items,Price,w1\no1,a1;b1,2,3\n")
    Path("q.txt").write_text("a1 b1\na2 b2 b0\n", encoding="utf-8")
    sheet = as_trained(table.reader, Source("q.txt")).read(loose=True)
    with pytest.raises(ValueError, match=r"q\.txt: the model reads the columns"):
        ask_sheet(table.reader, sheet)
