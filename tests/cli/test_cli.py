"""The command line as a person meets it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("typer")

from typer.testing import CliRunner

import ehnn
from ehnn.cli.app import app
from ehnn.cli.experiments import EXPERIMENTS
from ehnn.cli.lists import expand_lists
from ehnn.results import read_rows

ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(ehnn.__file__).parents[1]), "OMP_NUM_THREADS": "1"}


def run(*arguments: str, code: int = 0) -> str:
    """Output and errors of a command, with line breaks and indentation made single spaces."""
    result = CliRunner().invoke(app, expand_lists(arguments))
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return " ".join(result.output.split())


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("--models a b --seeds 2", "--models a --models b --seeds 2"),
        ("--models a,b, c", "--models a --models b --models c"),
        ("--models a --models b", "--models a --models b"),
        ("--setting=seen,x y --out d", "--setting seen --setting x --setting y --out d"),
        ("--datasets zoo", "--datasets zoo"),
        (
            "--feature-columns a,b c --member-columns=d,e",
            "--feature-columns a,b --feature-columns c --member-columns d,e",
        ),
        ("k-edge --seeds 2 --fresh", "k-edge --seeds 2 --fresh"),
        ("--out=a,b", "--out=a,b"),
        ("", ""),
    ],
)
def test_lists(arguments: str, expected: str) -> None:
    assert expand_lists(arguments.split()) == expected.split()


def test_version() -> None:
    assert run("--version") == f"ehnn {ehnn.__version__}"


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ((), ("train", "predict", "report", "data", "reproduce", "tune", "bench", "check", "--version")),
        (("reproduce",), (*EXPERIMENTS, "--models", "--setting", "--seeds", "--epochs", "--device", "--out")),
        (("train",), ("--data", "--label-column", "--task", "--nodes", "--out", "k-edge", "nodes")),
        (("train", "k-edge"), ("--model", "--setting", "--lr", "--patience", "--out")),
        (("train", "nodes"), ("--dataset", "--model", "--parallel", "--ranks", "--data-dir")),
        (("predict",), ("--model", "--data", "--out", "--force")),
        (("tune",), ("--dataset", "--sampler", "--trials", "--storage")),
        (("check",), ("equivariant", "--device")),
        (("data",), ("list", "fetch", "info", "convert")),
        (("data", "convert"), ("FROM", "TO", "--from", "--to", "--force")),
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
        ("reprodcue", "No such command 'reprodcue'"),
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
        ("data info zooo", "unknown dataset 'zooo' (did you mean 'zoo'?)"),
        ("data fetch zoo nothing", "unknown dataset 'nothing'."),
    ],
)
def test_wrong_arguments_fail_at_once(arguments: str, message: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in run(*arguments.split(), code=2)
    assert not list(tmp_path.iterdir())


def test_a_gpu_that_is_not_there(monkeypatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert "sees no CUDA device" in run("check", "--device", "cuda", code=2)


def test_check() -> None:
    text = run("check", "--device", "cpu")
    assert "EHNNTransformer equivariant" in text
    assert "HyperGCN equivariant" in text
    assert "NOT" not in text


def test_check_finds_a_broken_layer(monkeypatch) -> None:
    import torch

    from ehnn.cli import check
    from ehnn.nn import EHNNMLP

    class Broken(EHNNMLP):
        def forward(self, x, overlap):
            y = super().forward(x, overlap)
            return y + torch.arange(y.shape[0]).unsqueeze(1)

    def fails(d_in: int, d_out: int) -> EHNNMLP:
        raise RuntimeError("no such kernel")

    monkeypatch.setattr(check, "LAYERS", {"Broken": Broken, "Failing": fails})
    monkeypatch.setattr(check, "MODELS", {})
    text = run("check", "--device", "cpu", code=1)
    assert "Broken NOT EQUIVARIANT: not equivariant to" in text
    assert "Failing FAILS: no such kernel" in text
    assert "3 of 5 pass" in text


def test_data() -> None:
    listed = run("data", "list")
    assert all(card.name in listed for card in ehnn.datasets.list_datasets())
    assert "licence CC BY 4.0" in run("data", "info", "zoo")


def test_tables_in_a_terminal(monkeypatch, capsys) -> None:
    from ehnn.cli.show import show_table

    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    show_table("A [title]", ("what", "count"), [("a", "1"), ("a", "2"), ("[b]", "3 ± 1")])
    text = capsys.readouterr().out
    assert "A [title]" in text
    assert "3 ± 1" in text
    assert "[b]" in text


def test_data_that_cannot_be_fetched(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("EHNN_MIRROR", "http://127.0.0.1:9")
    monkeypatch.delenv("EHNN_DATA", raising=False)
    assert "dataset 'zoo' lacks zoo/zoo.content" in run("data", "fetch", "zoo", code=1)


# ---------------------------------------------------------------------- training


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

    from ehnn.reproduce.k_edge import TABLE_1

    command = f"train k-edge --model all-deep-sets --epochs 2 --lr 0.01 --schedule cosine --out {tmp_path}"
    assert "test, chosen on validation:" in run(*command.split())
    TABLE_1["all-deep-sets"].make().load_state_dict(load_file(tmp_path / "best.safetensors"))
    assert len((tmp_path / "metrics.jsonl").read_text().splitlines()) == 2
    other = run(*command.replace("0.01", "0.02").split(), code=2)
    assert "holds another run (lr was 0.01, now 0.02); choose another --dir" in other
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
    assert "Interrupted. Run the same command to go on" in errors
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


def hear_interrupts() -> None:
    """What a shell starts in the background ignores them, and so would its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def wait_for(ready, process: subprocess.Popen, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not ready():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.05)
