"""The benchmark: equal searches, two rules, ranks and the critical difference."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from ehnn.hypergraph import Hypergraph
from ehnn_paper.benchmark import table
from ehnn_paper.benchmark.data import NOT_RANKED, packages
from ehnn_paper.benchmark.ranks import ranks_of
from ehnn_paper.benchmark.settings import MODELS, ORDER, settings_of
from ehnn_paper.results import read_rows
from ehnn_paper.sweep import Trial


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    y = torch.arange(24) % 2
    edges = [list(range(k, 24, 2)) for k in range(2)] + [[0, 1, 2], [3, 4]]
    x = torch.nn.functional.one_hot(y, 4).float() + 0.1 * torch.randn(
        24, 4, generator=torch.Generator().manual_seed(0)
    )
    monkeypatch.setattr(table, "labelled", lambda name, data_dir: Hypergraph.from_edges(edges, x=x, y=y))


@pytest.fixture
def no_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "digest_of", lambda data_dir, name: "")


@pytest.mark.parametrize("model", MODELS)
def test_every_model_trains_with_every_setting(small: None, model: str) -> None:
    for choice in range(len(ORDER)):
        shared = {"runs": 2, "epochs": 1, "first_seed": 7}
        found = table.compute("cpu", "", Trial("some", model, choice, settings_of(model, choice) | shared))
        assert all(len(values) == 2 for values in found.values())
        assert found["test"] == found["test_last"], "one epoch is the best and the last"


def test_runs_are_trained_one_after_another_on_a_cpu(small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[int]] = []

    def train(h: Hypergraph, named: object, s: object, seeds: range, device: str) -> dict[str, list[float]]:
        seen.append(list(seeds))
        return {name: [float(seed) for seed in seeds] for rule in table.RULES.values() for name in rule}

    monkeypatch.setattr(table, "_train", train)
    shared = {"runs": 3, "epochs": 1, "first_seed": 7}
    found = table.compute("cpu", "", Trial("some", "mlp", 0, settings_of("mlp", 0) | shared))
    assert seen == [[7], [8], [9]]
    assert found["test"] == [7.0, 8.0, 9.0]


def test_the_default_has_the_same_splits_and_no_settings(small: None) -> None:
    asked = table.trials(["some"], ["mlp", table.DEFAULT], choices=3, runs=2, epochs=1, first_seed=7)
    assert [t.choice for t in asked if t.model == table.DEFAULT] == [0]
    found = table.compute("cpu", "", next(t for t in asked if t.model == table.DEFAULT))
    assert [len(found[name]) for name in ("valid", "test")] == [2, 2]
    assert min(found["test"]) > 80, "the features are the labels"


def test_searches_are_equal() -> None:
    for choice in range(len(ORDER)):
        found = [settings_of(model, choice) for model in MODELS]
        for key in ("lr", "weight_decay", "dropout", "width", "train", "inputs"):
            assert len({str(one[key]) for one in found}) == 1, key
    assert len({str(settings_of("ed-hnn", choice)) for choice in range(len(ORDER))}) == len(ORDER)


def test_ranks_and_the_critical_difference_are_those_of_demsar() -> None:
    # Demšar (2006), 3.2.2: four classifiers on 14 datasets have a critical difference of 1.25 at 5 %.
    figures = {m: {str(d): float((i * 7 + d * 3) % 11) for d in range(14)} for i, m in enumerate("abcd")}
    found = ranks_of(figures)
    assert found.difference == pytest.approx(1.25, abs=0.005)
    assert sum(found.average.values()) == pytest.approx(10.0)
    assert found.datasets == 14
    assert 0 <= found.p <= 1
    shared = ranks_of({"a": {"x": 1.0, "y": 2.0}, "b": {"x": 2.0}})
    assert shared.average == {"a": 2.0, "b": 1.0}
    assert math.isnan(shared.p)
    with pytest.raises(ValueError, match="no dataset on which every model has a figure"):
        ranks_of({"a": {"x": 1.0}, "b": {"y": 2.0}})


def test_rows_have_both_rules_and_zoo_does_not_count(
    no_files: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def done(asked, compute, folder, **options) -> int:
        return 0

    def choose(asked, folder, by, metric):
        from ehnn_paper.sweep import Chosen

        for trial in asked:
            better = 10.0 if (trial.model == "mlp") == (trial.dataset == "zoo") else 0.0
            yield trial.dataset, trial.model, Chosen([50.0 + better, 52.0 + better], [0, 0], (trial,), [])

    monkeypatch.setattr(table, "sweep", done)
    monkeypatch.setattr(table, "choose", choose)
    table.reproduce(
        ["zoo", "house-1", "ntu2012"], ["mlp", "ehnn-mlp", "ed-hnn", table.DEFAULT], data_dir="", choices=1,
        runs=2, out=tmp_path, say=lambda text: None,
    )  # fmt: skip
    rows = read_rows("benchmark", tmp_path)
    ranks = {(r["model"], r["selection"]): r["mean"] for r in rows if r["metric"] == "rank"}
    assert NOT_RANKED == ("zoo",)
    assert ranks["mlp", "validation"] == 3.0
    assert ranks["ehnn-mlp", "validation"] == ranks["ehnn-mlp", "last"] == 1.5  # of three networks
    assert ranks[table.DEFAULT, "validation"] == 2.0  # of four models
    assert (table.DEFAULT, "last") not in ranks
    accuracy = next(
        r for r in rows if (r["setting"], r["model"], r["selection"]) == ("house-1", "ed-hnn", "validation")
    )
    assert (accuracy["mean"], accuracy["paper"]) == (61.0, 72.45)
    assert accuracy["seeds"] == [700, 701]
    assert (tmp_path / "benchmark.png").stat().st_size > 0


def test_one_run_has_no_spread(no_files: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ehnn_paper.sweep import Chosen

    monkeypatch.setattr(table, "sweep", lambda *args, **options: 0)
    monkeypatch.setattr(
        table, "choose", lambda asked, *rest: [("zoo", "mlp", Chosen([50.0], [0], (asked[0],), []))]
    )
    table.reproduce(["zoo"], ["mlp"], data_dir="", choices=1, runs=1, out=tmp_path, say=lambda text: None)
    assert {(r["mean"], r["std"], r["runs"]) for r in read_rows("benchmark", tmp_path)} == {(50.0, None, 1)}


def test_a_quick_trial_does_not_replace_a_row(
    no_files: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ehnn_paper.sweep import Chosen

    def run(value: float, choices: int) -> list[str]:
        said: list[str] = []
        chosen = [("zoo", "mlp", Chosen([value, value], [0, 0], (), []))]
        monkeypatch.setattr(table, "choose", lambda *rest: chosen)
        same = {"data_dir": "", "runs": 2, "out": tmp_path, "say": said.append}
        table.reproduce(["zoo"], ["mlp"], choices=choices, **same)
        return said

    monkeypatch.setattr(table, "sweep", lambda *args, **options: 0)
    run(50.0, 3)
    assert any("keeps its figure" in text for text in run(90.0, 1))
    assert {r["mean"] for r in read_rows("benchmark", tmp_path)} == {50.0}
    run(60.0, 3)
    assert {r["mean"] for r in read_rows("benchmark", tmp_path)} == {60.0}


def test_packages_are_without_tags_and_names_that_are_no_package(tmp_path: Path) -> None:
    np.savez(
        tmp_path / "few.npz", node=[0, 1, 3, 0, 2, 3, 1, 2, 0], edge=[0, 0, 0, 1, 1, 2, 3, 3, 3],
        kind=np.array([0, 1, 3, 6]), y=np.array([2, 0, 1, -1], dtype=np.int8), num_nodes=4, num_edges=4,
        num_x=np.arange(4.0)[:, None], x_data=[1.0, 1.0], x_indices=[1, 0],
        x_indptr=[0, 1, 1, 2, 2], x_shape=[4, 2],
    )  # fmt: skip
    h = packages(tmp_path / "few.npz")
    assert h.edges() == [[0, 1], [0, 2]]
    assert h.y is not None
    assert h.y.tolist() == [2, 0, 1]
    assert h.x is not None
    assert h.x.tolist() == [[0, 1, 0], [0, 0, 1], [1, 0, 2]]
