"""The members for labels of nodes, simple ones first."""

from __future__ import annotations

from typing import Any

from .boosting import boosting_seconds
from .members import Spec
from .nets import Schedule, mlp_seconds
from .node_table import SMALL, NodeTable
from .outputs import Output

LABELS = ("count", "vote", "evidence", "spread")
NETWORKS = (
    ("HGNN", "hgnn", 0.3, (2e-3, 3.5e-6, 0.0, 1e-7)),
    ("EHNN-MLP", "ehnn-mlp", 0.5, (5e-3, 8e-6, 8e-6, 0.0)),
)
"""Names, models, parts of all time, and seconds of a step: in any case, and for each node, hyperedge and
incidence."""


def node_members(
    table: NodeTable, output: Output, labelled: int, plan: dict[str, Any], share: float
) -> list[Spec]:
    """What is tried on the rows of ``table``.

    ``plan`` are arguments of `Plan` for networks, ``share`` the seconds that there are for each fold.
    """
    nnz, width = max(1, table.h.num_incidences), output.width
    specs = [Spec("majority" if output.kind != "numbers" else "mean", "prior", new_rows=True)]
    votes = LABELS if output.kind == "classes" else ("count", "vote", "spread")
    own: tuple[str, ...] = ()
    if table.has_features:
        own = ("x",)
        specs += [Spec("linear: features", "linear", ("x",), new_rows=True)]
    specs += [Spec("linear: degrees", "linear", ("degree",), new_rows=True)]
    if table.h.num_incidences:
        specs += [Spec("vote: members", "shares", ("count",)), Spec("vote: hyperedges", "shares", ("vote",))]
        if output.kind == "classes":
            specs += [Spec("vote: naive Bayes", "evidence", ("evidence",))]
        specs += [
            Spec("vote: propagation", "shares", ("spread",)),
            Spec("linear: votes", "linear", (*votes, "degree")),
        ]
        if own:
            specs += [
                Spec("linear: features, votes", "linear", (*own, *votes, "degree", "spectral")),
                Spec("linear: smoothed features", "linear", ("smooth", "degree"), new_rows=True),
            ]
        else:
            specs += [Spec("linear: spectral", "linear", ("spectral", "degree", *votes))]
        specs += [Spec("linear: hyperedges", "linear", ("members",), seconds=60e-9 * nnz * width)]
    specs += _learners(table, output, labelled, plan, votes if table.h.num_incidences else (), share)
    return specs


def _learners(
    table: NodeTable,
    output: Output,
    labelled: int,
    plan: dict[str, Any],
    votes: tuple[str, ...],
    share: float,
) -> list[Spec]:
    """Trees and networks."""
    smooth, small = (("smooth",), ("small",)) if table.has_features else ((), ())
    company = (*votes, "spectral") if votes else ()
    beside = 50 + 4 * output.width  # columns of degrees, coordinates and votes
    columns = sum(table.block(b).shape[1] for b in smooth) + beside
    epochs = int(min(60, max(20, 3e5 // max(1, labelled))))
    fit = mlp_seconds(labelled, columns, Schedule(epochs))
    net = (("schedule", {"epochs": epochs}),)
    specs = []
    if smooth:
        specs += [Spec("MLP: smoothed features", "mlp", ("smooth", "degree"), net, True, fit)]
    specs += (
        [Spec("MLP: all", "mlp", (*smooth, "degree", *company), net, not company, fit)] if company else []
    )
    trees = boosting_seconds(labelled, len(small) * SMALL + beside, output.width)
    specs += [Spec("boosting", "boosting", (*small, "degree", *votes), (), not votes, trees)]
    if votes:
        read = (*(("wide",) if smooth else ()), "degree", "spectral", *(v for v in votes if v != "spread"))
        most = plan.pop("epochs")
        sizes = (1, table.rows, table.h.num_edges, table.h.num_incidences)
        for name, model, part, costs in NETWORKS:
            step = sum(c * n for c, n in zip(costs, sizes, strict=True)) * max(plan["width"] / 64, 0.1)
            steps = int(min(most, 160, max(60, part * share / step)))
            if steps * step > part * share:  # fewer steps do not train it
                continue
            seconds = steps * step
            inner = {**plan, "model": model, "residual": model.startswith("ehnn")}
            options = (("plan", inner), ("schedule", {"epochs": steps, "lr": 5e-3}))
            specs += [Spec(name, "ehnn", read, options, False, seconds)]
    return specs
