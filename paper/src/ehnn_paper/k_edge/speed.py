"""How long a paper-size run of k-edge identification takes on one CPU core."""

from __future__ import annotations

from pathlib import Path

from ehnn_paper.measure.epochs import epoch_seconds
from ehnn_paper.measure.machine import check_device, command, is_gpu, label, threads
from ehnn_paper.measure.tables import Metrics, Report, Row, Say
from ehnn_paper.measure.timing import median

from .recipes import TABLE_1
from .task import KEdge

RELEASE_S = 180.0
"""500 epochs of EHNN-MLP with one seed in the authors' release."""
PAPER_EPOCHS = 500


def k_edge(
    *,
    device: str = "cpu",
    out: Path | None = Path("results"),
    repeats: int = 40,
    model: str = "ehnn-mlp",
    task: KEdge | None = None,
    say: Say = print,
) -> list[Row]:
    """Seconds of 500 epochs with one seed, from ``repeats`` epochs on one CPU thread.

    Each epoch is 100 hypergraphs in batches of 8 and an evaluation on validation and test. The first
    epochs prepare the batches and count as they are; the others are taken for as long as the *mean*
    of those measured after them.
    """
    check_device(device)
    report = Report("k-edge-speed", command("k-edge", device), out, say)
    task = task or KEdge("seen", device=device)
    if repeats <= task.partitions:
        raise ValueError(f"repeats must be above {task.partitions}, the epochs that prepare, got {repeats}")
    recipe = TABLE_1[model]
    with threads(None if is_gpu(device) else 1):
        where = label(device)
        times = epoch_seconds(recipe.make, task, recipe.config(repeats), device)
    first, steady = times[: task.partitions], times[task.partitions :]
    whole = sum(first) + (PAPER_EPOCHS - len(first)) * sum(steady) / len(steady)
    metrics: Metrics = {
        "epoch_ms": [1e3 * t for t in steady],
        "run_s_extrapolated": whole,
        "times_faster_than_release": RELEASE_S / whole,
    }
    report.add(f"seen, {where}", model, metrics)
    say(
        f"k-edge: {model}, {where}: epoch {1e3 * median(steady):.1f} ms (median of {len(steady)}), "
        f"{PAPER_EPOCHS} epochs {whole:.1f} s (extrapolated); release {RELEASE_S:.0f} s, "
        f"{RELEASE_S / whole:.1f}x"
    )
    return report.rows
