"""The rows of results/: where they came from, and commands that can still be typed."""

from __future__ import annotations

import csv
import re
import shlex
from pathlib import Path

import pytest
from typer.main import get_command

from ehnn.cli.app import app
from ehnn.cli.lists import expand_lists
from ehnn_paper.results import read_rows

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results"
OTHERS = {"fuzz", "kill-series", "mutants", "split-speed", "verified"}
"""Records of checks, in formats of their own."""
TABLES = sorted({path.stem for path in RESULTS.glob("*.json")} - OTHERS)


@pytest.mark.parametrize("name", TABLES)
def test_rows_say_where_they_came_from(name: str) -> None:
    for row in read_rows(name, RESULTS):
        assert re.fullmatch(r"[0-9a-f]{7,12}(, [0-9a-f]{7,12})*", row["commit"]), row
        trained = row["selection"] != "none"
        assert not trained or row["seeds"] is not None or row["metric"] == "rank", row


@pytest.mark.parametrize("name", TABLES)
def test_the_csv_has_the_rows_of_the_json(name: str) -> None:
    with open(RESULTS / f"{name}.csv", encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    rows = read_rows(name, RESULTS)
    keys = ("setting", "model", "metric", "command", "commit")
    assert [[row[k] for k in keys] for row in table] == [[row[k] for k in keys] for row in rows]
    assert [float(row["mean"]) for row in table] == [row["mean"] for row in rows]


@pytest.mark.parametrize("name", TABLES)
def test_commands_can_be_typed(name: str) -> None:
    for command in {row["command"].partition("  #")[0] for row in read_rows(name, RESULTS)}:
        program, *arguments = shlex.split(command)
        assert not any(Path(word).is_absolute() for word in arguments), f"a path of one machine: {command}"
        if program == "python":
            assert (ROOT / arguments[0]).is_file(), command
            continue
        assert program == "ehnn", command
        group = get_command(app)
        with group.make_context("ehnn", arguments[:1], resilient_parsing=True) as context:
            found = group.resolve_command(context, arguments[:1])[1]  # type: ignore[attr-defined]
        found.make_context(arguments[0], expand_lists(arguments[1:]))
