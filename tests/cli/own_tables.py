"""Tables that a person might bring, and the command line to run on them."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

pytest.importorskip("typer")

from typer.testing import CliRunner

from ehnn.cli.app import app
from ehnn.cli.lists import expand_lists

QUICK = ("--model", "ehnn-mlp", "--epochs", "3", "--width", "8", "--device", "cpu")
"""A model that is trained in a moment."""
FAST = ("--budget", "0.2", "--device", "cpu")
"""The default model, with next to no time."""
PEOPLE, CLUBS = 48, 40


def run(*arguments: object, code: int = 0) -> str:
    """Output and errors of a command, with line breaks and indentation made single spaces."""
    result = CliRunner().invoke(app, expand_lists(list(map(str, arguments))))
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return " ".join(result.output.split())


def members() -> list[tuple[str, str, str]]:
    """(person, club, team): the clubs of a team take their members from it."""
    rows = []
    for club in range(CLUBS):
        team = club % 2
        for step in range(2 + club % 3):
            person = (team + 2 * (club * 5 + step * 7)) % PEOPLE
            rows.append((f"p{person}", f"c{club}", "red" if team else "blue"))
    return rows


def write(path: Path, header: list[str], rows: list[tuple]) -> Path:
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)
    return path


COLUMNS = ("--node-column", "person", "--edge-column", "club", "--label-column", "team")
SETS = ("--edge-column", "basket", "--member-columns", "items")


def predictions(path: str = "predictions.csv") -> list[dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def nodes_table(**changes: tuple) -> Path:
    """A table of the people: number, class, free text; rows in ``changes`` are exchanged."""
    team = {person: team for person, _, team in members()}
    rows = {p: (p, t, i if i % 3 else "", "ab"[i % 2], f"text {i}") for i, (p, t) in enumerate(team.items())}
    return write(Path("nodes.csv"), ["id", "team", "age", "town", "remark"], list((rows | changes).values()))
