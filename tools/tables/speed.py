"""Time and memory."""

from __future__ import annotations

from .rows import TITLES, Row, figure, markdown, models, row, rows

EXPONENTS = {4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸"}
EHNN = ("ehnn-lookup", "ehnn-hypernetwork", "ehnn-mlp", "ehnn-transformer")
PEERS = {
    "hgnn": "`ehnn.nn.baselines.HGNN` layer",
    "ehnn-mlp": "EHNN-MLP, nodes → hyperedges → nodes",
    "ehnn-mlp, all": "EHNN-MLP, nodes → nodes and hyperedges → nodes",
    "pyg HypergraphConv": "PyG `HypergraphConv`",
    "dhg HGNNConv": "DHG `HGNNConv`",
}


def ms(one: Row | None) -> str:
    """Milliseconds with three digits at most."""
    if one is None:
        return ""
    value = one["mean"]
    return f"{value:.2f}" if value < 1 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def release(experiment: str, **where: str) -> str:
    """The time of the authors' code: ours × how many times faster it is."""
    metric = "epoch_ms" if experiment == "walmart" else "total_ms"
    ours = row(experiment, metric=metric, **where)
    times = row(experiment, metric="times_faster_than_release", **where)
    return "" if ours is None or times is None else ms({"mean": ours["mean"] * times["mean"]})


def cost_gpu() -> str:
    """One V → V∪E → V pair on the paper's cost table, on a GPU, beside the released code."""
    lines = [
        [
            TITLES[model],
            *(
                ms(row("cost", model=model, setting=f"cuda, {how}", metric="total_ms"))
                for how in ("eager", "graph")
            ),
            release("cost", model=model, setting="cuda, graph"),
        ]
        for model in EHNN
    ]
    return markdown(["ms", "eager", "CUDA graph", "released code"], lines)


def cost() -> str:
    """Time on three ways to run, and memory."""
    settings = {
        "CPU, one core": "cpu-1, eager",
        "H200, eager": "cuda, eager",
        "H200, CUDA graph": "cuda, graph",
    }
    lines = []
    for model in models(rows("cost"), leave_out=("plain message passing",)):
        times = [ms(row("cost", model=model, setting=s, metric="total_ms")) for s in settings.values()]
        memory = ms(row("cost", model=model, setting="cpu-1, eager", metric="peak_mb"))
        lines.append([TITLES[model], *times, memory])
    return markdown(["", *(f"{title} (ms)" for title in settings), "memory (MB)"], lines)


def walmart() -> str:
    """One training step and an evaluation."""
    kinds = {"float32": "float32", "TF32 products": "tf32", "bfloat16 step, TF32 evaluation": "bf16"}
    lines = [
        [
            TITLES[model],
            *(
                ms(
                    row(
                        "walmart",
                        model=model,
                        setting=f"walmart-trips, cuda, {kind}, graph",
                        metric="epoch_ms",
                    )
                )
                for kind in kinds.values()
            ),
            release("walmart", model=model, setting="walmart-trips, cuda, float32, graph"),
        ]
        for model in ("ehnn-mlp", "ehnn-transformer")
    ]
    return markdown(["ms", *kinds, "released code"], lines)


def peers() -> str:
    """Layers of other libraries on one core."""

    def times(model: str, peer: str) -> str:
        return figure(row("peers", model=model, metric=f"times_faster_than_{peer}"), 1, deviation=False)

    lines = [
        [title, ms(row("peers", model=model, metric="total_ms")), times(model, "pyg"), times(model, "dhg")]
        for model, title in PEERS.items()
    ]
    return markdown(["", "ms", "times as fast as PyG", "times as fast as DHG"], lines)


SCALED = (("cpu-1", "ehnn-mlp"), ("cuda", "ehnn-mlp"), ("cuda", "ehnn-mlp, bounded memory"))


def scale() -> str:
    """Time and memory of a training step against the number of incidences."""
    lines = []
    for exponent in EXPONENTS:
        cells = [f"10{EXPONENTS[exponent]}"]
        for where, model in (
            ("cpu-1", "ehnn-mlp"),
            ("cuda", "ehnn-mlp"),
            ("cuda", "ehnn-mlp, bounded memory"),
        ):
            at = {"model": model, "setting": f"1e{exponent} incidences, {where}"}
            cells.append(ms(row("scale", metric="total_ms", **at)))
            cells.append(ms(row("scale", metric="peak_mb", **at)))
        lines.append(cells)
    header = ["incidences", "CPU core: ms", "MB", "H200: ms", "MB", "H200, bounded memory: ms", "MB"]
    return markdown(header, lines)


def split() -> str:
    """Time of a step after formula and execution were taken apart, divided by the time before."""
    blocks = rows("split-speed")
    cpu = {
        kept: {
            r["workload"]: r
            for b in blocks
            if b["device"] == "cpu" and b["keep_freed"] is kept
            for r in b["rows"]
        }
        for kept in (False, True)
    }
    gpu = {r["workload"]: r for b in blocks if b["device"] == "cuda" for r in b["rows"]}

    def ratio(found: dict[str, Row], name: str) -> str:
        return f"{found[name]['ratio']:.2f}" if name in found else ""

    lines = [[f"`{name}`", ratio(cpu[False], name), ratio(cpu[True], name), ratio(gpu, name)] for name in gpu]
    return markdown(["workload", "CPU", "CPU, freed memory kept", "H200, eager"], lines)
