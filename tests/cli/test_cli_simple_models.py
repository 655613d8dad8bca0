"""``ehnn train --model``: votes and linear models stand beside the figure of a network."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .own_tables import COLUMNS, QUICK, run

pytestmark = pytest.mark.usefixtures("folder")
NOTE = "note: votes and linear models are as good or better; without --model both are compared"


def test_a_network_that_learned_nothing_is_told(pairs: Path) -> None:
    said = run("train", "--data", pairs, *COLUMNS, *QUICK, "--lr", "1e-9", "--out", "m")
    assert "votes and linear models: 100.00 %" in said
    assert NOTE in said
    assert "votes and linear models" in json.loads(Path("m/run.json").read_text(encoding="utf-8"))["summary"]
    run("report", "m")
    assert "votes and linear models" in Path("report.html").read_text(encoding="utf-8")


def test_the_default_compares_them_itself(pairs: Path) -> None:
    said = run("train", "--data", pairs, *COLUMNS, "--budget", "0.2", "--device", "cpu", "--out", "m")
    assert "votes and linear models:" not in said


def test_numbers_have_r2_beside_them(pairs: Path) -> None:
    table = Path("numbers.csv")
    text = pairs.read_text(encoding="utf-8").replace("red", "1.5").replace("blue", "3.5")
    table.write_text(text, encoding="utf-8")
    said = run("train", "--data", table, *COLUMNS, *QUICK, "--regression", "--out", "m")
    assert "votes and linear models: 0.9" in said or "votes and linear models: 1.0" in said
