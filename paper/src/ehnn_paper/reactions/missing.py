"""Which reactions are missing? Candidates beside the known reactions, with and without direction."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor, nn

from ehnn.tasks.hyperedges.evidence import evidence
from ehnn.training import TrainConfig, fit

from .columns import Columns, metabolite_columns, side_columns
from .data import Reactions, read_network
from .direction import Standard
from .net import Candidates, ReactionScorer
from .swapped import Rows, rows_of

UNDIRECTED = ("degree", "exchanged", "atoms", "compartment", "element")
"""Columns of metabolites that do not tell who is consumed."""


@dataclass(frozen=True, eq=False)
class Network:
    """All reactions that may be asked for, and which of them the model has.

    Attributes:
        rows: n reactions.
        real: ``[n]`` whether each is in the model.
        elements, compartment: of the N metabolites.
    """

    rows: Rows
    real: np.ndarray
    elements: np.ndarray
    compartment: np.ndarray

    def reactions(self, rows: Rows) -> Reactions:
        """These reactions as the known ones."""
        every = np.ones(len(rows), bool)
        return Reactions(*rows.sides, every, np.arange(len(rows)), self.elements, self.compartment)


def load_network(name: str, data_dir: Path | str | None = None) -> Network:
    """A network with its pool, or with its own reactions alone where it has none.

    Of several reactions with the same metabolites one is kept, one of the model if there is any: the others
    differ in coefficients or direction only and are neither right nor wrong.
    """
    given = read_network(name, data_dir)
    pool = "num_cand" in given
    names = ("cand_node", "cand_edge", "cand_side", "cand_coef") if pool else ("node", "edge", "side", "coef")
    count = int(given["num_cand" if pool else "num_edges"])
    real = given["cand_in_model"].astype(bool) if pool else np.ones(count, bool)
    node, edge, side, coef = (given[name] for name in names)
    rows = rows_of(node, edge, side, coef, (count, int(given["num_nodes"])))
    first = np.argsort(~real, kind="stable")
    chosen = np.sort(first[np.unique(rows.key[first], return_index=True)[1]])
    compartment = given.get("compartment", np.zeros(int(given["num_nodes"]), np.int64))
    return Network(rows[chosen], real[chosen], given["x"].astype(np.float64), compartment)


@dataclass(frozen=True, eq=False)
class Ask:
    """Candidates beside known reactions; ``answers [n]`` are 1 for a reaction of the model."""

    network: Network
    known: Rows
    candidates: Rows
    answers: np.ndarray

    @classmethod
    def of(cls, network: Network, known: Rows, real: Rows, others: Rows) -> Ask:
        answers = np.repeat([1.0, 0.0], [len(real), len(others)])
        return cls(network, known, real + others, answers)

    def metabolites(self, directed: bool) -> np.ndarray:
        """``[N, d]``."""
        return np.stack(list(self._metabolites(directed).values()), 1)

    def _metabolites(self, directed: bool) -> Columns:
        reactions = self.network.reactions(self.known)
        found = metabolite_columns(reactions, np.ones(len(self.known), bool))
        return {name: c for name, c in found.items() if directed or name.startswith(UNDIRECTED)}

    def columns(self, directed: bool) -> dict[str, np.ndarray]:
        """``[n]`` each: members, overlaps with known reactions; directed: both sides and the mass balance."""
        tails, heads = self.candidates.sides
        either = csr_array(((tails + heads) > 0).astype(float))
        found = side_columns(either, self._metabolites(False))
        near = evidence(self.known.hypergraph(False), self.candidates.hypergraph(False))
        found |= {f"near {i}": column for i, column in enumerate(near.numpy().T)}
        if directed:
            columns = self._metabolites(True)
            for name, side in (("tail", tails), ("head", heads)):
                found |= {f"{name} {k}": column for k, column in side_columns(side, columns).items()}
            found |= balance(self.candidates, self.network.elements)
        return found


def balance(rows: Rows, elements: np.ndarray) -> Columns:
    """``[n]`` each: how far atoms consumed and produced differ, and in how many elements."""
    difference = np.abs((rows.heads - rows.tails) @ elements)
    return {
        "balance atoms": np.log1p(difference.sum(1)),
        "balance elements": (difference > 1e-3).sum(1).astype(float),
        "balance holds": (difference.max(1, initial=0) <= 1e-3).astype(float),
    }


class Prepare:
    """Makes the `Candidates` of an `Ask`, with columns as the training parts have them."""

    def __init__(self, parts: list[Ask], directed: bool) -> None:
        self.directed = directed
        self.metabolites = Standard(part.metabolites(directed) for part in parts)
        self.columns = Standard(np.stack(list(part.columns(directed).values()), 1) for part in parts)

    def __call__(self, ask: Ask) -> Candidates:
        known = ask.known.hypergraph(self.directed)
        known = known.replace(x=self.metabolites(ask.metabolites(self.directed)))
        columns = np.stack(list(ask.columns(self.directed).values()), 1)
        answers = torch.from_numpy(ask.answers).float()
        return Candidates(known, ask.candidates.hypergraph(self.directed), self.columns(columns), answers)


@dataclass(frozen=True)
class MissingTask:
    """Training of a `ReactionScorer`; real reactions and others weigh the same."""

    parts: list[Candidates]

    def batches(self, epoch: int) -> Iterable[Candidates]:
        order = torch.Generator().manual_seed(epoch)
        return [self.parts[i] for i in torch.randperm(len(self.parts), generator=order).tolist()]

    def loss(self, scores: Tensor, asked: Candidates) -> Tensor:
        assert asked.answers is not None
        share = asked.answers.mean()
        weight = asked.answers / share + (1 - asked.answers) / (1 - share)
        signed = scores.squeeze(-1) * (2 * asked.answers - 1)
        return (nn.functional.softplus(-signed) * weight).mean(1) / 2

    def evaluate(self, predict: Callable[[Any], Tensor]) -> dict[str, Tensor]:
        return {}


def fit_ehnn(
    parts: list[Ask], setting: dict[str, Any], seeds: Iterable[int], *, directed: bool
) -> Callable[[Ask], np.ndarray]:
    """Train one network per seed; returns the mean of their scores. ``setting``: ``dropout``, ``epochs``."""
    prepare = Prepare(parts, directed)
    ready = [prepare(part) for part in parts]
    assert ready[0].table is not None
    d_in, width = ready[0].known.features("nodes").shape[1], ready[0].table.shape[1]
    config = TrainConfig(
        epochs=setting["epochs"], lr=3e-3, weight_decay=1e-2, optimizer="adamw", schedule="cosine",
        evaluate_every=setting["epochs"],
    )  # fmt: skip

    def make() -> nn.Module:
        return ReactionScorer(d_in, width, dropout=setting["dropout"])

    models = [
        fit(make, MissingTask(ready), [seed], config, quiet=True).runs.extract(0).eval() for seed in seeds
    ]

    @torch.no_grad()
    def scores(ask: Ask) -> np.ndarray:
        found = prepare(ask)
        return torch.stack([model(found) for model in models]).mean(0).squeeze(1).numpy()

    return scores
