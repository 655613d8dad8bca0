"""The two small tables of the README."""

from __future__ import annotations

from collections.abc import Sequence

from .rows import TITLES, Row, markdown, row, rows

PUBLISHED = ("ehnn-mlp", "ehnn-transformer")
OURS = ("ehnn-mlp+", "ehnn-transformer+")
EHNN = (
    *PUBLISHED,
    *OURS,
    "hyperedge-predictor",
    "hyperedge-predictor-auto",
    "ehnn-mlp-finetuned",
    "ehnn-transformer-finetuned",
    "ehnn-mlp-cosine",
    "ehnn-transformer-cosine",
    "nhgm-v2+",
)


def results() -> str:
    """The best model without EHNN, the published EHNN models and our variants, on one line per task."""
    lines = [
        _line(
            "[k-edge identification](docs/results.md#k-edge-identification), sizes up to 10, trained up to 7",
            "accuracy",
            rows("k-edge-draws", setting="extrapolation", selection="validation", metric="accuracy"),
        ),
        _line(
            "[Node classification](docs/results.md#node-classification), 7 datasets",
            "average rank",
            rows("nodes", metric="rank"),
        ),
        *(
            _line(
                f"[Hyperedge prediction](docs/results.md#hyperedge-prediction), {name}",
                "AUROC",
                _same_splits(rows("hyperedges", setting=name, metric="auroc-hard"), "all-set-transformer"),
                published=("hyperedge-predictor",),
                ours=("hyperedge-predictor-auto",),
            )
            for name in ("house-committees", "cora-coauthorship")
        ),
        _line(
            "[Keypoint matching](docs/results.md#keypoint-matching), Willow",
            "F1",
            _willow(),
        ),
        _line(
            "[Keypoint matching](docs/results.md#keypoint-matching), PASCAL VOC",
            "F1",
            rows("voc", setting="mean"),
        ),
    ]
    return markdown(["task", "measure", "best model without EHNN", "EHNN", "EHNN+ (ours)"], lines)


def _same_splits(found: list[Row], model: str) -> list[Row]:
    """The rows with the splits of this model's row."""
    (seeds,) = (r["seeds"] for r in found if r["model"] == model)
    return [r for r in found if r["seeds"] == seeds]


def _willow() -> list[Row]:
    """Our variants choose the epoch on held-out images, the others follow the paper."""
    found = rows("willow", setting="mean", selection=("last", "validation"))
    return [r for r in found if (r["selection"] == "validation") == (r["model"] in OURS)]


def _line(
    task: str,
    measure: str,
    found: list[Row],
    published: Sequence[str] = PUBLISHED,
    ours: Sequence[str] = OURS,
) -> list[str]:
    others = [r for r in found if r["model"] not in EHNN]
    cells = (_best(group, measure) for group in (others, _of(found, published), _of(found, ours)))
    return [task, measure, *cells]


def _of(found: list[Row], models: Sequence[str]) -> list[Row]:
    return [r for r in found if r["model"] in models]


def _best(found: list[Row], measure: str) -> str:
    if not found:
        return "–"
    best = (min if measure == "average rank" else max)(found, key=lambda r: r["mean"])
    title = "EHNN-MLP" if best["model"] == "hyperedge-predictor" else TITLES[best["model"]]
    return f"{best['mean']:.1f} ({title.replace('**', '').replace(' (ours)', '')})"


def speed() -> str:
    """Ours beside other libraries and the authors' code."""
    graph = {"setting": "walmart-trips, cuda, float32, graph"}
    step = "training step and evaluation, walmart-trips, H200"
    lines = [
        _against_peer("HGNN layer, 10⁶ incidences, one CPU core", "hgnn"),
        _against_peer("two EHNN-MLP layers on the same input, compared with PyG's HGNN layer", "ehnn-mlp"),
        _against_release(f"EHNN-MLP, {step}", "walmart", model="ehnn-mlp", **graph),
        _against_release(f"EHNN-Transformer, {step}", "walmart", model="ehnn-transformer", **graph),
        _against_release(
            "EHNN-MLP, the paper's cost table, one CPU core", "cost", model="ehnn-mlp", setting="cpu-1, eager"
        ),
    ]
    return markdown(["forward and backward", "ehnn", "other", "times as fast"], lines)


def _against_peer(what: str, model: str) -> list[str]:
    ours, theirs = (_only("peers", model=m, metric="total_ms")["mean"] for m in (model, "pyg HypergraphConv"))
    times = _only("peers", model=model, metric="times_faster_than_pyg")["mean"]
    return [what, f"{ours:.0f} ms", f"{theirs:.0f} ms (PyG)", f"{times:.1f}"]


def _against_release(what: str, experiment: str, **where: str) -> list[str]:
    metric = "epoch_ms" if experiment == "walmart" else "total_ms"
    ours = _only(experiment, metric=metric, **where)["mean"]
    times = _only(experiment, metric="times_faster_than_release", **where)["mean"]
    return [what, _ms(ours), f"{_ms(ours * times)} (authors' code)", f"{times:.1f}"]


def _ms(value: float) -> str:
    return f"{value:.0f} ms" if value >= 20 else f"{value:.1f} ms"


def _only(experiment: str, **where: str) -> Row:
    one = row(experiment, **where)
    if one is None:
        raise ValueError(f"results/{experiment}.json has no row with {where}")
    return one
