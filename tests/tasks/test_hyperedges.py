"""What is held out of hyperedge prediction is drawn at random, is checked, and is never a negative."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import pytest
import torch
from torch import Tensor

from ehnn import Hypergraph
from ehnn.tasks.hyperedges import (
    HyperedgePrediction,
    co_membership,
    common_neighbours,
    sample_negatives,
    scoring,
    split,
    split_hyperedges,
)
from ehnn.tasks.hyperedges.negatives import CONNECTED
from ehnn.tasks.hyperedges.scoring import Scored

PAIRS = [list(pair) for pair in combinations(range(8), 2)]  # all 28 sets of two of eight nodes


def sets(h: Hypergraph) -> list[tuple[int, ...]]:
    return [tuple(sorted(edge)) for edge in h.edges()]


def negatives(batch: Scored) -> list[tuple[int, ...]]:
    assert batch.answers is not None
    return [s for s, yes in zip(sets(batch.candidates), batch.answers.tolist(), strict=True) if not yes]


def none_of(num_nodes: int) -> Hypergraph:
    return Hypergraph.from_edges([], num_nodes=num_nodes)


def test_negatives_are_neither_known_nor_positives() -> None:
    """Of 28 sets 10 are known and 10 are positives, so that most draws must be rejected."""
    known, positives = (Hypergraph.from_edges(part, num_nodes=8) for part in (PAIRS[:10], PAIRS[10:20]))
    for seed in range(3):
        found = sets(sample_negatives(known, positives, "uniform", seed=seed))
        assert set(found) <= set(map(tuple, PAIRS[20:]))
        found = sets(sample_negatives(none_of(8), positives, "uniform", seed=seed, avoid=known))
        assert set(found) <= set(map(tuple, PAIRS[20:]))


@pytest.mark.parametrize("kind", CONNECTED)
def test_a_set_whose_neighbours_are_all_hyperedges_has_a_negative(kind: str) -> None:
    """Each pair of a triangle with one node exchanged for a neighbour is another pair of it."""
    h = Hypergraph.from_edges([[0, 1], [1, 2], [0, 2]], num_nodes=6)
    found = sample_negatives(h, h, kind, seed=1)
    assert found.orders.tolist() == [2, 2, 2]
    assert not any(set(edge) <= {0, 1, 2} for edge in found.edges())


@pytest.mark.parametrize("kind", ["uniform", "degree", "hard", "mixed"])
def test_no_negative_of_the_task_is_a_hyperedge_of_any_fold(kind: str) -> None:
    """The hyperedges of the other folds take part in message passing; those of this one are held out."""
    known = Hypergraph.from_edges(PAIRS[::2], num_nodes=8)
    valid = Hypergraph.from_edges(PAIRS[1:8:2], num_nodes=8)
    task = HyperedgePrediction(known, valid, negatives=kind, rounds=1)
    assert task.valid is not None
    for batch in (*task.batches(0), task.valid):
        assert set(negatives(batch)).isdisjoint(map(tuple, PAIRS[::2]))
    assert set(negatives(task.valid)).isdisjoint(map(tuple, PAIRS[1:8:2]))


def test_every_fold_has_negatives_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds: list[int] = []

    def noting(*arguments: object, seed: int, **options: object) -> Hypergraph:
        seeds.append(seed)
        return sample_negatives(*arguments, seed=seed, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(scoring, "sample_negatives", noting)
    known = Hypergraph.from_edges([[i, i + 1, i + 5] for i in range(30)])
    for seed in (0, 1):
        HyperedgePrediction(known, Hypergraph.from_edges([[0, 20]], num_nodes=35), seed=seed)
    assert len(set(seeds)) == len(seeds) == 2 * 16  # fifteen folds and the validation, of each seed


def test_a_split_that_leaks_is_never_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(split, "without_sets", lambda h, number, sets: h)
    with pytest.raises(AssertionError, match="takes part in message passing"):
        split_hyperedges(Hypergraph.from_edges(PAIRS), (0.5, 0.25, 0.25))


def test_a_fold_that_leaks_is_never_trained_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "without_sets", lambda h, number, sets: h)
    with pytest.raises(AssertionError, match="takes part in message passing"):
        HyperedgePrediction(Hypergraph.from_edges(PAIRS[::2], num_nodes=8), none_of(8))


def test_a_split_is_random_and_a_function_of_the_seed() -> None:
    h = Hypergraph.from_edges(PAIRS)
    parts = [split_hyperedges(h, (0.5, 0.25, 0.25), seed) for seed in range(60)]
    assert sets(parts[0].test) == sets(split_hyperedges(h, (0.5, 0.25, 0.25), 0).test)
    for held_out in ([sets(p.valid) for p in parts], [sets(p.test) for p in parts]):
        assert len(set(map(tuple, held_out))) == 60
        times = torch.tensor([sum(tuple(pair) in part for part in held_out) for pair in PAIRS]).double()
        # Each pair is held out 15 times of 60, with a standard deviation of 3.4.
        assert times.min() > 0
        assert times.max() < 30


def test_validation_is_scored_by_its_own_answers() -> None:
    """A model that knows the answers has an AUROC of 100, one that knows their opposite 0."""
    known = Hypergraph.from_edges(PAIRS[::2], num_nodes=8)
    task = HyperedgePrediction(known, Hypergraph.from_edges(PAIRS[1:8:2], num_nodes=8))

    def predict(h: Hypergraph) -> torch.Tensor:
        assert isinstance(h, Scored)
        assert sets(h) == sets(known)
        return torch.stack([h.answers, 1 - h.answers]).unsqueeze(-1)  # type: ignore[operator,list-item]

    assert task.evaluate(predict)["valid"].tolist() == [100, 0]


@pytest.mark.parametrize("score", [co_membership, common_neighbours])
def test_heuristics_count_nodes_whatever_weights_and_roles(score: Callable[..., Tensor]) -> None:
    h = Hypergraph.from_edges([[0, 1, 2], [0, 1, 3]], num_nodes=5)
    asked = Hypergraph.from_edges([[2, 3], [0, 4], [0, 1]], num_nodes=5)
    one, other = (
        g.replace(incidence_weight=torch.full((g.num_incidences,), 3.0), roles=torch.arange(6) % 2)
        for g in (h, asked)
    )
    assert score(one, other).tolist() == score(h, asked).tolist()


def test_candidates_move_with_their_hypergraph() -> None:
    h = Hypergraph.from_edges(PAIRS[:10], num_nodes=8)
    scored = Scored.of(h, Hypergraph.from_edges(PAIRS[10:12], num_nodes=8), torch.ones(2))
    moved = scored.to("meta")  # stands for a GPU
    assert {moved.device.type, moved.candidates.device.type, moved.answers.device.type} == {"meta"}
    assert scored.to("cpu") is scored
