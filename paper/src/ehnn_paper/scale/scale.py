"""How time and memory grow with the number of incidences, and how much of the memory bandwidth is used."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from ehnn.hypergraph import Hypergraph
from ehnn.nn import EHNNMLP
from ehnn.ops import bounded_memory, segment_sum
from ehnn.training.task import out_of_memory
from ehnn_paper.cost.pair import Pair
from ehnn_paper.measure.machine import check_device, command, free, is_gpu, label
from ehnn_paper.measure.memory import available_bytes, held_bytes, peak_bytes
from ehnn_paper.measure.roofline import measured_machine, work_of
from ehnn_paper.measure.tables import Report, Row, Say, reason
from ehnn_paper.measure.timing import enough, make_step, median, milliseconds, split_times
from ehnn_paper.scale.figure import draw_performance, draw_scale

SIZES = {"cpu": (10**4, 10**5, 10**6, 10**7), "cuda": (10**4, 10**5, 10**6, 10**7, 10**8)}
MODES = {"ehnn-mlp": None, "ehnn-mlp, bounded memory": 2**16}
"""Models by name: the rows of `bounded_memory`, or None where every activation is kept."""
SECONDS = {"cpu": 20.0, "cuda": 2.0}


def made_hypergraph(incidences: int, device: str) -> Hypergraph:
    """``incidences / 5`` nodes and hyperedges, orders 2 to 8, members uniform; made on ``device``.

    A node drawn twice for a hyperedge counts once, so that a few incidences are missing.
    """
    count = max(incidences // 5, 10)
    generator = torch.Generator(device).manual_seed(0)
    sizes = torch.randint(2, 9, (count,), generator=generator, device=device)
    edge = torch.repeat_interleave(torch.arange(count, device=device), sizes)
    node = torch.randint(count, edge.shape, generator=generator, device=device)
    return Hypergraph.from_incidence((node, edge), count, count)


def scale(
    *,
    device: str = "cpu",
    out: Path | None = Path("results"),
    repeats: int = 20,
    sizes: Sequence[int] | None = None,
    modes: Sequence[str] = tuple(MODES),
    width: int = 64,
    say: Say = print,
) -> list[Row]:
    """One training step (forward and backward) of an EHNN-MLP V→V∪E→V pair at growing sizes.

    Nodes = hyperedges = incidences / 5. ``peak_mb`` counts structure, parameters, input and whatever the
    step allocates. A mode stops at the first size that does not fit into memory, and a row
    ``out_of_memory`` says so. ``segment_sum`` (nodes to hyperedges) is timed alone: the bytes it moves,
    every gathered row counted, per second, over those of a plain copy. Where x fits into the cache
    that fraction may be above 1. A step is compared with what it needs at least (`measure.roofline`).
    """
    kind = torch.device(check_device(device)).type
    report = Report("scale", command("scale", device), out, say)
    unknown = sorted(set(modes) - set(MODES))
    if unknown:
        raise ValueError(f"modes must be among {tuple(MODES)}, got {unknown}")
    machine = measured_machine(device)
    copy = machine.bandwidth
    report.add(f"{label(device)}", "copy", {"gb_per_s": copy / 1e9})
    say(f"scale: {label(device)}, width {width}, copy {copy / 1e9:.1f} GB/s")
    alive = list(modes)
    for size in sizes or SIZES[kind]:
        try:
            h = made_hypergraph(size, device)
            _segment_sum(report, h, size, width, device, copy, repeats)
        except (MemoryError, RuntimeError) as error:
            if not out_of_memory(error):
                raise
            report.add(_setting(size, device), "hypergraph", {"out_of_memory": 1.0})
            say(f"{size:.0e} hypergraph            out of memory")
            break
        alive = [m for m in alive if _step(report, m, h, size, width, device, repeats)]
        del h
        free()
        if not alive:
            break
    if out is not None:
        draw_scale(out, say)
        draw_performance(out, say)
    return report.rows


def _setting(size: int, device: str) -> str:
    return f"{size:.0e} incidences, {label(device)}".replace("e+0", "e")


def _segment_sum(
    report: Report, h: Hypergraph, size: int, width: int, device: str, copy: float, repeats: int
) -> None:
    x = torch.randn(h.num_nodes, width, device=device)
    run = partial(segment_sum, x, h.incidence)
    run()
    count = enough(SECONDS[torch.device(device).type] / 2, repeats, run, device)
    times = milliseconds(run, count, device, warm_up=0)
    read = h.num_incidences * (4 * width + 8)
    moved = read + h.num_edges * (4 * width + 8)
    speed = [moved / (t * 1e-3) for t in times]
    metrics = {
        "forward_ms": times,
        "gb_per_s": [s / 1e9 for s in speed],
        "fraction_of_copy": [s / copy for s in speed],
    }
    report.add(_setting(size, device), "segment_sum", metrics)
    report.say(
        f"{size:.0e} segment_sum           {median(times):10.3f} ms  {median(speed) / 1e9:8.1f} GB/s"
        f"  {100 * median(speed) / copy:5.1f} % of copy"
    )


def _step(report: Report, mode: str, h: Hypergraph, size: int, width: int, device: str, repeats: int) -> bool:
    """Measure one mode at one size; False if it does not fit."""
    try:
        _check_memory(report, mode, h, device)
        times, peak = _measure(MODES[mode], h, width, device, repeats)
    except (MemoryError, RuntimeError) as error:
        if out_of_memory(error):
            report.add(_setting(size, device), mode, {"out_of_memory": 1.0})
        report.say(f"{size:.0e} {mode:<21} stops here: {reason(error)}")
        free()
        return False
    metrics = {f"{part}_ms": times[part] for part in ("forward", "backward", "total")}
    each = peak / h.num_incidences
    total = median(times["total"])
    text, least = measured_machine(device).beside(work_of("ehnn-mlp", h, width).step, total)
    memory = {"peak_mb": peak / 1e6, "bytes_per_incidence": each}
    report.add(_setting(size, device), mode, {**metrics, **memory, **least})
    report.say(
        f"{size:.0e} {mode:<21} {total:10.3f} ms  {peak / 1e6:9.1f} MB  {each:7.0f} bytes/incidence"
        f"  {1e6 * total / h.num_incidences:8.2f} ns/incidence  {text}"
    )
    return True


def _measure(
    rows: int | None, h: Hypergraph, width: int, device: str, repeats: int
) -> tuple[dict[str, list[float]], int]:
    torch.manual_seed(0)
    layer = partial(EHNNMLP, width, width)
    model = Pair(layer, layer, h, "all").to(device)
    x = torch.randn(h.num_nodes, width, device=device)

    def forward() -> Tensor:
        with nullcontext() if rows is None else bounded_memory(rows):
            return model(x)

    step = make_step(model, forward)
    peak = peak_bytes(step, device) + held_bytes(model, model.overlaps, h, x, step.grad)
    count = enough(SECONDS[torch.device(device).type], repeats, step, device)
    return split_times({"": step}, count, device, warm_up=0)[""], peak


def _check_memory(report: Report, mode: str, h: Hypergraph, device: str) -> None:
    """On a CPU a process that takes too much is killed, so the need is estimated from the last size."""
    free = None if is_gpu(device) else available_bytes()
    last = [r["mean"] for r in report.rows if (r["model"], r["metric"]) == (mode, "bytes_per_incidence")]
    if free is not None and last and last[-1] * h.num_incidences > 0.8 * free:
        need = last[-1] * h.num_incidences / 1e9
        raise MemoryError(f"would need about {need:.1f} GB, {free / 1e9:.1f} GB are free")
