"""Rows of results, and Markdown tables of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from ehnn_paper.results import shown

ROOT = Path(__file__).parents[2]
Row = dict[str, Any]
TITLES = {
    "predict-the-mark": "predict the mark (no training)",
    "lr-sizes": "LR on sizes",
    "mlp": "MLP",
    "cegcn": "CEGCN",
    "cegat": "CEGAT",
    "hnhn": "HNHN",
    "hgnn": "HGNN",
    "hcha": "HCHA",
    "hyper-gcn": "HyperGCN",
    "uni-gcn-ii": "UniGCNII",
    "ed-hnn": "ED-HNN",
    "tf-hnn": "TF-HNN",
    "phenom-nn": "PhenomNN (simple)",
    "sheaf-hyper-gnn": "SheafHyperGNN (diagonal)",
    "heal-hgnn": "HealHGNN",
    "han": "HAN, full batch",
    "han-minibatch": "HAN, minibatches",
    "coordinates": "centred coordinates + Hungarian",
    "vgg16": "VGG16 features + Hungarian",
    "gmn": "GMN",
    "pca-gm": "PCA-GM",
    "ipca-gm": "IPCA-GM",
    "cie-h": "CIE-H",
    "ngm": "NGM",
    "nhgm": "NHGM",
    "nmgm": "NMGM",
    "bbgm": "BBGM",
    "gann-mgm": "GANN-MGM",
    "nhgm-v2": "NHGM-v2",
    "ngm-v2": "NGM-v2",
    "nhgm-v2+": "NHGM-v2 with our inputs",
    "size": "size",
    "mean-degree": "mean degree",
    "common-neighbours": "common neighbours",
    "co-membership": "shared hyperedges",
    "affinity": "affinity of 16 patterns, no training",
    "all-deep-sets": "AllDeepSets",
    "all-set-transformer": "AllSetTransformer",
    "ehnn-mlp-no-global-no-order": "EHNN-MLP without global and order",
    "ehnn-mlp-no-global": "EHNN-MLP without global",
    "ehnn-mlp-no-order": "EHNN-MLP without order",
    "ehnn-lookup": "EHNNLinear, lookup",
    "ehnn-hypernetwork": "EHNNLinear, hypernetwork",
    "ehnn-mlp": "EHNN-MLP",
    "ehnn-transformer": "EHNN-Transformer",
    "ehnn-mlp-cosine": "EHNN-MLP, cosine schedule",
    "ehnn-transformer-cosine": "EHNN-Transformer, cosine schedule",
    "mlp+": "MLP+ (our recipe)",
    "hgnn+": "HGNN+ (our recipe)",
    "all-set-transformer+": "AllSetTransformer+ (our recipe)",
    "ehnn-mlp+": "**EHNN-MLP+** (ours)",
    "ehnn-transformer+": "**EHNN-Transformer+** (ours)",
    "hyperedge-predictor": '`ehnn.HyperedgePredictor(model="ehnn-mlp")`',
    "hyperedge-predictor-auto": "`ehnn.HyperedgePredictor()`",
    "hypergraph-classifier": "`ehnn.HypergraphClassifier()`",
    "node-classifier": "`ehnn.NodeClassifier()`",
}
"""Models in the order of the tables."""


@cache
def _read(experiment: str) -> list[Row]:
    """All rows; none where an experiment has not been run."""
    if not (ROOT / "results" / f"{experiment}.json").exists():
        return []
    found: list[Row] = json.loads((ROOT / "results" / f"{experiment}.json").read_text(encoding="utf-8"))
    return found


def rows(experiment: str, **wanted: Any) -> list[Row]:
    """The rows of ``results/<experiment>.json`` with the given values; a tuple allows several."""
    allowed = {k: v if isinstance(v, tuple) else (v,) for k, v in wanted.items()}
    return [row for row in _read(experiment) if all(row[k] in v for k, v in allowed.items())]


def row(experiment: str, **wanted: Any) -> Row | None:
    """The only row with the given values, or None."""
    found = rows(experiment, **wanted)
    if len(found) > 1:
        raise ValueError(f"results/{experiment}.json has {len(found)} rows with {wanted}, expected one")
    return found[0] if found else None


def models(found: Iterable[Row], leave_out: Sequence[str] = ()) -> list[str]:
    """The models of the rows, in the order of `TITLES`."""
    there = {one["model"] for one in found} - set(leave_out)
    unknown = there - TITLES.keys()
    if unknown:
        raise ValueError(f"models without a title in tools/tables/rows.py: {sorted(unknown)}")
    return [model for model in TITLES if model in there]


def markdown(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    whole = [header, ["---"] * len(header), *lines]
    return "".join(f"| {' | '.join(line)} |\n" for line in whole)


def figure(one: Row | None, digits: int = 2, deviation: bool = True, missing: str = "") -> str:
    """``mean ± std``, or the mean alone."""
    if one is None:
        return missing
    return shown(one if deviation else {**one, "std": None}, digits)
