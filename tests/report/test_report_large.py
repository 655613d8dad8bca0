"""The page stays readable with thousands of columns, hundreds of classes and very long names."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from ehnn.report import render, score_record, write_run
from ehnn.report.runs import read_run
from ehnn.report.scores import class_figures, mean_auroc, number_figures

CLASSES = [f"{i} " + "a very long name of a class, " * 10 for i in range(600)]
COLUMNS = ", ".join(f"word_{i}" for i in range(5000))


def large(folder: Path) -> Path:
    true = np.arange(1800) % 600
    predicted = np.where(np.arange(1800) < 900, true, (true + 1) % 600)
    return write_run(
        folder, task="nodes", model="auto", labels=CLASSES, test=score_record(true, predicted, CLASSES),
        parameters={"feature_columns": COLUMNS}, summary={"learned from": COLUMNS}, command=f"ehnn {COLUMNS}",
        leaderboard=[
            {"member": "majority", "accuracy": 0.1, "macro_f1": 0.01, "seconds": 0.1, "weight": 0.0},
            {"member": "x" * 300, "accuracy": 0.5, "macro_f1": 0.4, "seconds": 61.0, "weight": 1.0},
        ],
        trials=[{"number": i, "value": i / 100, "params": {"lr": 0.1}} for i in range(90)],
    ).parent  # fmt: skip


def test_long_texts_are_folded(tmp_path: Path) -> None:
    page = render([read_run(large(tmp_path / "run"))])
    shown = re.sub(
        r"<details>.*?</details>|<style>.*?</style>|<script>.*?</script>", "", page, flags=re.DOTALL
    )
    visible = re.sub(r"<title>.*?</title>|<[^>]*>", "\n", shown, flags=re.DOTALL)
    assert max(map(len, visible.splitlines())) <= 400
    assert page.count("characters)</summary>") == 3
    assert len(page) < 1_500_000


def test_models_and_trials_are_tables(tmp_path: Path) -> None:
    run = read_run(large(tmp_path / "run"))
    page = render([run])
    assert "Models compared" in page
    assert "The best 30 of 90 trials. On validation labels" in page
    assert run.leaderboard[0]["member"] == "majority"
    assert ">majority</th>" in page
    assert "x" * 300 not in re.sub(r'title="[^"]*"', "", page)


def test_figures_of_classes_agree_with_scikit_learn() -> None:
    from sklearn import metrics

    draw = np.random.default_rng(0)
    true = draw.integers(0, 4, 200)
    proba = draw.dirichlet(np.ones(4), 200) + np.eye(4)[true] * 0.3
    proba /= proba.sum(1, keepdims=True)
    found, predicted = class_figures(true, proba), proba.argmax(1)
    assert np.isclose(found["balanced_accuracy"], metrics.balanced_accuracy_score(true, predicted))
    assert np.isclose(found["macro_f1"], metrics.f1_score(true, predicted, average="macro"))
    assert np.isclose(found["log_loss"], metrics.log_loss(true, proba))
    assert np.isclose(found["auroc"], metrics.roc_auc_score(true, proba, multi_class="ovr"))
    for name, (low, high) in found["intervals"].items():
        assert low < found[name] < high
    assert mean_auroc(np.zeros(3, int), np.ones((3, 1))) is None
    ties = np.array([[0.5, 0.5]] * 4)
    assert mean_auroc(np.array([0, 1, 0, 1]), ties) == 0.5


def test_figures_of_numbers() -> None:
    found = number_figures(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 5.0]))
    assert np.isclose(found["r2"], 1 - 4 / 2)
    assert np.isclose(found["mean_absolute_error"], 2 / 3)
    assert number_figures(np.ones(3), np.zeros(3))["r2"] is None
