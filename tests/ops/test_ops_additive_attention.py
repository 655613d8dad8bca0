"""Additive attention over pairs: the fast version against the plain one, with every gradient."""

import pytest
import torch
from torch.func import vmap

from ehnn import Hypergraph
from ehnn.ops import additive_attention, use_backend
from ehnn.ops.additive_attention import recomputed
from ehnn.ops.additive_attention.naive import reference_additive_attention
from ehnn.testing import random_hypergraph


def inputs(h: Hypergraph, heads: int = 3, channels: int = 4, size: float = 1.0) -> tuple[torch.Tensor, ...]:
    shapes = (h.num_nodes, heads, channels), (h.num_nodes, heads), (h.num_edges, heads)
    generator = torch.Generator().manual_seed(0)
    drawn = [torch.randn(s, generator=generator, dtype=torch.float64) for s in shapes]
    return drawn[0].requires_grad_(), *((size * t).requires_grad_() for t in drawn[1:])


@pytest.mark.parametrize("budget", [1, 10, 2**25])
@pytest.mark.parametrize("size", [1.0, 500.0])
def test_agrees_with_the_plain_version(monkeypatch: pytest.MonkeyPatch, budget: int, size: float) -> None:
    monkeypatch.setattr(recomputed, "_BUDGET", budget)
    h = random_hypergraph(8, 6, (0, 5), seed=0)
    args = inputs(h, size=size)
    got, want = (f(*args, h.incidence) for f in (additive_attention, reference_additive_attention))
    torch.testing.assert_close(got, want)
    weight = torch.randn_like(got)
    for name, a, b in zip(
        ("x", "source", "target"),
        torch.autograd.grad((got * weight).sum(), args),
        torch.autograd.grad((want * weight).sum(), args),
        strict=True,
    ):
        torch.testing.assert_close(a, b, msg=name)


def test_gradcheck() -> None:
    h = Hypergraph.from_edges([[0, 1, 2], [2], [], [1, 3]], num_nodes=5)
    assert torch.autograd.gradcheck(lambda *a: additive_attention(*a, h.incidence), inputs(h, 2, 2))


def test_no_pairs() -> None:
    h = Hypergraph.from_edges([[], []], num_nodes=3)
    args = inputs(h)
    y = additive_attention(*args, h.incidence)
    assert y.shape == (2, 3, 4)
    assert not y.any()
    y.sum().backward()
    assert all(not a.grad.any() for a in args)


@pytest.mark.parametrize("in_dims", [(0, 0, 0), (None, 0, 1), (1, None, 0)])
def test_runs_at_once(in_dims: tuple) -> None:
    h = random_hypergraph(7, 5, (0, 4), seed=1)
    one = [t.detach() for t in inputs(h)]
    many = [
        t if d is None else torch.stack([t * (i + 1) for i in range(2)], d)
        for t, d in zip(one, in_dims, strict=True)
    ]
    got = vmap(lambda *a: additive_attention(*a, h.incidence), in_dims)(*many)
    for i in range(2):
        alone = [t if d is None else t.select(d, i) for t, d in zip(many, in_dims, strict=True)]
        torch.testing.assert_close(got[i], additive_attention(*alone, h.incidence))


def test_second_derivative_is_refused() -> None:
    h = Hypergraph.from_edges([[0, 1]])
    args = inputs(h, 1, 1)
    (first,) = torch.autograd.grad(additive_attention(*args, h.incidence).sum(), args[1], create_graph=True)
    with pytest.raises(RuntimeError, match="second derivative"):
        first.sum().backward()


def test_nothing_of_the_size_of_the_pairs_is_kept() -> None:
    """Between the passes only rows and columns are saved, not pairs × heads."""
    h = random_hypergraph(300, 300, 30, seed=0)
    args = inputs(h, heads=2, channels=1)
    saved = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: saved.append(t) or t, lambda t: t):
        additive_attention(*args, h.incidence)
    floats = [t for t in saved if t.is_floating_point()]
    assert floats
    assert max(t.numel() for t in floats) <= 600


def test_gradients_have_all_digits_of_the_inputs() -> None:
    """The slope too: 0.2 in float32 is wrong from the ninth digit on."""
    h = random_hypergraph(8, 6, (1, 5), seed=0)
    x, source, target = inputs(h)
    args = x, (source - 20).detach().requires_grad_(), target
    got, want = (
        torch.autograd.grad(f(*args, h.incidence).square().sum(), args)
        for f in (additive_attention, reference_additive_attention)
    )
    for a, b in zip(got, want, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-14)


def test_the_backend_is_heard() -> None:
    h = Hypergraph.from_edges([[0, 1, 2], [1, 3]], num_nodes=5)
    args = inputs(h, 2, 2)

    def gradient() -> torch.Tensor:
        y = additive_attention(*args, h.incidence).square().sum()
        return torch.autograd.grad(y, args[0], create_graph=True)[0]

    with pytest.raises(RuntimeError, match=r"no second derivative; use use_backend\('reference'\)"):
        torch.autograd.grad(gradient().square().sum(), args[0])
    with use_backend("reference"):
        assert bool(torch.autograd.grad(gradient().square().sum(), args[0])[0].any())
