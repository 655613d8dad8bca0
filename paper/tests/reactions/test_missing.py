"""Missing reactions: negatives, columns, and that no answer is in the input."""

from itertools import chain

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from ehnn_paper.reactions import missing_table
from ehnn_paper.reactions.missing import Ask, Network, Prepare, balance
from ehnn_paper.reactions.missing_table import MODELS, measure, pool, swapped
from ehnn_paper.reactions.net import ReactionScorer
from ehnn_paper.reactions.swapped import Rows, half_swapped


@pytest.fixture
def network() -> Network:
    """60 reactions over 30 metabolites, of which 40 are in the model."""
    draw = np.random.default_rng(0)
    sides = np.zeros((2, 60, 30))
    for e in range(60):
        members = draw.choice(30, 4, replace=False)
        sides[0, e, members[:2]], sides[1, e, members[2:]] = 1, 2
    rows = Rows(csr_array(sides[0]), csr_array(sides[1]))
    return Network(rows, np.arange(60) < 40, draw.integers(5, size=(30, 3)).astype(float), np.arange(30) % 2)


def test_half_of_the_metabolites_are_exchanged(network):
    rows = network.rows
    found = half_swapped(rows, seed=0)
    for side in ("tails", "heads"):
        np.testing.assert_array_equal(
            np.diff(getattr(found, side).indptr), np.diff(getattr(rows, side).indptr)
        )
    one, other = ((part.tails + part.heads).toarray() > 0 for part in (rows, found))
    assert (one & other).sum(1).tolist() == [2] * 60
    assert other.sum(1).tolist() == [4] * 60
    assert set(found.heads.data) == {2.0}


def test_a_reaction_of_one_metabolite_is_exchanged_too():
    rows = Rows(csr_array([[1.0, 0, 0]]), csr_array((1, 3)))
    assert half_swapped(rows, seed=1).tails.toarray()[0, 0] == 0


def test_a_metabolite_on_both_sides_stays_one():
    rows = Rows(csr_array(np.eye(1, 9)), csr_array(np.eye(1, 9)))
    found = half_swapped(rows, seed=0)
    assert found.tails.indices.tolist() == found.heads.indices.tolist() != [0]


def test_swapped_reactions_need_metabolites():
    rows = Rows(csr_array([[1.0, 1, 1]]), csr_array((1, 3)))
    with pytest.raises(ValueError, match="no 3 of 3 metabolites were found"):
        half_swapped(rows, seed=0)


def test_mass_balance():
    """2 H2 + O2 → 2 H2O is balanced with its coefficients and not without them."""
    elements = np.array([[2.0, 0], [0, 2], [2, 1]])
    tails, heads = csr_array([[2.0, 1, 0], [1, 1, 0]]), csr_array([[0, 0, 2.0], [0, 0, 1]])
    found = balance(Rows(tails, heads), elements)
    assert found["balance holds"].tolist() == [1, 0]
    assert found["balance elements"].tolist() == [0, 1]


@pytest.mark.parametrize("protocol", [pool, swapped])
def test_what_is_asked_is_never_known(network, protocol):
    """Neither as a hyperedge nor in a training part of the model that scores it."""
    seen = []

    def fit(parts):
        trained = set(np.concatenate([part.candidates.key for part in parts]).tolist())
        for part in parts:
            assert not set(part.known.key) & set(part.candidates[np.flatnonzero(part.answers)].key)

        def scores(ask):
            assert not set(ask.known.key) & set(ask.candidates.key)
            assert not trained & set(ask.candidates[np.flatnonzero(ask.answers)].key)
            if protocol is pool:
                assert not trained & set(ask.candidates.key)
            seen.append(len(ask.candidates))
            return ask.answers

        return scores

    scores, answers = protocol(fit, network, np.arange(30), np.arange(30, 40), 0)
    np.testing.assert_array_equal(scores, answers)
    assert answers.sum() == 10
    assert sum(seen) == len(answers) == (30 if protocol is pool else 20)


@pytest.mark.parametrize("directed", [True, False])
def test_an_undirected_model_does_not_see_sides(network, directed):
    known, asked = network.rows[np.arange(30)], network.rows[np.arange(30, 60)]
    other = Rows(asked.heads, asked.tails)
    answers = np.arange(30) % 2.0
    one, two = (Ask(network, known, candidates, answers) for candidates in (asked, other))
    prepare = Prepare([one], directed)
    torch.manual_seed(0)
    ready = prepare(one)
    model = ReactionScorer(ready.known.x.shape[1], ready.table.shape[1]).eval()
    same = torch.allclose(model(ready), model(prepare(two)), atol=1e-5)
    assert same == (not directed)


@pytest.mark.parametrize("kind", ["pool", "swapped"])
@pytest.mark.parametrize("model", ["size", "lr-directed", "cheshire", "ehnn-undirected", "ehnn-directed"])
def test_every_model_is_measured(network, kind, model, monkeypatch):
    fit, setting = MODELS[model]
    monkeypatch.setitem(MODELS, model, (fit, setting | {"epochs": 1}))
    found = measure(kind, model, network, 0)
    assert 0 <= found["auroc"] <= 100
    if (kind, model) == ("swapped", "size"):
        assert found["auroc"] == 50


@pytest.mark.parametrize("kind", ["pool", "swapped"])
def test_another_seed_deals_other_folds_and_negatives(network, kind, monkeypatch):
    asked, drawn = [], []

    def protocol(fit, network, known, hidden, seed):
        asked.append(hidden.tolist())
        drawn.append((seed, fit.keywords["seeds"]))
        return np.array([1.0, 0.0]), np.array([1.0, 0.0])

    monkeypatch.setattr(missing_table, kind, protocol)
    for seed in (0, 7):
        for split in range(5):
            measure(kind, "size", network, split, seed)
    for folds in (asked[:5], asked[5:]):
        assert sorted(chain(*folds)) == list(range(40))
    assert sorted(map(sorted, asked[:5])) != sorted(map(sorted, asked[5:]))
    assert drawn == [(i, [0]) for i in range(5)] + [(7 + i, [7]) for i in range(5)]
