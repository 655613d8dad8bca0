"""Time and memory of keypoint matching: association hypergraph, network and Sinkhorn, forward and backward.

``python paper/benchmarks/matching.py --device cuda``: 8 made-up image pairs of 10 to 20 keypoints, 1024
channels,
larger than most of PASCAL VOC. No data files are read. A line of JSON for each network and number of pairs,
as soon as it is measured; medians in milliseconds:

- ``made``: the association hypergraph with all its views, and packing it, on the CPU (where training has no
  CUDA graphs this is done ahead, by other processes);
- ``moved``: unpacking it on the device; ``forward``, ``backward``: a step on it;
- ``iteration``: moved, forward and backward, a new batch each time: what such training waits for;
- ``on_device``: the same with the association hypergraph made there, as in evaluation;
- ``replayed``: the same from a batch that is filled up to one of few layouts (``filled``: that, and packing
  it, on the CPU, which is done ahead), as a CUDA graph: what training waits for. ``layouts`` of the batches;
- ``compiled``, with ``--compile``: ``on_device`` through ``torch.compile``, as one graph;
  ``compiled_first_s`` is what the first batches take, for which it is compiled.

``first_s`` is the first iteration, with its compilation. With ``--refine 2`` two SplineConv layers stand
before the affinities. ``operators`` counts what PyTorch was asked for in an iteration.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from ehnn.training.replay import Replayed
from ehnn_paper.matching.association import Association
from ehnn_paper.matching.filling import filled
from ehnn_paper.matching.graphs import delaunay
from ehnn_paper.matching.loss import permutation_loss
from ehnn_paper.matching.models import make_matcher
from ehnn_paper.matching.packing import Landed, Packed, pack, unpack
from ehnn_paper.matching.pair_batch import PairBatch, Side
from ehnn_paper.results import provenance

CHANNELS, WHOLE = 1024, 512
MODELS = ["ehnn-mlp", "ehnn-transformer", "nhgm-v2", "ngm-v2"]


def random_side(counts: list[int], generator: torch.Generator) -> Side:
    points = [256 * torch.rand(n, 2, generator=generator) for n in counts]
    graphs = [delaunay(p) for p in points]
    first = [sum(counts[:i]) for i in range(len(counts))]
    side = Side(
        torch.cat(points),
        torch.tensor(counts),
        torch.cat([e + row for (e, _), row in zip(graphs, first, strict=True)], 1),
        torch.cat([t + row for (_, t), row in zip(graphs, first, strict=True)], 1),
    )
    return replace(side, known_owner=side.owner)


def random_batch(pairs: int, seed: int = 0) -> PairBatch:
    """Pairs with 10 to 20 keypoints, the same number in both images."""
    generator = torch.Generator().manual_seed(seed)
    counts = torch.randint(10, 21, (pairs,), generator=generator).tolist()
    a, b = random_side(counts, generator), random_side(counts, generator)
    batch = PairBatch(a, b, torch.arange(sum(counts)))
    return replace(batch, known_sizes=batch.sizes)


class Measured:
    """One network, on batches of so many pairs."""

    def __init__(self, name: str, pairs: int, given: argparse.Namespace) -> None:
        torch.manual_seed(0)
        self.given, self.device = given, torch.device(given.device)
        self.model: Any = make_matcher(name, CHANNELS, WHOLE, refine=given.refine).to(self.device)
        self.batches = [random_batch(pairs, seed) for seed in range(4)]
        self.packed = [self.made(batch) for batch in self.batches]
        self.alone = [self.pinned(pack(batch)) for batch in self.batches]
        self.turn = 0

    def made(self, batch: PairBatch) -> Packed:
        return self.pinned(pack((batch, self.model.associate(batch).prepare())))

    def pinned(self, packed: Packed) -> Packed:
        return packed.pin_memory() if self.device.type == "cuda" else packed

    def moved(self) -> tuple[PairBatch, Association]:
        """The next batch on the device, as if a gallery had shown it."""
        self.turn += 1
        batch, association = unpack(self.packed[self.turn % len(self.packed)], self.device)
        return self.shown(batch), association

    def shown(self, batch: PairBatch) -> PairBatch:
        """With features, whose gradients go on into a backbone."""
        sides = []
        for side in (batch.a, batch.b):
            rows = torch.randn(len(side.points), CHANNELS, device=self.device).div_(32).requires_grad_()
            whole = torch.randn(len(side.counts), WHOLE, device=self.device)
            sides.append(replace(side, features=rows, whole=whole))
        return replace(batch, a=sides[0], b=sides[1])

    def forward(self, batch: PairBatch, association: Association) -> Tensor:
        return permutation_loss(self.model(batch, association), batch, association.candidates)

    def whole(self, batch: PairBatch) -> Tensor:
        return self.forward(batch, self.model.associate(batch))

    def backward(self, loss: Tensor, batch: PairBatch) -> None:
        inputs = [*self.model.parameters(), batch.a.features, batch.b.features]
        torch.autograd.grad(loss, inputs, allow_unused=True)

    def step(self, batch: PairBatch, association: Association) -> None:
        self.backward(self.forward(batch, association), batch)

    def on_device(self, loss: Callable[[PairBatch], Tensor]) -> None:
        self.turn += 1
        batch = self.shown(unpack(self.alone[self.turn % len(self.alone)], self.device))
        self.backward(loss(batch), batch)

    def filled(self, batch: PairBatch) -> Packed:
        found = filled(batch)
        assert found is not None
        return replace(self.pinned(pack(found)), reusable=True)

    def replay(self) -> dict[str, float]:
        def step(landed: Landed) -> Tensor:
            batch = self.shown(landed.open())
            loss = self.whole(batch)
            self.backward(loss, batch)
            return loss.detach()

        full = [self.filled(batch) for batch in self.batches]
        replayed = Replayed(step, self.device)

        def one() -> None:
            self.turn += 1
            replayed(full[self.turn % len(full)])

        for _ in range(3 * len(full)):
            one()
        return {
            "layouts": len({batch.layout for batch in full}),
            "filled_ms": self.time_of(lambda: self.filled(self.batches[0])),
            "replayed_ms": self.time_of(one),
        }

    def compile(self) -> dict[str, float]:
        compiled = torch.compile(self.whole, dynamic=True, fullgraph=True)
        begun = time.perf_counter()
        for _ in self.alone:
            self.on_device(compiled)
        self.wait()
        first = time.perf_counter() - begun
        return {"compiled_first_s": first, "compiled_ms": self.time_of(lambda: self.on_device(compiled))}

    def row(self) -> dict[str, Any]:
        begun = time.perf_counter()
        self.step(*self.moved())
        self.wait()
        first = time.perf_counter() - begun
        for _ in range(3):  # sizes that are multiples of 16 are compiled apart
            self.step(*self.moved())
        ready = self.moved()
        both, ahead = self.time_of(lambda: self.step(*ready)), self.time_of(lambda: self.forward(*ready))
        return {
            "candidates": len(ready[1].candidates),
            "hyperedges": ready[1].structure.num_edges,
            "first_s": first,
            "made_ms": self.time_of(lambda: self.made(self.batches[0])),
            "moved_ms": self.time_of(self.moved),
            "forward_ms": ahead,
            "backward_ms": both - ahead,
            "iteration_ms": self.time_of(lambda: self.step(*self.moved())),
            "on_device_ms": self.time_of(lambda: self.on_device(self.whole)),
            **(self.replay() if self.device.type == "cuda" else {}),
            **(self.compile() if self.given.compile else {}),
            **self.memory(ready),
            "operators": operators(lambda: self.step(*self.moved())),
        }

    def time_of(self, fn: Callable[[], Any]) -> float:
        times = []
        for _ in range(self.given.repeats + 1):
            self.wait()
            start = time.perf_counter()
            fn()
            self.wait()
            times.append(1e3 * (time.perf_counter() - start))
        return statistics.median(times[1:])

    def wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def memory(self, ready: tuple[PairBatch, Association]) -> dict[str, float]:
        """On a GPU the peak of a step above what was there; on a CPU what the forward pass keeps."""
        if self.device.type == "cuda":
            self.wait()
            before = torch.cuda.memory_allocated()
            torch.cuda.reset_peak_memory_stats()
            self.step(*ready)
            return {"peak_mb": (torch.cuda.max_memory_allocated() - before) / 1e6}
        kept: dict[int, int] = {}

        def keep(t: Tensor) -> Tensor:
            kept[t.untyped_storage().data_ptr()] = t.untyped_storage().nbytes()
            return t

        with torch.autograd.graph.saved_tensors_hooks(keep, lambda t: t):
            self.forward(*ready)
        return {"kept_mb": sum(kept.values()) / 1e6}


class _Counter(TorchDispatchMode):
    count = 0

    def __torch_dispatch__(self, fn: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += 1
        return fn(*args, **(kwargs or {}))


def operators(fn: Callable[[], Any]) -> int:
    with _Counter() as counter:
        fn()
    return counter.count


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--models", nargs="+", default=MODELS, choices=MODELS)
    parser.add_argument("--pairs", type=int, nargs="+", default=[8], help="several show how memory grows")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--refine", type=int, default=0, help="SplineConv layers")
    parser.add_argument("--compile", action="store_true", help="measure torch.compile too")
    parser.add_argument("--tf32", action="store_true", help="products of float32 may use TF32")
    given = parser.parse_args()
    torch.set_float32_matmul_precision("high" if given.tf32 else "highest")
    about = provenance(" ".join(["python paper/benchmarks/matching.py", *sys.argv[1:]]))
    if given.device.startswith("cuda"):
        about["hardware"] = torch.cuda.get_device_name()
    print(json.dumps(about), flush=True)
    for name in given.models:
        for pairs in given.pairs:
            row = {"model": name, "pairs": pairs, **Measured(name, pairs, given).row()}
            told = {k: round(v, 3) if isinstance(v, float) else v for k, v in row.items()}
            print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
