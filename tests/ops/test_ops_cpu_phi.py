"""φ as one kernel of a CPU against the plain version: values, gradients, masks, runs, threads, memory."""

import pytest
import torch
from torch import Tensor

from ehnn._utils.cached import plain_tensors
from ehnn.hypergraph.pairs import selection
from ehnn.nn import EHNNMLP
from ehnn.ops import Mask, PhiWeights, bounded_memory, phi, use_backend
from ehnn.ops._native.compiled import missing
from ehnn.ops.phi import calls as phi_calls
from ehnn.ops.phi import cpu as cpu_phi
from ehnn.ops.phi.naive import reference_phi
from ehnn.testing import random_hypergraph

from .ops_helpers import assert_as_good_as_plain, values_and_gradients

SEED = torch.tensor(2**40 + 7)
pytestmark = pytest.mark.skipif(missing("phi", torch.float32) is not None, reason="needs a C compiler")


@pytest.fixture(autouse=True)
def poisoned():
    """Memory that nobody wrote is NaN."""
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


def inputs(rows: int, d: int, code: int, lasts: int, runs: tuple[int, ...] = (), dtype=torch.float32):
    """x, γ, β, first, b₁, W₂, b₂, W₃, b₃ and what is added at the end."""
    generator = torch.Generator().manual_seed(rows + d)
    shapes = [(rows, d), (d,), (d,), (d, d + code), (d,), (d, d), (d,), (d, d), (d,), (lasts, d)]
    drawn = [torch.randn(*runs, *shape, generator=generator) for shape in shapes]
    return [(t / d**0.5 if i in (3, 5, 7) else t).to(dtype) for i, t in enumerate(drawn)]


def phi_of(fast: bool, rows: int, code: int, orders: int, lasts: int, masks=(None, None), norm: bool = True):
    """φ as a function of `inputs`."""
    with plain_tensors():
        codes = torch.arange(orders * code).reshape(orders, code).sin() if code else None
        index = selection(torch.arange(rows) * 7 % orders, orders)
        at_end = selection(torch.arange(rows) * 5 % lasts, lasts)

    def call(x, gamma, beta, first, b1, w2, b2, w3, b3, last):
        known = codes if codes is None or codes.dtype == x.dtype else codes.to(x.dtype)
        affine = (gamma, beta) if norm else (None, None)
        weights = PhiWeights(*affine, ((first, b1), (w2, b2)), (w3, b3), None)
        last = last if norm else last + 0 * (gamma + beta)
        given = x, known, index, weights, masks, (last, at_end)
        if not fast:
            return reference_phi(*given)
        assert cpu_phi.supports(*given) is None
        return phi(*given)

    return call


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    ("rows", "d", "code", "orders", "lasts"),
    [
        (1, 16, 16, 1, 1),
        (5, 16, 0, 1, 3),
        (47, 32, 1, 3, 1),
        (48, 64, 64, 9, 4),
        (150, 64, 3, 20, 2),
        (97, 80, 80, 2, 1),
    ],
)
def test_as_good_as_plain(rows, d, code, orders, lasts, dtype):
    numbers = torch.arange(rows).flip(0) + 100
    drops = Mask(SEED, 0.5), Mask(SEED + 1, 0.25, numbers, 1000)
    for masks, norm in (((None, None), True), (drops, True), (drops, False)):
        made = [phi_of(fast, rows, code, orders, lasts, masks, norm) for fast in (True, False)]
        tensors = inputs(rows, d, code, lasts, dtype=dtype)
        if dtype == torch.float32:
            assert_as_good_as_plain(*made, tensors)
        for a, b in zip(*(values_and_gradients(f, tensors) for f in made), strict=True):
            tolerance = {torch.float32: 1e-4, torch.float64: 1e-12}[dtype]
            torch.testing.assert_close(a, b, rtol=tolerance, atol=10 * tolerance)


def test_many_rows_make_the_hidden_layers_again_and_give_the_same():
    rows, masks = 3000, (Mask(SEED, 0.5), None)
    tensors = inputs(rows, 16, 4, 2)
    made = phi_of(True, rows, 4, 3, 2, masks)
    want = values_and_gradients(made, tensors)
    with bounded_memory(rows=100):
        found = values_and_gradients(made, tensors)
    for a, b in zip(found, want, strict=True):
        assert torch.equal(a, b)


def test_threads_share_the_rows(monkeypatch):
    rows = 500
    tensors = inputs(rows, 16, 4, 2, dtype=torch.float64)
    masks = Mask(SEED, 0.5), Mask(SEED, 0.5, torch.arange(rows) + 3, 1000)
    want = values_and_gradients(phi_of(True, rows, 4, 3, 2, masks), tensors)
    monkeypatch.setattr(phi_calls, "ROWS_PER_THREAD", 100)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    for a, b in zip(values_and_gradients(phi_of(True, rows, 4, 3, 2, masks), tensors), want, strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize(("few", "threads"), [(2**18, 1), (1, 1), (2**18, 2)])
def test_runs_side_by_side(few, threads, monkeypatch):
    monkeypatch.setattr(cpu_phi, "FEW", few)
    monkeypatch.setattr(cpu_phi, "RUN", 1)
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    dims = (0, 0, None, 0, 0, 0, None, 0, 0, 0)
    tensors = [t if d == 0 else t[0] for t, d in zip(inputs(60, 16, 4, 2, (3,)), dims, strict=True)]
    seeds = torch.tensor([3, 2**35, 11])

    def run(seed: Tensor, *one: Tensor) -> Tensor:
        return phi_of(True, 60, 4, 3, 2, (Mask(seed, 0.5), Mask(SEED, 0.5)))(*one)

    def alone(*many: Tensor) -> Tensor:
        each = ([t if d is None else t[i] for t, d in zip(many, dims, strict=True)] for i in range(3))
        return torch.stack([run(seed, *one) for seed, one in zip(seeds, each, strict=True)])

    def together(*many: Tensor) -> Tensor:
        return torch.vmap(run, (0, *dims))(seeds, *many)

    for got, want in zip(*(values_and_gradients(f, tensors) for f in (together, alone)), strict=True):
        torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-5)
    gradient = torch.func.grad(lambda x, seed, *rest: run(seed, x, *rest).square().sum())
    got = torch.vmap(gradient, (0, 0, *dims[1:]))(tensors[0], seeds, *tensors[1:])
    x = tensors[0].clone().requires_grad_()
    torch.testing.assert_close(got, torch.autograd.grad(alone(x, *tensors[1:]).square().sum(), x)[0])


def test_the_second_derivative_is_refused_and_the_reference_has_it():
    h = random_hypergraph(12, 6, (1, 4), seed=0, d_node=16, dtype=torch.float64)
    layer, x = EHNNMLP(16, 16).double(), h.x.clone().requires_grad_()

    def penalty() -> Tensor:
        (dx,) = torch.autograd.grad(
            layer(x, h.overlap("nodes", "edges")).square().sum(), x, create_graph=True
        )
        return dx.square().sum()

    with pytest.raises(RuntimeError, match=r"no second derivative; use use_backend\('reference'\)"):
        penalty().backward()
    with use_backend("reference"):
        penalty().backward()
    assert x.grad is not None
    assert x.grad.isfinite().all()


def test_why_it_declines():
    """Each reason names what is in the way."""
    layer, x = EHNNMLP(64, 64).phi1, torch.zeros(2, 64)
    orders = selection(torch.zeros(2, dtype=torch.int64), 1)

    usual = layer.weights()

    def reason(x=x, weights=usual, masks=(None, None)):
        return cpu_phi.supports(x, torch.zeros(1, 64, dtype=x.dtype), orders, weights, masks, None)

    assert reason() is None
    assert reason(weights=layer.weights()._replace(gamma=None, beta=None)) is None
    assert "the width changes from 32 to 64" in reason(x[:, :32])
    assert "two hidden layers, got 1" in reason(
        weights=layer.weights()._replace(hidden=((layer.w1, layer.b1),))
    )
    assert "no rows" in reason(x[:0])
    assert "more than 256" in cpu_phi.unfit(torch.zeros(1, 512), 512)
    assert "vectors of 64 bytes" in cpu_phi.unfit(x[:, :8], 8)
    assert cpu_phi.unfit(x[:, :8].double(), 8) is None
    assert "not torch.float16" in cpu_phi.unfit(x.half(), 64)
    with use_backend("reference"):
        assert "the backend is 'reference'" in reason()
    with torch.autocast("cpu", torch.bfloat16):
        assert reason() == "autocast is on"


def test_a_mask_for_other_rows_is_refused():
    mask = Mask(torch.tensor(1), 0.5, torch.arange(3), 9)
    with pytest.raises(ValueError, match="3 rows of a whole, but x has 2"):
        phi_of(True, 2, 0, 1, 1, (None, mask))(*inputs(2, 16, 0, 1))


def test_no_nan_stays_hidden():
    tensors = inputs(50, 16, 4, 2)
    tensors[0][7, 3] = torch.nan
    y = phi_of(True, 50, 4, 3, 2)(*tensors)
    assert y[7].isnan().all()
    assert y[torch.arange(50) != 7].isfinite().all()


def test_what_the_kernel_would_misread_is_refused():
    tensors = inputs(5, 16, 4, 1)
    for place, wrong, message in (
        (0, tensors[0].double(), "x must be torch.float32, as the parameters are, got torch.float64"),
        (5, tensors[5].double(), "must be of one dtype"),
        (3, tensors[3][:, :-1], "must have shapes"),
    ):
        given = [*tensors[:place], wrong, *tensors[place + 1 :]]
        with pytest.raises(ValueError, match=message):
            _call(given)
    with pytest.raises(ValueError, match=r"each of 5 rows must have one of 2 rows of a table, got .* 6 × 2"):
        _call(tensors, rows=6)
    with pytest.raises(ValueError, match=r"each of 5 rows must have one of 2 rows of a table, got .* 5 × 3"):
        _call(tensors, codes=3)


def _call(given, rows=5, codes=2):
    x, gamma, beta, first, b1, w2, b2, w3, b3, _ = given
    weights = PhiWeights(gamma, beta, ((first, b1), (w2, b2)), (w3, b3), None)
    return phi(x, torch.ones(2, 4), selection(torch.arange(rows) % 2, codes), weights, (None, None))
