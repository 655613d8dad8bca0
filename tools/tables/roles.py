"""Labels of incidences and of hyperedges, sections of Debian packages, and what roles cost."""

from __future__ import annotations

from .rows import figure, markdown, row, rows

INCIDENCES = {
    "whatsnet": "WHATsNet", "conhd-unb": "CoNHD (UNB)", "incidence-classifier": "`IncidenceClassifier`",
}  # fmt: skip
HISTORY = {
    "email-eu": 66.9, "stack-biology": 74.1, "stack-physics": 76.4, "outsider-cora": 70.8,
    "outsider-dblp": 57.1, "outsider-pubmed": 67.1,
}  # fmt: skip
"""Accuracy of "+ history", which came with the data, on the shipped splits."""
EDGES = {
    "majority": "majority", "lr-degrees": "LR, degrees", "lr-history": "LR, + history",
    "lr-members": "LR, members", "lr-members-directed": "LR, members and sides", "hgnn": "HGNN",
    "all-set-transformer": "AllSetTransformer", "hyperedge-classifier": "`HyperedgeClassifier`",
    "hyperedge-classifier-directed": "`HyperedgeClassifier`, directed",
}  # fmt: skip
DEBIAN = {
    "majority": "most frequent section", "structure": "dependencies without roles",
    "roles": "dependencies with roles", "roles-words": "with roles, words and sizes",
}  # fmt: skip


def incidences() -> str:
    """Micro- and macro-F1, and how many seeds."""
    settings = [r["setting"] for r in rows("incidences", model="incidence-classifier", metric="micro-f1")]
    lines = []
    for setting in settings:
        name, split = setting.split(", ")
        cells = [_both(setting, model) for model in INCIDENCES]
        lines.append([setting, f"{HISTORY[name]:.1f}" if split == "shipped" else "", *cells])
    return markdown(["micro- / macro-F1 in %", "“+ history”", *INCIDENCES.values()], lines)


def _both(setting: str, model: str) -> str:
    found = [row("incidences", setting=setting, model=model, metric=m) for m in ("micro-f1", "macro-f1")]
    if found[0] is None or found[1] is None:
        return "–"
    return f"{found[0]['mean']:.1f} / {found[1]['mean']:.1f} ({found[0]['runs']})"


def edge_labels() -> str:
    """Accuracy of each dataset."""
    settings = list(dict.fromkeys(r["setting"] for r in rows("edge-labels", metric="accuracy")))
    models = [m for m in EDGES if rows("edge-labels", model=m)]
    lines = [
        [s, *(figure(row("edge-labels", setting=s, model=m, metric="accuracy"), 1) for m in models)]
        for s in settings
    ]
    return markdown(["accuracy in %", *(EDGES[m] for m in models)], lines)


def debian() -> str:
    """Accuracy and macro-F1."""
    lines = [
        [title, *(figure(row("debian", model=model, metric=m), 1) for m in ("accuracy", "macro-f1"))]
        for model, title in DEBIAN.items()
        if rows("debian", model=model)
    ]
    return markdown(["`NodeClassifier` reads", "accuracy in %", "macro-F1 in %"], lines)


def speed() -> str:
    """Ratios of the time of a step."""
    found = rows("roles", metric="directed / undirected")
    lines = []
    for one in found:
        same = row("roles", setting=one["setting"], model=one["model"], metric="one role / undirected")
        layer = {"ehnn-mlp": "EHNN-MLP", "ehnn-transformer": "EHNN-Transformer"}[one["model"]]
        device = {"cpu": "CPU, 1 thread", "cuda": "GPU"}[one["setting"].split(", ")[1]]
        lines.append([layer, device, f"{one['mean']:.2f}", "" if same is None else f"{same['mean']:.2f}"])
    return markdown(["V→E→V, 10⁶ incidences", "", "two sides", "one role"], lines)
