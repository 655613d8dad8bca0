"""The matcher that lays one image on the other."""

from dataclasses import replace

import pytest
import torch

from ehnn_paper.matching.candidates import candidates_of
from ehnn_paper.matching.hungarian import hungarian
from ehnn_paper.matching.loss import matching_metrics, permutation_loss, truth
from ehnn_paper.matching.models.registered import CHANNELS, FARTHEST, normalised, registration
from ehnn_paper.matching.positional import make_model

from .matching_examples import WHOLE, member, random_batch, renumbered, rotated_pairs

NAMES = ["ehnn-mlp+", "ehnn-transformer+"]


def test_the_true_matching_of_a_turned_copy_is_laid_on_it_exactly() -> None:
    batch = rotated_pairs(3, seed=0)
    candidates = candidates_of(batch)
    true = truth(batch, candidates)
    found = registration(true.float(), batch, candidates)
    exact = torch.tensor([0.0, 1.0, 1.0]).expand(int(true.sum()), 3)
    torch.testing.assert_close(found[true], exact, atol=1e-3, rtol=0)
    assert bool((found[~true][:, 0] < -1e-3).all())
    assert bool((found[:, 0] >= -FARTHEST).all())


def test_half_of_a_matching_tells_the_rest() -> None:
    """Where the other half is undecided, the best fit is still the true one."""
    batch = rotated_pairs(4, seed=1, counts=(8, 8))
    candidates = candidates_of(batch)
    true = truth(batch, candidates)
    known = candidates.local_a < 4
    p = torch.where(known, true.float(), 0.0)
    found = registration(p, batch, candidates)[:, 0]
    assert torch.equal(hungarian(found, candidates), batch.target)


def test_it_is_the_least_squares_fit() -> None:
    batch = random_batch([(6, 6)], dtype=torch.float64)
    candidates = candidates_of(batch)
    p = torch.rand(36, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    u, v = normalised(batch.a)[candidates.a], normalised(batch.b)[candidates.b]
    one, none = torch.ones_like(u[:, 0]), torch.zeros_like(u[:, 0])
    rows = torch.cat([
        torch.stack([u[:, 0], -u[:, 1], one, none], 1), torch.stack([u[:, 1], u[:, 0], none, one], 1)
    ])  # fmt: skip
    weight = torch.cat([p, p]).sqrt().unsqueeze(1)
    goal = torch.cat([v[:, 0], v[:, 1]]).unsqueeze(1)
    best = torch.linalg.lstsq(weight * rows, weight * goal).solution
    error = (rows @ best - goal).reshape(2, -1).square().sum(0)
    wanted = torch.stack([-error.clamp(max=FARTHEST), torch.exp(-4 * error), torch.exp(-16 * error)], 1)
    torch.testing.assert_close(registration(p, batch, candidates), wanted, atol=2e-3, rtol=2e-3)


@pytest.mark.parametrize("counts", [[(1, 1)], [(2, 1), (3, 3)], [(0, 2), (2, 2)]])
def test_few_keypoints_are_finite(counts: list[tuple[int, int]]) -> None:
    batch = random_batch(counts)
    candidates = candidates_of(batch)
    p = torch.full((len(candidates),), 0.5, requires_grad=True)
    found = registration(p, batch, candidates)
    found.sum().backward()
    assert found.shape == (len(candidates), CHANNELS)
    assert bool(found.isfinite().all())
    assert bool(p.grad.isfinite().all())


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_is_its_members_in_any_numbering(name: str) -> None:
    torch.manual_seed(0)
    model = make_model(name, 6, WHOLE, refine=0, width=8).double().eval()
    batch = random_batch([(4, 6), (3, 3), (5, 2)], dtype=torch.float64)
    together, pair = model(batch), candidates_of(batch).pair
    for number in range(3):
        torch.testing.assert_close(model(member(batch, number)), together[pair == number])
    alone = member(batch, 0)
    perm = torch.tensor([2, 0, 3, 1])
    moved = model(renumbered(alone, "a", perm)).reshape(4, 6)
    torch.testing.assert_close(moved[perm], model(alone).reshape(4, 6))


@pytest.mark.parametrize("name", NAMES)
def test_gradients_reach_every_parameter_of_both_layers(name: str) -> None:
    torch.manual_seed(0)
    model, batch = make_model(name, 6, WHOLE, refine=1, width=8), random_batch([(4, 6), (5, 5)])
    permutation_loss(model(batch), batch, candidates_of(batch)).backward()
    without = [n for n, p in model.named_parameters() if p.grad is None or not bool(p.grad.any())]
    assert without == []


def test_learns_where_features_leave_half_of_the_keypoints_open() -> None:
    """Half of the keypoints look alike; the others tell where these belong, on images turned by any angle."""

    def blurred(pairs: int, seed: int):
        batch = rotated_pairs(pairs, seed=seed, counts=(8, 8), channels=16)
        same = torch.arange(8).repeat(pairs) < 4
        a = batch.a.features.masked_fill(same.unsqueeze(1), 0.0)
        b = batch.b.features.clone()
        b[batch.target[same]] = 0.0
        return replace(batch, a=replace(batch.a, features=a), b=replace(batch.b, features=b))

    torch.manual_seed(0)
    model = make_model("ehnn-mlp+", 16, WHOLE, refine=0, width=16)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(100):
        batch = blurred(8, step)
        loss = permutation_loss(model(batch), batch, candidates_of(batch))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    test = blurred(20, 1000)
    matched = hungarian(model.eval()(test), candidates_of(test))
    assert float(matching_metrics(matched, test)["f1"].mean()) > 0.85  # by features alone: about 0.63
