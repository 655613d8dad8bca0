"""Average ranks, and the difference that counts (Demšar, 2006)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Ranks:
    """Average ranks of models over datasets.

    Attributes:
        average: model → mean rank, 1 is best; equal figures share the mean of their ranks.
        datasets: number of them.
        p: of Friedman's test that all models are equal; NaN with fewer than three models or two datasets.
        difference: Nemenyi's critical difference at 5 %: two models whose average ranks are closer are not
            told apart.
    """

    average: dict[str, float]
    datasets: int
    p: float
    difference: float


def ranks_of(table: Mapping[str, Mapping[str, float]]) -> Ranks:
    """Ranks from ``{model: {dataset: accuracy}}``, over the datasets on which every model has a figure.

    >>> found = ranks_of({"a": {"x": 3.0, "y": 2.0}, "b": {"x": 1.0, "y": 2.0}, "c": {"x": 2.0, "y": 1.0}})
    >>> found.average
    {'a': 1.25, 'b': 2.25, 'c': 2.5}
    >>> round(found.difference, 2)
    2.34
    """
    from scipy.stats import friedmanchisquare, rankdata, studentized_range

    if not table:
        raise ValueError("table must have at least one model, got none")
    shared = sorted(set.intersection(*(set(row) for row in table.values())))
    if not shared:
        raise ValueError("there is no dataset on which every model has a figure")
    figures = np.array([[row[d] for d in shared] for row in table.values()])
    ranks = rankdata(-figures, axis=0)
    models, datasets = figures.shape
    p = float(friedmanchisquare(*figures).pvalue) if models > 2 and datasets > 1 else math.nan
    q = studentized_range.ppf(0.95, models, np.inf) / math.sqrt(2) if models > 1 else math.nan
    difference = float(q) * math.sqrt(models * (models + 1) / (6 * datasets))
    return Ranks(dict(zip(table, ranks.mean(1).tolist(), strict=True)), datasets, p, difference)
