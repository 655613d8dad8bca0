"""grouped_matmul."""

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

from ehnn.ops import grouped_matmul

from .ops_helpers import assert_as_good_as_plain

LENGTHS = {
    "mixed": [3, 0, 5, 3, 1, 0],
    "equal": [4, 4, 4],
    "empty groups": [0, 0],
    "no groups": [],
    "one long": [2_000],
}


def pointer(lengths):
    return torch.tensor([0, *lengths]).cumsum(0)


def plain(x, weight, ptr):
    rows = [x[a:b] @ w for a, b, w in zip(ptr[:-1].tolist(), ptr[1:].tolist(), weight, strict=True)]
    return torch.cat([x.new_zeros(0, weight.shape[2]) + 0 * (x.sum() + weight.sum()), *rows])


def inputs(lengths, d=3, e=4, dtype=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(sum(lengths), d, generator=generator)
    return [x.to(dtype), torch.randn(len(lengths), d, e, generator=generator).to(dtype)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", LENGTHS)
def test_as_good_as_plain(dtype, name):
    if (dtype, name) == (torch.bfloat16, "one long"):
        pytest.skip("large bfloat16 products need processor states that not every sandbox grants")
    ptr = pointer(LENGTHS[name])
    assert_as_good_as_plain(
        lambda x, w: grouped_matmul(x, w, ptr),
        lambda x, w: plain(x, w, ptr),
        inputs(LENGTHS[name], dtype=dtype),
    )


@pytest.mark.parametrize(("d", "e"), [(0, 4), (3, 0)])
def test_zero_channels(d, e):
    lengths = LENGTHS["mixed"]
    x, w = (t.requires_grad_() for t in inputs(lengths, d, e))
    y = grouped_matmul(x, w, pointer(lengths))
    assert torch.equal(y, torch.zeros(sum(lengths), e))
    y.sum().backward()
    assert w.grad.shape == w.shape


@pytest.mark.parametrize("name", ["mixed", "equal", "empty groups", "no groups"])
def test_every_derivative(name):
    ptr = pointer(LENGTHS[name])
    values = [t.requires_grad_() for t in inputs(LENGTHS[name], 2, 2, torch.float64)]
    assert gradcheck(lambda x, w: grouped_matmul(x, w, ptr), values)
    assert gradgradcheck(lambda x, w: grouped_matmul(x, w, ptr), values)


def test_a_nan_stays_in_its_group():
    lengths = LENGTHS["mixed"]
    x, w = inputs(lengths)
    w[[1, 3]] = torch.nan  # group 1 is empty, group 3 holds rows 8, 9, 10
    leaf = x.clone().requires_grad_()
    y = grouped_matmul(leaf, w, pointer(lengths))
    y.sum().backward()
    for rows in (y, leaf.grad):
        assert rows.isnan().any(1).nonzero().flatten().tolist() == [8, 9, 10]


@pytest.mark.parametrize("name", ["mixed", "empty groups", "no groups"])
def test_vmap_is_a_loop(name):
    lengths = LENGTHS[name]
    ptr = pointer(lengths)
    runs = [inputs(lengths, seed=i) for i in range(3)]
    x, w = (torch.stack(parts) for parts in zip(*runs, strict=True))

    def op(x, w):
        return grouped_matmul(x, w, ptr)

    torch.testing.assert_close(torch.vmap(op)(x, w), torch.stack([op(*run) for run in runs]))
    shared = torch.vmap(op, in_dims=(None, 0))(x[0], w)
    torch.testing.assert_close(shared[2], op(x[0], w[2]))
    got = torch.vmap(torch.func.grad(lambda x, w: op(x, w).square().sum(), argnums=(0, 1)))(x, w)
    leaves = [t.clone().requires_grad_() for t in runs[2]]
    want = torch.autograd.grad(op(*leaves).square().sum(), leaves)
    for a, b in zip(got, want, strict=True):
        torch.testing.assert_close(a[2], b)


def test_autocast_inside_and_only_around_the_backward_pass():
    lengths = LENGTHS["mixed"]
    ptr = pointer(lengths)
    x, w = (t.requires_grad_() for t in inputs(lengths))
    want = grouped_matmul(x, w, ptr)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = grouped_matmul(x, w, ptr)
        assert y.dtype == torch.bfloat16
        torch.testing.assert_close(y.float(), want, atol=0.1, rtol=0.05)
        want.sum().backward()
    y.float().sum().backward()
    assert x.grad.dtype == w.grad.dtype == torch.float32


def test_the_same_bits_every_time():
    x, w = inputs([50, 50, 7])
    first = grouped_matmul(x, w, pointer([50, 50, 7]))
    assert all(torch.equal(grouped_matmul(x, w, pointer([50, 50, 7])), first) for _ in range(3))


def test_shapes_that_do_not_fit():
    x, w = inputs([2, 3])
    with pytest.raises(ValueError, match=r"x \[5, 3\], weight \[2, 3, 4\] and 3 groups do not fit"):
        grouped_matmul(x, w, pointer([2, 3, 0]))
    with pytest.raises(ValueError, match=r"x \[5, 2\].* do not fit"):
        grouped_matmul(x[:, :2], w, pointer([2, 3]))
