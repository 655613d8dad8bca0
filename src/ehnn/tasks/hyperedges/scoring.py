"""Hyperedge prediction as a task: candidates that travel with the hypergraph they are scored on."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import reduce
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ehnn._utils.cached import plain_tensors
from ehnn.hypergraph import Hypergraph
from ehnn.overlap import Overlap, overlap

from ..draws import generator_of
from .metrics import auroc
from .negatives import sample_negatives
from .sets import structure
from .split import check_no_leak, one_of_each, set_numbers, without_sets

MOST_NEGATIVES, FILLED = 5, 512
"""The most negatives of a positive, and about how many of them a part has before it gets more."""


@dataclass(frozen=True, eq=False, repr=False)
class Scored(Hypergraph):
    """A hypergraph with candidates to score: a model returns a row for each of them.

    Attributes:
        candidates: sets over the same nodes.
        answers: ``[num_candidates]`` 1 for a hyperedge, 0 for none; None where it is not known.
    """

    candidates: Hypergraph = None  # type: ignore[assignment]
    answers: Tensor | None = None

    @classmethod
    def of(cls, h: Hypergraph, candidates: Hypergraph, answers: Tensor | None = None) -> Scored:
        values = {f.name: getattr(h, f.name) for f in fields(Hypergraph)}
        values["_overlaps"] = dict(h._overlaps)  # relations to these candidates are kept here alone
        answers = None if answers is None else answers.to(h.device)
        return cls(**values, candidates=structure(candidates).to(h.device), answers=answers)

    def replace(self, **changes: Any) -> Scored:
        """As of every hypergraph; relations to other candidates are not kept."""
        found = super().replace(**changes)
        if "candidates" in changes:
            kept = {ends: value for ends, value in self._overlaps.items() if ends[1] != "candidates"}
            found = dataclasses.replace(found, _overlaps=kept)
        return found  # type: ignore[return-value]

    def permute_nodes(self, perm: Any) -> Scored:
        """The candidates are renumbered too."""
        found = super().permute_nodes(perm)
        return found.replace(candidates=self.candidates.permute_nodes(perm))  # type: ignore[return-value]

    def subhypergraph(self, nodes: Any, *, whole_edges: bool = False) -> Hypergraph:
        raise ValueError("a part of a Scored hypergraph has no candidates; take it before Scored.of")

    def to_candidates(self, source: str) -> Overlap:
        """The relation of a family to the candidates, computed once."""
        if (source, "candidates") not in self._overlaps:
            with plain_tensors():
                self._overlaps[source, "candidates"] = overlap(self, source, self.candidates)
        return self._overlaps[source, "candidates"]


class HyperedgePrediction:
    """The `Task`: tell real hyperedges from sampled ones, on a hypergraph that does not contain them.

    A hyperedge that took part in message passing would be known by its own overlap, 𝓘 = its order. So the
    training hyperedges are taken in folds: those of a fold, with all their duplicates, are removed from the
    hypergraph (and from its structural features, which ``prepare`` computes again) and scored against
    negatives of the same sizes. Validation scores held-out hyperedges on all of ``known``. Every step is
    checked for leaks.

    If there are few hyperedges, each gets several negatives, up to `MOST_NEGATIVES`: otherwise the negatives
    would be memorised, and an AUROC over few pairs would select by chance. In the loss, positives and
    negatives have the same total weight.

    Args:
        known: the hyperedges to learn from.
        valid: held-out hyperedges for selection (AUROC); empty: the last epoch is selected.
        negatives: see `sample_negatives`.
        prepare: gives a hypergraph the features that the model reads.
        folds: at least so many parts of the training hyperedges.
        rounds: how often they are shuffled and divided, each time with other negatives.
        batch_size: the most positives in a part.
        max_batches: the most parts; hyperedges beyond them only take part in message passing.
        seed: of folds and negatives.

    Attributes:
        train: the parts, each with its candidates on the other hyperedges.
        valid: the same of the held-out hyperedges, on all of ``known``; None without any.

    >>> from ehnn.tasks.hyperedges import split_hyperedges
    >>> split = split_hyperedges(Hypergraph.from_edges([[i, i + 1] for i in range(20)]))
    >>> task = HyperedgePrediction(split.known, split.valid)
    >>> len(task.train), task.valid.candidates.num_edges
    (12, 12)
    """

    def __init__(
        self,
        known: Hypergraph,
        valid: Hypergraph,
        *,
        negatives: str = "mixed",
        prepare: Callable[[Hypergraph], Hypergraph] = lambda h: h,
        seed: int = 0,
        folds: int = 5,
        rounds: int = 3,
        batch_size: int = 512,
        max_batches: int = 15,
    ) -> None:
        number, sets = set_numbers(known)
        if len(sets) < 2:
            raise ValueError(
                "at least 2 distinct hyperedges of 2 or more nodes, but not of all nodes, are needed to "
                f"learn from, got {len(sets)}"
            )
        self.seed, self.negatives = seed, negatives
        generator = torch.Generator().manual_seed(seed % 2**63)
        size = max(1, min(batch_size, -(-len(sets) // folds)))
        dealt = [sets[torch.randperm(len(sets), generator=generator)].split(size) for _ in range(rounds)]
        parts = [part for deal in dealt for part in deal][:max_batches]
        self.train = [
            self._scored(prepare, without_sets(known, number, part), one_of_each(known, number, part), i)
            for i, part in enumerate(parts)
        ]
        self.valid = self._scored(prepare, known, valid, -1) if valid.num_edges else None

    def _scored(
        self, prepare: Callable[[Hypergraph], Hypergraph], rest: Hypergraph, positives: Hypergraph, part: int
    ) -> Scored:
        """``positives`` and as many sets, or more, that are neither among them nor in ``rest``."""
        check_no_leak(rest, positives)
        seed = self.seed * 1_000_003 + part + 7
        times = max(1, min(MOST_NEGATIVES, FILLED // max(positives.num_edges, 1)))
        copies = reduce(concatenate, [positives] * times)
        wrong = sample_negatives(rest, copies, self.negatives, seed=seed)
        return Scored.of(prepare(rest), concatenate(positives, wrong), answers_of(positives, wrong))

    def batches(self, epoch: int) -> Iterator[Scored]:
        generator = generator_of(self.seed, epoch)
        for i in torch.randperm(len(self.train), generator=generator).tolist():
            yield self.train[i]

    def loss(self, logits: Tensor, h: Hypergraph) -> Tensor:
        """``[runs, candidates, 1] → [runs]``: binary cross entropy, positives and negatives half each."""
        assert isinstance(h, Scored)
        assert h.answers is not None
        target = h.answers.to(logits.dtype)
        weight = target / target.mean() + (1 - target) / (1 - target).mean()
        found = F.binary_cross_entropy_with_logits(
            logits.squeeze(-1), target.expand(logits.shape[:2]), reduction="none"
        )
        return (found * weight).mean(1) / 2

    def evaluate(self, predict: Callable[[Hypergraph], Tensor]) -> dict[str, Tensor]:
        """AUROC in percent of each run on the validation hyperedges; nothing without any."""
        if self.valid is None:
            return {}
        logits = predict(self.valid).squeeze(-1)
        return {"valid": torch.tensor([100 * auroc(run, self.valid.answers) for run in logits])}


def concatenate(a: Hypergraph, b: Hypergraph) -> Hypergraph:
    """The candidates of ``a``, then those of ``b``.

    >>> a, b = Hypergraph.from_edges([[0, 1]], num_nodes=3), Hypergraph.from_edges([[1, 2]])
    >>> concatenate(a, b).edges()
    [[0, 1], [1, 2]]
    """
    first, second = a.to("cpu").index, b.to("cpu").index
    second = torch.stack([second[0], second[1] + a.num_edges])
    return Hypergraph.from_incidence(torch.cat([first, second], 1), a.num_nodes, a.num_edges + b.num_edges)


def answers_of(positives: Hypergraph, negatives: Hypergraph) -> Tensor:
    """``[positives + negatives]``: 1 for each of ``positives``, then 0 for each of ``negatives``."""
    return torch.cat([torch.ones(positives.num_edges), torch.zeros(negatives.num_edges)])
