"""The members for labels of nodes, simple ones first."""

from __future__ import annotations

from typing import Any

from .members import Spec
from .node_table import NodeTable
from .outputs import Output

LABELS = ("count", "vote", "evidence", "spread")
_FLOPS = 4e9
"""Multiplications in a second that estimates of time reckon with."""


NETWORKS = (
    ("HGNN", "hgnn", (2e-3, 3.5e-6, 0.0, 1e-7)),
    ("EHNN-MLP", "ehnn-mlp", (5e-3, 8e-6, 8e-6, 0.0)),
)
"""Names, models, and seconds of a step: in any case, and for each node, hyperedge and incidence."""


def node_members(
    table: NodeTable, output: Output, labelled: int, plan: dict[str, Any], share: float
) -> list[Spec]:
    """What is tried on the rows of ``table``.

    ``plan`` are arguments of `Plan` for networks, ``share`` the seconds that one fit of them may take.
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
    columns = sum(table.block(b).shape[1] for b in smooth) + 50 + 4 * output.width
    epochs = int(min(60, max(20, 3e5 // max(1, labelled))))
    fit = 6 * labelled * epochs * (columns * 128 + 128 * 128)
    net = (("schedule", {"epochs": epochs}),)
    specs = []
    if smooth:
        specs += [Spec("MLP: smoothed features", "mlp", ("smooth", "degree"), net, True, fit / _FLOPS)]
    specs += (
        [Spec("MLP: all", "mlp", (*smooth, "degree", *company), net, not company, fit / _FLOPS)]
        if company
        else []
    )
    trees = labelled * (len(small) * 64 + 50 + 4 * output.width) * output.width * 100 / 1e8
    specs += [Spec("boosting", "boosting", (*small, "degree", *votes), (), not votes, 0.3 + trees)]
    if votes:
        read = (*(("wide",) if smooth else ()), "degree", "spectral", *(v for v in votes if v != "spread"))
        most = plan.pop("epochs")
        sizes = (1, table.rows, table.h.num_edges, table.h.num_incidences)
        for name, model, costs in NETWORKS:
            step = sum(c * n for c, n in zip(costs, sizes, strict=True)) * max(plan["width"] / 64, 0.1)
            steps = int(min(most, 160, max(60, share / step)))
            if steps * step > share:  # fewer steps do not train it
                continue
            seconds = steps * step
            inner = {**plan, "model": model, "residual": model.startswith("ehnn")}
            options = (("plan", inner), ("schedule", {"epochs": steps, "lr": 5e-3}))
            specs += [Spec(name, "ehnn", read, options, False, seconds)]
    return specs
