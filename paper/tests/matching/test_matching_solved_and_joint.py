"""BBGM's solver and gradient; NMGM and GANN-MGM, which match several images at once."""

from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest
import torch
from torch import Tensor

from ehnn_paper.matching import prepare as matching_data
from ehnn_paper.matching.association import associate
from ehnn_paper.matching.candidates import candidates_of
from ehnn_paper.matching.hungarian import hungarian
from ehnn_paper.matching.loss import matching_metrics, permutation_loss, truth
from ehnn_paper.matching.models import make_matcher
from ehnn_paper.matching.models.black_box import _Solve, hamming_loss, integer_fixed_point, two_ends
from ehnn_paper.matching.models.graduated import adjacency
from ehnn_paper.matching.models.groups import Groups, pairs_of, take
from ehnn_paper.matching.models.synchronised import _Projector
from ehnn_paper.matching.pair_batch import PairBatch
from ehnn_paper.matching.prepare import Setup, prepare
from ehnn_paper.matching.recipes import Benchmark, Recipe
from ehnn_paper.matching.run import run

from .matching_examples import CHANNELS, WHOLE, member, random_batch, side_of
from .painted import Colours, painted_set


def f1(model: torch.nn.Module, batch: PairBatch) -> float:
    matched = hungarian(model.eval()(batch), candidates_of(batch))
    return float(matching_metrics(matched, batch)["f1"].mean())


# ---------------------------------------------------------------------- the solver


def test_the_solver_finds_what_edges_say_against_nodes() -> None:
    """Node affinities favour a wrong matching a little, 2-edges the right one by far."""
    batch = random_batch([(6, 6), (4, 4)])
    found = associate(batch, (2,))
    true = truth(batch, found.candidates)
    edges = true[two_ends(found)].all(0).double()
    nodes = torch.rand(len(true), generator=torch.Generator().manual_seed(0)) * 0.3
    assert torch.equal(integer_fixed_point(nodes, edges, found) > 0, true)
    shuffled = nodes + 5 * true.roll(1)  # unless nodes insist
    assert not torch.equal(integer_fixed_point(shuffled, edges, found) > 0, true)


def test_the_solver_comes_near_the_best_of_all_matchings() -> None:
    shares = []
    for seed in range(10):
        batch = random_batch([(5, 5)], seed=seed)
        found = associate(batch, (2,))
        generator = torch.Generator().manual_seed(seed)
        nodes = torch.rand(25, generator=generator)
        edges = torch.rand(found.structure.num_edges, generator=generator)

        def value(x: Tensor, nodes: Tensor = nodes, edges: Tensor = edges, found=found) -> float:
            return float((nodes * x).sum() + (edges * x[two_ends(found)].prod(0)).sum())

        best = max(value(torch.eye(5)[list(p)].flatten()) for p in permutations(range(5)))
        shares.append(value(integer_fixed_point(nodes, edges, found)) / best)
    assert min(shares) > 0.85
    assert sum(shares) / len(shares) > 0.95


def test_the_gradient_of_the_solver_leads_to_the_truth() -> None:
    batch = random_batch([(4, 4)])
    found = associate(batch, (2,))
    true = truth(batch, found.candidates)
    nodes = true.roll(1).float().requires_grad_()
    edges = torch.zeros(found.structure.num_edges, requires_grad=True)
    solved = _Solve.apply(nodes, edges, found, 80.0, 10)
    loss = hamming_loss((solved + 1e-7).log(), batch, found.candidates)
    loss.backward()
    wrong = int((solved.detach() != true.float()).sum())
    assert loss.item() == pytest.approx(wrong, abs=1e-4)
    torch.testing.assert_close(nodes.grad, (solved.detach() - true.float()) / 80)
    assert bool((edges.grad[true[two_ends(found)].all(0)] <= 0).all())
    assert bool((edges.grad != 0).any())


def test_a_right_matching_has_no_gradient() -> None:
    batch = random_batch([(4, 4)])
    found = associate(batch, (2,))
    nodes = truth(batch, found.candidates).float().requires_grad_()
    solved = _Solve.apply(nodes, torch.zeros(found.structure.num_edges), found, 80.0, 10)
    hamming_loss((solved + 1e-7).log(), batch, found.candidates).backward()
    assert not bool(nodes.grad.any())


# ---------------------------------------------------------------------- groups of images


def noisy_copies(pairs: int, seed: int = 3, noise: float = 0.35, points: int = 7) -> PairBatch:
    """Images of one object, each with noise of its own on places and features."""
    generator = torch.Generator().manual_seed(seed)
    places = 256 * torch.rand(points, 2, generator=generator)
    looks = torch.nn.functional.normalize(torch.randn(points, 16, generator=generator), dim=1)

    def draw() -> tuple[Tensor, Tensor, Tensor]:
        order = torch.randperm(points, generator=generator)
        moved = places + 8 * torch.randn(points, 2, generator=generator)
        return moved[order], (looks + noise * torch.randn(points, 16, generator=generator))[order], order

    a, b = [draw() for _ in range(pairs)], [draw() for _ in range(pairs)]
    target = [y[2].argsort()[x[2]] + i * points for i, (x, y) in enumerate(zip(a, b, strict=True))]
    left, right = (
        side_of([p for p, _, _ in side], [f for _, f, _ in side], torch.ones(pairs, WHOLE)) for side in (a, b)
    )
    return PairBatch(left, right, torch.cat(target), ("duck",) * pairs)


def test_groups_are_neighbours_of_one_category() -> None:
    batch = replace(random_batch([(4, 3), (2, 5), (3, 3), (6, 2)]), categories=("x", "x", "x", "y"))
    groups = Groups.of(batch, 2)
    assert groups.group.tolist() == [0, 0, 1, 2, 0, 0, 1, 2]
    assert groups.sizes.tolist() == [4, 2, 2]
    assert groups.keypoints.tolist() == [14, 6, 8]
    for group in range(3):
        mine = groups.group[groups.images.owner] == group
        assert sorted(groups.place[mine].tolist()) == list(range(int(mine.sum())))
    assert Groups.of(random_batch([(4, 3), (2, 5)]), 2).sizes.tolist() == [2, 2]


def test_taken_images_are_those_of_the_batch() -> None:
    batch = random_batch([(4, 3), (2, 5), (6, 6)])
    groups = Groups.of(batch, 4)
    numbers = torch.tensor([2, 0, 2, 1])
    taken = take(groups.images, numbers)
    alone = pairs_of(groups, numbers, numbers + 3)
    for place, number in enumerate(numbers.tolist()):
        wanted, found = member(batch, number), member(alone, place)
        for side, other in ((found.a, wanted.a), (found.b, wanted.b)):
            for name in ("points", "edges", "triangles", "features", "whole"):
                assert torch.equal(getattr(side, name), getattr(other, name)), name
    assert taken.counts.tolist() == [6, 4, 6, 2]


def test_adjacency_stays_inside_images() -> None:
    batch = replace(random_batch([(5, 4), (3, 6)]), categories=("x", "x"))
    groups = Groups.of(batch, 2)
    found = adjacency(groups)
    image = torch.empty(groups.width, dtype=torch.int64)
    image[groups.place] = groups.images.owner
    other = image.unsqueeze(1) != image
    assert torch.equal(found, found.mT)
    assert not bool(found[0][other].any())
    assert int((found > 0).sum()) == 2 * groups.images.edges.shape[1]
    assert float(found.sum()) == pytest.approx(float(groups.images.counts.sum()), rel=1e-5)


def test_the_gradient_of_the_projection_is_right_and_bounded() -> None:
    generator = torch.Generator().manual_seed(0)
    matrices = torch.randn(2, 6, 6, generator=generator, dtype=torch.float64).requires_grad_()
    leading = torch.tensor([2, 3])
    assert torch.autograd.gradcheck(lambda w: _Projector.apply((w + w.mT) / 2, leading), (matrices,))
    consistent = torch.ones(1, 3, 3).repeat(1, 2, 2).mul(torch.eye(3).repeat(2, 2)).requires_grad_()
    projected = _Projector.apply(consistent, torch.tensor([3]))
    torch.testing.assert_close(2 * projected, consistent)
    projected[0, 0, 3].backward()
    assert bool(consistent.grad.isfinite().all())


@pytest.mark.parametrize("name", ["nmgm", "gann-mgm"])
def test_more_images_match_better(name: str) -> None:
    """Matching is helped by images that it is not about: copies with noise of their own."""
    torch.manual_seed(0)
    model = make_matcher(name, 16, WHOLE, refine=0)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2) if list(model.parameters()) else None
    for step in range(20 if optimizer else 0):
        batch = noisy_copies(4, seed=100 + step)
        loss = permutation_loss(model(batch), batch, candidates_of(batch))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    test, scores = noisy_copies(8), []
    for most in (1, 8):
        model.most = most
        scores.append(f1(model, test))
    assert scores[1] > scores[0] + 0.1
    assert scores[1] > 0.9


def test_graduated_assignment_learns_without_truth() -> None:
    torch.manual_seed(0)
    model = make_matcher("gann-mgm", CHANNELS, WHOLE, refine=1).train()
    batch = replace(random_batch([(5, 5), (5, 5)]), categories=("x", "x"))
    other = replace(batch, target=batch.target.roll(2))
    assert torch.equal(model(batch), model(other))
    assert model(batch).requires_grad
    matched = model.eval()(batch).exp().round().reshape(2, 5, 5)
    assert torch.equal(matched.sum(1), torch.ones(2, 5))


# ---------------------------------------------------------------------- the common loop


def test_they_train_by_the_common_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching_data, "load_vgg16", lambda data_dir=None: Colours())
    spline = Recipe({"refine": 1}, lr=0.02)
    recipes = {"bbgm": spline, "gann-mgm": spline, "nmgm": Recipe(lr=0.005)}
    painted = Benchmark(
        "painted", "Painted", lambda folder: painted_set(), recipes, {}, {"car": "car", "duck": "dk"},
        epochs=2, iterations=8, lr_steps=(2,), valid_images=3, valid_pairs=4, test_pairs=4, finetune=False,
    )  # fmt: skip
    setup = Setup(hard_pairs=4, batch_size=4, features_dir=tmp_path / "features")
    ready = prepare(painted, setup)
    for name in recipes:
        told = run(painted, name, ready, setup, 0, tmp_path / name, say=lambda text: None)
        assert told["scores"]["validation"]["mean"] > 70, name
