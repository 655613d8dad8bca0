"""Dropout by a kernel of a CPU against the plain version: masks, gradients, runs, layouts, threads."""

import pytest
import torch

from ehnn.ops import Mask, seeded_dropout, use_backend
from ehnn.ops._native.compiled import missing
from ehnn.ops.dropout import cpu as cpu_dropout

SEED = torch.tensor(2**40 + 7)
pytestmark = pytest.mark.skipif(missing("dropout", torch.float32) is not None, reason="needs a C compiler")


def both(fn, *given):
    """What ``fn`` makes of its arguments and the gradient of its first, by the kernel and plainly."""
    made = []
    for backend in ("cpu", "reference"):
        with use_backend(backend):
            x = given[0].clone().requires_grad_()
            y = fn(x, *given[1:])
            made.append((y.detach(), torch.autograd.grad((y * y.detach().cos()).sum(), x)[0]))
    return made


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(1, 1), (5, 3), (40, 64), (7, 4, 9), (6,)])
@pytest.mark.parametrize("some", [False, True])
def test_the_same_to_the_last_bit(shape, dtype, some):
    rows = (torch.arange(shape[0]).flip(0) + 10**9, 2**31) if some else ()
    x = torch.randn(shape, generator=torch.Generator().manual_seed(0), dtype=dtype)
    (y, dx), (want, dwant) = both(lambda x: seeded_dropout(x, Mask(SEED, 0.4, *rows)), x)
    assert y.dtype == dtype
    assert torch.equal(y, want)
    assert torch.equal(dx, dwant)


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_runs_side_by_side_wherever_their_dimension_is(dim):
    x = torch.randn(3, 20, 6, generator=torch.Generator().manual_seed(1)).movedim(0, dim)
    seeds = torch.tensor([3, 2**35, -11])

    def together(x):
        return torch.vmap(lambda x, seed: seeded_dropout(x, Mask(seed, 0.5)), (dim, 0))(x, seeds)

    (y, dx), (want, dwant) = both(together, x)
    assert torch.equal(y, want)
    assert torch.equal(dx, dwant)
    alone = [seeded_dropout(x.select(dim, i), Mask(seed, 0.5)) for i, seed in enumerate(seeds)]
    assert torch.equal(y, torch.stack(alone))


def test_threads_share_the_rows(monkeypatch):
    x = torch.randn(3, 101, 8)
    seeds, rows = torch.arange(3), torch.arange(101) * 2
    want = cpu_dropout.compiled_dropout(x, seeds, 0.3, rows, 500)
    monkeypatch.setattr(cpu_dropout, "NUMBERS_PER_THREAD", 100)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 4)
    assert torch.equal(cpu_dropout.compiled_dropout(x, seeds, 0.3, rows, 500), want)


def test_what_is_kept_is_scaled_and_the_share_is_right():
    y = seeded_dropout(torch.ones(200, 100), Mask(SEED, 0.25))
    assert set(y.unique().tolist()) == {0.0, y.max().item()}
    assert y.max().item() == pytest.approx(4 / 3)
    assert (y == 0).float().mean().item() == pytest.approx(0.25, abs=0.02)


def test_nothing_and_other_kinds_of_numbers():
    assert seeded_dropout(torch.ones(0, 4), Mask(SEED, 0.5)).shape == (0, 4)
    half = torch.ones(4, 4, dtype=torch.bfloat16)
    assert seeded_dropout(half, Mask(SEED, 0.5)).dtype == torch.bfloat16


def test_it_can_be_differentiated_twice():
    x = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(lambda x: seeded_dropout(x, Mask(SEED, 0.5)).square(), x)
