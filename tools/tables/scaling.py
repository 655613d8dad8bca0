"""Tables of `docs/scaling.md`: shards, partitions, engines, losses, accuracy and the time of a step."""

from __future__ import annotations

from .rows import figure, markdown, row, rows

METHODS = (
    "best known", "Mt-KaHyPar", "label propagation, Mt-KaHyPar on clusters",
    "label propagation, built-in on clusters", "built-in",
)  # fmt: skip
REAL = "scale-real"


def partition() -> str:
    """Connectivity by method."""
    settings = dict.fromkeys(one["setting"] for one in rows("partition"))
    lines = [
        [setting, *(figure(row("partition", setting=setting, model=m), 0, missing="–") for m in METHODS)]
        for setting in settings
    ]
    return markdown(["", *METHODS], lines)


def engines() -> str:
    """Dask beside Ray."""
    found = [one for one in rows(REAL) if one["setting"].startswith("engines")]
    metrics = dict.fromkeys(one["metric"] for one in found)
    lines = [
        [
            name,
            *(figure(next(o for o in found if (o["model"], o["metric"]) == (name, m)), 1) for m in metrics),
        ]
        for name in dict.fromkeys(one["model"] for one in found)
    ]
    return markdown([found[0]["setting"] if found else "engines", *metrics], lines)


def shards() -> str:
    """Time and memory of `ehnn shard`."""
    found = rows(REAL, model="ehnn shard")
    digits = {"seconds": 0, "ghosts": 0}
    lines = [[one["setting"], one["metric"], figure(one, digits.get(one["metric"], 2))] for one in found]
    return markdown(["", "", "measured"], lines)


def accuracy() -> str:
    """Test accuracy on debian-files."""
    found = [one for one in rows(REAL, metric="accuracy") if one["setting"].startswith("debian-files")]
    found.sort(key=lambda one: (one["setting"], one["mean"]))
    lines = [
        [one["setting"], one["model"], figure(one), *_cost(one), one["hardware"].rpartition("; ")[2]]
        for one in found
    ]
    return markdown(["", "", "test accuracy (%)", "seconds", "memory (GB)", ""], lines)


def _cost(one: dict) -> tuple[str, str]:
    """Seconds and memory of a row, where it has them."""
    known = one["settings"]
    return (f"{known['seconds']:.0f}", f"{known['memory_gb']:.1f}") if known else ("", "")


def losses() -> str:
    """One process beside two ranks."""
    found = [one for one in rows(REAL) if "losses of" in one["setting"]]
    shown = [f"{one['mean']:.1e}" if "difference" in one["metric"] else figure(one, 1) for one in found]
    lines = [[one["setting"], one["metric"], value] for one, value in zip(found, shown, strict=True)]
    return markdown(["", "", "measured"], lines)


def ahead() -> str:
    """Seconds of steps in which ranks work while rows travel, and in which they wait."""
    start, seconds, ratio = (
        "work while rows travel: ", "median seconds per step", "median ratio of pairs of steps"
    )  # fmt: skip
    settings = dict.fromkeys(one["setting"] for one in rows(REAL) if one["setting"].startswith(start))
    lines = []
    for name in settings:
        found = [row(REAL, setting=name, model=m, metric=seconds) for m in ("ahead", "waiting")]
        pairs = row(REAL, setting=name, model="ahead", metric=ratio)
        low, high = pairs["settings"]["quartiles"]
        spread = f"{pairs['mean']:.2f} ({low:.2f} to {high:.2f})"
        lines.append([name.removeprefix(start), *(figure(one, 3) for one in found), spread])
    head = ["layer, random hypergraph of nodes x hyperedges", "work (s)", "wait (s)", "ratio (quartiles)"]
    return markdown(head, lines)


def cost() -> str:
    """Seconds of a step, measured and by the formula."""
    start, names = "cost model: ", ("measured", "formula")
    settings = dict.fromkeys(one["setting"] for one in rows(REAL) if one["setting"].startswith(start))
    lines = [
        [name.removeprefix(start), *(figure(row(REAL, setting=name, model=m), 3) for m in names)]
        for name in settings
    ]
    return markdown(["random hypergraph of nodes x hyperedges", *names], lines)
