"""The same hypergraph in PyG and DHG: one convolution, forward and backward, in the same process."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn

from ehnn.hypergraph import Hypergraph
from ehnn.nn import EHNNMLP
from ehnn.nn.baselines import HGNNConv
from ehnn_paper.cost.pair import Pair
from ehnn_paper.measure.machine import check_device, command, is_gpu, label
from ehnn_paper.measure.roofline import Work, hgnn, measured_machine, work_of
from ehnn_paper.measure.tables import Report, Row, Say, reason
from ehnn_paper.measure.timing import Step, make_step, median, median_ratio, split_times

from .scale import made_hypergraph

PEERS = {"pyg": "pyg HypergraphConv", "dhg": "dhg HGNNConv"}
OURS = ("hgnn", "ehnn-mlp", "ehnn-mlp, all")


def peers(
    *,
    device: str = "cpu",
    out: Path | None = Path("results"),
    repeats: int = 10,
    incidences: int = 1_000_000,
    width: int = 64,
    say: Say = print,
) -> list[Row]:
    """Our HGNN layer and our EHNN-MLP pair beside PyG's ``HypergraphConv`` and DHG's ``HGNNConv``.

    ``incidences / 5`` nodes and as many hyperedges of orders 2 to 8. All take turns within a round, and a
    ratio is the median over rounds. DHG's n × n matrix and all our structure are made before time starts.
    A library that is not installed is left out.
    """
    check_device(device)
    report = Report("peers", command("peers", device), out, say)
    h = made_hypergraph(incidences, device)
    x = (
        torch.randn(h.num_nodes, width, generator=torch.Generator().manual_seed(0))
        .to(device)
        .requires_grad_()
    )
    setting = f"{incidences:.0e} incidences, {label(device)}".replace("e+0", "e")
    say(f"peers: {h}, {label(device)}; medians of {repeats}")
    steps: dict[str, Step] = {}
    for name, make in _makers(h, width).items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # other libraries warn on import and on first use
                model, forward = make()
                steps[name] = make_step(model.to(device), partial(forward, x), x)
                steps[name]()
        except (ImportError, RuntimeError) as error:
            say(f"{name:<20} left out: {reason(error)}")
    times = split_times(steps, repeats, device)
    for name, mine in times.items():
        metrics = {f"{part}_ms": mine[part] for part in ("forward", "backward", "total")}
        ratios = {
            f"times_faster_than_{short}": median_ratio(times[peer]["total"], mine["total"])
            for short, peer in PEERS.items()
            if peer in times and name in OURS
        }
        text, least = measured_machine(device).beside(_work(name, h, width).step, median(mine["total"]))
        report.add(setting, name, {**metrics, **ratios, **least})
        shown = "".join(f"  {k.rpartition('_')[2]} x{median(v):.2f}" for k, v in ratios.items())
        f, b, t = (median(mine[k]) for k in ("forward", "backward", "total"))
        say(f"{name:<20} forward {f:8.1f} ms, backward {b:8.1f} ms, total {t:8.1f} ms{shown}  {text}")
    return report.rows


def _work(name: str, h: Hypergraph, width: int) -> Work:
    """What a model needs: HGNN and the convolutions of other libraries are the same mathematics."""
    if not name.startswith("ehnn-mlp"):
        return hgnn(h, width, width)
    return work_of("ehnn-mlp", h, width, middle="all" if name.endswith("all") else "edges")


Maker = Callable[[], tuple[nn.Module, Callable[[Tensor], Tensor]]]


def _makers(h: Hypergraph, width: int) -> dict[str, Maker]:
    def ours() -> tuple[nn.Module, Callable[[Tensor], Tensor]]:
        conv = HGNNConv(width, width)
        return conv, lambda x: conv(x, h)

    def pair(middle: str) -> tuple[nn.Module, Callable[[Tensor], Tensor]]:
        layer = partial(EHNNMLP, width, width)
        model = Pair(layer, layer, h, middle)
        return model, model

    def pyg() -> tuple[nn.Module, Callable[[Tensor], Tensor]]:
        from torch_geometric.nn import HypergraphConv

        conv, index = HypergraphConv(width, width), h.index
        return conv, lambda x: conv(x, index, num_edges=h.num_edges)

    def dhg() -> tuple[nn.Module, Callable[[Tensor], Tensor]]:
        if is_gpu(str(h.device)):
            raise RuntimeError("compared on a CPU only")
        from dhg import Hypergraph as DHGHypergraph
        from dhg.nn import HGNNConv as DHGConv

        conv, other = DHGConv(width, width, is_last=True), DHGHypergraph(h.num_nodes, h.edges())
        return conv, lambda x: conv(x, other)

    return {
        "hgnn": ours,
        "ehnn-mlp": partial(pair, "edges"),
        "ehnn-mlp, all": partial(pair, "all"),
        PEERS["pyg"]: pyg,
        PEERS["dhg"]: dhg,
    }
