"""Hypergraphs with candidates, and what the task of scoring them keeps."""

from __future__ import annotations

import pytest
import torch

import ehnn
from ehnn.estimators.models import NetworkSpec
from ehnn.estimators.scorers import make_scorer
from ehnn.tasks.hyperedges import HyperedgePrediction
from ehnn.tasks.hyperedges.scoring import Scored
from ehnn.testing import random_hypergraph
from ehnn.training import TrainConfig, fit


def test_without_validation_the_last_epoch_of_every_run_is_kept():
    h = random_hypergraph(30, 20, (2, 4), seed=0, d_node=4)
    task = HyperedgePrediction(h, ehnn.Hypergraph.from_edges([], num_nodes=30))
    plan = NetworkSpec("ehnn-mlp", width=8)
    result = fit(lambda: make_scorer(plan, 4, False), task, [0, 1], TrainConfig(epochs=3), quiet=True)
    assert result.best_epoch == [3, 3]
    for name, value in result.runs.parameters.items():
        assert torch.equal(value, result.best[name])
    with pytest.raises(ValueError, match="needs validation data"):
        fit(lambda: make_scorer(plan, 4, False), task, [0], TrainConfig(epochs=9, patience=3), quiet=True)


def test_candidates_follow_what_is_done_to_their_hypergraph():
    h = random_hypergraph(12, 9, (1, 5), seed=1, d_node=4)
    scored = Scored.of(h, ehnn.Hypergraph.from_edges([[0, 1], [2, 3, 4]], num_nodes=12))
    scored.to_candidates("nodes")
    other = scored.replace(candidates=ehnn.Hypergraph.from_edges([[5, 6]], num_nodes=12))
    assert other.to_candidates("nodes").num_targets == 1
    assert scored.to_candidates("nodes").num_targets == 2
    perm = torch.arange(12).roll(3)
    assert scored.permute_nodes(perm).candidates.edges() == [
        sorted(int(perm[v]) for v in edge) for edge in scored.candidates.edges()
    ]
    with pytest.raises(ValueError, match="take it before"):
        scored.subhypergraph([5, 6, 7])


def test_relations_to_other_candidates_are_not_taken_over():
    h = random_hypergraph(12, 9, (1, 5), seed=1, d_node=4)
    scored = Scored.of(h, ehnn.Hypergraph.from_edges([[0, 1], [2, 3, 4]], num_nodes=12))
    scored.to_candidates("nodes")
    assert Scored.of(scored, ehnn.Hypergraph.from_edges([[5, 6]], num_nodes=12)).to_candidates(
        "nodes"
    ).num_targets == 1  # fmt: skip


def test_every_epoch_has_negatives_of_its_own():
    h = random_hypergraph(30, 40, (2, 4), seed=0, d_node=4)
    task = HyperedgePrediction(h, ehnn.Hypergraph.from_edges([], num_nodes=30), rounds=1, affinity=True)

    def answered(epoch: int, answer: int) -> set[tuple[int, ...]]:
        batches = list(task.batches(epoch))
        assert all(batch.affinity.shape == (len(batch.answers), 3) for batch in batches)
        assert all(batch.reusable == (epoch == 0) for batch in batches)
        return {
            tuple(edge)
            for batch in batches
            for edge, found in zip(batch.candidates.edges(), batch.answers.tolist(), strict=True)
            if found == answer
        }

    assert answered(0, 1) == answered(3, 1) == {tuple(edge) for edge in h.edges()}
    assert answered(3, 0) == answered(3, 0) != answered(4, 0)
    assert not answered(3, 0) & answered(3, 1)


def test_the_relations_of_the_hypergraph_are_found_once():
    h = random_hypergraph(30, 20, (2, 4), seed=0, d_node=4)
    task = HyperedgePrediction(h, ehnn.Hypergraph.from_edges([], num_nodes=30))
    first = {id(batch.overlap("nodes", "all")) for batch in task.batches(0)}
    assert first == {id(batch.overlap("nodes", "all")) for batch in task.batches(1)}
