"""The members for labels of nodes, simple ones first."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .boosting import boosting_seconds
from .linear import linear_seconds
from .members import Spec
from .nets import Schedule, mlp_seconds
from .node_table import RANK, NodeTable
from .outputs import Output

LABELS = ("count", "vote", "evidence", "spread")
NETWORKS = (
    ("EHNN-MLP", "ehnn-mlp", True, 0.35, (5e-3, 1e-5, 6e-6, 0.0)),
    ("HGNN", "hgnn", True, 0.2, (2e-3, 3.5e-6, 0.0, 1e-7)),
    ("AllSetTransformer: no votes", "all-set-transformer", False, 0.2, (6e-3, 1e-5, 1e-5, 1e-6)),
)
"""Names, models, whether they read votes of known labels, parts of all time, and seconds of a step at width
64: in any case, and for each node, hyperedge and incidence. With few labels, votes mislead a network that
trusts them."""
_COLUMN = 4e-9
"""Seconds of a step at width 64 for each number of wide features."""
_ALWAYS, _SHORT = 0.5, 1.0
"""Linear members are tried within any budget if a fit takes at most this share of a fold's seconds, or this
many seconds. With hundreds of classes one can take longer than all others."""
_STEPS, _MOST = 60, 160
"""Steps that a network needs, and that it is given at most."""


def node_members(
    table: NodeTable, output: Output, labelled: int, plan: dict[str, Any], share: float, gated: bool = False
) -> list[Spec]:
    """What is tried on the rows of ``table``.

    ``plan`` are arguments of `NetworkSpec` for networks, ``share`` the seconds of one core for each fold.
    ``gated``: linear models of features are also tried on those columns alone that a test keeps; see `gate`.
    """
    specs = [Spec("majority" if output.kind != "numbers" else "mean", "prior", new_rows=True, always=True)]
    votes: tuple[str, ...] = LABELS if output.kind == "classes" else ("count", "vote", "spread")
    count = _Columns(table, output.width)

    def linear(name: str, *blocks: str, new: bool = False) -> Spec:
        every = table.by_role.shape[1] if "members" in blocks else 0
        seconds = linear_seconds(labelled, count(blocks), output.width, every)
        always = not every and seconds <= max(_ALWAYS * share, _SHORT)
        return Spec(f"linear: {name}", "linear", blocks, (), new, seconds, always)

    def vote(name: str, block: str, kind: str = "shares") -> Spec:
        seconds = (15e-8 if block == "spread" else 3e-8) * table.h.num_incidences * output.width
        return Spec(f"vote: {name}", kind, (block,), seconds=seconds, always=True)

    if table.has_features:
        specs += [linear("features", "x", new=True)]
    specs += [linear("degrees", "degree", new=True)]
    if table.h.num_incidences:
        specs += [vote("members", "count"), vote("hyperedges", "vote")]
        specs += [vote("naive Bayes", "evidence", "evidence")] if output.kind == "classes" else []
        specs += [vote("propagation", "spread"), linear("votes", *votes, "degree")]
        if table.has_features:
            specs += [
                linear("features, votes", "x", *votes, "degree", "spectral"),
                linear("smoothed features", "smooth", "degree", new=True),
            ]
        else:
            specs += [linear("spectral", "spectral", "degree", *votes)]
        members = [linear("hyperedges", "members")]
    else:
        members, votes = [], ()
    specs += [_gated(spec) for spec in specs if gated and {"x", "smooth"} & set(spec.blocks)]
    mlp, *others = _learners(table, output, labelled, votes)
    networks = _networks(table, votes, plan, share)
    alone = []
    if votes and table.has_features:
        alone = [_boosting("boosting: features", ("small", "degree"), table, output, labelled)]
    return [*specs, mlp, *networks[:1], *members, *others, *networks[1:], *alone]


def _gated(spec: Spec) -> Spec:
    """A linear member that reads those columns alone that a test keeps."""
    return replace(spec.with_options(gated=True), name=f"{spec.name}, tested")


class _Columns:
    """How many columns of blocks are not zero in the mean row."""

    def __init__(self, table: NodeTable, width: int) -> None:
        self.table, self.width = table, width

    def __call__(self, blocks: tuple[str, ...]) -> float:
        return sum(self._of(block) for block in blocks)

    def _of(self, block: str) -> float:
        if block in LABELS:
            return self.width + (block != "evidence")
        if block in ("degree", "spectral"):
            return 10 if block == "degree" else RANK
        found = self.table.incidence if block == "members" else self.table.block(block)
        return found.nnz / max(1, self.table.rows) if hasattr(found, "tocsr") else found.shape[1]


def _learners(table: NodeTable, output: Output, labelled: int, votes: tuple[str, ...]) -> list[Spec]:
    """A multilayer perceptron on all columns, trees, and a perceptron on columns that need no co-members."""
    smooth, small = (("smooth",), ("small",)) if table.has_features else ((), ())
    count = _Columns(table, output.width)
    epochs = int(min(60, max(20, 3e5 // max(1, labelled))))
    drop = (("dropout", 0.7),) if smooth and table.reads_smoothed else ()
    net = (("schedule", {"epochs": epochs}), *drop)

    def mlp(name: str, blocks: tuple[str, ...], new: bool) -> Spec:
        seconds = mlp_seconds(labelled, count(blocks), Schedule(epochs))
        return Spec(f"MLP: {name}", "mlp", blocks, net, new, seconds)

    boosting = _boosting("boosting", (*small, "degree", *votes), table, output, labelled)
    specs = [mlp("all", (*smooth, "degree", *votes, "spectral"), False), boosting] if votes else [boosting]
    return [*specs, mlp("smoothed features", ("smooth", "degree"), True)] if smooth else specs


def _boosting(name: str, blocks: tuple[str, ...], table: NodeTable, output: Output, labelled: int) -> Spec:
    """Boosted trees; those that read no votes are also for rows whose co-members are unknown."""
    seconds = boosting_seconds(labelled, _Columns(table, output.width)(blocks), output)
    return Spec(name, "boosting", blocks, (), not {*blocks} & {*LABELS}, seconds)


def _networks(table: NodeTable, votes: tuple[str, ...], plan: dict[str, Any], share: float) -> list[Spec]:
    """Networks on the hypergraph: half as wide where they would not be trained in time otherwise."""
    most = min(plan.pop("epochs"), _MOST)
    if not votes:
        return []
    wide = ("wide",) if table.has_features else ()
    alone = (*wide, "degree", "spectral")
    read = (*alone, *(v for v in votes if v != "spread"))
    sizes = (1, table.rows, table.h.num_edges, table.h.num_incidences)
    numbers = table.block("wide").size if wide and table.reads_smoothed else 0
    specs = []
    for name, model, trusts, part, costs in NETWORKS:
        step = sum(c * n for c, n in zip(costs, sizes, strict=True)) + _COLUMN * numbers
        width = plan["width"]
        if min(_STEPS, most) * step * width / 64 > part * share:
            width = max(width // 2, min(width, 8))
        step *= max(width / 64, 0.1)
        steps = int(min(most, max(_STEPS, part * share / step)))
        own = model.startswith("ehnn")  # what the user says of layers is of ours
        layers = {"options": plan.get("options") if own else None}
        inner = {**plan, **layers, "model": model, "width": width, "residual": own}
        options = (("plan", inner), ("schedule", {"epochs": steps, "lr": 5e-3}))
        specs += [Spec(name, "ehnn", read if trusts else alone, options, False, steps * step)]
    return specs
