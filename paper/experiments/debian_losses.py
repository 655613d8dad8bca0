"""debian-files on one process and on two ranks: the losses of the first steps are the same.

The shards are those of ``debian_files.py shard`` for one and for two ranks. Labels of training files are
inputs, of which 30 % are hidden in every step; the loss is that of the hidden ones (`KnownLabels`)::

    python paper/experiments/debian_files.py tables --data DATA/scale --to runs/debian
    python paper/experiments/debian_files.py shard runs/debian --ranks 1
    python paper/experiments/debian_files.py shard runs/debian --ranks 2
    python paper/experiments/debian_losses.py runs/debian --out results
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ehnn import parallel
from ehnn.hypergraph import Hypergraph
from ehnn.nn import EHNNMLP
from ehnn.ops import bounded_memory
from ehnn.parallel.files import read_manifest
from ehnn.sharding.steps import peak_memory
from ehnn_paper.results import provenance, write_rows

DTYPES = {"float32": torch.float32, "float64": torch.float64}


def main(arguments: list[str] | None = None) -> None:
    """The command: starts the ranks of each run through torchrun, and compares their losses."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="of shards-1 and shards-2")
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--width", type=int, default=8)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--dtypes", nargs="+", choices=tuple(DTYPES), default=list(DTYPES))
    parser.add_argument("--out", default=None, help="folder of the rows")
    parser.add_argument("--worker", nargs=2, metavar=("SHARDS", "DTYPE"), help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.worker:
        train(Path(given.worker[0]), given.worker[1], given)
        return
    for dtype in given.dtypes:
        one, two = (started(given, ranks, dtype) for ranks in (1, 2))
        apart = [abs(a - b) / abs(a) for a, b in zip(one["losses"], two["losses"], strict=True)]
        print(f"{dtype}: relative differences {', '.join(f'{d:.1e}' for d in apart)}", flush=True)
        if given.out is not None:
            write(given, dtype, one, two, max(apart))


def started(given: argparse.Namespace, ranks: int, dtype: str) -> dict[str, Any]:
    """What the run on so many ranks prints; one rank runs without torchrun."""
    own = [str(given.folder), *(f"--{k}={getattr(given, k)}" for k in ("steps", "width", "lr"))]
    own += ["--worker", str(given.folder / f"shards-{ranks}"), dtype]
    launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"]
    command = [sys.executable, *(launcher if ranks > 1 else []), str(Path(__file__).resolve()), *own]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "EHNN_TIMEOUT": "600"}
    text = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
    print(text.strip(), flush=True)
    return dict(json.loads(text.strip().splitlines()[-1]))


class Model(nn.Module):
    """nodes → hyperedges → nodes with a residual; classes of some rows alone, for the sake of memory."""

    def __init__(self, d_in: int, width: int, classes: int) -> None:
        super().__init__()
        self.embed, self.classify = nn.Linear(d_in, width), nn.Linear(width, classes)
        self.up, self.down, self.norm = EHNNMLP(width, width), EHNNMLP(width, width), nn.LayerNorm(width)

    def forward(self, h: Hypergraph, rows: Tensor) -> Tensor:
        """``[rows, classes]``."""
        x = self.embed(h.x)
        e = self.up(x, h.overlap("nodes", "edges"))
        x = x + self.down(e, h.overlap("edges", "nodes"))
        return self.classify(self.norm(x.index_select(0, rows)))


def train(shards: Path, dtype: str, given: argparse.Namespace) -> None:
    """Steps of Adam on this rank's shard; rank 0 prints the losses of all ranks, and what they cost."""
    ranks = parallel.start(backend="gloo")
    h = parallel.load_shard(shards, ranks)
    h = h.replace(x=h.features("nodes").to(DTYPES[dtype]))
    task = parallel.KnownLabels(h, hidden=0.3, seed=0)
    torch.manual_seed(0)
    model = Model(task.num_features, given.width, task.classes).to(DTYPES[dtype])
    optimizer = torch.optim.Adam(model.parameters(), lr=given.lr)
    losses, begun = [], time.perf_counter()
    for step in range(given.steps):
        (batch,) = task.batches(step)
        assert batch.y is not None
        rows = (batch.y[:, 0] >= 0).nonzero().squeeze(1)
        optimizer.zero_grad(set_to_none=True)
        with bounded_memory():
            each = F.cross_entropy(model(batch, rows), batch.y[rows, 0], reduction="none")
            losses.append(float(parallel.backward(parallel.mean_over_ranks(each, ranks), model, ranks)))
        optimizer.step()
        del batch, each
    seconds = (time.perf_counter() - begun) / given.steps
    memory = [count / 1000 for count in ranks.counts(peak_memory() // 10**6)]
    if ranks.rank == 0:
        totals = read_manifest(shards)["totals"]
        print(json.dumps({"losses": losses, "seconds": seconds, "memory": memory, "totals": totals}))
    parallel.stop()


def write(
    given: argparse.Namespace, dtype: str, one: dict[str, Any], two: dict[str, Any], apart: float
) -> None:
    """Rows with the largest difference, and with the time and memory of both runs."""
    command = shlex.join(["python", "paper/experiments/debian_losses.py", *sys.argv[1:]])
    row = {"model": f"EHNN-MLP, width {given.width}", "selection": "none", "std": None, "runs": 1}
    row |= {"paper": None, "setting": f"debian-files, losses of {given.steps} steps, {dtype}"}
    row |= provenance(command, seeds=[0], settings={"one process": one, "two ranks": two})
    figures = {"largest relative difference of two ranks to one process": apart}
    for name, run in (("one process", one), ("two ranks", two)):
        figures |= {
            f"seconds per step, {name}": run["seconds"],
            f"largest process (GB), {name}": max(run["memory"]),
        }
    write_rows("scale-real", [row | {"metric": k, "mean": v} for k, v in figures.items()], given.out)


if __name__ == "__main__":
    main()
