"""A run on ranks is the run of one process, whoever dies and however many go on."""

import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parent))
from launching import begin, end, launch, outputs, wait_for
from training_workers import EPOCHS, MODELS, alone, difference, hypergraph, make, on_ranks

from ehnn import parallel
from ehnn.nn import EHNNMLP, Stack
from ehnn.nn.dropout import Dropout
from ehnn.parallel import Ranks
from ehnn.parallel.masks import number_rows
from ehnn.parallel.prepare import prepare_shards, shard_folder, with_parts
from ehnn.parallel.synthetic import synthetic
from ehnn.parallel.train import ShardNodes, fit_shard
from ehnn.training import TrainConfig
from ehnn.training.checkpoint import load_checkpoint


def test_training_with_dropout_is_that_of_one_process(tmp_path: Path) -> None:
    job = {"directory": str(tmp_path), "names": list(MODELS)}
    launch(2, tmp_path, ("training_workers.equal_to_one_process", job))


def test_two_ranks_then_three_then_one(tmp_path: Path) -> None:
    """Each part stops between checkpoints, so its last epochs are run again by other ranks."""
    launch(2, tmp_path, ("training_workers.interrupted", {"directory": str(tmp_path), "stop_at": 5}))
    launch(3, tmp_path, ("training_workers.interrupted", {"directory": str(tmp_path), "stop_at": 8}))
    last = on_ranks(Ranks(), "mlp", EPOCHS, tmp_path)
    assert last is not None
    assert difference(last, alone("mlp", EPOCHS)) < 1e-10
    lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["epoch"] for line in lines] == list(range(1, EPOCHS + 1))
    assert {p.name for p in tmp_path.glob("shards-*")} == {f"shards-0000{p}" for p in (1, 2, 3)}


def test_one_process_goes_on_from_ranks(tmp_path: Path) -> None:
    assert on_ranks(Ranks(), "mlp", EPOCHS, tmp_path, stop_at=8) is None
    assert difference(alone("mlp", EPOCHS, tmp_path), alone("mlp", EPOCHS)) < 1e-10


@pytest.mark.parametrize("victim", [0, 1])
def test_a_killed_rank_stops_the_others_at_once(tmp_path: Path, victim: int) -> None:
    other = 1 - victim
    process = begin(2, tmp_path, ("training_workers.slow", {"directory": str(tmp_path)}))
    try:
        assert wait_for(lambda: epoch_of(tmp_path, 0) > 3 < epoch_of(tmp_path, 1), 90), outputs(2, tmp_path)
        os.kill(json.loads((tmp_path / "pids").read_text())[victim], signal.SIGKILL)
        assert wait_for(lambda: process.poll() is not None, 30), "the other rank went on"
    finally:
        end(process)
    said = (tmp_path / f"output-{other}.txt").read_text()
    assert f"rank {other} stops: one of the 2 ranks is gone or silent" in said
    assert json.loads((tmp_path / "codes").read_text()) == [-9 if r == victim else 7 for r in (0, 1)]
    found = load_checkpoint(tmp_path)
    assert found is not None
    assert found[1]["epoch"] % 3 == 0  # a whole checkpoint, of an epoch that all ranks have finished


def test_a_silent_rank_stops_the_others_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EHNN_TIMEOUT", "3")
    process = begin(2, tmp_path, ("training_workers.slow", {"directory": str(tmp_path)}))
    try:
        assert wait_for(lambda: epoch_of(tmp_path, 0) > 2 < epoch_of(tmp_path, 1), 90), outputs(2, tmp_path)
        os.kill(json.loads((tmp_path / "pids").read_text())[1], signal.SIGSTOP)
        began = time.monotonic()
        said = tmp_path / "output-0.txt"
        assert wait_for(lambda: "gone or silent" in said.read_text(), 20), "rank 0 waits for ever"
        assert time.monotonic() - began > 1
    finally:
        end(process)


def epoch_of(directory: Path, rank: int) -> int:
    path = directory / f"epoch-{rank}"
    return int(path.read_text() or 0) if path.exists() else 0


def test_shards_are_made_once(tmp_path: Path) -> None:
    calls = []

    def load():
        calls.append(1)
        return hypergraph()

    assert prepare_shards(tmp_path, 2, {"seed": 1}, load)
    assert not prepare_shards(tmp_path, 2, {"seed": 1}, load)
    assert len(calls) == 1
    assert prepare_shards(tmp_path, 3, {"seed": 1}, load)
    assert prepare_shards(tmp_path, 2, {"seed": 2}, load)
    folder = shard_folder(tmp_path, 2)
    (folder / "partition.json").unlink()  # as if killed before the end
    (folder / ".shard-00000-of-00002.safetensors.ab.part").write_bytes(b"half")
    assert prepare_shards(tmp_path, 2, {"seed": 2}, load)
    assert not list(folder.glob(".*.part"))
    victim = next(folder.glob("shard-00001*"))
    victim.write_bytes(victim.read_bytes()[:-1])
    with pytest.raises(ValueError, match=f"{victim.name} must have"):
        prepare_shards(tmp_path, 2, {"seed": 2}, load)
    victim.unlink()
    with pytest.raises(ValueError, match=f"{victim.name} is missing"):
        prepare_shards(tmp_path, 2, {"seed": 2}, load)


def test_a_row_keeps_its_mask_wherever_it_is() -> None:
    whole, part = Dropout(0.4), Dropout(0.4)
    for dropout in (whole, part):
        dropout.seeded = True
        dropout.seed.fill_(77)
    x = torch.randn(50, 7)
    some = torch.tensor([3, 49, 0, 12])
    part.rows = (some, 50)
    assert torch.equal(part(x[some]), whole(x)[some])
    part.rows = (torch.zeros(0, dtype=torch.int64), 50)
    assert part(x[:0]).shape == (0, 7)


def test_numbering_can_be_undone() -> None:
    model = make("mlp").train()
    numbering = number_rows(model)
    h = hypergraph()
    model(parallel.shard(with_parts(h, 0), parallel.partition(h, 1), Ranks()))
    assert all(m.rows is not None for m in model.modules() if isinstance(m, Dropout))
    numbering.remove()
    assert all(m.rows is None for m in model.modules() if isinstance(m, Dropout))


@pytest.mark.parametrize("first", ["nodes", "edges", "all"])
def test_rows_are_numbered_from_the_first_family(first: str) -> None:
    """Dropout of the input sees rows of whatever family the model begins with."""
    h = with_parts(hypergraph(), 0)
    h = h.replace(edge_x=torch.randn(h.num_edges, 16, dtype=torch.float64))
    width = h.features(first).shape[1]
    model = Stack(width, 3, EHNNMLP, width=8, path=(first, "nodes"), input_dropout=0.5).double().train()
    for number, dropout in enumerate(m for m in model.modules() if isinstance(m, Dropout)):
        dropout.seeded = True
        dropout.seed.fill_(number)
    whole = model(h)
    numbering = number_rows(model)
    torch.testing.assert_close(model(parallel.shard(h, parallel.partition(h, 1), Ranks())), whole)
    numbering.remove()


@pytest.mark.parametrize("name", ["amp", "compile"])
def test_what_shards_do_not_have_is_refused(name: str) -> None:
    h = hypergraph()
    task = ShardNodes(parallel.shard(with_parts(h, 0), parallel.partition(h, 1), Ranks()))
    with pytest.raises(ValueError, match=f"{name}=True is not available on shards"):
        fit_shard(lambda: make("mlp"), task, 0, TrainConfig(epochs=1, **{name: True}), quiet=True)


def test_ranks_that_found_different_checkpoints_do_not_train(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that does not see the folder of the others would begin at epoch 0."""
    h = hypergraph()
    task = ShardNodes(parallel.shard(with_parts(h, 0), parallel.partition(h, 1), Ranks()))
    monkeypatch.setattr(Ranks, "counts", lambda self, value, device="cpu": [value, value + 3])
    with pytest.raises(ValueError, match=r"checkpoints of different epochs \[0, 3\]: every host must see"):
        fit_shard(lambda: make("mlp"), task, 0, TrainConfig(epochs=1), quiet=True)


def test_a_partition_of_another_hypergraph_is_refused() -> None:
    h = hypergraph()
    smaller = synthetic(12, 9, 3)
    with pytest.raises(ValueError, match="the partition is of 12 nodes and 9 hyperedges, but h is"):
        parallel.shard(h, parallel.partition(smaller, 1), Ranks())


def test_more_classes_than_channels_are_refused() -> None:
    with pytest.raises(ValueError, match="classes must be at most 16"):
        synthetic(40, 30, 20)
