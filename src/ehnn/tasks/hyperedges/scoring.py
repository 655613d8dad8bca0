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
from .affinity import Affinity
from .metrics import auroc
from .negatives import sample_negatives
from .sets import structure
from .split import check_no_leak, one_of_each, set_numbers, without_sets

MOST_NEGATIVES, FILLED = 5, 512
"""The most negatives of a positive, and about how many of them a part has before it gets more."""
_EPOCHS_APART = 7_368_787
"""Between the seeds of the negatives of two epochs."""


@dataclass(frozen=True)
class _Part:
    """Hyperedges to find, and the hypergraph without them."""

    rest: Hypergraph
    positives: Hypergraph
    affinity: Affinity | None


@dataclass(frozen=True, eq=False, repr=False)
class Scored(Hypergraph):
    """A hypergraph with candidates to score: a model returns a row for each of them.

    Attributes:
        candidates: sets over the same nodes.
        answers: ``[num_candidates]`` 1 for a hyperedge, 0 for none; None where it is not known.
        affinity: ``[num_candidates, len(RANKS)]`` of an `Affinity` of the hypergraph; None if it is not read.
        lasting: False if this object is used once.
    """

    candidates: Hypergraph = None  # type: ignore[assignment]
    answers: Tensor | None = None
    affinity: Tensor | None = None
    lasting: bool = True

    @classmethod
    def of(
        cls,
        h: Hypergraph,
        candidates: Hypergraph,
        answers: Tensor | None = None,
        affinity: Affinity | None = None,
    ) -> Scored:
        values = {f.name: getattr(h, f.name) for f in fields(Hypergraph)}
        values["_overlaps"] = _without_candidates(h)  # relations to these candidates are kept here alone
        answers = None if answers is None else answers.to(h.device)
        near = None if affinity is None else affinity(candidates).to(h.device)
        return cls(**values, candidates=structure(candidates).to(h.device), answers=answers, affinity=near)

    def asked(self, candidates: Hypergraph, answers: Tensor, affinity: Affinity | None) -> Scored:
        """The same hypergraph, and what is known of its relations, with other candidates, to be used once."""
        near = None if affinity is None else affinity(candidates).to(self.device)
        return self.replace(
            candidates=structure(candidates).to(self.device),
            answers=answers.to(self.device),
            affinity=near,
            lasting=False,
        )

    def replace(self, **changes: Any) -> Scored:
        """`Hypergraph.replace`; if the candidates change, overlaps with them are dropped."""
        found = super().replace(**changes)
        if "candidates" in changes:
            found = dataclasses.replace(found, _overlaps=_without_candidates(self))
        return found  # type: ignore[return-value]

    def to(self, device: torch.device | str, non_blocking: bool = False) -> Scored:
        """The candidates are moved too."""
        moved = super().to(device, non_blocking)
        if moved is self:
            return self
        assert isinstance(moved, Scored)
        return dataclasses.replace(moved, candidates=self.candidates.to(device, non_blocking))

    def permute_nodes(self, perm: Any) -> Scored:
        """The candidates are renumbered too."""
        found = super().permute_nodes(perm)
        return found.replace(candidates=self.candidates.permute_nodes(perm))  # type: ignore[return-value]

    def subhypergraph(self, nodes: Any, *, whole_edges: bool = False) -> Hypergraph:
        raise ValueError("a part of a Scored hypergraph has no candidates; take it before Scored.of")

    @property
    def reusable(self) -> bool:
        """Whether the same object may come again in training (see `ehnn.training.replay.Once`)."""
        return self.lasting

    def to_candidates(self, source: str) -> Overlap:
        """The relation of a family to the candidates, computed once."""
        if (source, "candidates") not in self._overlaps:
            with plain_tensors():
                self._overlaps[source, "candidates"] = overlap(self, source, self.candidates)
        return self._overlaps[source, "candidates"]


class HyperedgePrediction:
    """The `Task`: separate real hyperedges from sampled ones, on a hypergraph that does not contain them.

    A hyperedge that took part in message passing would be known by its own overlap, 𝓘 = its order. So the
    training hyperedges are taken in folds: those of a fold, with all their duplicates, are removed from the
    hypergraph (and from its structural features, which ``prepare`` computes again) and scored against
    negatives of the same sizes. Validation scores held-out hyperedges on all of ``known``. Every step is
    checked for leaks.

    Every epoch draws other negatives, or they would be memorised. If there are few hyperedges, each gets
    several, up to `MOST_NEGATIVES`, because an AUROC over few pairs would select by chance. In the loss,
    positives and negatives have the same total weight.

    Args:
        known: the hyperedges to learn from.
        valid: held-out hyperedges for selection (AUROC); empty: the last epoch is selected.
        negatives: see `sample_negatives`.
        prepare: gives a hypergraph the features that the model reads.
        affinity: whether candidates have the columns of an `Affinity` of the hypergraph they are scored on.
        folds: at least so many parts of the training hyperedges.
        rounds: how often they are shuffled and divided, each time with other negatives.
        batch_size: the most positives in a part.
        max_batches: the most parts; hyperedges beyond them only take part in message passing.
        seed: of folds and negatives.

    Attributes:
        train: the parts, each with its candidates on the other hyperedges, as the first epoch has them.
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
        affinity: bool = False,
        seed: int = 0,
        folds: int = 5,
        rounds: int = 3,
        batch_size: int = 2048,
        max_batches: int = 15,
    ) -> None:
        number, sets = set_numbers(known)
        if len(sets) < 2:
            raise ValueError(
                "at least 2 distinct hyperedges of 2 or more nodes, but not of all nodes, are needed to "
                f"learn from, got {len(sets)}"
            )
        self.seed, self.negatives, self.affinity = seed, negatives, affinity
        generator = torch.Generator().manual_seed(seed % 2**63)
        size = max(1, min(batch_size, -(-len(sets) // folds)))
        dealt = [sets[torch.randperm(len(sets), generator=generator)].split(size) for _ in range(rounds)]
        parts = [part for deal in dealt for part in deal][:max_batches]
        self._parts = [
            self._part(without_sets(known, number, part), one_of_each(known, number, part)) for part in parts
        ]
        self.train = [
            Scored.of(prepare(part.rest), *self._asked(part, i), part.affinity)
            for i, part in enumerate(self._parts)
        ]
        self.valid: Scored | None = None
        if valid.num_edges:
            part = self._part(known, valid)
            self.valid = Scored.of(prepare(known), *self._asked(part, -1), part.affinity)

    def _part(self, rest: Hypergraph, positives: Hypergraph) -> _Part:
        check_no_leak(rest, positives)
        return _Part(rest, positives, Affinity.of(rest) if self.affinity else None)

    def _asked(self, part: _Part, place: int, epoch: int = 0) -> tuple[Hypergraph, Tensor]:
        """Its positives and as many sets, or more, that are neither among them nor in its rest; answers."""
        seed = self.seed * 1_000_003 + place + 7 + epoch * _EPOCHS_APART
        times = max(1, min(MOST_NEGATIVES, FILLED // max(part.positives.num_edges, 1)))
        copies = reduce(concatenate, [part.positives] * times)
        wrong = sample_negatives(part.rest, copies, self.negatives, seed=seed)
        return concatenate(part.positives, wrong), answers_of(part.positives, wrong)

    def batches(self, epoch: int) -> Iterator[Scored]:
        generator = generator_of(self.seed, epoch)
        for i in torch.randperm(len(self.train), generator=generator).tolist():
            part = self._parts[i]
            yield self.train[i].asked(*self._asked(part, i, epoch), part.affinity) if epoch else self.train[i]

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


def _without_candidates(h: Hypergraph) -> dict[Any, Overlap]:
    """The relations that are known, but those to candidates."""
    return {ends: value for ends, value in h._overlaps.items() if ends[1] != "candidates"}


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
