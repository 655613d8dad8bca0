"""Directions of reactions: antisymmetric scores, and nothing of the answer in the input."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from ehnn_paper.reactions.columns import metabolite_columns, table, votes
from ehnn_paper.reactions.data import as_hypergraph, folds, from_arrays
from ehnn_paper.reactions.direction import Prepare, Question, accuracy, fit_ehnn, questions, turned
from ehnn_paper.reactions.direction_table import MODELS, measure
from ehnn_paper.reactions.net import DirectionScorer, ReactionScorer

EASY = {"dropout": 0.0, "epochs": 5, "C": 1.0, "leaves": 4, "rate": 0.1}


def ask(network):
    fold = folds(network.group[network.asked], 5, seed=0)
    return questions(network, network.asked[fold != 0], network.asked[fold == 0])


@pytest.mark.parametrize("model", MODELS)
def test_scores_change_their_sign_with_the_sides(network, model):
    parts, test = ask(network)
    scores = MODELS[model].fit(parts, EASY, [0])
    stated, other = scores(test), scores(turned(test))
    np.testing.assert_allclose(stated, -other, atol=1e-5)
    assert (np.abs(stated).max() < 1e-5) == (model == "ehnn-undirected")


def test_turning_an_asked_reaction_changes_no_input_but_its_own(network):
    """The columns of metabolites and of known reactions do not know how asked reactions run."""
    _, test = ask(network)
    other = turned(test)
    for name, column in metabolite_columns(network, test.known).items():
        np.testing.assert_array_equal(column, metabolite_columns(other.reactions, test.known)[name])
    np.testing.assert_allclose(other.table.whole(), test.table.turned().whole())


def test_groups_are_asked_together_and_never_known(network):
    parts, test = ask(network)
    for asked in (*parts, test):
        assert not set(network.group[asked.asked]) & set(network.group[asked.known])
    assert sorted(np.concatenate([p.asked for p in (*parts, test)])) == sorted(network.asked)


def test_history_counts_known_reactions_alone(network):
    known = np.zeros(60, bool)
    known[[1, 2]] = True
    consumed = metabolite_columns(network, known)["history consumed"]
    np.testing.assert_allclose(np.expm1(consumed), network.tails[[1, 2]].sum(0))


def test_votes_by_a_loop(network):
    known = np.arange(60) < 40
    found = votes(network, known, np.arange(40, 60))
    tails, heads = network.tails.toarray(), network.heads.toarray()
    for j in range(20):
        t, h = tails[40 + j], heads[40 + j]
        agree = sum(t @ tails[i] + h @ heads[i] - t @ heads[i] - h @ tails[i] for i in range(40))
        yes = sum((t @ tails[i]) * (h @ heads[i]) for i in range(40))
        no = sum((t @ heads[i]) * (h @ tails[i]) for i in range(40))
        np.testing.assert_allclose(found[j, :2], [agree, np.log((yes + 0.1) / (no + 0.1))])


def test_the_network_does_not_depend_on_the_numbers_of_metabolites(network):
    parts, test = ask(network)
    order = np.random.default_rng(1).permutation(25)
    moved = replace(
        network, tails=network.tails[:, order], heads=network.heads[:, order],
        elements=network.elements[order], compartment=network.compartment[order],
    )  # fmt: skip
    prepare = Prepare(parts)
    one, two = (prepare(Question.of(r, test.known, test.asked)) for r in (network, moved))
    torch.manual_seed(0)
    model = DirectionScorer(ReactionScorer(one.known.x.shape[1], one.table.shape[1])).eval()
    torch.testing.assert_close(model(one), model(two), atol=1e-5, rtol=1e-4)


def test_a_direction_that_can_be_learned_is():
    """A hidden order of the metabolites: reactions run from low to high."""
    draw = np.random.default_rng(0)
    node = np.concatenate([np.sort(draw.choice(30, 4, replace=False)) for _ in range(200)])
    network = from_arrays({
        "node": node, "edge": np.repeat(np.arange(200), 4), "side": np.tile([-1, -1, 1, 1], 200),
        "num_nodes": np.array(30), "num_edges": np.array(200), "x": np.ones((30, 1)),
    })  # fmt: skip
    parts, test = ask(network)
    scores = fit_ehnn(parts, {"dropout": 0.0, "epochs": 20}, [0], roles=True, columns=False)
    assert accuracy(scores(test)) > 85


def test_measure_gives_an_accuracy_and_a_setting(network):
    found = measure("lr-history", network, 0)
    assert 0 <= found["accuracy"] <= 100
    assert found["setting"] in MODELS["lr-history"].grid


def test_ties_are_half_right():
    assert accuracy(np.array([1.0, -1.0, 0.0, 1e-8])) == 50.0


def test_backward_reactions_are_turned_and_reversible_ones_are_not_asked():
    given = {
        "node": np.array([0, 1, 0, 1, 1, 2]), "edge": np.array([0, 0, 1, 1, 2, 2]),
        "side": np.array([-1, 1] * 3), "num_nodes": np.array(3), "num_edges": np.array(3),
        "lb": np.array([-1.0, -1.0, 0.0]), "ub": np.array([0.0, 1.0, 1.0]), "same": np.arange(3),
        "x": np.ones((3, 1)),
    }  # fmt: skip
    found = from_arrays(given)
    assert found.asked.tolist() == [0, 2]
    assert found.tails.toarray().tolist() == [[0, 1, 0], [1, 0, 0], [0, 1, 0]]


def test_reactions_listed_both_ways_are_reversible():
    """Also the last, which has the same metabolite on both sides."""
    given = {
        "node": np.array([0, 1, 1, 0, 1, 2, 2, 2]), "edge": np.array([0, 0, 1, 1, 2, 2, 3, 3]),
        "side": np.array([-1, 1] * 4), "num_nodes": np.array(3), "num_edges": np.array(4),
        "x": np.ones((3, 1)),
    }  # fmt: skip
    found = from_arrays(given)
    assert found.irreversible.tolist() == [False, False, True, False]
    assert found.group[0] == found.group[1] != found.group[2]


def test_roles_of_both_sides():
    from scipy.sparse import csr_array

    h = as_hypergraph(csr_array([[1.0, 1, 0, 0]]), csr_array([[0, 1.0, 1, 0]]))
    assert (h.index[0].tolist(), h.roles.tolist(), h.num_roles) == ([0, 1, 2], [0, 2, 1], 3)


def test_columns_of_both_sides(network):
    found = table(network, network.irreversible, np.arange(4))
    assert found.sides.shape == (2, 4, len(found.names))
    np.testing.assert_allclose(found.antisymmetric(), -found.turned().antisymmetric())
