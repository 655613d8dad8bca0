"""Tables of `docs/scaling.md`: shards, partitions, engines."""

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
        [one["setting"], one["model"], figure(one), _seconds(one), one["hardware"].rpartition("; ")[2]]
        for one in found
    ]
    return markdown(["", "", "test accuracy (%)", "seconds", ""], lines)


def _seconds(one: dict) -> str:
    return f"{one['settings']['seconds']:.0f}" if one["settings"] else ""
