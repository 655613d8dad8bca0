"""The commands of the paper as a person meets them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ehnn_paper.commands.experiments import EXPERIMENTS, Request
from ehnn_paper.results import read_rows

from .command_line import ENVIRONMENT, hear_interrupts, run, wait_for


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ((), ("reproduce", "tune", "bench", "match")),
        (("train",), ("k-edge", "nodes")),
        (("bench",), ("--device", "--sizes", "--merge")),
        (("reproduce",), (*EXPERIMENTS, "--models", "--setting", "--seeds", "--epochs", "--device", "--out")),
        (("train", "k-edge"), ("--model", "--setting", "--lr", "--patience", "--out")),
        (("train", "nodes"), ("--dataset", "--model", "--parallel", "--ranks", "--data-dir")),
        (("tune", "--dataset", "zoo"), ("--dataset", "--sampler", "--trials", "--storage")),
    ],
)
def test_help_reads_well(command: tuple[str, ...], words: tuple[str, ...]) -> None:
    text = run(*command, "--help")
    assert [word for word in words if word not in text] == []
    assert "Annotated" not in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("reproduce k-egde", "unknown experiment 'k-egde' (did you mean 'k-edge'?). Known: k-edge, ablation"),
        (
            "reproduce k-edge --models ehnn-mpl",
            "unknown model 'ehnn-mpl' (did you mean 'ehnn-mlp'?). Known: all-deep",
        ),
        (
            "reproduce k-edge --setting seen outer",
            "unknown setting 'outer'. Known: seen, interpolation, extrapol",
        ),
        ("reproduce k-edge --device gpus", "unknown device 'gpus'"),
        ("reproduce k-edge --seeds 0", "'--seeds'"),
        ("reproduce k-edge --seeds many", "'--seeds'"),
        ("reproduce k-edge --sede 3", "--seeds"),
        ("reproduce nodes --datasets zo", "unknown dataset 'zo' (did you mean 'zoo'?)"),
        ("train zoo --model ehnn-mlp", "unknown task 'zoo'. Known: k-edge, nodes"),
        ("train k-edge --dataset zoo --model ehnn-mlp", "No such option"),
        ("train nodes --dataset zoo --model ehnn-mlp --parallel yes", "unknown way to go parallel 'yes'"),
        ("train nodes --dataset zoo --model ehnn-mlp --ranks 2", "--ranks goes with --parallel partition"),
        ("train nodes --data a.csv --model ehnn-mlp", "No such option"),
        ("tune --dataset zoo --model ehnn", "unknown model 'ehnn'"),
        ("tune --dataset zo --model ehnn-mlp", "unknown dataset 'zo' (did you mean 'zoo'?)"),
        ("tune --dataset zoo --model ehnn-mlp --sampler best", "unknown sampler 'best'."),
        ("train k-edge --model ehnn", "unknown model 'ehnn'"),
        ("train k-edge --model ehnn-mlp --lr -1", "lr must be above 0"),
        ("train k-edge --model ehnn-mlp --schedule linear", "schedule must be one of"),
    ],
)
def test_wrong_arguments_fail_at_once(arguments: str, message: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in run(*arguments.split(), code=2)
    assert not list(tmp_path.iterdir())


def test_an_interrupt_promises_nothing_that_is_not_there() -> None:
    asked = Request(out=Path("o"), runs_dir=Path("r"))
    kept = "what is done, if anything is, is kept in r and o."
    assert asked.resume == f"Run the same command to continue; {kept}"


def test_reproduce(tmp_path: Path, monkeypatch) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    command = "reproduce k-edge --models all-deep-sets ehnn-mlp --setting seen --epochs 2 --seeds 1"
    text = run(*command.split())
    assert "on validation best on test paper seeds" in text
    assert "98.02" in text
    rows = read_rows("k-edge", "results")
    assert [(row["model"], row["selection"]) for row in rows] == [
        (model, rule) for model in ("all-deep-sets", "ehnn-mlp") for rule in ("validation", "test-best")
    ]
    assert rows[2]["command"] == "ehnn reproduce k-edge --setting seen --models ehnn-mlp --seeds 1 --epochs 2"
    assert Path("results/k-edge.csv").exists()
    assert Path("results/k-edge.png").exists()
    again = run(*command.split())
    assert "ehnn-mlp, seen: done before" in again


def test_reproduce_without_matplotlib_says_what_to_install(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    command = "reproduce ablation --models all-deep-sets --setting seen --epochs 1 --seeds 1"
    assert ".[plot]" in run(*command.split())
    assert read_rows("ablation", "results")


def test_train(tmp_path: Path) -> None:
    from safetensors.torch import load_file

    from ehnn_paper.k_edge.recipes import TABLE_1

    command = f"train k-edge --model all-deep-sets --epochs 2 --lr 0.01 --schedule cosine --out {tmp_path}"
    assert "test, chosen on validation:" in run(*command.split())
    TABLE_1["all-deep-sets"].make().load_state_dict(load_file(tmp_path / "best.safetensors"))
    assert len((tmp_path / "metrics.jsonl").read_text().splitlines()) == 2
    other = run(*command.replace("0.01", "0.02").split(), code=2)
    assert "other data or options (lr was 0.01, now 0.02); choose another --out" in other
    other = run(*command.replace("k-edge", "k-edge --setting extrapolation").split(), code=2)
    assert "setting was 'seen', now 'extrapolation'" in other


def test_module_and_lists_in_a_process(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "ehnn", "reproduce", "k-edge", "--models", "ehnn-mlp", "ehnn-mpl"]
    done = subprocess.run(command, env=ENVIRONMENT, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert done.stderr.startswith("Error: unknown model 'ehnn-mpl' (did you mean 'ehnn-mlp'?)")


def test_an_interrupt_leaves_a_run_that_goes_on(tmp_path: Path) -> None:
    arguments = "reproduce k-edge --models all-deep-sets --setting seen --seeds 1 --epochs 40 --device cpu"
    command = [sys.executable, "-m", "ehnn", *arguments.split()]
    options = {"env": ENVIRONMENT, "cwd": tmp_path, "text": True}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=hear_interrupts, **options
    )
    wait_for(lambda: list(tmp_path.rglob("checkpoint.safetensors")), process)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130, errors
    assert "Interrupted. Run the same command to continue" in errors
    assert "Traceback" not in errors
    assert not list(tmp_path.rglob("cell.json"))
    metrics = next(tmp_path.rglob("metrics.jsonl"))
    before = metrics.read_text().splitlines()
    again = subprocess.run(command, capture_output=True, timeout=300, **options)
    assert again.returncode == 0, again.stderr
    after = metrics.read_text().splitlines()
    assert after[:25] == before[:25]  # up to the checkpoint
    assert [json.loads(line)["epoch"] for line in after] == list(range(1, 41))
    assert len(read_rows("k-edge", tmp_path / "results")) == 2
