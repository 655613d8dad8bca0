"""``ehnn shard`` and ``ehnn train --shards`` on two ranks, from Parquet to Parquet."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import ehnn
from ehnn.cli.app import app
from ehnn.parallel.synthetic import synthetic

pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """400 labelled nodes in communities, as Parquet."""
    folder, h = tmp_path_factory.mktemp("tables"), synthetic(400, 600, 3, noise=2.0)
    names = np.array([f"n{i:03d}" for i in range(400)])
    pairs = {"node": names[h.incidence.index.numpy()], "edge": h.incidence.rows.numpy()}
    pd.DataFrame(pairs).to_parquet(folder / "members.parquet")
    x = {f"x{i}": h.x[:, i].numpy() for i in range(3)}
    pd.DataFrame({"node": names, "kind": np.array(["a", "b", "c"])[h.y], **x}).to_parquet(
        folder / "nodes.parquet"
    )
    return folder


def shard_command(tables: Path, ranks: int, out: Path) -> list[str]:
    members, nodes = str(tables / "members.parquet"), str(tables / "nodes.parquet")
    features = [part for i in range(3) for part in ("--feature-columns", f"x{i}")]
    return [
        "shard", members, "--ranks", str(ranks), "--out", str(out), "--nodes", nodes, "--label-column",
        "kind", *features, "--workers", "0",
    ]  # fmt: skip


def torchrun(ranks: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(Path(ehnn.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"]
    environment = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [*command, "-m", "ehnn", "train", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=200,
    )


def losses(run: Path) -> list[float]:
    lines = (run / "metrics.jsonl").read_text().splitlines()
    return [json.loads(line)["loss"][0] for line in lines]


def test_two_ranks_and_one_process_have_the_same_losses_and_predictions(tables: Path, tmp_path: Path) -> None:
    runner, frames = CliRunner(), {}
    for ranks in (1, 2):
        shards, run = tmp_path / f"shards-{ranks}", tmp_path / f"run-{ranks}"
        made = runner.invoke(app, shard_command(tables, ranks, shards))
        assert made.exit_code == 0, made.output
        options = [
            "--shards",
            str(shards),
            "--out",
            str(run),
            "--epochs",
            "12",
            "--width",
            "8",
            "--device",
            "cpu",
        ]
        ended = torchrun(ranks, *options)
        assert ended.returncode == 0, ended.stderr
        parts = sorted(run.glob("predictions-*.parquet"))
        assert len(parts) == ranks
        frames[ranks] = pd.concat([pd.read_parquet(p) for p in parts]).sort_values("node", ignore_index=True)
    np.testing.assert_allclose(losses(tmp_path / "run-2")[:3], losses(tmp_path / "run-1")[:3], rtol=1e-6)
    np.testing.assert_allclose(losses(tmp_path / "run-2"), losses(tmp_path / "run-1"), rtol=1e-4)
    one, two = frames[1], frames[2]
    assert one["node"].tolist() == [f"n{i:03d}" for i in range(400)]
    assert (one[["node", "label", "part"]].astype(str) == two[["node", "label", "part"]].astype(str)).all(
        None
    )
    np.testing.assert_allclose(one["probability"], two["probability"], atol=1e-3)
    record = json.loads((tmp_path / "run-2" / "run.json").read_text())
    test = two[two["part"] == "test"]
    right = (test["predicted"].astype(str) == test["label"].astype(str)).mean()
    assert record["best"]["test"] == pytest.approx(100 * right)


def test_ranks_that_do_not_fit_the_shards_are_refused(tables: Path, tmp_path: Path) -> None:
    runner = CliRunner()
    assert runner.invoke(app, shard_command(tables, 2, tmp_path / "shards")).exit_code == 0
    alone = runner.invoke(app, ["train", "--shards", str(tmp_path / "shards")])
    assert alone.exit_code != 0
    assert "holds 2 shards, but 1 ranks are running: torchrun --nproc-per-node 2" in alone.output
    mixed = runner.invoke(app, ["train", "--shards", str(tmp_path / "shards"), "--label-column", "kind"])
    assert "--label-column does not go with --shards" in mixed.output


def test_a_changed_shard_is_named_on_every_rank(tables: Path, tmp_path: Path) -> None:
    shards = tmp_path / "shards"
    assert CliRunner().invoke(app, shard_command(tables, 1, shards)).exit_code == 0
    path = shards / "shard-00000-of-00001.safetensors"
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    path.write_bytes(data)
    ended = CliRunner().invoke(app, ["train", "--shards", str(shards), "--out", str(tmp_path / "run")])
    assert ended.exit_code != 0
    assert "shard-00000-of-00001.safetensors does not have the checksum" in ended.output


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--memory", "much"], "memory must be a size such as 3GB"),
        (["--label-column", "kidn"], "has no column 'kidn' (did you mean 'kind'?)"),
    ],
)
def test_wrong_options_are_one_line(tables: Path, tmp_path: Path, more: list[str], message: str) -> None:
    ended = CliRunner().invoke(app, [*shard_command(tables, 2, tmp_path / "shards"), *more])
    assert ended.exit_code == 2
    assert message in ended.output
