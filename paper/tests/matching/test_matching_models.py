"""Matchers."""

from dataclasses import replace

import pytest
import torch

from ehnn_paper.matching.association import associate
from ehnn_paper.matching.candidates import candidates_of
from ehnn_paper.matching.classic import association_matrices
from ehnn_paper.matching.hungarian import hungarian
from ehnn_paper.matching.loss import matching_metrics, permutation_loss, truth
from ehnn_paper.matching.models import CONTROLS, LOSSES, MATCHERS, EmbeddingMatcher, make_matcher
from ehnn_paper.matching.models.controls import Control
from ehnn_paper.matching.models.equivariant import ehnn_mlp
from ehnn_paper.matching.models.spectral import Spectral
from ehnn_paper.matching.sinkhorn import sinkhorn

from .matching_examples import CHANNELS, WHOLE, member, random_batch, renumbered, rotated_pairs

COUNTS = [(4, 6), (3, 3), (5, 2), (6, 6)]
NAMES = [*sorted(MATCHERS), "ehnn-mlp, 2 layers", "ehnn-transformer, 2 layers"]
LEARNING = ["ehnn-mlp", "ehnn-transformer", "gmn", "nhgm-v2", "ngm-v2", "pca-gm", "bbgm"]


def matcher(name, seed=0):
    torch.manual_seed(seed)
    name, _, stacked = name.partition(", ")
    options = {"width": 8} if isinstance(make_matcher(name, CHANNELS, WHOLE), EmbeddingMatcher) else {}
    options |= {"layers": 2} if stacked else {}
    return make_matcher(name, CHANNELS, WHOLE, **options).eval()


def loss_of(name, model, batch):
    return LOSSES.get(name, permutation_loss)(model(batch), batch, candidates_of(batch))


@pytest.mark.parametrize("name", NAMES)
def test_gradients_reach_every_parameter(name):
    model, batch = matcher(name).train(), random_batch(COUNTS)
    loss = loss_of(name, model, batch)
    loss.backward()
    without = [n for n, p in model.named_parameters() if p.grad is None or not bool((p.grad != 0).any())]
    assert bool(loss.isfinite())
    assert without == []


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("which", ["a", "b"])
def test_renumbering_keypoints_renumbers_the_answer(name, which):
    model, batch = matcher(name).double(), random_batch([(5, 6)], dtype=torch.float64)
    perm = torch.randperm(5 if which == "a" else 6, generator=torch.Generator().manual_seed(3))
    moved = renumbered(batch, which, perm)
    plain = model(batch).reshape(5, 6)
    other = model(moved).reshape(5, 6)
    torch.testing.assert_close(other[perm] if which == "a" else other[:, perm], plain)


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_is_its_members(name):
    model, batch = matcher(name).double(), random_batch(COUNTS, dtype=torch.float64)
    together, pair = model(batch), candidates_of(batch).pair
    for number in range(len(COUNTS)):
        torch.testing.assert_close(model(member(batch, number)), together[pair == number])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("counts", [[(1, 1)], [(2, 1)], [(2, 2), (1, 3)], [(3, 3)], [(0, 2), (2, 2)]])
def test_few_keypoints(name, counts):
    model, batch = matcher(name), random_batch(counts)
    log_p = model(batch)
    loss_of(name, model.train(), batch).backward()
    assert log_p.shape == (sum(n * m for n, m in counts),)
    assert bool(log_p.isfinite().all())
    assert all(bool(p.grad.isfinite().all()) for p in model.parameters() if p.grad is not None)


@pytest.mark.parametrize("name", NAMES)
def test_identical_keypoints_give_no_nan(name):
    model, batch = matcher(name), random_batch([(4, 4)])
    side = replace(batch.a, features=torch.ones(4, CHANNELS), points=torch.zeros(4, 2))
    batch = replace(batch, a=side, b=side)
    log_p = model(batch)
    loss_of(name, model.train(), batch).backward()
    torch.testing.assert_close(log_p.exp().reshape(4, 4).sum(0), torch.ones(4))
    assert all(bool(p.grad.isfinite().all()) for p in model.parameters() if p.grad is not None)


@pytest.mark.parametrize("name", NAMES)
def test_a_structure_made_beforehand_gives_the_same(name):
    model, batch = matcher(name), random_batch(COUNTS)
    assert torch.equal(model(batch, model.associate(batch)), model(batch))


@pytest.mark.parametrize("name", LEARNING)
def test_learns_to_match_rotated_copies(name):
    """Trained on random point sets, it matches new ones, turned and scaled, without a mistake."""
    torch.manual_seed(0)
    model = make_matcher(name, 16, WHOLE, refine=1)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(25):
        batch = rotated_pairs(4, seed=step, channels=16)
        loss = loss_of(name, model, batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    test = rotated_pairs(20, seed=1000, channels=16)
    matched = hungarian(model.eval()(test), candidates_of(test))
    assert float(matching_metrics(matched, test)["f1"].mean()) == 1


def test_options_reach_the_parts():
    torch.manual_seed(0)
    model = make_matcher("ehnn-mlp", CHANNELS, WHOLE, refine_width=3, width=8, norm=False)
    assert [tuple(layer.weight.shape[1:]) for layer in model.refine.layers] == [(CHANNELS, 3), (3, CHANNELS)]
    assert model.classifier.in_features == 2 * 8 + 1
    batch = random_batch(COUNTS)
    permutation_loss(model(batch), batch, candidates_of(batch)).backward()
    assert all(bool((p.grad != 0).any()) for p in model.parameters())


def test_layers_read_what_the_one_before_says():
    """Each layer has parameters of its own, and the second is the first's function of its output."""
    torch.manual_seed(0)
    model, batch = make_matcher("ehnn-transformer", CHANNELS, WHOLE, width=8, layers=3), random_batch(COUNTS)
    steps = model.middle.steps
    assert [step.lift.in_features - 1 for step in steps] == [1, 2 * 8 + 1, 2 * 8 + 1]
    association = model.associate(batch)
    sizes = len(association.candidates), association.structure.num_edges
    h = association.hypergraph(*(torch.rand(size) for size in sizes))
    expected = steps[2](h, association, steps[1](h, association, steps[0](h, association)))
    assert torch.equal(model.middle(h, association), expected)


def test_controls_have_no_options():
    with pytest.raises(ValueError, match=r"matcher 'features' has no options, got \['width'\]"):
        make_matcher("features", width=8)


def test_no_layer_is_refused():
    with pytest.raises(ValueError, match="layers must be at least 1, got 0"):
        make_matcher("ehnn-mlp", CHANNELS, WHOLE, layers=0)


@pytest.mark.parametrize("inside", [False, True])
def test_with_inside_a_candidate_sees_its_neighbours(inside):
    """One layer without it reads of a hyperedge the affinity alone, not whom it joins."""
    torch.manual_seed(0)
    middle = ehnn_mlp(8, inside=inside, global_interaction=False)
    found = associate(random_batch([(4, 5)]))
    nodes, edges = torch.rand(20), torch.rand(found.structure.num_edges)
    other = nodes.clone()
    other[7] += 1
    one, two = (middle(found.hypergraph(n, edges), found)[:, :-1] for n in (nodes, other))
    changed = (one != two).any(1)
    beside = torch.zeros(20, dtype=torch.bool)
    beside[[v for edge in found.structure.edges() if 7 in edge for v in edge]] = True
    assert 1 < int(beside.sum()) < 20
    assert torch.equal(changed, beside if inside else torch.arange(20) == 7)


@pytest.mark.parametrize("name", CONTROLS)
def test_controls_match_a_shuffled_copy(name):
    batch = random_batch([(6, 6), (4, 4)])
    perm = torch.cat([torch.randperm(6), 6 + torch.randperm(4)])
    back = perm.argsort()
    b = replace(batch.a, points=batch.a.points[back] + 9, features=2 * batch.a.features[back])
    batch = replace(batch, b=b, target=perm)
    control = make_matcher(name)
    scores = control(batch)
    assert torch.equal(hungarian(scores, control.associate(batch).candidates), batch.target)


def test_hungarian_attention_sees_true_and_chosen_entries_alone():
    batch = random_batch([(3, 3)])
    found = candidates_of(batch)
    log_p = sinkhorn(torch.randn(9, generator=torch.Generator().manual_seed(1)), found, temperature=1.0)
    log_p.requires_grad_()
    LOSSES["cie-h"](log_p, batch, found).backward()
    chosen = hungarian(log_p, found)[found.a] == found.b
    assert torch.equal(log_p.grad != 0, truth(batch, found) | chosen)
    assert int((log_p.grad != 0).sum()) < 9


def test_spectral_matching_finds_the_leading_eigenvector():
    batch = random_batch([(4, 5), (3, 3)], dtype=torch.float64)
    found = associate(batch, (2,))
    nodes, edges = torch.rand(29).double() - 0.5, torch.rand(found.structure.num_edges).double() / 2 - 0.25
    v = Spectral(200)(found.hypergraph(nodes, edges), found).squeeze(1)
    for pair, matrix in enumerate(association_matrices(nodes + 0.5, edges + 0.25, found)):
        leading = torch.linalg.eigh(matrix).eigenvectors[:, -1].abs()
        torch.testing.assert_close(v[found.candidates.pair == pair], leading, atol=1e-6, rtol=1e-5)


def test_bad_batches_are_named():
    model, batch = matcher("ehnn-mlp"), random_batch(COUNTS)
    with pytest.raises(ValueError, match="let a backbone look first"):
        model(replace(batch, a=replace(batch.a, features=None)))
    with pytest.raises(ValueError, match="must have 6 and 4 channels"):
        model(replace(batch, b=replace(batch.b, features=torch.zeros(17, 5))))
    with pytest.raises(ValueError, match="matcher must be one of"):
        make_matcher("gpt")
    with pytest.raises(ValueError, match="must be 'features'"):
        Control("colours")


def test_seen_orders_are_those_of_the_network():
    batch = random_batch([(5, 5)])
    assert matcher("ngm-v2").associate(batch).structure.orders.unique().tolist() == [2]
    assert matcher("nhgm-v2").associate(batch).structure.edges() == associate(batch).structure.edges()
