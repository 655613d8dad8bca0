"""One real table in twenty shapes that people bring: each is trained on and predicted from.

Women and the events that they attended (Davis, Gardner and Gardner, 1941), with their two groups as labels.
Every shape has to give the same 18 women, 14 events, 89 attendances and 18 labels.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from .own_tables import run

networkx = pytest.importorskip("networkx")
pytestmark = pytest.mark.usefixtures("folder")

GRAPH = networkx.davis_southern_women_graph()
WOMEN, EVENTS = list(GRAPH.graph["top"]), list(GRAPH.graph["bottom"])
GROUP = {woman: "first" if i < 9 else "second" for i, woman in enumerate(WOMEN)}
ROWS = [(woman, event, GROUP[woman]) for woman in WOMEN for event in EVENTS if GRAPH.has_edge(woman, event)]
PAIRS = ("--node-column", "woman", "--edge-column", "event", "--label-column", "group")
LISTS = ("--edge-column", "event", "--member-columns", "women")
LABELS = ("--nodes", "women.csv", "--label-column", "group")
HEADER = ("woman", "event", "group")


def text(rows: list[tuple], header: tuple | None = HEADER, delimiter: str = ",", end: str = "\n") -> str:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator=end).writerows([*([header] if header else []), *rows])
    return out.getvalue()


def put(data: str | bytes, name: str = "t.csv") -> str:
    Path(name).write_bytes(data if isinstance(data, bytes) else data.encode())
    return name


def lists(separator: str = ";") -> list[tuple]:
    return [(e, separator.join(w for w in WOMEN if GRAPH.has_edge(w, e))) for e in EVENTS]


def labels() -> None:
    put(text([(w, GROUP[w]) for w in WOMEN], ("name", "group")), "women.csv")


def renamed(names: Callable[[int], str]) -> list[tuple]:
    return [(names(WOMEN.index(w)), e, g) for w, e, g in ROWS]


def of_excel() -> tuple:
    return put("\ufeff" + text(ROWS, end="\r\n")), *PAIRS


def tabs_in_utf_16() -> tuple:
    return put(text(ROWS, delimiter="\t").encode("utf-16")), *PAIRS


def semicolons_with_a_sep_line() -> tuple:
    return put("sep=;\r\n" + text(ROWS, delimiter=";", end="\r\n")), *PAIRS


def packed() -> tuple:
    return put(gzip.compress(text(ROWS).encode()), "t.csv.gz"), *PAIRS


def a_column_for_each_event() -> tuple:
    rows = [(w, *(int(GRAPH.has_edge(w, e)) for e in EVENTS), GROUP[w]) for w in WOMEN]
    name = put(text(rows, ("woman", *EVENTS, "group")))
    return name, "--node-column", "woman", "--set-columns", *EVENTS, "--label-column", "group"


def a_column_for_each_woman() -> tuple:
    labels()
    rows = [(e, *(int(GRAPH.has_edge(w, e)) for w in WOMEN)) for e in EVENTS]
    name = put(text(rows, ("event", *WOMEN)))
    return name, "--edge-column", "event", "--member-columns", *WOMEN, "--task", "nodes", *LABELS


def lists_in_cells() -> tuple:
    labels()
    return put(text(lists(), ("event", "women"))), *LISTS, "--task", "nodes", *LABELS


def lists_of_python() -> tuple:
    labels()
    rows = [(e, str(m.split(";"))) for e, m in lists()]
    return put(text(rows, ("event", "women"))), *LISTS, "--task", "nodes", *LABELS


def lines_of_json() -> tuple:
    labels()
    rows = [json.dumps({"event": e, "women": m.split(";")}) for e, m in lists()]
    return put("\n".join(rows), "t.jsonl"), *LISTS, "--task", "nodes", *LABELS


def parquet() -> tuple:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    pandas.DataFrame(ROWS, columns=list(HEADER)).to_parquet("t.parquet")
    return "t.parquet", *PAIRS


def row_numbers_of_pandas() -> tuple:
    return put(text([(i, *row) for i, row in enumerate(ROWS)], ("", *HEADER))), *PAIRS


def rows_that_are_there_twice() -> tuple:
    return put(text([*ROWS, *ROWS[:20]])), *PAIRS


def white_space_and_blank_lines() -> tuple:
    return put("\n\n" + text([(f" {w}", f"{e} ", g) for w, e, g in ROWS]).replace("\n", "\n\n")), *PAIRS


def comments_above_the_header() -> tuple:
    return put("# exported by a program\n# on a Monday\n" + text(ROWS)), *PAIRS


def no_header() -> tuple:
    name = put(text(ROWS, None))
    return name, "--no-header", "--node-column", 1, "--edge-column", 2, "--label-column", 3


def names_with_commas_and_quotes() -> tuple:
    return put(text(renamed(lambda i: f'Mrs. "{i}", of the town'))), *PAIRS


def names_that_look_like_numbers() -> tuple:
    return put(
        text(renamed(lambda i: ["007", "7", "1e5", "100000", "1.0", "1"][i] if i < 6 else f"0{i}"))
    ), *PAIRS


def delimiters_at_the_end() -> tuple:
    return put(text([(*row, "") for row in ROWS], (*HEADER, ""))), *PAIRS


def classes_that_are_numbers() -> tuple:
    return put(text([(w, e, -1 if g == "first" else 1) for w, e, g in ROWS])), *PAIRS


def a_column_of_weights() -> tuple:
    rows = [(w, e, 1 + len(w) % 3, g) for w, e, g in ROWS]
    return put(text(rows, ("woman", "event", "hours", "group"))), *PAIRS, "--weight-column", "hours"


SHAPES = (
    of_excel, tabs_in_utf_16, semicolons_with_a_sep_line, packed, a_column_for_each_event,
    a_column_for_each_woman, lists_in_cells, lists_of_python, lines_of_json, parquet, row_numbers_of_pandas,
    rows_that_are_there_twice, white_space_and_blank_lines, comments_above_the_header, no_header,
    names_with_commas_and_quotes, names_that_look_like_numbers, delimiters_at_the_end,
    classes_that_are_numbers, a_column_of_weights,
)  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_one_real_table_in_twenty_shapes(shape: Callable[[], tuple]) -> None:
    name, *options = shape()
    run("train", "--data", name, *options, "--budget", "0.01", "--device", "cpu", "--out", "run")
    record = json.loads(Path("run/run.json").read_text(encoding="utf-8"))
    data = record["data"]
    assert (data["nodes"], data["hyperedges"], data["incidences"]) == (18, 14, 89)
    assert sum(data["labelled"].values()) == 18
    assert len(record["labels"]) == 2
    beside = ("--nodes", "women.csv") if record["reads_nodes"] else ()
    run("predict", "--model", "run", "--data", name, *beside, "--out", "predicted.csv")
    with open("predicted.csv", encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file))
    assert len({row["node"] for row in found}) == 18
    assert {row["predicted"] for row in found} <= set(record["labels"])


def test_there_are_twenty_of_them() -> None:
    assert len(set(SHAPES)) == 20
