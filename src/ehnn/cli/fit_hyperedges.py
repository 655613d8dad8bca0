"""Which sets belong together: learn from a user's sets, score held-out ones, save."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ehnn.estimators import HyperedgePredictor
from ehnn.hypergraph import Hypergraph
from ehnn.report import data_record, hypergraph_record
from ehnn.tables import TableData
from ehnn.tasks.hyperedges import auroc, average_precision, sample_negatives, split_hyperedges
from ehnn.tasks.hyperedges.scoring import answers_of, concatenate

if TYPE_CHECKING:
    from .train_table import Request

NEGATIVES = ("uniform", "hard")


class HyperedgeRun:
    """A `HyperedgePredictor`. Making one splits the sets; `fit` does the rest.

    It learns from the sets without the test part; what is saved scores new candidates by all sets.
    """

    def __init__(self, request: Request, data: TableData) -> None:
        if request.runs > 1:
            raise ValueError(f"--runs {request.runs} is for labels; --task hyperedges trains once")
        if data.h.roles is not None:
            raise ValueError(
                "--task hyperedges does not read roles or directions: leave out --role-column, or make "
                "lines of names of the file (ehnn data convert)"
            )
        self.request, self.data, self.graph = request, data, data.h
        self.split = split_hyperedges(self.graph, (1 - request.test, 0.0, request.test), request.seed)

    def fit(self, folder: Path) -> dict[str, Any]:
        """Train, score, save; returns the record."""
        request, held_out = self.request, self.split.test
        estimator = HyperedgePredictor(**request.estimator)
        vars(estimator).update(checkpoints=folder)  # where `fit` keeps its state
        estimator.fit(self.split.known)
        test = _scores(estimator, self.graph, held_out, request.seed) if held_out.num_edges else None
        estimator.hypergraph_ = self.graph.replace(edge_names=None)
        estimator.reader_ = self.data.reader
        estimator.save(folder)
        lines = {"test": f"{held_out.num_edges} sets held out"}
        if test is not None:
            lines |= {
                f"AUROC against {kind} sets": f"{100 * test[f'auroc_{kind}']:.2f} %" for kind in NEGATIVES
            }
        return {
            "metric": "AUROC, %", "data": data_record(self.graph), "history": estimator.history_,
            "leaderboard": None if estimator.members_ is None else estimator.leaderboard_,
            "best_epoch": estimator.best_epoch_, "test": test, "hypergraph": hypergraph_record(self.graph),
            "summary": lines,
        }  # fmt: skip


def _scores(
    estimator: HyperedgePredictor, graph: Hypergraph, test: Hypergraph, seed: int
) -> dict[str, float]:
    """AUROC and average precision, shares, against sets drawn evenly and against test sets half exchanged."""
    found: dict[str, float] = {}
    for kind in NEGATIVES:
        wrong = sample_negatives(estimator.hypergraph_, test, kind, seed=seed, avoid=graph)
        scores = estimator.decision_function(concatenate(test, wrong))
        answers = answers_of(test, wrong).long()
        found[f"auroc_{kind}"] = auroc(scores, answers)
        found[f"average_precision_{kind}"] = average_precision(scores, answers)
    return found
