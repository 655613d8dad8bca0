"""A training step and an evaluation on walmart-trips at width 256."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from ehnn.datasets import DataError, load
from ehnn.hypergraph import Hypergraph
from ehnn.tasks.node_classification import NodeClassification
from ehnn.training import TrainConfig
from ehnn_paper.measure.epochs import epoch_seconds
from ehnn_paper.measure.machine import check_device, command, free, is_gpu, label, matmul_precision
from ehnn_paper.measure.roofline import Need, measured_machine, product, work_of
from ehnn_paper.measure.tables import Report, Row, Say, reason
from ehnn_paper.measure.timing import median
from ehnn_paper.nodes.config import make_model, settings_of

MODELS = ("ehnn-mlp", "ehnn-transformer")
PRECISIONS = {"float32": ("highest", False), "tf32": ("high", False), "bf16": ("high", True)}
"""How float32 products are made, and whether the training step runs under bfloat16 autocast."""
VARIANTS: dict[str, dict[str, Any]] = {
    "eager": {"cuda_graph": False},
    "graph": {"cuda_graph": True},
}
RELEASE_MS = {"ehnn-mlp": 100.0, "ehnn-transformer": 450.0}
"""An epoch of the authors' release on an H200."""
SHAPE = (88_860, 69_906, 460_630)
"""Nodes, hyperedges and incidences of walmart-trips."""
FEATURES, CLASSES = 100, 11
SKIPPED = 4
"""Epochs before time counts: the first runs, the second is recorded."""


def walmart(
    *,
    device: str = "cpu",
    out: Path | None = Path("results"),
    repeats: int = 20,
    data_dir: Path | None = None,
    models: Sequence[str] = MODELS,
    precisions: Sequence[str] | None = None,
    variants: Sequence[str] | None = None,
    width: int = 256,
    shape: tuple[int, int, int] = SHAPE,
    say: Say = print,
) -> list[Row]:
    """Milliseconds of an epoch (training step, evaluation on all nodes) as `ehnn.training.fit` runs it.

    EHNN-MLP has one V→V∪E→V pair, EHNN-Transformer two and 8 heads, with the dropout of the paper's
    table. Under ``bf16`` the training step is autocast to bfloat16 and the evaluation runs
    with TF32 products. Without the
    data, a random hypergraph of the same shape stands in, and the rows say so.
    """
    check_device(device)
    report = Report("walmart", command("walmart", device), out, say)
    name, h = _data(data_dir, shape, say)
    task = NodeClassification(h.to(device))
    say(f"walmart: {name}, {h}, {label(device)}; medians of {repeats} epochs")
    for model in models:
        for precision in precisions or (tuple(PRECISIONS) if is_gpu(device) else ("float32",)):
            for variant in variants or (("eager", "graph") if is_gpu(device) else ("eager",)):
                setting = f"{name}, {label(device)}, {precision}, {variant}"
                try:
                    _measure(report, setting, model, task, precision, variant, width, device, repeats)
                except RuntimeError as error:  # out of memory, or a variant that does not work here
                    say(f"{model:<17} {setting}: failed: {reason(error)}")
                free()
    return report.rows


def _measure(
    report: Report, setting: str, model: str, task: NodeClassification, precision: str, variant: str,
    width: int, device: str, repeats: int,
) -> None:  # fmt: skip
    for kind, value, known in (("precision", precision, PRECISIONS), ("variant", variant, VARIANTS)):
        if value not in known:
            raise ValueError(f"{kind} must be one of {tuple(known)}, got {value!r}")
    products, amp = PRECISIONS[precision]
    settings = replace(settings_of(model, "walmart-1"), width=width)
    make = partial(make_model, model, settings, task.num_features, task.num_outputs)
    config = TrainConfig(epochs=SKIPPED + repeats, amp=amp, **VARIANTS[variant])
    if is_gpu(device):
        torch.cuda.reset_peak_memory_stats()
    with matmul_precision(products):
        times = [1e3 * t for t in epoch_seconds(make, task, config, device)[SKIPPED:]]
    peak = torch.cuda.max_memory_allocated() / 1e6 if is_gpu(device) else None
    faster = RELEASE_MS[model] / median(times) if is_gpu(device) and width == 256 else None
    need = _need(task, model, len(list(make().get_submodule("layers").children())) // 2, width)
    text, least = measured_machine(device, precision).beside(need, median(times))
    metrics = {"epoch_ms": times, "peak_mb": peak, "times_faster_than_release": faster}
    report.add(setting, model, {**metrics, **least})
    shown = "" if peak is None else f"  {peak:8.0f} MB"
    shown += "" if faster is None else f"  release {RELEASE_MS[model]:.0f} ms, {faster:.1f}x"
    report.say(f"{model:<17} {precision:<8} {variant:<15} {median(times):8.2f} ms{shown}  {text}")


def _need(task: NodeClassification, model: str, pairs: int, width: int) -> Need:
    """Of a training step and an evaluation: the input map, pairs V → V∪E → V and the classifier."""
    h = task.h
    ends = product(h.num_nodes, task.num_features, width) + product(h.num_nodes, width, task.num_outputs)
    works = [ends, *[work_of(model, h, width, heads=8)] * pairs]
    needs = [need for work in works for need in (work.step, work.forward)]
    return Need(sum(n.bytes for n in needs), sum(n.operations for n in needs))


def _data(data_dir: Path | None, shape: tuple[int, int, int], say: Say) -> tuple[str, Hypergraph]:
    if shape == SHAPE:
        try:
            return "walmart-trips", load("walmart-1", data_dir, download=False)
        except DataError as error:
            say(f"walmart: random hypergraph of the same shape ({reason(error)})")
    return "random as walmart-trips", _stand_in(*shape)


def _stand_in(nodes: int, edges: int, incidences: int) -> Hypergraph:
    """A random hypergraph with orders from 2 on; a node drawn twice for a hyperedge counts once."""
    generator = torch.Generator().manual_seed(0)
    twice = torch.arange(edges).repeat(2)
    rest = torch.randint(edges, (max(incidences - 2 * edges, 0),), generator=generator)
    edge = torch.cat([twice, rest])
    node = torch.randint(nodes, edge.shape, generator=generator)
    x = torch.randn(nodes, FEATURES, generator=generator)
    y = torch.randint(CLASSES, (nodes,), generator=generator)
    return Hypergraph.from_incidence((node, edge), nodes, edges, x=x, y=y)
