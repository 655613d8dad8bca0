"""Tables whose settings are searched on validation: the benchmark and hypergraph classification."""

from __future__ import annotations

from .rows import TITLES, Row, figure, markdown, models, row, rows

NODES = {
    "Cora co-citation": "cora-cocitation", "Cora co-authorship": "cora-coauthorship", "House(1)": "house-1",
    "NTU2012": "ntu2012", "primary school": "contact-primary-school", "20News": "20news",
    "Congress": "congress-bills", "Pubmed, structure": "pubmed-structure",
    "DBLP, structure": "dblp-structure",
    "Zoo": "zoo",
}  # fmt: skip
DEFAULT = "node-classifier"
"""It has no settings to choose from."""
NOT_RUN = "There are no rows yet: the benchmark has not been run.\n"
GRAPHS = {
    "IMDB dir-form": "imdb-dir-form", "dir-genre": "imdb-dir-genre", "dir-genre-m": "imdb-dir-genre-m",
    "wri-form": "imdb-wri-form", "wri-genre": "imdb-wri-genre", "wri-genre-m": "imdb-wri-genre-m",
    "Steam": "steam-player",
}  # fmt: skip

K_HNN = {
    "imdb-dir-form": 68.11, "imdb-dir-genre": 79.75, "imdb-wri-form": 55.36, "imdb-wri-genre": 50.08,
    "steam-player": 67.53,
}  # fmt: skip
"""Accuracy in percent of the better of 2-OHNN and 2-FHNN in their paper, at each fold's best test epoch."""


def benchmark() -> str:
    """By average rank: mean ± deviation (published figure)."""
    return _benchmark("validation")


def benchmark_last() -> str:
    """The same under the rule of DHG-Bench."""
    return _benchmark("last")


def _benchmark(rule: str) -> str:
    found = rows("benchmark", metric="accuracy", selection=rule)
    if not found:
        return NOT_RUN
    columns = {title: name for title, name in NODES.items() if any(r["setting"] == name for r in found)}
    ranks = {r["model"]: r for r in rows("benchmark", metric="rank", selection=rule)}
    order = sorted(models(found), key=lambda m: ranks[m]["mean"] if m in ranks else 99)

    def cell(model: str, name: str) -> str:
        return _with_paper(row("benchmark", model=model, setting=name, metric="accuracy", selection=rule))

    lines = [
        [TITLES[m], *(cell(m, n) for n in columns.values()), figure(ranks.get(m), 1, missing="–")]
        for m in order
    ]
    return markdown(["", *columns, "average rank"], lines)


def benchmark_chosen() -> str:
    """How often each setting was chosen, over all runs and datasets."""
    found = rows("benchmark", metric="accuracy", selection="validation")
    if not found:
        return NOT_RUN
    found = [r for r in found if r["model"] != DEFAULT]
    numbers = sorted({number for r in found for number in r["settings"]["search"]}, key=int)

    def count(model: str, number: str) -> str:
        return str(sum(r["settings"]["chosen"].get(number, 0) for r in found if r["model"] == model))

    lines = [[TITLES[m], *(count(m, n) for n in numbers)] for m in models(found)]
    return markdown(["", *(f"setting {n}" for n in numbers)], lines)


def inputs() -> str:
    """Accuracy of each model with each input alone, by dataset."""
    from ehnn_paper.benchmark.inputs import INPUTS

    found = rows("inputs", metric="accuracy")
    there = {r["setting"].partition(", ")[0] for r in found}
    lines = [
        [
            f"{title}, {TITLES[m]}",
            *(figure(row("inputs", model=m, setting=f"{name}, {i}"), 1, missing="–") for i in INPUTS),
        ]
        for title, name in NODES.items()
        if name in there
        for m in models(found)
    ]
    return markdown(["", *INPUTS], lines)


def graphs() -> str:
    """Accuracy (published figure) of each model, by dataset."""
    found = rows("graphs", metric="accuracy")

    def cell(model: str, name: str) -> str:
        return _with_paper(row("graphs", model=model, setting=name, metric="accuracy"))

    lines = [[TITLES[m], *(cell(m, n) for n in GRAPHS.values())] for m in models(found)]
    published = [f"({K_HNN[n]:.1f})" if n in K_HNN else "–" for n in GRAPHS.values()]
    return markdown(["", *GRAPHS], [*lines, ["k-HNN", *published]])


def _with_paper(one: Row | None) -> str:
    paper = f" ({one['paper']:.1f})" if one and one["paper"] is not None else ""
    return figure(one, 1, missing="–") + paper
