"""The paper's cost table: forward, backward and peak memory of one V→E→V pair."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from ehnn.hypergraph import Hypergraph
from ehnn.testing import random_hypergraph
from ehnn_paper.measure.machine import check_device, command, free, is_gpu, label
from ehnn_paper.measure.memory import held_bytes, peak_bytes
from ehnn_paper.measure.roofline import Need, measured_machine, work_of
from ehnn_paper.measure.tables import Report, Row, Say, reason
from ehnn_paper.measure.timing import (
    Step,
    make_step,
    median,
    median_ratio,
    milliseconds,
    record_graph,
    split_times,
)

from .pair import MODELS, Pair, drop_isolated, make_pair
from .plain import PlainPair

EAGER, COMPILED, GRAPH, BOTH = "eager", "compiled", "graph", "compiled+graph"
VARIANTS = {"cpu": (EAGER, COMPILED), "cuda": (EAGER, GRAPH, COMPILED, BOTH)}

PAPER = {  # forward ms, backward ms, peak MB on an A100
    "all-deep-sets": (5.538, 3.470, 4.608),
    "all-set-transformer": (6.883, 5.037, 5.077),
    "ehnn-lookup": (28.68, 71.71, 14.43),
    "ehnn-hypernetwork": (31.56, 76.78, 17.40),
    "ehnn-mlp": (7.517, 7.179, 7.361),
    "ehnn-transformer": (14.51, 13.41, 11.98),
}
RELEASE = {  # forward ms, backward ms of the authors' release, median of 50
    "cuda": {  # on an H200
        "all-deep-sets": (4.00, 3.48),
        "all-set-transformer": (5.42, 4.55),
        "ehnn-lookup": (27.6, 64.9),
        "ehnn-hypernetwork": (34.7, 53.6),
        "ehnn-mlp": (6.11, 8.89),
        "ehnn-transformer": (10.8, 14.9),
    },
    "cpu": {  # on a CPU with two cores
        "all-deep-sets": (4.14, 3.62),
        "all-set-transformer": (5.71, 4.19),
        "ehnn-lookup": (15.9, 32.7),
        "ehnn-hypernetwork": (18.9, 33.9),
        "ehnn-mlp": (6.62, 7.12),
        "ehnn-transformer": (11.7, 15.1),
    },
}
PLAIN = "plain message passing"


def cost(
    *,
    device: str = "cpu",
    out: Path | None = Path("results"),
    repeats: int = 50,
    variants: Sequence[str] | None = None,
    models: Sequence[str] = MODELS,
    nodes: int = 1024,
    edges: int = 128,
    say: Say = print,
) -> list[Row]:
    """Measure the rows of the paper's cost table; returns the rows, which are also written to ``out``.

    1024 nodes (isolated ones dropped), 128 hyperedges of orders 2 to 10, width 64, 4 heads, float32. The
    backward pass makes the gradients of all parameters and of the input. With a CUDA graph, one is
    recorded of the forward pass and one of both; backward is their difference. ``peak_mb`` counts
    parameters, input, structure and whatever the step allocates, not the workspace of cuBLAS. Each row
    ends with what the mathematics needs, the time of this machine for it and our multiple of that time
    (`measure.roofline`).

    On a CPU the models take turns, and with them EHNN-MLP by plain message passing; times faster than it
    is the median over the rounds.
    """
    kind = torch.device(check_device(device)).type
    chosen = _choose(variants, VARIANTS[kind])
    report = Report("cost", command("cost", device), out, say)
    h = drop_isolated(random_hypergraph(nodes, edges, orders=(2, 10), seed=0)).to(device)
    say(f"cost: {h}, {label(device)}; medians of {repeats}, milliseconds")
    say(f"{'model':<21} {'variant':<15} {'forward':>8} {'backward':>8} {'total':>8} {'MB':>6}"
        f" {'release':>8} {'faster':>7} {'paper':>7}  roofline")  # fmt: skip
    for variant in chosen:
        for group in [[m] for m in models] if is_gpu(device) else [list(models)]:
            _measure(report, group, variant, h, device, repeats)
            free()
    return report.rows


def _choose(asked: Sequence[str] | None, known: Sequence[str]) -> Sequence[str]:
    wrong = sorted(set(asked or ()) - set(known))
    if wrong:
        raise ValueError(f"variants must be among {tuple(known)}, got {wrong}")
    return asked or known


def _measure(
    report: Report, models: list[str], variant: str, h: Hypergraph, device: str, repeats: int
) -> None:
    x = torch.randn(h.num_nodes, 64, generator=torch.Generator().manual_seed(0)).to(device).requires_grad_()
    pairs: dict[str, nn.Module] = {}
    steps: dict[str, Step] = {}
    names = [*models, PLAIN] if not is_gpu(device) and "ehnn-mlp" in models else models
    for name in names:
        torch.manual_seed(0)
        pairs[name] = PlainPair(64, h) if name == PLAIN else make_pair(name, h)
        try:
            steps[name] = _step(pairs[name], x, variant if name != PLAIN else EAGER)
        except Exception as error:  # a variant that does not work must not cost the others
            report.say(f"{name:<21} {variant:<15} failed: {reason(error)}")
    graphed = variant in (GRAPH, BOTH)
    try:
        times = _graph_times(steps, repeats, device) if graphed else split_times(steps, repeats, device)
    except RuntimeError as error:
        report.say(f"{', '.join(models):<20} {variant:<15} failed: {reason(error)}")
        return
    for name in times:
        if name == PLAIN and variant != EAGER:  # beside other variants it only takes part in the ratio
            continue
        peak = None if graphed else _peak(pairs[name], steps[name], h, x, device)
        _add(
            report, name, variant, times, peak, device, work_of("ehnn-mlp" if name == PLAIN else name, h).step
        )


def _step(pair: nn.Module, x: Tensor, variant: str) -> Step:
    if isinstance(pair, Pair):
        for overlap in pair.overlaps:
            overlap.prepare()
    compiled: Callable[[Tensor], Tensor] = pair
    if variant in (COMPILED, BOTH):
        torch._dynamo.config.recompile_limit = 64  # all pairs share one `forward`
        compiled = torch.compile(pair, dynamic=False)
    step = make_step(pair, lambda: compiled(x), x)
    step()
    return step


def _graph_times(steps: dict[str, Step], repeats: int, device: str) -> dict[str, dict[str, list[float]]]:
    out = {}
    for name, step in steps.items():
        total = milliseconds(record_graph(step), repeats, device)
        forward = milliseconds(record_graph(step.forward), repeats, device)
        backward = [max(t - median(forward), 0.0) for t in total]
        out[name] = {"forward": forward, "backward": backward, "total": total}
    return out


def _peak(pair: nn.Module, step: Step, h: Hypergraph, x: Tensor, device: str) -> float:
    structure = pair.overlaps if isinstance(pair, Pair) else vars(pair)
    return (held_bytes(pair, structure, h, x) + peak_bytes(step, device)) / 1e6


def _add(
    report: Report, name: str, variant: str, times: dict[str, dict[str, list[float]]], peak: float | None,
    device: str, need: Need,
) -> None:  # fmt: skip
    mine = times[name]
    kind = torch.device(device).type
    release, paper = RELEASE[kind].get(name), PAPER.get(name) if kind == "cuda" else None
    metrics: dict[str, Sequence[float] | float | None] = {
        "forward_ms": mine["forward"],
        "backward_ms": mine["backward"],
        "total_ms": mine["total"],
        "peak_mb": peak,
    }
    known = {}
    if paper:
        known = {
            "forward_ms": paper[0],
            "backward_ms": paper[1],
            "total_ms": sum(paper[:2]),
            "peak_mb": paper[2],
        }
    if release:
        metrics["times_faster_than_release"] = sum(release) / median(mine["total"])
    if PLAIN in times and name == "ehnn-mlp":
        ratios = median_ratio(times[PLAIN]["total"], mine["total"])
        metrics["times_faster_than_plain"] = ratios
        report.say(f"{name}, {variant}: {median(ratios):.2f} times faster than {PLAIN}")
    text, least = measured_machine(device).beside(need, median(mine["total"]))
    report.add(f"{label(device)}, {variant}", name, {**metrics, **least}, known)
    f, b, t = (median(mine[k]) for k in ("forward", "backward", "total"))
    shown = f"{peak:6.2f}" if peak is not None else " " * 6
    beside = f" {sum(release):8.2f} {sum(release) / t:6.1f}x" if release else ""
    last = f" {sum(paper[:2]):7.2f}" if paper else ""
    report.say(f"{name:<21} {variant:<15} {f:8.3f} {b:8.3f} {t:8.3f} {shown}{beside}{last}  {text}")
