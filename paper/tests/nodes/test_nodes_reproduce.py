"""The experiment: runs, interruption, rows, table, plot, command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from ehnn.cli import main
from ehnn_paper.nodes import memory as nodes_memory
from ehnn_paper.nodes import run as nodes
from ehnn_paper.nodes import runs as nodes_runs
from ehnn_paper.nodes import table as nodes_table
from ehnn_paper.nodes.config import MODELS, Settings
from ehnn_paper.nodes.store import Store
from ehnn_paper.results import read_rows, write_rows

SMALL = Settings(8, lr=1e-2)


def small(model: str) -> Settings:
    return Settings(
        8, lr=1e-2, options={"heads": 2} if "transformer" in model or model in ("cegat", "han") else {}
    )


@pytest.mark.parametrize("model", MODELS)
def test_every_model_trains_two_runs_at_once(model, h):
    outcome = nodes.run("zoo", model, runs=2, epochs=3, h=h, settings=small(model), quiet=True)
    assert [r["seed"] for r in outcome.records] == [0, 1]
    assert all(0 <= r["test"] <= 100 and 1 <= r["epoch"] <= 3 for r in outcome.records)
    assert min(outcome.values("seconds")) > 0
    assert 0 <= min(outcome.values("peak_mb")) < 100  # not the libraries that the process has loaded


def test_finished_runs_are_not_trained_again(h, tmp_path, monkeypatch):
    options = {"epochs": 3, "h": h, "settings": SMALL, "directory": tmp_path, "quiet": True}
    first = nodes.run("zoo", "ehnn-mlp", runs=3, group=2, **options)
    trained = []
    fit = nodes_runs.fit
    monkeypatch.setattr(nodes_runs, "fit", lambda *a, **k: trained.append(list(a[2])) or fit(*a, **k))
    assert nodes.run("zoo", "ehnn-mlp", runs=3, group=1, **options) == first
    more = nodes.run("zoo", "ehnn-mlp", runs=5, **options)
    assert trained == [[3, 4]]
    assert more.records[:3] == first.records
    nodes.run("zoo", "ehnn-mlp", runs=1, **(options | {"epochs": 2}))
    assert trained[1:] == [[0]]
    assert not list(tmp_path.rglob("*.safetensors"))


def test_interrupted_runs_go_on_from_their_checkpoint(h, tmp_path, monkeypatch):
    options = {"runs": 2, "epochs": 6, "h": h, "settings": SMALL, "quiet": True}
    whole = nodes.run("zoo", "ehnn-mlp", **options)
    monkeypatch.setattr(Settings, "train_config", _checkpoint_each(Settings.train_config))
    evaluate, seen = nodes_runs.NodeClassification.evaluate, []

    def stop(self, predict):
        seen.append(1)
        if len(seen) == 4:
            raise KeyboardInterrupt
        return evaluate(self, predict)

    with monkeypatch.context() as m:
        m.setattr(nodes_runs.NodeClassification, "evaluate", stop)
        with pytest.raises(KeyboardInterrupt):
            nodes.run("zoo", "ehnn-mlp", directory=tmp_path, **options)
    more = options | {"runs": 3, "group": 3}  # which does not matter to the two that were begun
    again = nodes.run("zoo", "ehnn-mlp", directory=tmp_path, **more)
    keys = ("seed", "valid", "test", "epoch")
    assert [[r[k] for k in keys] for r in again.records[:2]] == [[r[k] for k in keys] for r in whole.records]
    assert [r["seconds"] is None for r in again.records] == [True, True, False]
    assert not list(tmp_path.rglob("*.safetensors"))


def _checkpoint_each(make):
    from dataclasses import replace

    return lambda self, epochs, model="ehnn-mlp": replace(make(self, epochs, model), checkpoint_every=1)


def test_out_of_memory_halves_the_group(h, monkeypatch):
    sizes, fit = [], nodes_runs.fit

    def too_big(make, task, seeds, *args, **options):
        sizes.append(len(seeds))
        if len(seeds) > 2:
            raise torch.OutOfMemoryError("no memory")
        return fit(make, task, seeds, *args, **options)

    monkeypatch.setattr(nodes_runs, "fit", too_big)
    outcome = nodes.run("zoo", "ehnn-mlp", runs=5, epochs=1, h=h, settings=SMALL, quiet=True)
    assert sizes == [5, 3, 2, 2, 1]
    assert [r["seed"] for r in outcome.records] == list(range(5))


def test_default_group_follows_nodes_and_width(h, monkeypatch):
    monkeypatch.setattr(nodes_memory, "_budget", lambda device: 55 * 46 * 4 * 64 * 7.5)
    assert nodes_memory.default_group(h, "ehnn-mlp", Settings(64), "cpu") == 7
    assert nodes_memory.default_group(h, "ehnn-mlp", Settings(512), "cpu") == 1


def outcome(model: str, dataset: str, tests: list[float]) -> nodes_runs.Outcome:
    records = [
        {"seed": i, "valid": t, "test": t, "epoch": 1, "seconds": 2.0, "peak_mb": None}
        for i, t in enumerate(tests)
    ]
    return nodes_runs.Outcome(dataset, model, tuple(records))


def test_rows_table_and_plot(tmp_path):
    pytest.importorskip("matplotlib")
    found = nodes_table.rows(outcome("ehnn-mlp", "ntu2012", [90.0, 94.0]), "test")
    assert [(r["metric"], r["selection"], r["mean"], r["std"]) for r in found] == [
        ("accuracy", "validation", 92.0, 8**0.5),
        ("seconds_per_run", "none", 2.0, 0.0),
    ]
    assert (found[0]["paper"], found[0]["runs"], found[1]["paper"]) == (87.35, 2, None)
    found += nodes_table.rows(outcome("mlp", "ntu2012", [95.0]), "test")
    found += nodes_table.rows(outcome("ehnn-mlp", "zoo", [99.0]), "test")  # does not count
    found += nodes_table.rows(outcome("mlp+", "ntu2012", [99.0]), "test")  # nor does a recipe
    found += nodes_table.rank_rows(found, "test")
    write_rows("nodes", found, tmp_path)
    table = read_rows("nodes", tmp_path)
    ranks = {r["model"]: (r["mean"], r["paper"]) for r in table if r["metric"] == "rank"}
    assert ranks == {"mlp": (1.0, 2.0), "ehnn-mlp": (2.0, 1.0)}
    text = nodes.markdown(table)
    assert "| ehnn-mlp | 99.00 [1] (91.15 ± 6.13) | 92.00 ± 2.83 [2] (87.35 ± 1.42) | 2.0 |" in text
    assert "modelnet40" not in text
    assert nodes.plot(table, tmp_path / "nodes.svg").stat().st_size > 1000


def test_the_full_table_says_which_data_are_not_available():
    there = [d for d in nodes.DATASETS if d not in ("modelnet40", "yelp")]
    found = [row for d in there for row in nodes_table.rows(outcome("ehnn-mlp", d, [90.0]), "test")]
    text = nodes.markdown(found)
    assert "| modelnet40 | yelp |" in text
    assert "| – (97.74 ± 0.21) | – (35.80 ± 0.77) |" in text
    assert "modelnet40, yelp: data not available here" in text
    assert "--datasets modelnet40 yelp --data-dir DIR" in text
    assert "modelnet40" not in nodes.markdown([row for row in found if row["setting"] != "zoo"])


def test_the_published_table_is_what_its_rows_give():
    results = Path(__file__).resolve().parents[3] / "results"
    assert nodes.markdown(read_rows("nodes", results)) == (results / "nodes.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("runs", "epochs", "kept"),
    [(1, 3, True), (3, 2, True), (1, 4, True), (2, 3, False), (3, 3, False), (2, 4, False)],
)
def test_fewer_runs_or_epochs_do_not_replace_a_figure(data_dir, tmp_path, runs, epochs, kept):
    said = []
    options = {"data_dir": data_dir, "out": tmp_path, "report": said.append, "quiet": True}
    nodes.reproduce(["zoo"], ["mlp"], runs=2, epochs=3, **options)
    before = {path.name: path.read_bytes() for path in tmp_path.glob("nodes.*")}
    assert not any("keeps" in line for line in said)
    nodes.reproduce(["zoo"], ["mlp"], runs=runs, epochs=epochs, **options)
    accuracy = read_rows("nodes", tmp_path)[0]
    assert ("--runs 2 --epochs 3 " if kept else f"--runs {runs} --epochs {epochs} ") in accuracy["command"]
    assert any(f"{tmp_path} keeps its figure of 2 runs, 3 epochs" in line for line in said) == kept
    if kept:
        assert {name: (tmp_path / name).read_bytes() for name in before} == before


def test_a_figure_without_epochs_in_its_command_is_the_papers_protocol(data_dir, tmp_path):
    write_rows("nodes", nodes_table.rows(outcome("mlp", "zoo", [90.0]), "ehnn reproduce nodes"), tmp_path)
    said = []
    options = {"runs": 2, "data_dir": data_dir, "out": tmp_path, "report": said.append, "quiet": True}
    nodes.reproduce(["zoo"], ["mlp", "hgnn"], epochs=2, **options)
    assert {r["model"]: r["runs"] for r in read_rows("nodes", tmp_path) if r["metric"] == "accuracy"} == {
        "mlp": 1,
        "hgnn": 2,
    }
    assert any("keeps its figure of 1 runs, 500 epochs" in line for line in said)


def command(given: list[str]) -> object:
    """The exit code of ``ehnn reproduce nodes``."""
    with pytest.raises(SystemExit) as left:
        main(["reproduce", "nodes", *given])
    return left.value.code


def test_command_line(data_dir, tmp_path, capsys):
    given = ["--runs", "2", "--epochs", "2", "--data-dir", str(data_dir), "--out", str(tmp_path / "r")]
    given += ["--runs-dir", str(tmp_path / "d"), "--device", "cpu"]
    given += ["--models", "hgnn", "ehnn-mlp", "--datasets", "zoo"]
    assert command(given) == 0
    rows = read_rows("nodes", tmp_path / "r")
    assert {(r["model"], r["metric"]) for r in rows} >= {("hgnn", "accuracy"), ("ehnn-mlp", "accuracy")}
    assert rows[0]["command"].startswith("ehnn reproduce nodes --datasets zoo --models hgnn")
    assert "| ehnn-mlp |" in capsys.readouterr().out
    assert (tmp_path / "r" / "nodes.md").exists()
    kept = json.loads(next((tmp_path / "d" / "nodes" / "zoo").glob("hgnn-*/runs.json")).read_text())
    assert len(kept) == 2


def test_absent_data_is_reported_and_the_rest_done(data_dir, tmp_path, capsys):
    given = ["--runs", "1", "--epochs", "1", "--data-dir", str(data_dir), "--out", str(tmp_path / "r")]
    given += ["--runs-dir", str(tmp_path / "d"), "--models", "mlp", "--datasets", "ntu2012", "zoo"]
    given += ["--device", "cpu"]
    assert command(given) == 1
    assert "ntu2012: data not available here" in capsys.readouterr().err
    assert {r["setting"] for r in read_rows("nodes", tmp_path / "r")} == {"zoo"}


def test_what_cannot_be_done_is_reported_and_the_rest_done(data_dir, tmp_path, monkeypatch):
    def too_big(*args, **options):
        if args[1] == "cegat":
            raise ValueError("up to 225,000,000 overlapping pairs")
        if args[1] == "han":
            raise RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: …\nmore")
        return nodes_runs.run(*args, **options)

    monkeypatch.setattr(nodes, "run", too_big)
    options = {"runs": 1, "epochs": 1, "data_dir": data_dir, "out": tmp_path / "r", "quiet": True}
    told = []
    problems = nodes.reproduce(["zoo"], ["cegat", "han", "mlp"], report=told.append, **options)
    assert problems[0] == "cegat on zoo: up to 225,000,000 overlapping pairs"
    assert problems[1].startswith("han on zoo: [enforce fail]")
    assert "\n" not in problems[1]
    row = read_rows("nodes", tmp_path / "r")[0]
    assert (row["model"], row["setting"]) == ("mlp", "zoo")
    assert row["command"].endswith("  # another zoo.content, zoo.edges")
    assert any("zoo.content, zoo.edges differs from the published file" in line for line in told)
    (data_dir / "zoo" / "zoo.content").write_text("one\ttwo\n")
    assert "line 1" in nodes.reproduce(["zoo"], ["mlp"], report=told.append, **options)[0]


@pytest.mark.parametrize(
    ("names", "message"),
    [(["--datasets", "zo"], "unknown dataset 'zo'"), (["--models", "hgn"], "unknown model 'hgn'")],
)
def test_unknown_names_list_the_known(names, message, capsys):
    assert command(names) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "Known:" in error


def test_zoo_is_learnt(real_data):
    settings = Settings(64, lr=5e-3, options={"dropout": 0.0}, dropout=0.0)
    found = nodes.run("zoo", "ehnn-mlp", runs=3, epochs=60, data_dir=real_data, settings=settings, quiet=True)
    assert sum(found.values("test")) / 3 > 80


def test_runs_are_those_of_their_data_and_say_where_they_come_from(h, tmp_path, monkeypatch):
    options = {"runs": 1, "epochs": 2, "directory": tmp_path, "quiet": True}
    monkeypatch.setenv("EHNN_COMMIT", "first")
    one = nodes.run("zoo", "mlp", h=h, **options)
    monkeypatch.setenv("EHNN_COMMIT", "second")
    again = nodes.run("zoo", "mlp", h=h, **options)
    assert again.records == one.records
    assert {row["commit"] for row in nodes_table.rows(again, "command")} == {"first"}
    more = nodes.run("zoo", "mlp", h=h, **(options | {"runs": 2}))
    assert {row["commit"] for row in nodes_table.rows(more, "command")} == {"first, second"}
    other = nodes.run("zoo", "mlp", h=h.replace(x=h.x + 1), **options)
    assert other.records[0]["commit"] == "second"


def test_two_stores_of_one_folder_lose_nothing(tmp_path):
    first, second = (Store.open(tmp_path, "zoo", "mlp", {}) for _ in range(2))
    first.add([{"seed": 0}])
    second.add([{"seed": 1}])
    assert set(Store.open(tmp_path, "zoo", "mlp", {}).records) == {0, 1}
