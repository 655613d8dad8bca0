"""``ehnn train nodes``: one process, ranks, and ranks that die."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import typer

from ehnn._utils.folders import FolderInUseError, claimed
from ehnn.training.checkpoint import load_checkpoint
from ehnn_paper.commands.train_nodes import LOST, Run, _worker, train_nodes
from ehnn_paper.commands.trained import claim
from ehnn_paper.nodes.config import settings_of

from .command_line import SOURCES

PYTHONPATH = os.pathsep.join([SOURCES, os.environ.get("PYTHONPATH", "")])
ENVIRONMENT = os.environ | {"PYTHONPATH": PYTHONPATH, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
SMALL: dict[str, Any] = {
    "dataset": "synthetic", "model": "ehnn-mlp", "width": 8, "epochs": 25, "lr": 0.01, "dropout": 0.2,
    "dtype": "float64",
}  # fmt: skip
ONE_HOST = (
    "import json, sys; from ehnn_paper.commands.train_nodes import train_nodes; from pathlib import Path; "
)
ONE_HOST += "o = json.loads(sys.argv[1]); train_nodes(**o | {'directory': Path(o['directory'])})"


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any]]:
    """The checkpoint of the run in one process that nobody disturbed."""
    directory = tmp_path_factory.mktemp("alone")
    train_nodes(**SMALL, directory=directory)
    found = load_checkpoint(directory)
    assert found is not None
    return found


def same(directory: Path, expected: tuple[dict[str, Any], dict[str, Any]]) -> None:
    found = load_checkpoint(directory)
    assert found is not None
    for name, value in expected[0].items():
        if name != "rng":
            assert float((found[0][name].double() - value.double()).abs().max()) < 1e-10, name
    for mine, theirs in zip(found[1]["history"], expected[1]["history"], strict=True):
        assert mine["loss"] == pytest.approx(theirs["loss"], abs=1e-10)
        assert mine["valid"] == theirs["valid"]


def test_what_is_not_asked_for_is_the_models_own_on_the_dataset():
    own = settings_of("ehnn-mlp+", "zoo")
    unasked = Run("zoo", "ehnn-mlp+", None, 5, None, None, None, 0, "float32")
    assert unasked.settings() == own
    asked = Run("zoo", "ehnn-mlp+", 8, 5, 0.5, 0.0, 0.25, 0, "float32").settings()
    assert (asked.width, asked.lr, asked.weight_decay, asked.dropout) == (8, 0.5, 0.0, 0.25)
    assert asked.options == own.options


def test_a_killed_rank_is_started_again_and_nothing_is_lost(
    tmp_path: Path, expected: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    options = SMALL | {"parallel": "partition", "ranks": 2, "directory": str(tmp_path)}
    command = [sys.executable, "-c", ONE_HOST, json.dumps(options)]
    process = subprocess.Popen(
        command, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        first = wait_for_epoch(tmp_path, process)
        os.kill(first[1], signal.SIGKILL)
        _, errors = process.communicate(timeout=240)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    assert process.returncode == 0, errors
    # Of the killed rank, or of the other one, which is left alone and may be noticed first.
    assert "exitcode: -" in errors or "signal 9" in errors.lower() or "SIGKILL" in errors, errors
    same(tmp_path, expected)
    lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["epoch"] for line in lines] == list(range(1, SMALL["epochs"] + 1))
    assert (tmp_path / "best.safetensors").exists()


def wait_for_epoch(directory: Path, process: subprocess.Popen) -> dict[int, int]:
    """The process of each rank, once the first epochs are on record."""
    metrics, deadline = directory / "metrics.jsonl", time.monotonic() + 120
    while not (metrics.exists() and len(metrics.read_text().splitlines()) >= 2):
        assert process.poll() is None, process.stderr.read() if process.stderr else ""
        assert time.monotonic() < deadline, "no epoch in two minutes"
        time.sleep(0.005)
    return dict(ranks_below(process.pid))


def ranks_below(pid: int) -> Iterator[tuple[int, int]]:
    """(rank, pid) of the ranks that a process started."""
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        variables = Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
        rank = next((v for v in variables if v.startswith(b"RANK=")), None)
        if rank is not None:
            yield int(rank[5:]), int(child)


def test_torchrun_starts_the_ranks(tmp_path: Path, expected: tuple[dict[str, Any], dict[str, Any]]) -> None:
    """The command of the documentation, on one host."""
    given = {k.replace("_", "-"): v for k, v in SMALL.items() if k != "dtype"} | {"epochs": 3}
    flags = [part for name, value in given.items() for part in (f"--{name}", str(value))]
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node=2",
        "-m",
        "ehnn",
    ]
    command += ["train", "nodes", *flags, "--parallel", "partition", "--out", str(tmp_path)]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("best on validation") == 1  # rank 0 alone speaks
    losses = [json.loads(line)["loss"][0] for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert losses == pytest.approx([row["loss"][0] for row in expected[1]["history"][:3]], abs=1e-4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"parallel": "partition"}, "--parallel partition needs --ranks"),
        ({"parallel": "model"}, "unknown way to go parallel 'model'"),
        (
            {"parallel": "partition", "ranks": 2, "model": "hgnn"},
            "hgnn cannot be spread over ranks; these can",
        ),
        ({"dtype": "half"}, "unknown dtype 'half'"),
    ],
)
def test_wrong_options_are_told(
    options: dict[str, Any], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit):
        train_nodes(**SMALL | {"directory": tmp_path} | options)
    assert message in capsys.readouterr().err


def test_a_damaged_shard_is_named_before_ranks_start(tmp_path: Path) -> None:
    run = Run("synthetic", "ehnn-mlp", 8, 2, 0.01, 0.0, 0.0, 0, "float32")
    with claim(tmp_path, run.identity()):
        run.prepare(tmp_path, 2)
    victim = tmp_path / "shards-00002" / "shard-00001-of-00002.safetensors"
    victim.write_bytes(victim.read_bytes()[:100])
    given: dict[str, Any] = run.options()
    with pytest.raises(ValueError, match=f"{victim.name} must have"):
        train_nodes(**given, directory=tmp_path, parallel="partition", ranks=2)


def test_a_folder_belongs_to_one_run(tmp_path: Path) -> None:
    train_nodes(**SMALL | {"epochs": 1}, directory=tmp_path)
    with pytest.raises(ValueError, match="seed was 0, now 1"):
        train_nodes(**SMALL | {"epochs": 1, "seed": 1}, directory=tmp_path)


def test_a_folder_belongs_to_one_process(tmp_path: Path) -> None:
    mine, theirs = os.pipe()
    other = os.fork()
    if not other:
        with claimed(tmp_path):
            os.write(theirs, b"!")
            time.sleep(600)
        os._exit(0)
    assert os.read(mine, 1) == b"!"
    try:
        with pytest.raises(FolderInUseError, match=f"in use by process {other}"):
            train_nodes(**SMALL | {"epochs": 1}, directory=tmp_path)
    finally:
        os.kill(other, signal.SIGKILL)
        os.waitpid(other, 0)
        os.close(mine)
        os.close(theirs)
    assert sorted(os.listdir(tmp_path)) == [".claim"]  # of the dead process; no run has begun


def test_other_data_are_another_run(tmp_path: Path) -> None:
    def zoo(folder: str, classes: int) -> Path:
        place = tmp_path / folder / "zoo"
        place.mkdir(parents=True)
        rows = [f"{i} {i % 3} {i // 3 % 2} {1 + i % classes}" for i in range(24)]
        (place / "zoo.content").write_text("\n".join(rows) + "\n")
        (place / "zoo.edges").write_text("".join(f"{i} {24 + i % 3}\n" for i in range(24)))
        return tmp_path / folder

    given = SMALL | {"dataset": "zoo", "epochs": 1, "directory": tmp_path / "run"}
    train_nodes(**given, data_dir=zoo("first", 3))
    train_nodes(**given, data_dir=zoo("copy", 3))  # the same files elsewhere
    with pytest.raises(ValueError, match=r"other data or options \(the data\); choose another --out"):
        train_nodes(**given, data_dir=zoo("other", 2))
    shards, runs = (
        tmp_path / "shards",
        [Run(**_plain(given), data_dir=tmp_path / n) for n in ("copy", "other")],
    )
    runs[0].prepare(shards, 2)
    before = (shards / "shards-00002" / "partition.json").read_text()
    runs[1].prepare(shards, 2)  # shards of other data are not used
    assert (shards / "shards-00002" / "partition.json").read_text() != before


def _plain(given: dict[str, Any]) -> dict[str, Any]:
    return {"weight_decay": None, "seed": 0, **{k: v for k, v in given.items() if k != "directory"}}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dtype": "half"}, "unknown dtype 'half'"),
        ({"dataset": "zoo", "data_dir": "nowhere"}, "data_dir must be a folder, got 'nowhere'"),
        ({"dataset": "none of ours"}, "none of ours"),
    ],
)
def test_an_error_that_would_come_again_ends_the_ranks_for_good(
    change: dict[str, Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setenv("EHNN_REFUSED", str(tmp_path / "refused"))
    given = SMALL | {"directory": str(tmp_path / "run"), "data_dir": None} | change
    _worker(json.dumps(given))  # it ends with status 0: torchrun does not start it again
    assert message in capsys.readouterr().err
    assert (tmp_path / "refused").exists()


@pytest.mark.parametrize(("code", "again"), [(LOST, True), (130, True), (1, False), (2, False)])
def test_which_ranks_are_started_again(
    code: int, again: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that lost another rank; a full disk or a loss that is not finite would come again."""

    def leave(**given: object) -> None:
        raise typer.Exit(code)

    monkeypatch.setenv("EHNN_REFUSED", str(tmp_path / "refused"))
    monkeypatch.setattr("ehnn_paper.commands.train_nodes.train_nodes", leave)
    with pytest.raises(SystemExit) if again else nullcontext():
        _worker(json.dumps({"directory": None, "data_dir": None}))
    assert (tmp_path / "refused").exists() != again


def test_several_ranks_without_a_partition_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(typer.Exit):
        train_nodes(**SMALL, directory=tmp_path)
    assert "--parallel partition" in capsys.readouterr().err
    with pytest.raises(typer.Exit):
        train_nodes(**SMALL, directory=tmp_path, parallel="partition", ranks=3)
    assert "--ranks 3, but torchrun started 2" in capsys.readouterr().err
