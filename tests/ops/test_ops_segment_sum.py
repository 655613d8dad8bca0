"""segment_sum and segment_mean."""

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

from ehnn import Hypergraph
from ehnn.ops import broadcast_rows, segment_mean, segment_sum, use_backend
from ehnn.ops.segment_sum.naive import reference_sum

from .ops_helpers import assert_as_good_as_plain, empty_patterns, long_pattern, patterns

PATTERNS, EMPTY = patterns(), empty_patterns()


def plain_sum(x, pairs):
    return reference_sum(x, pairs)


def plain_mean(x, pairs):
    return plain_sum(x, pairs) / pairs.lengths.clamp(min=1).to(x.dtype).unsqueeze(1)


OPS = {"sum": (segment_sum, plain_sum), "mean": (segment_mean, plain_mean)}


def test_sums_by_hand():
    x = torch.tensor([[1.0], [2.0], [4.0], [8.0], [16.0], [32.0], [64.0], [128.0]])
    pairs = PATTERNS["odd"]
    assert segment_sum(x, pairs).flatten().tolist() == [0, 7, 32, 0, 6, 6, 0]
    assert segment_mean(x, pairs).flatten().tolist() == pytest.approx([0, 7 / 3, 32, 0, 3, 3, 0])


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", PATTERNS)
def test_as_good_as_plain(op, dtype, name):
    fast, plain = OPS[op]
    pairs = PATTERNS[name]
    x = torch.randn(pairs.num_cols, 5).to(dtype)
    assert_as_good_as_plain(lambda t: fast(t, pairs), lambda t: plain(t, pairs), [x])


@pytest.mark.parametrize("op", OPS)
def test_a_million_nodes_in_one_hyperedge(op):
    fast, plain = OPS[op]
    pairs = long_pattern(1_000_000)
    x = torch.rand(pairs.num_cols, 2)
    assert_as_good_as_plain(lambda t: fast(t, pairs), lambda t: plain(t, pairs), [x])


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("backend", ["cpu", "reference"])
@pytest.mark.parametrize("name", EMPTY)
def test_without_pairs_the_sum_is_zero(op, backend, name):
    fast, _ = OPS[op]
    pairs = EMPTY[name]
    x = torch.full((pairs.num_cols, 3), torch.nan, requires_grad=True)
    with use_backend(backend):
        y = fast(x, pairs)
        y.sum().backward()
    assert torch.equal(y, torch.zeros(pairs.num_rows, 3))
    assert torch.equal(x.grad, torch.zeros_like(x))


@pytest.mark.parametrize("shape", [(8, 0), (8, 2, 0), (8,), (8, 2, 3)])
def test_any_trailing_shape(shape):
    pairs = PATTERNS["odd"]
    x = torch.randn(shape, requires_grad=True)
    y = segment_sum(x, pairs)
    assert y.shape == (7, *shape[1:])
    y.sum().backward()
    assert x.grad.shape == x.shape
    torch.testing.assert_close(y, plain_sum(x, pairs) if x.numel() else y)


def test_non_contiguous_input():
    pairs = PATTERNS["odd"]
    x = torch.randn(6, 8).T
    torch.testing.assert_close(segment_sum(x, pairs), plain_sum(x, pairs))


@pytest.mark.parametrize("backend", ["cpu", "reference"])
@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("name", ["odd", "transposed", "single-node rows"])
def test_every_derivative(backend, op, name):
    pairs = PATTERNS[name]
    x = torch.randn(pairs.num_cols, 2, dtype=torch.float64, requires_grad=True)
    with use_backend(backend):
        assert gradcheck(lambda t: OPS[op][0](t, pairs), x)
        assert gradgradcheck(lambda t: OPS[op][0](t, pairs).square(), x)


@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_a_nan_stays_in_the_rows_that_contain_it(backend):
    pairs = PATTERNS["odd"]
    x = torch.randn(8, 3)
    x[[3, 5]] = torch.nan  # 3 is in no row, 5 in row 2
    leaf = x.clone().requires_grad_()
    with use_backend(backend):
        y = segment_sum(leaf, pairs)
        clean = segment_sum(x.nan_to_num(), pairs)
        assert y[2].isnan().all()
        keep = [0, 1, 3, 4, 5, 6]
        assert torch.equal(y[keep], clean[keep])
        probe = torch.ones(7, 3)
        probe[2] = torch.nan
        y.backward(probe)
    assert leaf.grad[5].isnan().all()
    assert leaf.grad[[0, 1, 2, 3, 4, 6, 7]].isfinite().all()


def test_the_same_bits_every_time():
    pairs, x = PATTERNS["random"], torch.randn(60, 16)
    first = segment_sum(x, pairs)
    assert all(torch.equal(segment_sum(x, pairs), first) for _ in range(5))


def test_vmap_is_a_loop():
    pairs = PATTERNS["odd"]
    x = torch.randn(4, 8, 3)
    for dim in range(2):
        runs = x.movedim(0, dim)
        got = torch.vmap(lambda t: segment_sum(t, pairs), in_dims=dim)(runs)
        torch.testing.assert_close(got, torch.stack([segment_sum(t, pairs) for t in x]))
    twice = torch.vmap(torch.vmap(lambda t: segment_mean(t, pairs)))(x.expand(2, *x.shape))
    torch.testing.assert_close(twice[1, 2], segment_mean(x[2], pairs))
    gradient = torch.vmap(torch.func.grad(lambda t: segment_sum(t, pairs).square().sum()))(x)
    leaf = x[1].clone().requires_grad_()
    (want,) = torch.autograd.grad(segment_sum(leaf, pairs).square().sum(), leaf)
    torch.testing.assert_close(gradient[1], want)


@pytest.mark.parametrize("name", EMPTY)
def test_vmap_without_pairs(name):
    pairs = EMPTY[name]
    x = torch.randn(4, pairs.num_cols, 3)
    assert torch.equal(torch.vmap(lambda t: segment_sum(t, pairs))(x), torch.zeros(4, pairs.num_rows, 3))


def test_spread_reads_one_row_each():
    pairs = PATTERNS["single-node rows"]
    table = torch.randn(4, 2)
    assert torch.equal(broadcast_rows(table, pairs), table[[3, 3, 0]])
    one = Hypergraph.from_edges([[0], [0], [0]]).incidence
    assert torch.equal(broadcast_rows(table[:1], one), table[[0, 0, 0]])


@pytest.mark.parametrize("op", [segment_sum, segment_mean])
def test_wrong_number_of_rows(op):
    with pytest.raises(ValueError, match=r"x must have 8 rows.*got 7"):
        op(torch.ones(7, 2), PATTERNS["odd"])
