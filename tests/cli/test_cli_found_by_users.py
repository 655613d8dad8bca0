"""Files as people have them: what went wrong, or was not told, when strangers used the commands."""

from __future__ import annotations

import importlib
import pickle
import random
from pathlib import Path

import pytest

from ehnn.io._support import read_text

from .own_tables import FAST, predictions, run, write

QUICK = ("--model", "ehnn-mlp", "--epochs", 3, "--width", 8)
ITEMS = {"fruit": ["apple", "pear", "plum", "fig"], "tools": ["saw", "file", "drill", "vice"]}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def baskets(count: int = 24) -> list[tuple[str, str, str]]:
    draw = random.Random(0)
    kinds = [draw.choice(list(ITEMS)) for _ in range(count)]
    return [(f"b{i}", ";".join(draw.sample(ITEMS[kind], 3)), kind) for i, kind in enumerate(kinds)]


def basket_file(rows: list[tuple[str, ...]]) -> Path:
    return write(Path("baskets.csv"), ["basket", "items", "kind"], rows)


SETS = ("--edge-column", "basket", "--label-column", "kind", *QUICK)


def test_a_degree_that_says_it_all_is_found() -> None:
    draw = random.Random(1)
    nodes = [f"n{i}" for i in range(60)]
    pairs = [(n, f"s{s}") for i, n in enumerate(nodes) for s in draw.sample(range(200), 1 + i // 3)]
    degree = {n: sum(1 for m, _ in pairs if m == n) for n in nodes}
    data = write(Path("pairs.csv"), ["node", "set"], pairs)
    table = write(Path("nodes.csv"), ["node", "target"], [(n, 10 * d) for n, d in degree.items()])
    told = run(
        "train", "--data", data, "--nodes", table, "--label-column", "target", "--regression", *FAST
    )  # fmt: skip
    assert float(told.split("test R²")[1].split()[1]) > 0.8


def test_text_of_other_programs(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("né,set\n".encode("utf-16"))
    assert read_text(path) == "né,set\n"
    path.write_bytes("né,set\n".encode("utf-16")[:-1])
    with pytest.raises(ValueError, match="begins like UTF-16 text but is not"):
        read_text(path)
    path.write_bytes("né,set\n".encode("latin-1"))
    with pytest.raises(ValueError, match="iconv -f WINDOWS-1252"):
        read_text(path)


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_is_not_read(tmp_path: Path, protocol: int) -> None:
    path = tmp_path / "a.pkl"
    path.write_bytes(pickle.dumps([["né", "set"]], protocol))
    with pytest.raises(
        ValueError, match=r"a\.pkl is a pickle file; pickles are never read, .* CSV or Parquet"
    ):
        read_text(path)


@pytest.mark.parametrize("module", ["gzip", "bz2", "lzma"])
def test_packed_text_is_unpacked(tmp_path: Path, module: str) -> None:
    path, packed = tmp_path / "a.csv.gz", importlib.import_module(module).compress("né,set\n".encode())
    path.write_bytes(packed)
    assert read_text(path) == "né,set\n"
    path.write_bytes(packed[:-5])
    with pytest.raises(ValueError, match=f"is packed with {module} and damaged"):
        read_text(path)


@pytest.mark.parametrize(
    ("data", "message"), [(b"PK\3\4rest", "an Excel workbook"), (b"PAR1rest", "is a Parquet file")]
)
def test_files_that_are_no_text_are_named(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=message):
        read_text(path)


def test_a_question_mark_is_no_class_and_case_is_told() -> None:
    rows = [
        (b, items, "?" if i < 3 else kind.upper() if i == 4 else kind)
        for i, (b, items, kind) in enumerate(baskets())
    ]
    told = run("train", "--data", basket_file(rows), *SETS, "--out", "m")
    assert "'?'" not in told
    assert "column 'kind' has classes that may be one: " in told


def test_a_row_that_is_there_twice_is_named() -> None:
    rows = baskets()
    told = run("train", "--data", basket_file([*rows, rows[2]]), *SETS, code=2)
    assert "baskets.csv, line 26: the row repeats baskets.csv, line 4; leave one out" in told


def test_lines_of_white_space_are_skipped() -> None:
    path = basket_file(baskets())
    lines = path.read_text(encoding="utf-8").splitlines()
    for more in ("  ", '"quoted",a;b,fruit'):  # read line by line, and by the reader of quotes
        path.write_text("\n".join([*lines[:5], "  ", *lines[5:], more]) + "\n", encoding="utf-8")
        run("train", "--data", path, *SETS, "--out", f"m{len(more)}")


def test_too_few_labels_are_told() -> None:
    rows = [(b, items, kind) for b, items, kind in baskets() if kind == "fruit"][:1]
    rows += [(b, items, kind) for b, items, kind in baskets() if kind == "tools"][:1]
    told = run("train", "--data", basket_file(rows), *SETS, "--out", "m")
    assert "no label was left to select the epoch by" in told


def test_the_column_of_names_is_found_by_what_is_in_it() -> None:
    Path("clubs.txt").write_text(
        "\n".join(f"p{i} p{(i + 1) % 12} p{(i + 5) % 12}" for i in range(12)), encoding="utf-8"
    )
    table = write(
        Path("people.csv"), ["person", "team", "age"], [(f"p{i}", "ab"[i % 2], i) for i in range(12)]
    )
    command = (
        "train",
        "--data",
        "clubs.txt",
        "--nodes",
        table,
        "--label-column",
        "team",
        *QUICK,
        "--out",
        "m",
    )
    run(*command)
    run("predict", "--model", "m", "--data", "clubs.txt", "--nodes", table)
    assert {row["node"] for row in predictions()} == {f"p{i}" for i in range(12)}


def test_an_example_replaces_no_file() -> None:
    Path("mine.csv").write_text("my own data\n")
    assert "mine.csv exists; choose another name, or replace it with --force" in run(
        "data", "example", "mine.csv", code=2
    )
    assert Path("mine.csv").read_text() == "my own data\n"
    run("data", "example", "mine.csv", "--force")


def test_options_that_are_not_read_are_said() -> None:
    rows = baskets()
    given = ("train", "--data", basket_file(rows), "--edge-column", "basket", "--label-column", "kind")
    told = run(*given, *FAST, "--lr", 0.1, "--valid", 0.1, "--out", "first")
    assert "Note: --lr is not read with --model auto Note: --valid is not read with --model auto" in told
    told = run(*given, *QUICK, "--budget", "fast", "--lr", 0.01, "--out", "second")
    assert "Note: --budget is not read with --model ehnn-mlp" in told
    assert "--lr is not read" not in told
