"""segment_softmax_sum."""

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

from ehnn.ops import segment_softmax_sum, use_backend
from ehnn.ops.softmax_sum.naive import reference_softmax_sum

from .ops_helpers import assert_as_good_as_plain, empty_patterns, long_pattern, patterns

PATTERNS, EMPTY = patterns(), empty_patterns()
SCALES = {"narrow": 1.0, "wide": 60.0, "huge": 1e4}


def inputs(pairs, scale, heads=2, channels=3, dtype=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(pairs.num_cols, heads, channels, generator=generator)
    return [x.to(dtype), (scale * torch.randn(pairs.num_cols, heads, generator=generator)).to(dtype)]


def test_softmax_by_hand():
    pairs = PATTERNS["odd"]
    x, s = inputs(pairs, 1.0)
    y = segment_softmax_sum(x, s, pairs)
    want = torch.einsum("ch,chd->hd", s[[0, 1, 2]].softmax(0), x[[0, 1, 2]])
    torch.testing.assert_close(y[1], want)
    assert torch.equal(y[[0, 3, 6]], torch.zeros(3, 2, 3))
    torch.testing.assert_close(y[2], x[5])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", PATTERNS)
def test_as_good_as_plain(dtype, scale, name):
    pairs = PATTERNS[name]
    values = inputs(pairs, SCALES[scale], dtype=dtype)
    assert_as_good_as_plain(
        lambda x, s: segment_softmax_sum(x, s, pairs), lambda x, s: reference_softmax_sum(x, s, pairs), values
    )


@pytest.mark.parametrize("shift", [1e4, -1e4])
def test_logits_far_from_zero(shift):
    pairs = PATTERNS["random"]
    x, s = inputs(pairs, 1.0)
    assert_as_good_as_plain(
        lambda x, s: segment_softmax_sum(x, s, pairs),
        lambda x, s: reference_softmax_sum(x, s, pairs),
        [x, s + shift],
    )


@pytest.mark.parametrize("scale", ["narrow", "huge"])
def test_a_million_nodes_in_one_hyperedge(scale):
    pairs = long_pattern(1_000_000)
    values = inputs(pairs, SCALES[scale], heads=1, channels=1)
    assert_as_good_as_plain(
        lambda x, s: segment_softmax_sum(x, s, pairs), lambda x, s: reference_softmax_sum(x, s, pairs), values
    )


def test_half_precision_does_not_underflow():
    pairs = PATTERNS["odd"]
    x, s = inputs(pairs, 8.0)
    y = segment_softmax_sum(x.half(), s.half(), pairs)
    torch.testing.assert_close(
        y.float(), reference_softmax_sum(x, s.half().float(), pairs), atol=1e-2, rtol=1e-2
    )


@pytest.mark.parametrize("backend", ["cpu", "reference"])
@pytest.mark.parametrize("name", EMPTY)
def test_without_pairs_the_sum_is_zero(backend, name):
    pairs = EMPTY[name]
    x = torch.full((pairs.num_cols, 2, 3), torch.nan, requires_grad=True)
    s = torch.full((pairs.num_cols, 2), torch.nan, requires_grad=True)
    with use_backend(backend):
        y = segment_softmax_sum(x, s, pairs)
        y.sum().backward()
    assert torch.equal(y, torch.zeros(pairs.num_rows, 2, 3))
    assert torch.equal(x.grad, torch.zeros_like(x))
    assert torch.equal(s.grad, torch.zeros_like(s))


@pytest.mark.parametrize(("heads", "channels"), [(0, 3), (2, 0), (0, 0)])
def test_zero_heads_or_channels(heads, channels):
    pairs = PATTERNS["odd"]
    x, s = (t.requires_grad_() for t in inputs(pairs, 1.0, heads, channels))
    y = segment_softmax_sum(x, s, pairs)
    assert y.shape == (7, heads, channels)
    y.sum().backward()
    assert x.grad.shape == x.shape
    assert torch.equal(s.grad, torch.zeros_like(s))


@pytest.mark.parametrize("backend", ["cpu", "reference"])
@pytest.mark.parametrize("scale", [1.0, 60.0])
@pytest.mark.parametrize("name", ["odd", "transposed"])
def test_first_derivative(backend, scale, name):
    pairs = PATTERNS[name]
    values = [t.requires_grad_() for t in inputs(pairs, scale, dtype=torch.float64)]
    with use_backend(backend):
        assert gradcheck(lambda x, s: segment_softmax_sum(x, s, pairs), values)


def test_second_derivative_or_a_clear_error():
    pairs = PATTERNS["odd"]
    x, s = (t.requires_grad_() for t in inputs(pairs, 1.0, dtype=torch.float64))
    with use_backend("reference"):
        assert gradgradcheck(lambda x, s: segment_softmax_sum(x, s, pairs), [x, s])
    (dx,) = torch.autograd.grad(segment_softmax_sum(x, s, pairs).square().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="no second derivative; use use_backend"):
        dx.sum().backward()


@pytest.mark.parametrize("scale", [1.0, 60.0])
@pytest.mark.parametrize("backend", ["cpu", "reference"])
@pytest.mark.parametrize("where", ["x", "logits"])
def test_a_nan_stays_in_the_rows_that_contain_it(scale, backend, where):
    pairs = PATTERNS["odd"]
    values = inputs(pairs, scale)
    clean = segment_softmax_sum(*values, pairs)
    poisoned = [t.clone() for t in values]
    poisoned[where == "logits"][[3, 5]] = torch.nan  # 3 is in no row, 5 in row 2
    leaves = [t.requires_grad_() for t in poisoned]
    keep = [0, 1, 3, 4, 5, 6]
    with use_backend(backend):
        y = segment_softmax_sum(*leaves, pairs)
        torch.testing.assert_close(y[keep], clean[keep])
        assert y[2].isnan().all()
        y.sum().backward()
    for leaf in leaves:
        assert leaf.grad[[0, 1, 2, 4, 6, 7]].isfinite().all()


@pytest.mark.parametrize("scale", [1.0, 60.0])
def test_a_nan_gradient_stays_in_its_columns(scale):
    pairs = PATTERNS["odd"]
    leaves = [t.requires_grad_() for t in inputs(pairs, scale)]
    probe = torch.ones(7, 2, 3)
    probe[[0, 2]] = torch.nan  # row 0 is empty
    segment_softmax_sum(*leaves, pairs).backward(probe)
    for leaf in leaves:
        assert leaf.grad[[0, 1, 2, 3, 4, 6, 7]].isfinite().all()
        assert leaf.grad[5].isnan().all()


def test_the_same_bits_every_time():
    pairs = PATTERNS["random"]
    for scale in (1.0, 60.0):
        values = inputs(pairs, scale)
        first = segment_softmax_sum(*values, pairs)
        assert all(torch.equal(segment_softmax_sum(*values, pairs), first) for _ in range(5))


@pytest.mark.parametrize("backend", ["cpu", "reference"])
@pytest.mark.parametrize("scale", [1.0, 60.0])
def test_vmap_is_a_loop(backend, scale):
    pairs = PATTERNS["odd"]
    runs = [inputs(pairs, scale, seed=i) for i in range(3)]
    x, s = (torch.stack(parts) for parts in zip(*runs, strict=True))

    def op(x, s):
        return segment_softmax_sum(x, s, pairs)

    with use_backend(backend):
        want = torch.stack([op(*run) for run in runs])
        torch.testing.assert_close(torch.vmap(op)(x, s), want)
        shared = torch.vmap(op, in_dims=(None, 0))(x[0], s)
        torch.testing.assert_close(shared[1], op(x[0], s[1]))
        got = torch.vmap(torch.func.grad(lambda x, s: op(x, s).square().sum(), argnums=(0, 1)))(x, s)
        leaves = [t.clone().requires_grad_() for t in runs[1]]
        single = torch.autograd.grad(op(*leaves).square().sum(), leaves)
    for a, b in zip(got, single, strict=True):
        torch.testing.assert_close(a[1], b)


def test_bad_input():
    pairs = PATTERNS["odd"]
    x, s = inputs(pairs, 1.0)
    with pytest.raises(ValueError, match=r"x must be \[8, heads, channels\].*got \[7, 2, 3\] and \[7, 2\]"):
        segment_softmax_sum(x[:7], s[:7], pairs)
    with pytest.raises(ValueError, match=r"logits \[8, heads\], got \[8, 2, 3\] and \[8, 1\]"):
        segment_softmax_sum(x, s[:, :1], pairs)
    with pytest.raises(ValueError, match=r"one dtype, got torch\.float32 and torch\.float64"):
        segment_softmax_sum(x, s.double(), pairs)
