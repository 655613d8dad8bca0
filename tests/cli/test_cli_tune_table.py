"""``ehnn tune`` on a table: a search that goes on where it was stopped, and its table in the report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("typer")
pytest.importorskip("optuna")

from ehnn.cli import tune_table
from ehnn.cli.train_table import prepared
from ehnn.cli.tune_table import Search
from ehnn.estimators.portfolio.budget import BUDGETS
from ehnn.estimators.targets import Classes

from .own_tables import COLUMNS, members, run, write

pytestmark = pytest.mark.usefixtures("folder")
QUICK = ("--splits", 1, "--epochs", 2, "--models", "hgnn", "mlp", "--device", "cpu", "--out", "found")


def test_a_search_goes_on_and_is_reported(pairs: Path) -> None:
    command = ("tune", "--data", pairs, *COLUMNS, *QUICK, "--trials")
    told = "".join(run("tune", "--help").split())
    assert all(name in told for name in tune_table.MODELS)
    said = run(*command, 2)
    assert "best of 2 trials" in said
    first = json.loads(Path("found/run.json").read_text(encoding="utf-8"))
    assert [t["number"] for t in first["trials"]] == [0, 1]
    assert first["parameters"]["lr"] in (1e-3, 3e-3, 1e-2)
    assert first["model"] in ("hgnn", "mlp")
    assert "done before; to continue it, give more --trials" in run(*command, 2)
    said = run(*command, 3)
    assert "trial 2:" in said
    assert "trial 1:" not in said
    second = json.loads(Path("found/run.json").read_text(encoding="utf-8"))
    assert second["trials"][:2] == first["trials"]
    points = [trial["params"] for trial in second["trials"]]
    assert points[2] not in points[:2]  # the sampler does not begin again
    best = max(second["trials"], key=lambda t: t["value"])
    assert best["params"]["width"] == second["parameters"]["width"]
    run("report", "found")
    page = Path("report.html").read_text(encoding="utf-8")
    assert ">Search<" in page
    run("predict", "--model", "found", "--data", pairs)


def test_the_default_is_kept_where_it_is_better(pairs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BUDGETS, "default", 0.05)
    quick = ("--splits", 1, "--epochs", 1, "--trials", 1, "--device", "cpu", "--out", "found")
    command = ("tune", "--data", pairs, *COLUMNS, *quick)
    said = run(*command)
    record = json.loads(Path("found/run.json").read_text(encoding="utf-8"))
    values = {t["number"]: t["value"] for t in record["trials"]}
    assert values["default"] > values[0]  # an epoch is not enough
    assert "the default is as good or better" in said
    assert record["model"] == "auto"
    assert record["leaderboard"]
    run("report", "found")
    assert "default" in Path("report.html").read_text(encoding="utf-8")
    before = Path("found/default.json").read_bytes()
    said = run(*command, "--trials", 2)
    assert "trial 1:" in said
    assert Path("found/default.json").read_bytes() == before  # judged once


def test_classes_weigh_the_same_where_it_is_asked(pairs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the trials, and in the figure of the default beside them."""
    monkeypatch.setitem(BUDGETS, "default", 1e-3)
    searches: list[Search] = []
    monkeypatch.setattr(tune_table, "tune_table", lambda search, *_: searches.append(search))
    command = ("tune", "--data", pairs, *COLUMNS, "--splits", 1, "--device", "cpu", "--class-weight")
    run(*command, "balanced")
    (search,) = searches
    assert search.default["class_weight"] == search.request.estimator["class_weight"] == "balanced"
    weights = []
    judged = Classes.metric

    def metric(self: Classes, logits: Any, target: Any, weight: Any = None) -> Any:
        weights.append(weight)
        return judged(self, logits, target, weight)

    data = prepared(search.request)
    monkeypatch.setattr(Classes, "metric", metric)
    search.value_of_default(data)
    assert len(weights) == 1
    assert len(weights[0].unique()) > 1


def test_roles_are_for_models_that_read_them(folder: Path) -> None:
    rows = [(*row, "chair" if i % 3 else "member") for i, row in enumerate(members())]
    table = write(Path("roles.csv"), ["person", "club", "team", "role"], rows)
    command = ("tune", "--data", table, *COLUMNS, "--role-column", "role", *QUICK[:4], "--device", "cpu")
    said = run(*command, "--models", "hgnn", "ehnn-mlp", "--trials", 1, "--out", "found")
    assert "the table has roles, which these models read: ehnn-mlp" in said
    said = run(*command, "--models", "hgnn", "--trials", 1, "--out", "other", code=2)
    assert "none of hgnn reads roles" in said
    said = run(*command, "--task", "incidences", "--trials", 1, "--out", "third", code=2)
    assert "ehnn tune is for labels of nodes and of sets" in said


def test_the_test_part_is_not_searched(pairs: Path, monkeypatch) -> None:
    """Whatever the labels of the test part are, the trials are the same."""
    from ehnn.cli.fit_labels import LabelRun

    values = []
    split = LabelRun.split

    def changed(self, seed):
        rest, test = split(self, seed)
        if values:
            other = {"blue": "red", "red": "blue"}
            self.values = [
                other[v] if t and v else v for v, t in zip(self.values, test.tolist(), strict=True)
            ]
        return rest, test

    monkeypatch.setattr(LabelRun, "split", changed)
    for out in ("one", "two"):
        run("tune", "--data", pairs, *COLUMNS, *QUICK[:-1], out, "--trials", 2)
        record = json.loads(Path(out, "run.json").read_text(encoding="utf-8"))
        values.append([t["value"] for t in record["trials"]])
    assert values[0] == values[1]


def test_a_search_needs_labels_that_validate(folder: Path) -> None:
    table = write(
        Path("few.csv"), ["person", "club", "team"], [("a", "x", "r"), ("b", "x", "r"), ("c", "y", "b")]
    )
    for more in ((), ("--models", "hgnn")):
        given = ("--trials", 1, "--epochs", 1, "--device", "cpu", "--out", "found", *more)
        told = run("tune", "--data", table, *COLUMNS, *given, code=2)
        assert "of 3 labels none is left to validate a trial: ehnn tune needs more labels" in told
        assert "Traceback" not in told


def test_what_cannot_be_searched_is_said(pairs: Path) -> None:
    command = ("tune", "--data", pairs, *COLUMNS, *QUICK)
    assert "unknown model 'hgn'" in run(*command, "--models", "hgn", code=2)
    assert "--valid must be above 0" in run(*command, "--valid", 0, code=2)
    assert not Path("found").exists()
