"""Rows that are trained again with fresh seeds."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import ttest_ind_from_stats

from ehnn_paper import fresh_runs, verify
from ehnn_paper.fresh_runs import FIRST_SEED, TABLES
from ehnn_paper.k_edge import KEdge
from ehnn_paper.matching.prepare import Setup
from ehnn_paper.matching.recipes import BENCHMARKS, Benchmark
from ehnn_paper.matching.script import parse
from ehnn_paper.results import read_rows, write_rows
from ehnn_paper.sweep import Trial

ROOT = Path(__file__).parents[2]


def row(**more: Any) -> dict[str, Any]:
    about = {
        "experiment": "nodes", "setting": "zoo", "model": "mlp", "selection": "validation",
        "metric": "accuracy", "mean": 90.0, "std": 3.0, "runs": 9, "paper": None,
        "command": "ehnn reproduce nodes", "commit": "0123456", "hardware": "CPU", "date": "2026-11-18",
        "seeds": list(range(9)), "settings": None,
    }  # fmt: skip
    return about | more


def test_a_row_holds_unless_welchs_t_test_tells_the_means_apart() -> None:
    values = [94.0, 98.0, 96.0]  # variance of the mean 4/3; of the row 3²/9 = 1; degrees of freedom 5.37
    margin = 1.5275 * 2.5187
    assert verify.compare("nodes", row(), values).margin == pytest.approx(margin, abs=1e-3)
    assert verify.compare("nodes", row(mean=96.0 - margin + 0.01), values).holds
    assert not verify.compare("nodes", row(mean=96.0 - margin - 0.01), values).holds
    assert not verify.compare("nodes", row(mean=96.0 + margin + 0.01), values).holds


def test_the_margin_agrees_with_scipy_and_few_runs_have_a_larger_one() -> None:
    for sides in (((1.0, 5), (2.0, 5)), ((0.7, 3), (0.4, 5)), ((3.0, 20), (2.0, 5))):
        error, margin = verify.difference(*sides)
        test = ttest_ind_from_stats(margin, *sides[0], 0.0, *sides[1], equal_var=False)
        assert test.pvalue == pytest.approx(verify.LEVEL)
        assert test.statistic == pytest.approx(margin / error)
    found = [verify.difference((9.0, runs), (9.0, runs)) for runs in (2, 5, 1000)]
    factors = [margin / error for error, margin in found]
    assert factors == [pytest.approx(x, abs=1e-3) for x in (4.303, 2.306, 1.961)]


def test_a_deviation_over_draws_counts_draws_and_perfect_rows_may_differ_by_a_tenth() -> None:
    over_draws = row(mean=90.0, std=3.0, runs=15, settings={"draws": 9})  # standard error 3/√9 = 1
    assert verify.compare("nodes", over_draws, [92.0, 92.0]).standard_error == pytest.approx(1)
    perfect = row(mean=99.95, std=0.0, runs=15, settings={"draws": 5})
    assert verify.compare("nodes", perfect, [100.0, 100.0]).holds
    assert not verify.compare("nodes", perfect, [99.8, 99.8]).holds


def test_a_single_fresh_run_is_refused_before_it_is_trained(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        verify.main(["--runs", "1"])
    assert "--runs must be at least 2" in capsys.readouterr().err


def test_the_sample_has_only_rows_that_can_be_compared_and_repeats_with_its_seed() -> None:
    others = [
        row(metric="rank"), row(selection="test-best"), row(setting="walmart-1"), row(runs=1, std=None),
    ]  # fmt: skip
    good = [row(model=str(i)) for i in range(9)]
    again = TABLES["nodes"]
    found = verify.sample([*others, *good], again, 5, 3)
    assert len(found) == 5
    assert all(one in good for one in found)
    assert found == verify.sample([*others, *good], again, 5, 3)
    assert found != verify.sample([*others, *good], again, 5, 4)


@pytest.mark.parametrize(("values", "status"), [([89.0, 91.0], 0), ([40.0, 42.0], 1)])
def test_the_report_and_the_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, values: list[float], status: int
) -> None:
    write_rows("nodes", [row()], tmp_path)
    monkeypatch.setattr(fresh_runs, "train", lambda *_: [{"test": value} for value in values])
    monkeypatch.setattr(fresh_runs, "load", lambda *_: _hypergraph())
    out = tmp_path / "verified.json"
    given = ["--results", str(tmp_path), "--out", str(out), "--runs", "2", "--tables", "nodes"]
    assert verify.main(given) == status
    check = json.loads(out.read_text())["checks"][0]
    assert (check["published"], check["fresh"], check["holds"]) == (90.0, sum(values) / 2, not status)
    assert check["command"] == "python -m ehnn_paper.verify --tables nodes --count 2 --runs 2 --seed 0"


def test_the_report_keeps_the_checks_of_other_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_rows("nodes", [row()], tmp_path)
    monkeypatch.setattr(fresh_runs, "train", lambda *_: [{"test": value} for value in (89.0, 91.0)])
    monkeypatch.setattr(fresh_runs, "load", lambda *_: _hypergraph())
    out = tmp_path / "verified.json"
    out.write_text('{"checks": [{"table": "graphs", "fresh": 1.0}, {"table": "nodes", "fresh": 2.0}]}')
    given = ["--results", str(tmp_path), "--out", str(out), "--runs", "2", "--tables", "nodes"]
    assert verify.main(given) == 0
    assert [(c["table"], c["fresh"]) for c in json.loads(out.read_text())["checks"]] == [
        ("graphs", 1.0), ("nodes", 90.0)
    ]  # fmt: skip


def test_k_edge_is_trained_on_fresh_draws_as_long_as_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = row(
        experiment="k-edge-draws", setting="extrapolation", model="ehnn-mlp",
        command="ehnn reproduce k-edge-draws --epochs 1",
    )  # fmt: skip
    tasks = []

    def small(setting: str, draw: int, device: str) -> KEdge:
        tasks.append((setting, draw))
        return KEdge(setting, seed=draw, train=2, valid=2, test=2, batch_size=2, partitions=1)

    monkeypatch.setattr(fresh_runs, "draw_of", small)
    found = TABLES["k-edge-draws"].fresh(asked, 2, "cpu", None)
    assert len(found) == 2
    assert all(0 <= value <= 100 for value in found)
    assert tasks == [("extrapolation", FIRST_SEED), ("extrapolation", FIRST_SEED + 1)]


def test_fresh_runs_choose_among_the_settings_of_the_row(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def compute(device: str, data_dir: str, trial: Trial) -> dict[str, list[float]]:
        seen.append(dict(trial.settings))
        valid = [1.0, 5.0] if trial.choice == 0 else [2.0, 4.0]
        return {"valid": valid, "test": [10.0 + trial.choice, 20.0 + trial.choice]}

    monkeypatch.setattr(fresh_runs._benchmark, "compute", compute)
    search = {"0": {"lr": 0.1, "first_seed": 700, "runs": 9}, "1": {"lr": 0.2, "first_seed": 700, "runs": 9}}
    asked = row(experiment="benchmark", settings={"search": search, "chosen": {}})
    assert TABLES["benchmark"].fresh(asked, 2, "cpu", "data") == [11.0, 20.0]
    assert [one["lr"] for one in seen] == [0.1, 0.2]
    assert all((one["first_seed"], one["runs"]) == (FIRST_SEED, 2) for one in seen)


def test_fresh_runs_of_hyperedge_prediction_choose_among_the_settings_of_the_table(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = []

    def compute(cell: Any, device: str, data_dir: str | None) -> dict[str, float]:
        seen.append((cell.seed, cell.choice))
        return {"valid": float(cell.choice == 2), "auroc-hard": 10.0 * cell.choice}

    monkeypatch.setattr(fresh_runs._hyperedges, "compute", compute)
    asked = row(experiment="hyperedges", setting="house-committees", metric="auroc-hard")
    for model, choices, figure in (("all-set-transformer", 4, 20.0), ("hyperedge-predictor-auto", 1, 0.0)):
        seen.clear()
        found = TABLES["hyperedges"].fresh(asked | {"model": model}, 2, "cpu", "data")
        assert found == [figure, figure]
        assert seen == [(FIRST_SEED + run, choice) for run in range(2) for choice in range(choices)]


def test_directions_are_asked_in_other_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(model: str, reactions: str, split: int, seed: int) -> dict[str, Any]:
        assert (model, reactions, seed) == ("lr-all", "iAB_RBC_283", FIRST_SEED)
        return {"accuracy": 90.0 + split}

    monkeypatch.setattr(fresh_runs, "load_reactions", lambda name, data_dir: name)
    monkeypatch.setattr(fresh_runs._direction, "measure", measure)
    asked = row(experiment="reactions", setting="direction, iAB_RBC_283", model="lr-all")
    assert TABLES["reactions"].fresh(asked, 9, "cpu", "data") == [90.0 + split for split in range(5)]


@pytest.mark.parametrize(("kind", "model"), [("pool", "size"), ("swapped", "lr-directed")])
def test_missing_reactions_are_asked_in_other_folds(
    kind: str, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measure(asked: str, name: str, network: str, split: int, seed: int) -> dict[str, Any]:
        assert (asked, name, network, seed) == (kind, model, "iIT341", FIRST_SEED)
        return {"auroc": 70.0 + split, "ap": 0.0}

    monkeypatch.setattr(fresh_runs, "load_network", lambda name, data_dir: name)
    monkeypatch.setattr(fresh_runs._missing, "measure", measure)
    asked = row(experiment="reactions", setting=f"{kind}, iIT341", model=model, metric="auroc")
    found = TABLES["missing-reactions"].fresh(asked, 9, "cpu", "data")
    assert found == [70.0 + split for split in range(5)]


def test_two_tables_of_one_file_are_reported_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = {"setting": "pool, iIT341", "metric": "auroc", "selection": "none", "seeds": list(range(9))}
    write_rows("reactions", [row(experiment="reactions", **missing)], tmp_path)
    again = replace(TABLES["missing-reactions"], fresh=lambda *_: [89.0, 91.0])
    monkeypatch.setitem(TABLES, "missing-reactions", again)
    out = tmp_path / "verified.json"
    out.write_text('{"checks": [{"table": "reactions", "fresh": 1.0}]}')
    given = ["--results", str(tmp_path), "--out", str(out), "--tables"]
    assert verify.main([*given, "missing-reactions"]) == 0
    told = [("reactions", 1.0), ("missing-reactions", 90.0)]
    assert [(c["table"], c["fresh"]) for c in json.loads(out.read_text())["checks"]] == told


def matching_row(**more: Any) -> dict[str, Any]:
    command = (
        "python paper/experiments/willow.py --models nhgm-v2 --seeds 3 --lr 0.0002 --hold-out 5 --device cuda"
    )
    about = {
        "experiment": "willow",
        "setting": "mean",
        "model": "nhgm-v2",
        "metric": "f1",
        "command": command,
    }
    return row(**about | more)


def test_matchers_are_trained_as_the_command_of_the_row_says(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def scores_of(benchmark: Benchmark, model: str, setup: Setup, seeds: range, runs_dir: Path) -> Any:
        seen.append((benchmark.name, model, setup, seeds))
        return [{"validation": {"mean": 90.0 + i, "duck": 0.0}, "last": {}} for i in range(len(seeds))]

    monkeypatch.setattr(fresh_runs, "scores_of", scores_of)
    assert TABLES["willow"].fresh(matching_row(), 2, "cpu", "data") == [90.0, 91.0]
    setup = Setup(lr=2e-4, hold_out=5, device="cpu", data_dir="data")
    assert seen == [("willow", "nhgm-v2", setup, range(FIRST_SEED, FIRST_SEED + 2))]
    voc = matching_row(
        experiment="voc", command="python paper/experiments/voc.py --models ngm-v2 --minutes 15 --device cuda"
    )
    TABLES["voc"].fresh(voc, 2, "cuda:1", None)
    _, model, setup, _ = seen[-1]
    assert (model, setup.device, setup.finetune, setup.blocks, setup.minutes) == (
        "ngm-v2",
        "cuda:1",
        True,
        2,
        None,
    )


def test_every_row_of_matching_can_be_asked_for_again() -> None:
    for table in ("willow", "voc"):
        again = TABLES[table]
        rows = verify.sample(read_rows(table, ROOT / "results"), again, 1000, 0, ["mean"])
        assert len(rows) > 3
        for one in rows:
            (model,), setup = parse(BENCHMARKS[table], shlex.split(one["command"])[2:])
            assert BENCHMARKS[table].row(model, setup.finetune) == one["model"]


def test_rows_that_are_too_slow_for_a_cpu_have_to_be_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cheap = TABLES["willow"].cheap_models[0]
    rows = [matching_row(model=name) for name in (cheap, "ehnn-mlp-finetuned")]
    for asked, models in (((), [cheap]), ((["mean"],), [cheap, "ehnn-mlp-finetuned"]), (([], ["x"]), [])):
        found = verify.sample(rows, TABLES["willow"], 9, 0, *asked)
        assert sorted(one["model"] for one in found) == sorted(models)
    write_rows("voc", [matching_row(experiment="voc")], tmp_path)
    out = tmp_path / "verified.json"
    given = ["--results", str(tmp_path), "--runs", "2", "--tables", "voc", "--out", str(out)]
    monkeypatch.setitem(TABLES, "voc", replace(TABLES["voc"], fresh=lambda *_: [40.0, 42.0]))
    assert verify.main([*given, "--datasets", "mean", "--device", "cuda"]) == 1
    (check,) = json.loads(out.read_text())["checks"]
    assert check["command"].endswith("--tables voc --datasets mean --device cuda --count 2 --runs 2 --seed 0")
    assert verify.main(given) == 0
    assert "no such row" in capsys.readouterr().out
    assert json.loads(out.read_text())["checks"] == [check]  # nothing took its place


@pytest.mark.parametrize("table", list(TABLES))
def test_published_rows_can_be_trained_again(table: str) -> None:
    again = TABLES[table]
    found = verify.sample(read_rows(again.rows or table, ROOT / "results"), again, 1000, 0)
    assert found or not again.cheap
    if table in ("benchmark", "graphs"):
        assert all(one["settings"]["search"] for one in found)


@pytest.mark.parametrize("table", list(TABLES))
def test_fresh_seeds_are_those_of_no_published_row(table: str) -> None:
    for one in read_rows(TABLES[table].rows or table, ROOT / "results"):
        assert not any(FIRST_SEED <= seed < 1_000_000 for seed in one["seeds"] or ())


def _hypergraph() -> Any:
    import ehnn

    return ehnn.Hypergraph.from_edges([[0, 1], [1, 2]])
