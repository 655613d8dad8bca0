"""Hyperedge prediction: nothing leaks, negatives are what they say, and the overlaps are learned."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

import ehnn
from ehnn.estimators import hyperedges
from ehnn.estimators.models import NetworkSpec
from ehnn.estimators.scorers import MeanScorer, OverlapScorer, make_scorer, pair_products
from ehnn.estimators.set_members import SetMembers
from ehnn.nn.named import NAMED
from ehnn.tasks.hyperedges import (
    CONNECTED,
    SAMPLERS,
    HyperedgePrediction,
    auroc,
    average_precision,
    check_no_leak,
    co_membership,
    common_neighbours,
    mean_reciprocal_rank,
    sample_negatives,
    split_hyperedges,
)
from ehnn.tasks.hyperedges.scoring import MOST_NEGATIVES, Scored, answers_of, concatenate
from ehnn.tasks.hyperedges.sets import among_most_active, distinct_sets, is_in, keep_edges

QUICK: dict[str, Any] = {"width": 16, "epochs": 30, "lr": 0.01}


def sets(h: ehnn.Hypergraph) -> list[frozenset[int]]:
    return [frozenset(e) for e in h.edges()]


# ---------------------------------------------------------------------- splits


@given(
    edges=st.lists(st.lists(st.integers(0, 6), max_size=4), max_size=25),
    seed=st.integers(0, 5),
)
@settings(max_examples=40, deadline=None)
def test_split_has_no_leak(edges: list[list[int]], seed: int) -> None:
    h = ehnn.Hypergraph.from_edges(edges, num_nodes=7, x=torch.ones(7, 2))
    split = split_hyperedges(h, (0.5, 0.25, 0.25), seed)
    known, valid, test = set(sets(split.known)), sets(split.valid), sets(split.test)
    assert known.isdisjoint(valid)
    assert known.isdisjoint(test)
    assert set(valid).isdisjoint(test)
    assert len(set(valid)) == len(valid)  # duplicates count once
    assert known | set(valid) | set(test) == set(sets(h))
    assert all(len(e) >= 2 for e in valid + test)
    assert split.known.x is not None


@given(edges=st.lists(st.sets(st.integers(0, 5), max_size=4), max_size=20))
@settings(max_examples=40, deadline=None)
def test_identical_sets_have_one_number(edges: list[set[int]]) -> None:
    h = ehnn.Hypergraph.from_edges(edges, num_nodes=6)
    number = distinct_sets(h).tolist()
    for a, b in ((i, j) for i in range(len(edges)) for j in range(i)):
        assert (number[a] == number[b]) == (edges[a] == edges[b])


def test_collisions_of_the_hash_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ehnn.tasks.hyperedges.sets._hash", lambda pairs: torch.zeros(pairs.num_rows).long())
    h = ehnn.Hypergraph.from_edges([[0, 1], [2, 3], [0, 1], [1]])
    assert distinct_sets(h).tolist() == [0, 1, 0, 2]


def test_keep_edges_keeps_attributes() -> None:
    h = ehnn.Hypergraph.from_edges([[0, 1], [1, 2], [2]], edge_x=torch.eye(3), edge_names=["a", "b", "c"])
    kept = keep_edges(h, torch.tensor([True, False, True]))
    assert kept.edges() == [[0, 1], [2]]
    assert kept.edge_names == ("a", "c")
    assert torch.equal(kept.edge_x, torch.eye(3)[[0, 2]])


def test_a_leak_is_an_error() -> None:
    known = ehnn.Hypergraph.from_edges([[0, 1, 2], [1, 3]])
    check_no_leak(known, ehnn.Hypergraph.from_edges([[0, 1]], num_nodes=4))
    with pytest.raises(AssertionError, match=r"\[0, 1, 2\] takes part in message passing"):
        check_no_leak(known, ehnn.Hypergraph.from_edges([[3, 2], [2, 1, 0]], num_nodes=4))
    with pytest.raises(AssertionError, match="takes part"):
        HyperedgePrediction(known, ehnn.Hypergraph.from_edges([[1, 3]], num_nodes=4))


def test_bad_splits() -> None:
    h = ehnn.Hypergraph.from_edges([[0, 1]])
    for fractions in ((0.5, 0.5), (0.5, 0.4, 0.2), (1.2, -0.1, -0.1)):
        with pytest.raises(ValueError, match="add up to 1"):
            split_hyperedges(h, fractions)
    with pytest.raises(ValueError, match="at least 2 distinct hyperedges"):
        ehnn.HyperedgePredictor().fit([[0, 1], [1, 0], [2]])


def test_training_never_sees_its_positives(ring: list[list[int]]) -> None:
    """Neither the hyperedge nor a duplicate nor its share of the structural features is in the input."""
    h = ehnn.Hypergraph.from_edges(ring + ring[:20])
    split = split_hyperedges(h, (0.8, 0.2, 0.0))

    def with_degrees(g: ehnn.Hypergraph) -> ehnn.Hypergraph:
        return g.replace(x=g.degrees.float().unsqueeze(1))

    task = HyperedgePrediction(split.known, split.valid, prepare=with_degrees)
    seen: list[frozenset[int]] = []
    for batch in task.batches(0):
        answers = batch.answers.bool()
        positives = [e for e, yes in zip(sets(batch.candidates), answers, strict=True) if yes]
        negatives = [e for e, yes in zip(sets(batch.candidates), answers, strict=True) if not yes]
        assert set(positives).isdisjoint(sets(batch))
        assert set(sets(batch)) | set(positives) == set(sets(split.known))
        assert set(negatives).isdisjoint(sets(split.known))
        assert sorted(list(map(len, positives)) * MOST_NEGATIVES) == sorted(map(len, negatives))  # a few sets
        assert torch.equal(batch.x.squeeze(1).long(), batch.degrees)  # of what is left, not of everything
        seen += positives
    assert sorted(map(sorted, seen)) == sorted(map(sorted, [*set(sets(split.known))] * 3))  # once a round


def test_known_candidates_are_scored_as_if_they_were_not_there(ring: list[list[int]]) -> None:
    fitted = ehnn.HyperedgePredictor(**QUICK | {"epochs": 2}).fit(ring)
    one = ring[7]
    h = ehnn.Hypergraph.from_edges(ring)
    without = keep_edges(h, ~is_in(h, ehnn.Hypergraph.from_edges([one], num_nodes=h.num_nodes)))
    expected = fitted.decision_function([one], h=without)
    np.testing.assert_allclose(fitted.decision_function([one]), expected, atol=1e-5)
    assert fitted.decision_function(ring[:12]).shape == (12,)


@pytest.mark.parametrize("model", ["auto", "ehnn-mlp"])
@pytest.mark.parametrize("read", [0, 200_000])
def test_a_score_does_not_depend_on_what_else_is_asked(
    monkeypatch: pytest.MonkeyPatch, model: str, read: int
) -> None:
    monkeypatch.setattr("ehnn.estimators.hyperedges._READ", read)  # 0: several are set aside together
    generator = np.random.default_rng(0)
    known = [generator.choice(20, 3, replace=False).tolist() for _ in range(60)]
    fitted = ehnn.HyperedgePredictor(model=model, width=8, epochs=2, sketch=4).fit([*known, known[0]])
    asked = [*known[:9], [0, 1, 2, 3], known[0][::-1]]
    together = fitted.decision_function(asked)
    alone = [fitted.decision_function([one])[0] for one in asked]
    np.testing.assert_allclose(together, alone, atol=1e-5)
    assert together[0] == pytest.approx(together[-1], abs=1e-5)
    assert fitted.decision_function([]).shape == (0,)


@pytest.mark.parametrize("model", ["ehnn-mlp", "all-deep-sets"])
def test_a_hypergraph_is_encoded_once_for_all_new_candidates(ring: list[list[int]], model: str) -> None:
    new = [[i, (i + 5) % len(ring)] for i in range(9)]
    fitted = ehnn.HyperedgePredictor(model=model, **QUICK | {"epochs": 1}, batch_size=4).fit(ring)
    one_by_one = [fitted.decision_function([candidate])[0] for candidate in new]
    calls: list[int] = []
    fitted.model_.encoder.register_forward_hook(lambda *_: calls.append(0))
    np.testing.assert_allclose(fitted.decision_function(new), one_by_one, atol=1e-5)
    assert len(calls) == 1


def test_the_set_of_all_nodes_stands_in_nobodys_way(ring: list[list[int]]) -> None:
    """No other set is as large, so it can be told from none; it takes part in message passing."""
    everybody = list(range(len(ring)))
    split = split_hyperedges(ehnn.Hypergraph.from_edges([*ring, everybody]), (0.0, 0.5, 0.5))
    assert frozenset(everybody) in sets(split.known)
    assert split.known.num_edges <= 2  # and one that two halves leave
    fitted = ehnn.HyperedgePredictor(**QUICK | {"epochs": 1}).fit([*ring, everybody])
    assert np.isfinite(fitted.decision_function([everybody, ring[0]])).all()


def test_positives_and_negatives_weigh_the_same(ring: list[list[int]]) -> None:
    """However many negatives there are, a constant score costs the same as with equally many."""
    known = ehnn.Hypergraph.from_edges(ring)
    task = HyperedgePrediction(known, keep_edges(known, torch.zeros(known.num_edges, dtype=torch.bool)))
    batch = next(task.batches(0))
    logit = torch.full((2, len(batch.answers), 1), 1.5)
    expected = (F.softplus(torch.tensor(-1.5)) + F.softplus(torch.tensor(1.5))) / 2
    assert batch.answers.mean() < 0.2
    torch.testing.assert_close(task.loss(logit, batch), expected.expand(2))


def test_baselines_score_with_pair_products_too(ring: list[list[int]]) -> None:
    model = ehnn.HyperedgePredictor(model="all-set-transformer", width=8, epochs=1).fit(ring)
    scorer = model.model_
    before = model.decision_function([[0, 5], [1, 2, 7]])
    with torch.no_grad():
        scorer.head[0].weight[:, 8:] += 1  # the columns of the products
    assert abs(model.decision_function([[0, 5], [1, 2, 7]]) - before).max() > 1e-3


def test_scorers_from_before_pair_products_are_read(ring: list[list[int]]) -> None:
    scorer = (
        ehnn.HyperedgePredictor(model="all-set-transformer", width=8, epochs=1, affinity=False)
        .fit(ring)
        .model_
    )
    old = {k: v for k, v in scorer.state_dict().items() if not k.startswith("norms.")}
    old |= {"norm.weight": torch.full((8,), 2.0), "norm.bias": torch.full((8,), 3.0)}
    old["head.0.weight"] = old["head.0.weight"][:, :8]
    scorer.load_state_dict(old)
    assert scorer.norms[0].weight.tolist() == [2.0] * 8
    assert scorer.norms[0].bias.tolist() == [3.0] * 8
    assert torch.equal(scorer.head[0].weight[:, :8], old["head.0.weight"])
    assert not scorer.head[0].weight[:, 8:].any()


def test_pair_products(ring: list[list[int]]) -> None:
    sets_, x = ehnn.Hypergraph.from_edges([*ring[:9], [3]], num_nodes=40), torch.randn(40, 3)
    for found, one in zip(pair_products(x, sets_), sets_.edges(), strict=True):
        products = [x[u] * x[v] for u in one for v in one if u < v]
        expected = torch.stack(products).mean(0) if products else torch.zeros(3)
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)


def test_every_round_deals_anew(ring: list[list[int]]) -> None:
    known = ehnn.Hypergraph.from_edges(ring)
    none = ehnn.Hypergraph.from_edges([], num_nodes=known.num_nodes)
    task = HyperedgePrediction(known, none, rounds=2)
    folds = [frozenset(s for s, yes in zip(sets(b.candidates), b.answers, strict=True) if yes)
             for b in task.batches(0)]  # fmt: skip
    assert len(folds) == len(set(folds)) == 10
    assert len(list(HyperedgePrediction(known, none, max_batches=4).batches(0))) == 4


def test_among_most_active() -> None:
    h = ehnn.Hypergraph.from_edges([[0, 1], [1, 3], [3], [0, 2], [4]], x=torch.arange(5.0).unsqueeze(1))
    found = among_most_active(h, 3)
    assert found.edges() == [[0, 1], [1, 2], [2]]
    assert found.x.squeeze(1).tolist() == [0, 1, 3]
    assert among_most_active(h, 9) == h.replace(y=None)


# ---------------------------------------------------------------------- negatives


@pytest.mark.parametrize("kind", [*SAMPLERS, *CONNECTED, "mixed"])
def test_negatives(ring: list[list[int]], kind: str) -> None:
    h = ehnn.Hypergraph.from_edges(ring)
    found = sample_negatives(h, h, kind, seed=3)
    assert torch.equal(found.orders, h.orders)
    assert set(sets(found)).isdisjoint(sets(h))
    assert sample_negatives(h, h, kind, seed=3) == found
    assert sample_negatives(h, h, kind, seed=4) != found
    if kind == "hard":
        for real, wrong in zip(sets(h), sets(found), strict=True):
            assert len(real & wrong) == len(real) - max(1, min(round(0.5 * len(real)), len(real) - 1))


def test_degree_sampler_prefers_hubs() -> None:
    h = ehnn.Hypergraph.from_edges([[0, i] for i in range(1, 60)], num_nodes=200)
    positives = ehnn.Hypergraph.from_edges([[i, i + 1, i + 2] for i in range(100)], num_nodes=200)
    share = {k: np.mean([0 in e for e in sets(sample_negatives(h, positives, k))]) for k in SAMPLERS[:2]}
    assert share["degree"] > 0.3 > 0.1 > share["uniform"]


def grid(side: int) -> ehnn.Hypergraph:
    """Rows and columns of a square of nodes, and all its 2 × 2 squares."""
    n = np.arange(side * side).reshape(side, side)
    squares = [n[i : i + 2, j : j + 2].ravel() for i in range(side - 1) for j in range(side - 1)]
    return ehnn.Hypergraph.from_edges([e.tolist() for e in [*n, *n.T, *squares]])


def beside(h: ehnn.Hypergraph) -> set[frozenset[int]]:
    return {frozenset((a, b)) for e in h.edges() for a in e for b in e if a != b}


@pytest.mark.parametrize("seed", range(3))
def test_motifs_hang_together(seed: int) -> None:
    h = grid(6)
    near = beside(h)
    for found in sets(sample_negatives(h, h, "motif", seed=seed)):
        reached, left = set(list(found)[:1]), set(list(found)[1:])
        while left:
            step = {v for v in left if any(frozenset((u, v)) in near for u in reached)}
            assert step, f"{found} is in several parts"
            reached, left = reached | step, left - step


@pytest.mark.parametrize("seed", range(3))
def test_near_cliques_exchange_one_node_for_one_beside_all(seed: int) -> None:
    h = ehnn.Hypergraph.from_edges([[0, 1, 2], [0, 1, 3], [1, 2, 3], [0, 2, 3, 4], [4, 5], [5, 6]])
    near, asked = beside(h), ehnn.Hypergraph.from_edges([[0, 1, 2], [4, 5]], num_nodes=7)
    wrong = sample_negatives(h, asked, "clique", seed=seed, avoid=asked)
    for real, found in zip(sets(asked), sets(wrong), strict=True):
        (new,) = found - real
        assert all(frozenset((new, v)) in near for v in found & real)


def test_connected_negatives_where_nothing_is_beside() -> None:
    h = ehnn.Hypergraph.from_edges([[0, 1], [2, 3], [4]], num_nodes=12)
    for kind in CONNECTED:
        found = sample_negatives(h, h, kind, seed=1)
        assert found.orders.tolist() == [2, 2, 1]
        assert set(sets(found)).isdisjoint(sets(h))


def test_negatives_of_nearly_all_nodes() -> None:
    h = ehnn.Hypergraph.from_edges([[0, 1, 2, 3, 4], [0, 1]], num_nodes=6)
    for kind in (*SAMPLERS, *CONNECTED):
        assert sample_negatives(h, h, kind).orders.tolist() == [5, 2]
    full = ehnn.Hypergraph.from_edges([[0, 1], [0, 2], [1, 2]])
    with pytest.raises(ValueError, match="no set of 2 of the 3 nodes"):
        sample_negatives(full, full)
    for wrong in ({"kind": "easy"}, {"replaced": 0.0}):
        with pytest.raises(ValueError, match="must be"):
            sample_negatives(h, h, **wrong)


# ---------------------------------------------------------------------- metrics and heuristics


@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=2, max_size=30))
@settings(max_examples=60, deadline=None)
def test_metrics_agree_with_their_definition(rows: list[tuple[int, bool]]) -> None:
    scores, answers = [r[0] for r in rows], [int(r[1]) for r in rows]
    if len(set(answers)) < 2:
        with pytest.raises(ValueError, match="both must occur"):
            auroc(scores, answers)
        return
    pairs = [(a > b) + (a == b) / 2 for a, x in rows for b, y in rows if x and not y]
    assert auroc(scores, answers) == pytest.approx(np.mean(pairs))
    positives = sum(answers)
    expected = 0.0
    for cut in sorted(set(scores), reverse=True):
        above = [a for s, a in zip(scores, answers, strict=True) if s >= cut]
        gain = sum(a for s, a in zip(scores, answers, strict=True) if s == cut) / positives
        expected += gain * sum(above) / len(above)
    assert average_precision(scores, answers) == pytest.approx(expected)


def test_metrics_agree_with_sklearn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(0)
    scores, answers = rng.integers(0, 20, 300) / 7, rng.integers(0, 2, 300)
    assert auroc(scores, answers) == pytest.approx(metrics.roc_auc_score(answers, scores))
    assert average_precision(scores, answers) == pytest.approx(
        metrics.average_precision_score(answers, scores)
    )


def test_mean_reciprocal_rank() -> None:
    assert mean_reciprocal_rank([1.0, 1.0, 1.0], [[0, 0], [2, 3], [1, 1]]) == pytest.approx(
        (1 + 1 / 3 + 1 / 2) / 3
    )
    for bad in (([1.0], [1.0]), ([], [[]]), ([1.0], [[1.0], [2.0]])):
        with pytest.raises(ValueError, match="positive must be"):
            mean_reciprocal_rank(*bad)
    with pytest.raises(ValueError, match="NaN"):
        mean_reciprocal_rank([np.nan], [[1.0]])


def test_heuristics_agree_with_their_definition(ring: list[list[int]]) -> None:
    h = ehnn.Hypergraph.from_edges(ring[:25], num_nodes=40)
    candidates = sample_negatives(h, h, "hard")
    near = {v: {u for e in ring[:25] if v in e for u in e} - {v} for v in range(40)}
    both, common = [], []
    for e in sets(candidates):
        pairs = [(u, v) for u in e for v in e if u < v]
        both.append(np.mean([sum(u in f and v in f for f in sets(h)) for u, v in pairs]))
        common.append(np.mean([len(near[u] & near[v]) for u, v in pairs]))
    np.testing.assert_allclose(co_membership(h, candidates), both)
    np.testing.assert_allclose(common_neighbours(h, candidates), common, rtol=1e-6)


# ---------------------------------------------------------------------- the estimator


def test_overlaps_are_learned_and_pooling_cannot(ring: list[list[int]]) -> None:
    """On a ring without features every node looks alike, so only overlaps tell stretches from random sets."""
    split = split_hyperedges(ehnn.Hypergraph.from_edges(ring), (0.7, 0.0, 0.3), seed=1)
    wrong = sample_negatives(split.known, split.test, "uniform", seed=9)
    candidates, y = concatenate(split.test, wrong), answers_of(split.test, wrong)
    score = {
        model: ehnn.HyperedgePredictor(model=model, sketch=0, affinity=False, **QUICK)
        .fit(split.known)
        .score(candidates, y)
        for model in ("ehnn-mlp", "all-deep-sets")
    }
    assert score["ehnn-mlp"] > 0.9
    assert score["all-deep-sets"] < score["ehnn-mlp"] - 0.1


@pytest.mark.parametrize("model", ["ehnn-transformer", "all-set-transformer", "hgnn"])
def test_other_models(ring: list[list[int]], model: str) -> None:
    fitted = ehnn.HyperedgePredictor(model=model, width=8, epochs=2).fit(ring)
    assert fitted.predict_proba([[0, 1], [2, 5, 9]]).shape == (2, 2)


def test_every_name_is_the_network_that_it_says() -> None:
    for name, known in NAMED.items():
        if name.startswith("ehnn-"):
            scorer = make_scorer(NetworkSpec(name, 8), 3, edge_features=False)
            assert isinstance(scorer, OverlapScorer)
            assert isinstance(scorer.nodes, known.kind), name


def test_own_scorer(ring: list[list[int]]) -> None:
    class Own(torch.nn.Module):
        def __init__(self, d_in: int, d_out: int) -> None:
            super().__init__()
            self.layer = ehnn.nn.EHNNMLP(d_in, 8)
            self.out = torch.nn.Linear(8, d_out)

        def forward(self, h: Scored) -> torch.Tensor:
            return self.out(self.layer(h.x, h.to_candidates("nodes")))

    fitted = ehnn.HyperedgePredictor(model=Own, epochs=2).fit(ring)
    assert fitted.predict([[0, 1]]).tolist() in ([0], [1])


def test_names_seeds_and_errors() -> None:
    edges = [[f"p{(i + j) % 15}" for j in range(3)] for i in range(15)]
    first, again = (ehnn.HyperedgePredictor(width=8, epochs=2).fit(edges) for _ in range(2))
    asked = [["p0", "p1"], ("p3", "p9", "p12"), {"p5"}]
    np.testing.assert_array_equal(first.predict_proba(asked), again.predict_proba(asked))
    np.testing.assert_allclose(first.predict_proba(asked).sum(1), 1)
    assert first.predict_proba([]).shape == (0, 2)
    for bad, message in (
        ([["p0", "q1"]], "candidate's 'q1' is not a node"),
        ([["p0"], []], "candidate 1 .* has no nodes"),
        (["p0"], "must be a set of nodes, got 'p0'"),
        ("p0", "list of sets"),
        (ehnn.Hypergraph.from_edges([[0, 1]]), "over 15 nodes, got 2"),
    ):
        with pytest.raises(ValueError, match=message):
            first.predict(bad)
    for wrong, message in (
        ({"negatives": "soft"}, "kind must be one of"),
        ({"sketch": -1}, "sketch must be an integer that is not negative, got -1"),
        ({"batch_size": 1}, "batch_size must be an integer of at least 2"),
        ({"budget": "quick"}, "budget must be one of"),
        ({"options": {"head": 2}}, "options of model 'ehnn-mlp'"),
    ):
        with pytest.raises(ValueError, match=message):
            ehnn.HyperedgePredictor(**wrong).fit(edges)


def test_a_budget_of_seconds_ends_the_training_of_the_default(ring: list[list[int]]) -> None:
    quick: dict[str, Any] = {"width": 4, "epochs": 6, "patience": None}
    for limit, all_epochs in (
        ({"budget": np.float64(1e-3)}, False),
        ({"budget": "fast"}, True),
        ({"budget": 1e-3, "model": "ehnn-mlp"}, True),
    ):
        model = ehnn.HyperedgePredictor(**quick, **limit).fit(ring)
        assert model.history_[-1]["epoch"] > 0
        assert (model.history_[-1]["epoch"] == 6) == all_epochs


@pytest.mark.parametrize(("budget", "count"), [("fast", 1), ("default", 2), ("best", 4), (1e9, 2)])
def test_a_budget_says_how_many_networks_there_are(
    ring: list[list[int]], budget: str | float, count: int, tmp_path: Path
) -> None:
    fitted = ehnn.HyperedgePredictor(width=4, epochs=1, budget=budget).fit(ring)
    scorers = fitted.model_.scorers if isinstance(fitted.model_, MeanScorer) else [fitted.model_]
    assert fitted.networks_ == len(scorers) == count
    fitted.save(tmp_path / "model")
    read = ehnn.HyperedgePredictor.load(tmp_path / "model")
    np.testing.assert_allclose(read.decision_function(ring), fitted.decision_function(ring), atol=1e-5)


def test_the_default_is_the_mean_of_networks_of_other_weights(
    ring: list[list[int]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(SetMembers, "reads", lambda *_: True)
    monkeypatch.setattr(SetMembers, "scores", lambda self, h, asked, network: network)
    fitted = ehnn.HyperedgePredictor(width=4, epochs=1, patience=None, validation_fraction=0.2).fit(ring)
    both, asked = fitted.model_, [[0, 1], [2, 5, 9]]
    assert isinstance(both, MeanScorer)
    together = fitted.decision_function(asked)
    alone = []
    for scorer in both.scorers:
        fitted.model_ = scorer
        alone.append(fitted.decision_function(asked))
    assert len(alone) == hyperedges.NETWORKS["default"]
    assert abs(alone[0] - alone[1]).min() > 1e-6
    np.testing.assert_allclose(together, np.mean(alone, 0), atol=1e-5)
    fitted.model_ = both
    fitted.save(tmp_path / "model")
    read = ehnn.HyperedgePredictor.load(tmp_path / "model")
    np.testing.assert_allclose(read.decision_function(asked), together, atol=1e-5)


def test_few_held_out_sets_stand_beside_many_sampled_ones(ring: list[list[int]]) -> None:
    """Against few sampled sets several epochs would be right on all, and the first of them be as good."""
    split = split_hyperedges(ehnn.Hypergraph.from_edges(ring), (0.9, 0.1, 0.0))
    task = HyperedgePrediction(split.known, split.valid, affinity=True)
    before, count = task.valid, split.valid.num_edges
    assert before is not None
    many = hyperedges._against_many(before, split.known, split.valid, task)
    assert many.answers is not None
    assert int(many.answers.sum()) == count
    assert len(many.answers) == count * (1 + hyperedges._MOST_EACH) > len(before.answers)
    assert many.affinity is not None
    assert len(many.affinity) == len(many.answers)
    assert many.reusable
    wrong = keep_edges(many.candidates, many.answers == 0)
    assert not is_in(wrong, split.known).any()
    assert not is_in(wrong, split.valid).any()


def test_the_default_is_not_worse_than_heuristics_on_held_out_sets(
    ring: list[list[int]], tmp_path: Any
) -> None:
    h = ehnn.Hypergraph.from_edges(ring)
    fitted = ehnn.HyperedgePredictor(width=4, epochs=1).fit(h)
    rows = {row["member"]: row for row in fitted.leaderboard_}
    best = max(row["auroc"] for row in fitted.leaderboard_)
    assert rows["average"]["auroc"] == best
    assert sum(row["weight"] for row in fitted.leaderboard_[:-1]) == 1
    assert {"vote: co-membership", "vote: Adamic–Adar", "linear: heuristics", "EHNN-MLP"} <= rows.keys()
    assert rows["average"]["seconds"] > rows["EHNN-MLP"]["seconds"] > 0
    assert fitted.left_out_ == {}
    assert rows["EHNN-MLP"]["weight"] < 1  # after one epoch it cannot be the best alone
    asked = [[0, 1, 2], [3, 17, 30], *ring[:4]]
    scores = fitted.decision_function(asked)
    assert scores[0] > scores[1]
    fitted.save(tmp_path / "m")
    twin = ehnn.HyperedgePredictor.load(tmp_path / "m")
    np.testing.assert_allclose(twin.decision_function(asked), scores, atol=1e-6)
    assert twin.leaderboard_ == fitted.leaderboard_
    alone = ehnn.HyperedgePredictor(model="ehnn-mlp", width=4, epochs=1).fit(h)
    with pytest.raises(AttributeError, match="model='auto'"):
        _ = alone.leaderboard_
    with pytest.raises(AttributeError, match="is there with model='auto' and held-out hyperedges"):
        _ = alone.left_out_


def test_a_set_of_the_input_is_not_known_by_its_own_overlap(ring: list[list[int]]) -> None:
    """Heuristics of a candidate that is a hyperedge are those without it."""
    fitted = ehnn.HyperedgePredictor(width=4, epochs=1).fit([*ring, [0, 13, 27]])
    seen, new = fitted.decision_function([[0, 13, 27], [1, 14, 28]])
    assert seen < 0.5 * fitted.decision_function([[5, 6, 7]])[0]
    assert abs(seen - new) < abs(seen - fitted.decision_function([[5, 6, 7]])[0])


def test_evidence_of_degenerate_candidates() -> None:
    from ehnn.tasks.hyperedges.evidence import EVIDENCE, evidence

    h = ehnn.Hypergraph.from_edges([[0, 1, 2], [], [2]], num_nodes=5)
    found = evidence(h, ehnn.Hypergraph.from_edges([[3], [3, 4], [0, 1], []], num_nodes=5))
    assert found.shape == (4, len(EVIDENCE))
    assert bool(found.isfinite().all())
    assert evidence(h, ehnn.Hypergraph.from_edges([], num_nodes=5)).shape == (0, len(EVIDENCE))
    assert float(found[2, 0]) == pytest.approx(np.log(2))
    assert float(found[2, 1]) == pytest.approx(np.log1p(1 / np.log(4)))
    assert float(found[2, 2]) == 1.0


@pytest.mark.parametrize("model", ["ehnn-mlp", "all-set-transformer"])
def test_the_parts_that_nodes_play_are_learned(model: str) -> None:
    """Askers meet answerers: pairs across the parts that never met, against pairs within a part."""
    generator = torch.Generator().manual_seed(1)
    ask, answer = torch.randint(30, (2, 400), generator=generator).tolist()
    met = {(a, 30 + b) for a, b in zip(ask, answer, strict=True)}
    across = [[v, w] for v in range(30) for w in range(30, 60) if (v, w) not in met]
    within = [[v, w] for v in range(30) for w in range(v)] + [
        [v + 30, w + 30] for v in range(30) for w in range(v)
    ]
    fitted = ehnn.HyperedgePredictor(model=model, width=16, epochs=15).fit([list(e) for e in sorted(met)])
    assert fitted.score(across + within, [1] * len(across) + [0] * len(within)) > 0.9


def test_models_from_before_affinities_are_read(
    ring: list[list[int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(hyperedges.NETWORKS, "default", 1)  # as it was
    fitted = ehnn.HyperedgePredictor(width=8, epochs=2, affinity=False).fit(ring)
    fitted.save(tmp_path / "model")
    file = tmp_path / "model" / "model.json"
    about = json.loads(file.read_text())
    about["version"] = 1  # which had no checksum
    del about["params"]["affinity"], about["fitted"]["affinity"], about["fitted"]["networks"]
    compared = about["fitted"]["compared"]
    compared["linear"] = {name: [*value[:7], value[-1]] for name, value in compared["linear"].items()}
    file.write_text(json.dumps(about))
    read = ehnn.HyperedgePredictor.load(tmp_path / "model")
    assert read.affinity is False
    assert read.model_.affinity is None
    if all(not any(value[7:-1]) for value in fitted.members_.linear.values()):
        np.testing.assert_allclose(
            read.decision_function([[0, 1]]), fitted.decision_function([[0, 1]]), atol=1e-5
        )


def test_coefficients_from_before_affinities_are_read() -> None:
    former = {"linear": {"a": [*range(1, 8), 9.0]}, "weights": {"a": 1.0}, "leaderboard": []}
    assert SetMembers.restore(former).linear["a"].tolist() == [*range(1, 8), 0, 0, 0, 9]
