"""Directions of reactions, and missing reactions."""

from __future__ import annotations

from .rows import figure, markdown, row, rows

NETWORKS = (
    "iAB_RBC_283", "iIT341", "iAF692", "iHN637", "iAF1260b", "iJO1366", "yeast-gem", "closegaps-iMM904",
)  # fmt: skip
DIRECTION = {
    "lr-degrees": "LR, degrees",
    "lr-history": "LR, + history",
    "lr-all": "LR, all columns",
    "boosted-trees": "boosted trees, all columns",
    "ehnn-undirected": "EHNN without roles",
    "ehnn-directed": "EHNN with roles",
    "ehnn-directed-all": "EHNN with roles, all columns",
}
MISSING = {
    "size": "LR, size",
    "degrees": "LR, degrees",
    "mass-balance": "LR, mass balance",
    "lr-undirected": "LR, undirected columns",
    "lr-directed": "LR, all columns",
    "cheshire": "CHESHIRE",
    "ehnn-undirected": "EHNN without roles",
    "ehnn-directed": "EHNN with roles",
}


def direction() -> str:
    """Accuracy; the last row is what came with the data."""
    there = [n for n in NETWORKS if rows("reactions", setting=f"direction, {n}")]
    lines = [
        [title, *(_cell("direction", network, model, "accuracy") for network in there)]
        for model, title in DIRECTION.items()
        if rows("reactions", model=model)
    ]
    given = [
        row("reactions", setting=f"direction, {n}", model="lr-history", metric="accuracy") for n in there
    ]
    lines.append(["LR that came with the data", *("" if r is None else f"{r['paper']:.1f}" for r in given)])
    return markdown(["accuracy in %", *there], lines)


def pool() -> str:
    """AUROC among the pool."""
    return _missing("pool")


def swapped() -> str:
    """AUROC against half-swapped copies."""
    return _missing("swapped")


def _missing(kind: str) -> str:
    """AUROC of each network, and the mean over the networks that every model has."""
    there = [n for n in NETWORKS if rows("reactions", setting=f"{kind}, {n}")]
    settings = [f"{kind}, {network}" for network in there]
    models = [m for m in MISSING if rows("reactions", model=m, setting=tuple(settings))]
    lines = []
    for model in models:
        found = [row("reactions", setting=s, model=model, metric="auroc") for s in settings]
        means = [one["mean"] for one in found if one is not None]
        mean = f"{sum(means) / len(means):.1f}" if len(means) == len(settings) else ""
        lines.append([MISSING[model], *(_cell(kind, network, model, "auroc") for network in there), mean])
    return markdown(["AUROC in %", *there, "mean"], lines)


def _cell(kind: str, network: str, model: str, metric: str) -> str:
    return figure(row("reactions", setting=f"{kind}, {network}", model=model, metric=metric), 1)
