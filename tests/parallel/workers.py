"""What one rank does in a test: run as a script by ``launching.py``."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import time
import traceback
from datetime import timedelta
from functools import partial
from importlib import import_module
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn

import ehnn
from ehnn import Hypergraph, parallel
from ehnn.nn import EHNNMLP, EHNNLinear, EHNNTransformer, Readout, Stack
from ehnn.nn.baselines import AllDeepSets, AllSetTransformer
from ehnn.parallel import Partition, Ranks, Shard
from ehnn.testing import random_hypergraph

TIMEOUT = timedelta(seconds=float(os.environ.get("EHNN_TIMEOUT", 60)))
LAYERS = {
    "mlp": EHNNMLP,
    "mlp-sum-local": partial(EHNNMLP, aggregation="sum", global_interaction=False),
    "transformer": EHNNTransformer,
    "transformer-sigmoid": partial(EHNNTransformer, attention="sigmoid", heads=2),
    "linear": EHNNLinear,
    "linear-mean": partial(EHNNLinear, aggregation="mean"),
    "deep-sets": AllDeepSets,
    "set-transformer": AllSetTransformer,
    "readout": Readout,
    "readout-attention": partial(Readout, kind="attention", heads=2),
}
SPARSE = [(s, t) for s in ("nodes", "edges", "all") for t in ("nodes", "edges", "all", "graph")]


def hypergraphs() -> dict[str, Hypergraph]:
    """A single one and a batch, with isolated nodes, empty hyperedges and members without either."""
    make = partial(random_hypergraph, d_node=3, d_edge=3, dtype=torch.float64)
    single = make(24, 17, (0, 5), seed=0)
    members = [make(7, 6, (0, 4), seed=1), make(5, 0, (0, 0), seed=2), make(9, 7, (1, 6), seed=3)]
    return {"single": single, "batch": ehnn.batch(members)}


def partitions(h: Hypergraph, size: int) -> dict[str, Partition]:
    g = torch.Generator().manual_seed(size)
    nodes = torch.randint(size, (h.num_nodes,), generator=g)
    edges = torch.randint(size, (h.num_edges,), generator=g)
    return {
        "growing": parallel.partition(h, size, "growing"),
        "random": parallel.given_partition(h, nodes, size, edges),
        "all-on-last": parallel.given_partition(h, nodes * 0 + size - 1, size),
        "nodes-and-edges-apart": parallel.given_partition(h, nodes * 0, size, edges * 0 + size - 1),
    }


def rows_of(s: Shard, h: Hypergraph, family: str) -> Tensor:
    """The numbers in ``h`` of the own rows of a shard."""
    if family == "graph":
        return torch.arange(h.num_members)
    every = {"nodes": s.node_ids, "edges": s.edge_ids}
    return every.get(family, torch.cat([s.node_ids, h.num_nodes + s.edge_ids]))


def loss_of(y: Tensor, rows: Tensor, seed: int) -> Tensor:
    weight = torch.randn(1000, y.shape[1], dtype=y.dtype, generator=torch.Generator().manual_seed(seed))
    return (y * weight[rows]).sum() + y.square().sum() / 2


def close(a: Tensor | None, b: Tensor | None, what: str) -> None:
    assert (a is None) == (b is None), f"{what}: {a} and {b}"
    if a is not None and b is not None and a.numel():
        a, b = a.detach(), b.detach()
        worst = float((a - b).abs().max() / max(1.0, float(b.abs().max())))
        assert a.shape == b.shape, f"{what}: {a.shape} and {b.shape}"
        assert worst < 1e-10, f"{what}: differs by {worst}"


def compare(s: Shard, h: Hypergraph, layer: nn.Module, source: str, target: str, what: str) -> None:
    """Outputs, loss and every gradient of a layer on the shard and in one process."""
    every, own = torch.arange(1000), rows_of(s, h, target)
    x = h.features(source).clone().requires_grad_()
    mine = h.features(source)[rows_of(s, h, source)].clone().requires_grad_()
    full = layer(x, h.overlap(source, target))
    layer.zero_grad()
    expected = loss_of(full, every[: full.shape[0]], 1)
    expected.backward()
    gradients = {k: None if p.grad is None else p.grad.clone() for k, p in layer.named_parameters()}
    layer.zero_grad()
    y = layer(mine, s.overlap(source, target))
    close(y, full[own], f"{what} output")
    replicated = target == "graph" or isinstance(layer, Readout)
    loss = loss_of(y, own, 1) / (s.ranks.size if replicated else 1)
    close(parallel.backward(loss, layer, s.ranks), expected, f"{what} loss")
    close(mine.grad, x.grad[rows_of(s, h, source)], f"{what} gradient of x")
    for name, p in layer.named_parameters():
        close(p.grad, gradients[name], f"{what} gradient of {name}")


def exact(ranks: Ranks, families: list[list[str]], share: int) -> None:
    """Every layer, pair of families, hypergraph and partition; of these combinations, one in ``share``."""
    turn = 0
    for i, (h_name, h) in enumerate(hypergraphs().items()):
        for j, (p_name, p) in enumerate(partitions(h, ranks.size).items()):
            s = parallel.shard(h, p, ranks)
            for source, target in families:
                for name, make in LAYERS.items():
                    if name.startswith("readout") and (source, target) != ("all", "graph"):
                        continue
                    turn += 1
                    if (turn + i + 2 * j) % share:
                        continue
                    torch.manual_seed(0)
                    layer = make(h.features(source).shape[1], 8).double()
                    compare(s, h, layer, source, target, f"{h_name}/{p_name}/{source}→{target}/{name}")


def large_logits(ranks: Ranks) -> None:
    """Attention whose logits differ by far more than exp can hold, with rows that are split over ranks."""
    h = hypergraphs()["single"]
    for p in partitions(h, ranks.size).values():
        s = parallel.shard(h, p, ranks)
        for source, target in (("nodes", "edges"), ("all", "nodes"), ("nodes", "graph")):
            torch.manual_seed(0)
            layer = EHNNTransformer(h.features(source).shape[1], 8, norm=False).double()
            with torch.no_grad():
                layer.key.weight[-8:] *= 3000  # the keys of 𝓘 ≥ 1
            compare(s, h, layer, source, target, f"{source}→{target} large logits")


def training(ranks: Ranks, directory: str) -> None:
    """A stack trained from shard files follows the curve of one process."""
    h = random_hypergraph(60, 40, (1, 6), seed=5, d_node=4, dtype=torch.float64)
    h = h.replace(y=torch.arange(60) % 3)
    if ranks.rank == 0:
        parallel.save_shards(h, parallel.partition(h, ranks.size, "growing"), directory)
    dist.barrier()
    s = parallel.load_shard(directory, ranks)
    curves = [_curve(h, ranks), _curve(s, ranks)]
    worst = max(abs(a - b) for a, b in zip(*curves, strict=True))
    assert worst < 1e-8, f"the curves differ by {worst}"


def _curve(h: Hypergraph, ranks: Ranks, steps: int = 50) -> list[float]:
    torch.manual_seed(0)
    model = Stack(4, 3, EHNNTransformer, width=8).double()
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    curve = []
    for _ in range(steps):
        optimizer.zero_grad()
        losses = nn.functional.cross_entropy(model(h), h.y, reduction="none")
        if isinstance(h, Shard):
            curve.append(float(parallel.backward(parallel.mean_over_ranks(losses, ranks), model, ranks)))
        else:
            losses.mean().backward()
            curve.append(float(losses.detach().mean()))
        optimizer.step()
    return curve


def marked(h: Hypergraph) -> dict[str, Hypergraph]:
    """``h`` with weights of incidences, of hyperedges, with roles (one of which does not occur), with all."""
    g = torch.Generator().manual_seed(3)
    of_pairs, of_edges = (
        torch.rand(size, generator=g, dtype=torch.float64) + 0.5 for size in (h.num_incidences, h.num_edges)
    )
    roles = torch.randint(3, (h.num_incidences,), generator=g)
    roles += roles  # 0, 2 and 4 of 6
    alone = {
        "incidence weights": {"incidence_weight": of_pairs},
        "hyperedge weights": {"edge_weight": of_edges},
        "roles": {"roles": roles, "num_roles": 6},
    }
    together = {name: value for part in alone.values() for name, value in part.items()}
    return {name: h.replace(**values) for name, values in {**alone, "everything": together}.items()}


def marks(ranks: Ranks, families: list[list[str]], share: int) -> None:
    """Roles and weights act as in one process, between all families, and can be taken away."""
    turn = 0
    for i, (h_name, plain) in enumerate(hypergraphs().items()):
        for j, (kind, h) in enumerate(marked(plain).items()):
            for k, (p_name, p) in enumerate(partitions(h, ranks.size).items()):
                s = parallel.shard(h, p, ranks)
                for source, target in families:
                    for name in ("mlp", "mlp-sum-local", "transformer", "transformer-sigmoid", "linear",
                                 "linear-mean", "readout-attention"):  # fmt: skip
                        if name.startswith("readout") and (source, target) != ("all", "graph"):
                            continue
                        turn += 1
                        if (turn + i + 2 * j + 3 * k) % share:
                            continue
                        torch.manual_seed(0)
                        layer = LAYERS[name](h.features(source).shape[1], 8).double()
                        what = f"{h_name}/{kind}/{p_name}/{source}→{target}/{name}"
                        compare(s, h, layer, source, target, what)
                none = s.replace(incidence_weight=None, edge_weight=None, roles=None, num_roles=1)
                assert not none._families
                assert none.overlap("nodes", "edges").num_roles == (1, 1)


class Told(nn.Module):
    """A φ that tells when it works, forward and backward, and on how many rows."""

    def __init__(self, name: str, inner: nn.Module, events: list[tuple]) -> None:
        super().__init__()
        self.name, self.inner, self.events = name, inner, events

    def forward(self, x: Tensor, *more: object) -> Tensor:
        rows = x.shape[0]
        self.events.append((self.name, rows))
        y = self.inner(x, *more)
        y.register_hook(lambda grad: self.events.append((f"{self.name} backward", rows)))
        return y


def ahead(ranks: Ranks) -> None:
    """Between the start of an exchange and the wait for it, φ works on the rows that no other rank shares."""
    h, begin, events = hypergraphs()["single"], Ranks.begin, []

    def telling(*arguments: object) -> object:
        events.append(("begin",))
        arrived = begin(ranks, *arguments)
        return lambda: (events.append(("wait",)), arrived())[1]

    s = parallel.shard(h, partitions(h, ranks.size)["random"], ranks)
    ranks.begin = telling
    for source, target, name in (("nodes", "all", "phi2"), ("all", "nodes", "phi1")):
        torch.manual_seed(0)
        layer = EHNNMLP(h.features(source).shape[1], 8, global_interaction=False).double()
        setattr(layer, name, Told(name, getattr(layer, name), events))
        o = s.overlap(source, target)
        alone = o.source_to_group.plan.alone
        shared = (o.num_groups if target == "all" else o.num_sources) - alone
        assert alone >= s.num_nodes
        x = s.features(source).clone().requires_grad_()
        layer(x, o)  # makes the relation
        events.clear()
        layer(x, o).square().sum().backward()
        early, late, back = (name, alone), (name, shared), f"{name} backward"
        if target == "all":
            expected = [("begin",), early, ("wait",), late]
            expected += [(back, shared), ("begin",), (back, alone), ("wait",)]
        else:
            expected = [late, ("begin",), early, ("wait",)]
            expected += [("begin",), (back, alone), ("wait",), (back, shared)]
        assert events == expected, (source, target)
    del ranks.begin


def both_ways(ranks: Ranks) -> None:
    """With and without work while rows travel: the same numbers; with it, the same bits each time."""
    h = marked(hypergraphs()["single"])["everything"]
    s = parallel.shard(h, partitions(h, ranks.size)["growing"], ranks)
    for source, target in (("nodes", "all"), ("all", "nodes"), ("edges", "nodes")):
        torch.manual_seed(0)
        layer, found = EHNNMLP(h.features(source).shape[1], 8).double(), []
        layer(s.features(source), s.overlap(source, target))  # makes the relation
        for ranks.ahead in (True, False, True):
            x = s.features(source).clone().requires_grad_()
            layer.zero_grad()
            ranks.traffic.clear()
            layer(x, s.overlap(source, target)).square().sum().backward()
            tensors = [x.grad, *(p.grad for p in layer.parameters() if p.grad is not None)]
            found.append((torch.cat([t.flatten() for t in tensors]), dataclasses.asdict(ranks.traffic)))
        assert torch.equal(found[0][0], found[2][0]), (source, target)
        worst = float((found[0][0] - found[1][0]).abs().max() / found[1][0].abs().max())
        assert worst < 1e-12, (source, target, worst)
        assert found[0][1] == found[1][1], (source, target)


def twice(ranks: Ranks) -> None:
    """Second derivatives of sums go over the ranks too."""
    h = hypergraphs()["single"]
    s = parallel.shard(h, partitions(h, ranks.size)["random"], ranks)
    for source, target in (("nodes", "all"), ("all", "nodes")):
        found = []
        for where in (h, s):
            x = h.features(source)[rows_of(s, h, source)] if where is s else h.features(source)
            x = x.clone().requires_grad_()
            y = ehnn.ops.segment_sum(x, where.overlap(source, target).source_to_group)
            (first,) = torch.autograd.grad(y.pow(3).sum(), x, create_graph=True)
            found.append(torch.autograd.grad(first.square().sum(), x)[0])
        close(found[1], found[0][rows_of(s, h, source)], f"{source}→{target}, second derivative")


def rounded(ranks: Ranks) -> None:
    """Rows in bfloat16 on the wire: half the bytes, and errors of the size of its rounding."""
    h = random_hypergraph(80, 60, (1, 6), seed=7, d_node=8, dtype=torch.float32)
    p = parallel.partition(h, ranks.size, "growing")
    narrow = Ranks(ranks.group, wire="bfloat16")
    for make in (EHNNMLP, EHNNTransformer):
        torch.manual_seed(0)
        model = ehnn.nn.Stack(8, 3, make, width=16)
        found = []
        for group in (ranks, narrow):
            s = parallel.shard(h, p, group)
            x = s.x.clone().requires_grad_()
            y = model(s.replace(x=x))
            y.square().sum().backward()
            found.append((y.detach(), x.grad))
        for exact, close_to in zip(*found, strict=True):
            error = ranks.sum((exact - close_to).square().sum()) / ranks.sum(exact.square().sum())
            assert 0 < float(error.sqrt()) < 2**-7, make
    traffic(narrow)


def traffic(ranks: Ranks) -> None:
    """Bytes of a layer are those of the cut times the width, whatever else is large."""
    h = random_hypergraph(80, 60, (0, 6), seed=7, d_node=8, d_edge=8, dtype=torch.float32)
    p = parallel.partition(h, ranks.size, "growing")
    s = parallel.shard(h, p, ranks)
    report = parallel.cut_report(h, p)
    plan = s.incidence.plan
    both = ranks.sum(torch.tensor([plan.ghosts, len(plan.sends)]))
    assert both.tolist() == [report.ghosts, report.ghosts]
    of_layers(s, (8, 16))
    of_layers(parallel.shard(marked(h)["everything"], p, ranks), (8,))


def of_layers(s: Shard, widths: tuple[int, ...]) -> None:
    ranks = s.ranks
    for width in widths:
        for kind, make in (("mlp", EHNNMLP), ("transformer", EHNNTransformer)):
            for source, target in (
                ("nodes", "edges"),
                ("edges", "nodes"),
                ("nodes", "all"),
                ("all", "nodes"),
            ):
                layer, o = make(16 if source == "all" else 8, width), s.overlap(source, target)
                x = s.features(source).clone().requires_grad_()
                expected = parallel.layer_traffic(o, width, heads=4 if kind == "transformer" else 0)
                layer(x, o)
                ranks.traffic.clear()
                y = layer(x, o)
                assert (ranks.traffic.exchanged, ranks.traffic.reduced) == expected.forward, kind
                ranks.traffic.clear()
                y.sum().backward()
                assert (ranks.traffic.exchanged, ranks.traffic.reduced) == expected.backward, kind


def bad_files(ranks: Ranks, directory: str, message: str) -> None:
    """Every rank hears what is wrong with any rank's file."""
    with pytest.raises(ValueError, match=message):
        parallel.load_shard(directory, ranks)


def too_many_pairs(ranks: Ranks) -> None:
    """All hyperedges meet at a node of rank 0, which refuses their overlaps; no rank waits for it."""
    h = Hypergraph.from_edges([[0, v] for v in range(1, 31)])
    nodes = torch.ones(31, dtype=torch.int64)
    nodes[0] = 0
    s = parallel.shard(h, parallel.given_partition(h, nodes, ranks.size), ranks)
    with pytest.raises(ValueError, match=r"^rank 0: up to 900 overlapping pairs .* max_pairs=100;[^;]*$"):
        s.overlap("edges", "edges", max_pairs=100)
    assert s.overlap("edges", "edges", max_pairs=900).num_targets == s.num_edges


def data_parallel(ranks: Ranks) -> None:
    """Gradients over balanced groups of small hypergraphs are those of the whole set."""
    many = [
        random_hypergraph(3 + i, 1 + i % 5, (1, 3), seed=i, d_node=4, dtype=torch.float64) for i in range(9)
    ]
    torch.manual_seed(0)
    model = Readout(4, 2).double()
    whole = ehnn.batch(many)
    model(whole.x, whole.overlap("nodes", "graph")).square().mean(1).mean().backward()
    expected = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    mine = ehnn.batch(
        [many[i] for i in parallel.balanced([h.num_incidences for h in many], ranks.size)[ranks.rank]]
    )
    for times in (1, 2):  # gradients add up, as those of a plain backward do
        losses = model(mine.x, mine.overlap("nodes", "graph")).square().mean(1)
        parallel.backward(parallel.mean_over_ranks(losses, ranks), model, ranks)
        for p, g in zip(model.parameters(), expected, strict=True):
            close(p.grad, times * g, f"gradient of {times} calls")


def forever(ranks: Ranks, directory: str) -> None:
    """Steps without end, for a test that kills a rank."""
    h = hypergraphs()["single"]
    s = parallel.shard(h, partitions(h, ranks.size)["random"], ranks)
    layer = EHNNMLP(3, 8).double()
    while True:
        layer(s.x, s.overlap("nodes", "edges"))
        Path(directory, f"alive-{ranks.rank}").touch()


def rank_main(rank: int, size: int, directory: Path, jobs: list[tuple[str, dict]]) -> None:
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", f"file://{directory}/meeting", timeout=TIMEOUT, rank=rank, world_size=size
    )
    for function, arguments in jobs:
        began = time.monotonic()
        module, _, name = function.rpartition(".")
        job = getattr(import_module(module), name) if module else globals()[name]
        job(Ranks(), **arguments)
        dist.barrier()
        print(f"{function}: {time.monotonic() - began:.1f} s", flush=True)
    parallel.stop()


def fork(rank: int, size: int, directory: Path, jobs: list[tuple[str, dict]]) -> int:
    """A rank as a copy of this process, which has imported everything and started no thread."""
    if pid := os.fork():
        return pid
    out = os.open(directory / f"output-{rank}.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(out, 1)
    os.dup2(out, 2)
    code = 1
    try:
        rank_main(rank, size, directory, jobs)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def main() -> None:
    size, directory, jobs = int(sys.argv[1]), Path(sys.argv[2]), json.loads(sys.argv[3])
    (directory / "meeting").unlink(missing_ok=True)
    pids = [fork(rank, size, directory, jobs) for rank in range(size)]
    (directory / "pids").write_text(json.dumps(pids))
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
    (directory / "codes").write_text(json.dumps(codes))
    sys.exit(max(abs(code) for code in codes))


if __name__ == "__main__":
    main()
