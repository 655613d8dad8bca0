"""Compare the speed of two versions of the library in one run, on the same machine, in turn.

    python paper/benchmarks/compare.py BEFORE AFTER --device cpu --out results/split-speed.json

BEFORE and AFTER are checkouts (or their ``src`` folders). Each version runs in a process of its own. For each
workload the two take turns: a few steps of one, as many of the other, so that whatever else the machine does
meets both. On a CPU the clock is the processor time of the process (use one thread), which other processes
change least. A ratio is the time of AFTER divided by that of BEFORE; the median over the rounds is reported.
Needs PyTorch and the standard library.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

WORKLOADS = {
    # nodes, hyperedges, lowest and highest order, width, layer, copies in a batch, dropout, divisor on a CPU
    "cost-mlp": (2708, 1579, 2, 5, 64, "EHNNMLP", 1, 0.0, 1),
    "cost-transformer": (2708, 1579, 2, 5, 64, "EHNNTransformer", 1, 0.0, 1),
    "cost-mlp-no-norm": (2708, 1579, 2, 5, 64, "EHNNMLP-no-norm", 1, 0.0, 1),
    "k-edge-mlp": (100, 10, 2, 10, 64, "EHNNMLP", 16, 0.0, 1),
    "k-edge-transformer": (100, 10, 2, 10, 64, "EHNNTransformer", 16, 0.0, 1),
    "peers-edges": (2000, 1500, 2, 8, 64, "edges", 1, 0.0, 1),
    "small": (50, 30, 2, 5, 32, "EHNNMLP", 1, 0.0, 1),
    "runs": (300, 200, 2, 6, 32, "runs", 1, 0.5, 1),
    "walmart": (88860, 69906, 2, 11, 64, "EHNNMLP", 1, 0.0, 16),
    "walmart-transformer": (88860, 69906, 2, 11, 64, "EHNNTransformer", 1, 0.0, 16),
    "scale": (1_000_000, 500_000, 2, 6, 64, "EHNNMLP", 1, 0.0, 32),
}


def step_of(name: str, device: str) -> Callable[[], None]:
    """One training step of a workload: forward, backward."""
    import torch

    import ehnn

    nodes, edges, low, high, width, kind, copies, dropout, share = WORKLOADS[name]
    share = share if device == "cpu" else 1
    torch.manual_seed(0)
    made = [
        ehnn.testing.random_hypergraph(nodes // share, edges // share, (low, high), seed=i, d_node=width)
        for i in range(copies)
    ]
    h = (made[0] if copies == 1 else ehnn.batch(made)).to(device)
    if kind == "runs":
        from ehnn.training.runs import Runs

        def make() -> Any:
            return ehnn.nn.Stack(width, 4, lambda a, b: ehnn.nn.EHNNMLP(a, b, dropout=dropout), width=width)

        runs, at = Runs(make, [0, 1, 2], device), torch.tensor(0, device=device)

        def several() -> None:
            runs.backward(runs.forward(h, step=at).square().mean())

        return several
    options = {"norm": False} if kind.endswith("no-norm") else {}
    layer_of = ehnn.nn.EHNNTransformer if kind == "EHNNTransformer" else ehnn.nn.EHNNMLP
    ends = (
        [("nodes", "edges"), ("edges", "edges")] if kind == "edges" else [("nodes", "all"), ("all", "nodes")]
    )
    layers = [layer_of(width, width, **options).to(device) for _ in ends]
    overlaps = [h.overlap(*pair) for pair in ends]

    def one() -> None:
        x = h.x
        for layer, overlap in zip(layers, overlaps, strict=True):
            x = layer(x, overlap)
        for layer in layers:
            layer.zero_grad()
        x.square().mean().backward()

    return one


def worker(device: str, keep_freed: bool) -> None:
    """Reads ``[workload, steps]`` and answers with seconds a step, until there is no more."""
    import torch

    import ehnn

    if keep_freed and hasattr(ehnn.ops, "keep_freed_memory"):
        ehnn.ops.keep_freed_memory()
    steps: dict[str, Callable[[], None]] = {}
    for line in sys.stdin:
        name, count = json.loads(line)
        if name not in steps:
            steps = {name: step_of(name, device)}  # the one before is let go
            for _ in range(3):
                steps[name]()
        if device != "cpu":
            torch.cuda.synchronize()
        clock = time.process_time if device == "cpu" else time.perf_counter
        begin = clock()
        for _ in range(count):
            steps[name]()
        if device != "cpu":
            torch.cuda.synchronize()
        print(json.dumps((clock() - begin) / count), flush=True)


class Version:
    """A process that runs the workloads with one version of the library."""

    def __init__(self, folder: Path, device: str, threads: int, options: list[str]) -> None:
        source = folder / "src" if (folder / "src" / "ehnn").is_dir() else folder
        if not (source / "ehnn").is_dir():
            raise SystemExit(f"{folder} must be a checkout of the library, or its src folder")
        keys = {"PYTHONPATH": str(source.resolve()), "OMP_NUM_THREADS": str(threads)}
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).resolve()), "--worker", "--device", device, *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ | keys, cwd=source,
        )  # fmt: skip

    def seconds(self, name: str, steps: int) -> float:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps([name, steps]), file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"the process for {name} ended with status {self.process.wait()}")
        return float(json.loads(answer))


def compare(before: Version, after: Version, name: str, rounds: int, budget: float) -> dict[str, Any]:
    """Seconds a step of both and their ratio; each round takes about ``budget`` seconds."""
    first = [version.seconds(name, 1) for version in (before, after)]
    steps = max(1, int(budget / 2 / max(first)))
    found = []
    for i in range(rounds):
        pair = (before, after) if i % 2 == 0 else (after, before)
        times = [version.seconds(name, steps) for version in pair]
        found.append(times if i % 2 == 0 else times[::-1])
    ratios = sorted(b / a for a, b in found)
    return {
        "workload": name, "before_ms": 1e3 * statistics.median(a for a, _ in found),
        "after_ms": 1e3 * statistics.median(b for _, b in found), "ratio": statistics.median(ratios),
        "ratio_quartiles": [ratios[rounds // 4], ratios[-1 - rounds // 4]], "rounds": rounds, "steps": steps,
    }  # fmt: skip


def hardware(device: str) -> str:
    import torch

    if device != "cpu":
        return f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}"
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    model = next((line.split(": ", 1)[1] for line in lines if line.startswith("model name")), "CPU")
    return f"{model}, PyTorch {torch.__version__}"


def commit_of(folder: Path) -> str:
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--abbrev=12"], cwd=folder, capture_output=True, text=True
    )
    return done.stdout.strip() or "unknown"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER", help="before, then after")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--budget", type=float, default=2.0, help="seconds of a round")
    parser.add_argument("--only", nargs="*", choices=WORKLOADS, default=list(WORKLOADS))
    parser.add_argument(
        "--keep-freed", action="store_true", help="keep freed memory, as the command line does"
    )
    parser.add_argument("--out", type=Path)
    parser.add_argument("--commits", nargs=2, help="of the two folders, where they are not git checkouts")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        worker(given.device, given.keep_freed)
        return
    if len(given.folders) != 2:
        parser.error("give two folders: before and after")
    options = ["--keep-freed"] if given.keep_freed else []
    before, after = (Version(folder, given.device, given.threads, options) for folder in given.folders)
    rows = []
    for name in given.only:
        rows.append(compare(before, after, name, given.rounds, given.budget))
        print(
            "{workload:22} {before_ms:9.3f} ms → {after_ms:9.3f} ms  × {ratio:.3f}".format(**rows[-1]),
            flush=True,
        )
    if given.out is not None:
        commits = given.commits or [commit_of(folder) for folder in given.folders]
        about = {
            "command": "python paper/benchmarks/compare.py BEFORE AFTER " + " ".join(sys.argv[3:]),
            "device": given.device, "threads": given.threads, "keep_freed": given.keep_freed,
            "machine": hardware(given.device),
            "before": commits[0], "after": commits[1],
            "date": time.strftime("%Y-%m-%d"),
        }  # fmt: skip
        old = json.loads(given.out.read_text()) if given.out.exists() else []
        key = ("device", "keep_freed")
        kept = [block for block in old if any(block[k] != about[k] for k in key)]
        part = given.out.with_suffix(".part")
        part.write_text(json.dumps([*kept, about | {"rows": rows}], indent=1) + "\n")
        part.replace(given.out)


if __name__ == "__main__":
    main()
