"""Steps on the workers of Dask: killed workers, errors of tasks, memory."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from tables_for_tests import written

from ehnn.parallel.files import read_shard
from ehnn.sharding import Columns, Job, make_shards
from ehnn.sharding.engine import Here, engine
from ehnn.sharding.steps import Folder, Item, Steps

pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore")  # Dask warns of ports and of workers that end


def killed_once(folder: Folder, item: Item) -> int:
    """Ends its worker the first time, as the kernel does when memory runs out."""
    mark = folder.path / f"killed-{item['number']}"
    if item["number"] == 1 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return item["number"] * 10


def always_killed(folder: Folder, item: Item) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def wrong(folder: Folder, item: Item) -> None:
    raise ValueError(f"item {item['number']} is wrong")


@pytest.fixture(scope="module")
def on_path() -> None:
    """Workers import this file to find the functions above."""
    path = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), path])
    yield
    os.environ["PYTHONPATH"] = path


@pytest.mark.usefixtures("on_path")
def test_killed_workers_are_replaced_and_errors_arrive(tmp_path: Path) -> None:
    items = [{"number": i} for i in range(4)]
    with engine(2, 2 * 2**30) as workers:
        steps = Steps(tmp_path, workers)
        assert steps.run("killed", killed_once, items) == [0, 10, 20, 30]
        assert (tmp_path / "killed-1").exists()
        with pytest.raises(ValueError, match="item 0 is wrong"):
            steps.run("wrong", wrong, items[:1])
        with pytest.raises(RuntimeError, match=r"a task ended 4 workers.*finished tasks are kept"):
            steps.run("always", always_killed, items[:1])
    assert Steps(tmp_path, Here()).run("killed", wrong, items) == [0, 10, 20, 30]  # from the records


def test_workers_give_the_shards_of_one_process(tmp_path: Path) -> None:
    w = written(tmp_path, n=3000, m=2000)
    for workers in (0, 2):
        job = Job(
            w.members, tmp_path / str(workers), 2, node_column="member", edge_column="club", nodes=w.nodes,
            columns=Columns("name", "kind", "part"), workers=workers, method="contiguous",
        )  # fmt: skip
        assert make_shards(job)["peak_memory"] > 0
    for rank in range(2):
        one, other = (read_shard(tmp_path / name, rank, 2) for name in ("0", "2"))
        assert all((one[name] == other[name]).all() for name in one)


def test_an_address_without_a_scheduler_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ehnn.sharding.engine.PATIENCE", 1)
    with (
        pytest.raises(ValueError, match=r"no Dask scheduler answers at 'tcp://127.0.0.1:1'"),
        engine(1, 2**30, "tcp://127.0.0.1:1"),
    ):
        pass
