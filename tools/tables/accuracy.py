"""Node classification, hyperedge prediction, defaults and later models."""

from __future__ import annotations

from .rows import TITLES, Row, figure, markdown, models, row, rows

RECIPE = ("mlp+", "hgnn+", "all-set-transformer+")
"""Baselines with the recipe of EHNN-MLP+."""
DATASETS = {
    "Zoo": "zoo",
    "20News": "20news",
    "Mushroom": "mushroom",
    "NTU2012": "ntu2012",
    "House(1)": "house-1",
    "Walmart(1)": "walmart-1",
    "House(0.6)": "house-0.6",
    "Walmart(0.6)": "walmart-0.6",
}
SETS = {
    "house-committees": "house-committees",
    "cora-coauthorship": "cora-coauthorship",
    "congress-bills": "congress-bills, 10000 hyperedges",
    "threads-math-sx": "threads-math-sx, 2000 most active nodes",
}


OTHERS = {
    "majority": "majority", "lr-features": "LR on features", "lr-degrees": "LR on degrees", "vote": "vote",
    "lr-features-vote": "LR on features and votes", "hgnn": "HGNN",
    "all-set-transformer": "AllSetTransformer",
}  # fmt: skip


def nodes() -> str:
    """Mean ± deviation [number of runs if not 20] (the paper's figure)."""

    def cell(one: Row | None) -> str:
        if one is None:
            return "–"
        count = f" [{one['runs']}]" if one["runs"] != 20 else ""
        paper = f" ({one['paper']:.2f})" if one["paper"] is not None else ""
        return f"{figure(one)}{count}{paper}"

    def rank(one: Row | None) -> str:
        paper = f" ({one['paper']:.1f})" if one and one["paper"] is not None else ""
        return f"{figure(one, 1, deviation=False)}{paper}"

    lines = [
        [
            TITLES[model],
            *(cell(row("nodes", model=model, setting=s, metric="accuracy")) for s in DATASETS.values()),
            rank(row("nodes", model=model, metric="rank")),
        ]
        for model in models(rows("nodes"), leave_out=RECIPE)
    ]
    return markdown(["", *DATASETS, "average rank"], lines)


def few_runs() -> str:
    """Cells with fewer than 20 runs, and the time that the missing ones would take."""
    titles = {name: title for title, name in DATASETS.items()}
    lines = []
    for one in rows("nodes", metric="accuracy"):
        seconds = row("nodes", model=one["model"], setting=one["setting"], metric="seconds_per_run")
        if one["runs"] < 20 and seconds:
            minutes = (20 - one["runs"]) * seconds["mean"] / 60
            machine = "H200" if "H200" in seconds["hardware"] else "CPU"
            name = f"{TITLES[one['model']]}, {titles[one['setting']]}".replace("**", "")
            lines.append([name, str(one["runs"]), f"{seconds['mean']:.0f}", machine, f"{minutes:.0f}"])
    return markdown(["cell", "runs", "seconds of a run", "on", "minutes for the other runs"], lines)


def recipe() -> str:
    """Models without and with the recipe of EHNN-MLP+: mean ± deviation [runs if not 20]."""
    columns = {
        title: name
        for title, name in DATASETS.items()
        if row("nodes", model=RECIPE[0], setting=name, metric="accuracy")
    }

    def cell(model: str, setting: str) -> str:
        one = row("nodes", model=model, setting=setting, metric="accuracy")
        return figure(one, missing="–") + (f" [{one['runs']}]" if one and one["runs"] != 20 else "")

    lines = [
        [TITLES[model], *(cell(model, setting) for setting in columns.values())]
        for plus in (*RECIPE, "ehnn-mlp+")
        for model in (plus.removesuffix("+"), plus)
    ]
    return markdown(["", *columns], lines)


def hyperedges() -> str:
    """AUROC and MRR against hard negatives."""

    def cell(model: str, setting: str) -> str:
        auroc = row("hyperedges", model=model, setting=setting, metric="auroc-hard")
        mrr = row("hyperedges", model=model, setting=setting, metric="mrr-hard")
        return f"{figure(auroc, 1)} / {figure(mrr, 1, deviation=False)}" if auroc else "–"

    lines = [
        [TITLES[model], *(cell(model, setting) for setting in SETS.values())]
        for model in models(rows("hyperedges"))
    ]
    return markdown(["AUROC / MRR in %", *SETS], lines)


def demo_draws() -> str:
    """Accuracy of the demo's draw and of random ones, and how far a model is ahead of LR on these."""
    names = OTHERS | {"node-classifier": TITLES["node-classifier"]}
    lines = []
    for one in rows("demo-draws", setting="random fifths", metric="accuracy"):
        model = one["model"]
        demo = row("demo-draws", setting="every fifth", model=model, metric="accuracy")
        ahead = row("demo-draws", setting="random fifths", model=model, metric="ahead")
        margin = f"{ahead['mean']:+.1f} ± {ahead['std']:.1f}".replace("-", "−") if ahead else ""
        lines.append([names[model], figure(demo, 1), figure(one, 1), margin])
    return markdown(["", "the demo", "ten random fifths", "ahead of LR"], lines)


def defaults() -> str:
    """The default and its margin to the best of the others, with the larger standard error of both."""

    def cell(one: Row) -> list[str]:
        told = one["settings"]
        if "margin" not in told:
            return [figure(one, 1, deviation=False), "–"]
        margin = f"{told['margin']:+.1f} ± {told['standard_error']:.1f}".replace("-", "−")
        networks = "" if not {"hgnn", "all-set-transformer"} & set(told["missing"]) else " ¹"
        best = f"{margin} {OTHERS[told['best_other']]}"
        return [figure(one, 1, deviation=False), (best if told["holds"] else f"**{best}**") + networks]

    def searched(one: Row) -> str:
        told = one["settings"]
        if "search_margin" not in told:
            return ""
        error = f" ± {told['search_standard_error']:.1f}" if told["search_splits"] > 1 else ""
        return f"{told['search_margin']:+.1f}{error} ({told['search_splits']})".replace("-", "−")

    lines = []
    fresh = {one["setting"] for one in rows("defaults", model="default")}
    for first in rows("defaults", model=("default", "default-earlier"), metric="accuracy"):
        if first["model"] != "default" and first["setting"] in fresh:
            continue
        second = row("defaults", model=first["model"], metric="macro_f1", setting=first["setting"])
        assert second is not None
        seen = "chosen" if first["settings"]["chosen_on"] else "confirmed"
        lines.append(
            [
                first["setting"], seen, first["commit"][:7], str(first["runs"]), *cell(first), *cell(second),
                searched(first),
            ]
        )  # fmt: skip
    head = ["set", "", "commit", "splits", "accuracy", "margin", "macro-F1", "margin", "to the search"]
    return markdown(head, lines)


def regression() -> str:
    """R² of the default and of the others, and its margin to the best of them."""
    names = {
        "default": "default", "mean": "mean", "neighbours": "co-members' mean", "ridge": "ridge",
        "boosting": "boosted trees", "hgnn": "HGNN", "all-set-transformer": "AllSetTransformer",
    }  # fmt: skip
    lines = []
    for ours in rows("regression", model="default"):
        found = [row("regression", setting=ours["setting"], model=model) for model in names]
        told = ours["settings"]
        margin = f"{told['margin']:+.3f} ± {told['standard_error']:.3f} {names[told['best_other']]}"
        margin = margin if told["holds"] else f"**{margin}**"
        cells = [figure(one, 3, deviation=False, missing="–").replace("-", "−") for one in found]
        lines.append([ours["setting"], *cells, margin.replace("-", "−")])
    return markdown(["set", *names.values(), "margin"], lines)


def default_times() -> str:
    """Seconds of the default from CSV to a saved model, beside the target of the experiment."""
    lines = []
    for one in rows("default-times", metric="seconds"):
        used, memory, right = (
            row("default-times", setting=one["setting"], metric=metric)
            for metric in ("processor-seconds", "memory-gb", "accuracy")
        )
        told = one["settings"]
        lines.append(
            [
                one["setting"], f"{told['nodes']:,}", str(told["threads"]), str(told["limit_seconds"]),
                figure(one, 0), figure(used, 0), figure(memory, 1), figure(right, 1),
            ]
        )  # fmt: skip
    head = [
        "data",
        "nodes",
        "threads",
        "target, s",
        "wall, s",
        "processor, s",
        "memory, GB",
        "test accuracy, %",
    ]
    return markdown(head, lines)


def later_models() -> str:
    """Models of later papers with their authors' settings, beside their published figures."""
    lines = [
        [TITLES[one["model"]], one["setting"], str(one["runs"]), figure(one), f"{one['paper']:.2f}"]
        for one in rows("later-models")
    ]
    return markdown(["model", "dataset", "runs", "here", "published"], lines)
