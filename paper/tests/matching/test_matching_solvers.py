"""Sinkhorn, Hungarian, classic solvers, loss and metrics."""

import os
import subprocess
import sys
from itertools import permutations
from pathlib import Path

import pytest
import torch
from torch.autograd import gradcheck

from ehnn_paper.matching.association import associate
from ehnn_paper.matching.candidates import candidates_of
from ehnn_paper.matching.classic import SOLVERS, association_matrices, solve_classic
from ehnn_paper.matching.hungarian import hungarian
from ehnn_paper.matching.loss import matching_metrics, permutation_loss, truth
from ehnn_paper.matching.sinkhorn import sinkhorn

from .matching_examples import member, random_batch

COUNTS = [(4, 6), (3, 3), (5, 2), (1, 4), (6, 6), (1, 1)]


def drawn(batch, seed=0, dtype=torch.float64):
    found = candidates_of(batch)
    scores = torch.randn(len(found), generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return found, scores.to(dtype)


def test_sinkhorn_is_doubly_stochastic():
    found, scores = drawn(random_batch(COUNTS))
    p = found.dense(sinkhorn(scores, found, iterations=200, temperature=0.5).exp())
    for matrix, (n, m) in zip(p, COUNTS, strict=True):
        block = matrix[:n, :m] if n <= m else matrix[:n, :m].T
        torch.testing.assert_close(block.sum(1), torch.ones(min(n, m), dtype=p.dtype), atol=1e-6, rtol=0)
        assert float(block.sum(0).max()) <= 1 + 1e-9


def plain_sinkhorn(scores, iterations, temperature):
    """Textbook version of one pair, with dummy rows and numbers instead of logarithms."""
    n, m = scores.shape
    if n > m:
        return plain_sinkhorn(scores.T, iterations, temperature).T
    p = torch.cat([(scores / temperature).exp(), torch.ones(m - n, m, dtype=scores.dtype)])
    for step in range(iterations):
        p = p / p.sum(1 - step % 2, keepdim=True)
    return p[:n]


@pytest.mark.parametrize("iterations", [1, 2, 7, 20])
def test_sinkhorn_is_the_textbook_version(iterations):
    found, scores = drawn(random_batch(COUNTS))
    p = found.dense(sinkhorn(scores, found, iterations, 0.3).exp())
    dense = found.dense(scores)
    for pair, (n, m) in enumerate(COUNTS):
        torch.testing.assert_close(p[pair, :n, :m], plain_sinkhorn(dense[pair, :n, :m], iterations, 0.3))


@pytest.mark.parametrize(("n", "m"), [(4, 4), (3, 5), (5, 3)])
def test_sinkhorn_agrees_with_pygmtools(n, m):
    pygmtools = pytest.importorskip("pygmtools")
    found, scores = drawn(random_batch([(n, m)]))
    wanted = pygmtools.sinkhorn(
        scores.reshape(1, n, m), dummy_row=True, max_iter=20, tau=0.05, backend="pytorch"
    )
    torch.testing.assert_close(sinkhorn(scores, found).exp(), wanted.flatten())


def test_sinkhorn_gradients():
    found, scores = drawn(random_batch([(3, 4), (2, 2), (3, 1)]))
    assert gradcheck(lambda s: sinkhorn(s, found, 5, 0.5), scores.requires_grad_())
    assert gradcheck(lambda s: sinkhorn(s, found).exp(), scores / 20)


@pytest.mark.parametrize("scale", [0.0, 1e3, 1e6])
def test_sinkhorn_is_stable(scale):
    found, scores = drawn(random_batch(COUNTS), dtype=torch.float32)
    scores = (scale * scores).requires_grad_()
    log_p = sinkhorn(scores, found)
    log_p.exp().sum().backward()
    assert bool(log_p.isfinite().all())
    assert bool((log_p <= 0).all())
    assert bool(scores.grad.isfinite().all())


def test_sinkhorn_of_a_batch_is_that_of_its_members():
    batch = random_batch(COUNTS)
    found, scores = drawn(batch)
    together = sinkhorn(scores, found)
    for pair in range(len(COUNTS)):
        alone = candidates_of(member(batch, pair))
        torch.testing.assert_close(together[found.pair == pair], sinkhorn(scores[found.pair == pair], alone))


def test_sinkhorn_without_candidates_and_with_wrong_ones():
    found = candidates_of(random_batch([(0, 3)]))
    assert sinkhorn(torch.zeros(0), found).shape == (0,)
    with pytest.raises(ValueError, match="one per candidate"):
        sinkhorn(torch.zeros(3), found)
    with pytest.raises(ValueError, match="must be positive"):
        sinkhorn(torch.zeros(0), found, temperature=0)


def test_hungarian_finds_the_best_of_all_matchings():
    found, scores = drawn(random_batch([(3, 4), (4, 2)]))
    matched = hungarian(scores, found)
    dense = found.dense(scores)
    best = max(sum(float(dense[0, i, j]) for i, j in enumerate(p)) for p in permutations(range(4), 3))
    assert sum(float(dense[0, i, j]) for i, j in enumerate(matched[:3].tolist())) == pytest.approx(best)
    best = max(sum(float(dense[1, i, j]) for j, i in enumerate(p)) for p in permutations(range(4), 2))
    pairs = [(i, j - 4) for i, j in enumerate(matched[3:].tolist()) if j >= 0]
    assert len(pairs) == 2
    assert sum(float(dense[1, i, j]) for i, j in pairs) == pytest.approx(best)


def test_hungarian_agrees_with_pygmtools():
    pygmtools = pytest.importorskip("pygmtools")
    found, scores = drawn(random_batch([(5, 7)]))
    wanted = pygmtools.hungarian(scores.reshape(5, 7), backend="pytorch")
    assert torch.equal(hungarian(scores, found), wanted.argmax(1))


def test_hungarian_refuses_what_it_cannot_read():
    found = candidates_of(random_batch([(2, 2)]))
    with pytest.raises(ValueError, match="must be finite"):
        hungarian(torch.tensor([0.0, torch.nan, 0.0, 0.0]), found)
    with pytest.raises(ValueError, match="one per candidate"):
        hungarian(torch.zeros(5), found)


def test_association_matrices_hold_every_affinity_twice():
    batch = random_batch([(4, 5), (3, 3)])
    found = associate(batch)
    nodes = torch.rand(len(found.candidates))
    edges = torch.rand(found.structure.num_edges)
    for matrix in association_matrices(nodes, edges, found):
        assert torch.equal(matrix, matrix.T)
    first = association_matrices(nodes, edges, found)[0]
    assert torch.equal(first.diag(), nodes[:20])
    for value, (i, j) in zip(edges.tolist(), found.structure.edges()[:10], strict=False):
        assert float(first[i, j]) == pytest.approx(value)


@pytest.mark.parametrize("solver", SOLVERS)
def test_classic_solvers_find_a_clear_matching(solver):
    pytest.importorskip("pygmtools")
    batch = random_batch([(4, 5), (5, 3)])
    found = associate(batch)
    true = truth(batch, found.candidates).float()
    both = true[found.structure.incidence.index[: 4 * found.edge_pairs].reshape(-1, 2)].prod(1)
    edges = torch.cat([both, torch.zeros(found.structure.num_edges - len(both))])
    scores = solve_classic(solver, 0.1 + true, edges, found)
    assert torch.equal(hungarian(scores, found.candidates), batch.target)


def test_unknown_solver_is_named():
    batch = random_batch([(2, 2)])
    with pytest.raises(ValueError, match="solver must be one of"):
        solve_classic("lp", torch.zeros(4), torch.zeros(2), associate(batch))


def test_loss_is_binary_cross_entropy_per_match():
    batch = random_batch([(3, 4), (4, 2)])
    found, scores = drawn(batch)
    log_p = sinkhorn(scores, found, temperature=1.0)
    true = truth(batch, found).double()
    wanted = torch.nn.functional.binary_cross_entropy(log_p.exp(), true, reduction="sum") / (3 + 2)
    torch.testing.assert_close(permutation_loss(log_p, batch, found), wanted)


def test_loss_of_hopeless_scores_still_has_a_gradient():
    batch = random_batch([(3, 3)])
    found = candidates_of(batch)
    scores = torch.where(truth(batch, found), -1e3, 1e3).requires_grad_()
    loss = permutation_loss(sinkhorn(scores, found), batch, found)
    loss.backward()
    assert bool(loss.isfinite())
    assert bool(scores.grad.isfinite().all())
    assert float(scores.grad.abs().max()) > 0


def test_metrics_by_hand():
    batch = random_batch([(3, 3), (4, 2), (1, 1)])  # true: 0 1 2 | 3 4 −1 −1 | 5
    found = matching_metrics(torch.tensor([0, 2, 1, 3, -1, 4, -1, 5]), batch)
    torch.testing.assert_close(found["precision"], torch.tensor([1 / 3, 1 / 2, 1.0]).double())
    torch.testing.assert_close(found["recall"], torch.tensor([1 / 3, 1 / 2, 1.0]).double())
    few = matching_metrics(torch.tensor([0, -1, -1, 3, 4, -1, -1, -1]), batch)
    torch.testing.assert_close(few["precision"], torch.tensor([1.0, 1.0, 1.0]).double())
    torch.testing.assert_close(few["recall"], torch.tensor([1 / 3, 1.0, 0.0]).double())
    torch.testing.assert_close(few["f1"], torch.tensor([0.5, 1.0, 0.0]).double())
    with pytest.raises(ValueError, match="one per keypoint"):
        matching_metrics(torch.tensor([0]), batch)


def test_sinkhorn_as_one_kernel_agrees_with_its_steps():
    pytest.importorskip("triton")
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("triton_sinkhorn_cases.py"))],
        capture_output=True,
        text=True,
        env={**os.environ, "TRITON_INTERPRET": "1"},
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "all agree" in done.stdout
