"""Tables that are read in another way than their authors may think: remarks, or errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from ehnn.tables import Layout, Sheet, read_sheet

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
