"""Simple answers to "is this set a hyperedge?", compared with a network on held-out hyperedges."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ehnn.hypergraph import Hypergraph
from ehnn.tasks.hyperedges import auroc
from ehnn.tasks.hyperedges.evidence import EVIDENCE, evidence
from ehnn.tasks.hyperedges.scoring import Scored

Array = np.ndarray
ALL = "linear: heuristics"
_COLUMNS = (0, 1, 2, 3, 4, 7, 8, 9)
"""Heuristics that are tried one by one."""
_FORMER = 7
"""Columns of `evidence` before those of affinity."""


@dataclass
class SetMembers:
    """Logistic regressions on `evidence`, and how much each counts beside the network.

    Attributes:
        linear: name → ``[columns + 1]`` coefficients and constant; those of other columns are 0.
        weights: name → weight in the mean of log-odds; the network is one of the names.
        leaderboard: a row for each member, with its AUROC on held-out hyperedges; the last is the mean.
    """

    linear: dict[str, Array] = field(default_factory=dict)
    weights: dict[str, float] = field(default_factory=dict)
    leaderboard: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def fit(
        cls, train: Sequence[Scored], valid: Scored, network: str, scores: Tensor, seconds: float
    ) -> SetMembers:
        """Learn on the parts ``train`` and choose on ``valid``.

        There the network, which was trained in so many ``seconds``, gives ``scores``.

        Chosen is the member with the largest AUROC, or the mean of the network and of all heuristics where
        that is larger. Of equals the first, and simple ones come first.
        """
        found = cls()
        answers = [part.answers.numpy() for part in train if part.answers is not None]
        x = np.concatenate([evidence(part, part.candidates).numpy() for part in train])
        y = np.concatenate(answers)
        assert valid.answers is not None
        asked, goal = evidence(valid, valid.candidates), valid.answers
        judged: dict[str, Array] = {}
        read = {f"vote: {EVIDENCE[i]}": [i] for i in _COLUMNS}
        read[ALL] = list(range(len(EVIDENCE)))
        for name, columns in read.items():
            start = time.perf_counter()
            found.linear[name] = _logistic(x, y, columns)
            judged[name] = found.linear_scores(name, asked)
            found._add(name, judged[name], goal, time.perf_counter() - start)
        judged[network] = scores.double().numpy()
        found._add(network, judged[network], goal, seconds)
        choices = [{name: 1.0} for name in judged] + [{network: 0.5, ALL: 0.5}]
        figures = [auroc(_mean(judged, choice), goal) for choice in choices]
        found.weights = choices[int(np.argmax(figures))]
        found.linear = {name: v for name, v in found.linear.items() if name in found.weights}
        for row in found.leaderboard:
            row["weight"] = found.weights.get(row["member"], 0.0)
        found._add(
            "average", _mean(judged, found.weights), goal, sum(r["seconds"] for r in found.leaderboard)
        )
        found.leaderboard[-1]["weight"] = 1.0
        return found

    def _add(self, name: str, scores: Array, answers: Tensor, seconds: float) -> None:
        losses = np.logaddexp(0.0, np.where(answers.numpy() > 0, -scores, scores))
        row = {"member": name, "auroc": auroc(scores, answers), "log_loss": float(losses.mean())}
        self.leaderboard.append(row | {"seconds": round(seconds, 3)})

    def linear_scores(self, name: str, x: Tensor) -> Array:
        """``[rows]`` log-odds of one linear member from `evidence`."""
        return x.numpy() @ self.linear[name][:-1] + self.linear[name][-1]

    def reads(self, network: str) -> bool:
        """Whether the network counts."""
        return network in self.weights

    def scores(self, h: Hypergraph, candidates: Hypergraph, network: Tensor | None) -> Tensor:
        """``[num_candidates]`` log-odds; ``network`` has those of the network, None where it is not read."""
        total = torch.zeros(candidates.num_edges, dtype=torch.float64)
        x = evidence(h, candidates) if self.linear else None
        for name, weight in self.weights.items():
            if name in self.linear:
                assert x is not None
                total += weight * torch.from_numpy(self.linear_scores(name, x))
            else:
                assert network is not None
                total += weight * network
        return total

    def about(self) -> dict[str, Any]:
        """What goes to JSON."""
        linear = {name: value.tolist() for name, value in self.linear.items()}
        return {"linear": linear, "weights": self.weights, "leaderboard": self.leaderboard}

    @classmethod
    def restore(cls, about: Mapping[str, Any]) -> SetMembers:
        """Inverse of `about`."""
        linear = {str(name): _padded(np.array(value, np.float64)) for name, value in about["linear"].items()}
        if any(value.shape != (len(EVIDENCE) + 1,) for value in linear.values()):
            raise ValueError(f"linear members must have {len(EVIDENCE) + 1} coefficients")
        weights = {str(name): float(value) for name, value in about["weights"].items()}
        return cls(linear, weights, list(about["leaderboard"]))


def _padded(coefficients: Array) -> Array:
    """Files from before the columns of affinity have none for these: 0."""
    if coefficients.shape != (_FORMER + 1,):
        return coefficients
    return np.insert(coefficients, [_FORMER] * (len(EVIDENCE) - _FORMER), 0.0)


def _mean(scores: Mapping[str, Array], weights: Mapping[str, float]) -> Array:
    return np.sum([weight * scores[name] for name, weight in weights.items()], axis=0)


def _logistic(x: Array, y: Array, columns: list[int]) -> Array:
    """Coefficients and the constant of a logistic regression in which both answers weigh the same."""
    from sklearn.linear_model import LogisticRegression

    scale = np.maximum(x.std(0), 1e-9)
    model = LogisticRegression(C=10.0, class_weight="balanced", max_iter=200)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # not converged: the held-out hyperedges judge it
        model.fit((x / scale)[:, columns], y)
    found = np.zeros(x.shape[1] + 1)
    found[columns] = model.coef_[0] / scale[columns]
    found[-1] = model.intercept_[0]
    return found
