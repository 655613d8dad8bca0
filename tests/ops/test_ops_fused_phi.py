"""φ for any number of rows as one kernel: under Triton's interpreter, and compiled on a GPU."""

from functools import partial
from types import SimpleNamespace

import pytest
import torch

from ehnn.hypergraph.pairs import selection
from ehnn.ops import Mask, PhiWeights
from ehnn.ops.phi import PHI, fused
from ehnn.ops.phi.naive import reference_phi

from .ops_helpers import assert_as_good_as_plain, assert_passes_interpreted, values_and_gradients


def test_kernels_agree_with_the_definition():
    assert_passes_interpreted("triton_fused_phi_cases.py", "all cases of the fused phi passed")


def test_it_can_be_switched_off(monkeypatch):
    square, vector = torch.zeros(32, 32), torch.zeros(32)
    weights = PhiWeights(vector, vector, ((square, vector), (square, vector)), (square, vector), None)

    def reason() -> str | None:
        return fused.supports(torch.zeros(64, 32), None, None, weights, (None, None), None)

    assert reason() == "it takes tensors on a GPU"
    monkeypatch.setattr(fused, "not_on", lambda x, backend: None)
    monkeypatch.setattr(fused, "old_triton", lambda: None)
    assert reason() is None
    monkeypatch.setattr(fused, "SWITCH", "0")
    assert reason() == "EHNN_FUSED_PHI is 0"
    names = [one.name for one in PHI.implementations]
    assert names.index("fused") < names.index("triton") < names.index("steps")


@pytest.mark.parametrize(
    ("switch", "generation", "says"), [("", 9, None), ("", 8, "Hopper GPUs alone"), ("1", 8, None)]
)
def test_it_is_on_where_it_was_checked(monkeypatch, switch, generation, says):
    monkeypatch.setattr(fused, "SWITCH", switch)
    monkeypatch.setattr(fused, "_generation", lambda device: generation)
    reason = fused.switched_off(SimpleNamespace(device=torch.device("cuda", 0)))
    assert reason is says if says is None else says in reason


UNLIKE = {
    "rows": 16_383,
    "d": 32,
    "orders": 17,
    "parts": 2,
    "device": "cpu",
    "generation": 8,
    "triton": "3.9",
}


@pytest.mark.parametrize("changed", [None, *UNLIKE])
def test_hopper_has_a_backward_pass_of_its_own_for_many_rows(monkeypatch, changed):
    given = {"rows": 16_384, "d": 64, "orders": 16, "parts": 1, "device": "cuda", "generation": 9}
    given["triton"] = "3.6"
    given |= {} if changed is None else {changed: UNLIKE[changed]}
    monkeypatch.setattr(fused, "_generation", lambda device: given["generation"])
    monkeypatch.setattr(fused, "_triton_release", lambda: given["triton"])
    x = SimpleNamespace(device=torch.device(given["device"]), shape=(given["rows"], given["d"]))
    assert fused._on_hopper(x, given["orders"], given["parts"]) is (changed is None)


@pytest.mark.parametrize("hopper", [False, True])
@pytest.mark.parametrize("many", [False, True])
def test_what_the_backward_pass_returns_is_known_without_it(hopper, many):
    """`torch.compile` asks for the shapes; those of the kernels for Hopper GPUs have sums by order."""
    x, index = torch.empty(2, 100, 64), torch.zeros(100, dtype=torch.int64) if many else None
    halves, no_mask = torch.empty(2, 3, 2, 64, 64), (None, 0.0, None, None)
    given = x, x, halves, x, x, index, None, *no_mask, *no_mask, 1, hopper
    dx, sums, dz = fused._fake_backward(*given)
    assert dx.shape == x.shape
    assert sums.shape == (2, 64 * (3 * 65 + (16 if hopper and many else 0)))
    assert dz.shape == (2, 100 if many and not hopper else 0, 64)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize(
    ("rows", "d", "precision"),
    [*((rows, d, "highest") for rows in (64, 300, 5000, 40_003) for d in (32, 64)), (40_003, 64, "high")],
)
def test_on_a_gpu_it_is_as_accurate_as_plain_pytorch(request, monkeypatch, rows, d, precision):
    monkeypatch.setattr(fused, "SWITCH", "1")
    request.addfinalizer(partial(torch.set_float32_matmul_precision, torch.get_float32_matmul_precision()))
    torch.set_float32_matmul_precision(precision)
    torch.manual_seed(rows)
    orders = selection(torch.arange(rows, device="cuda") % min(rows, 7), min(rows, 7))
    codes = torch.randn(orders.num_cols, 3, device="cuda")
    masks = Mask(torch.tensor(7, device="cuda"), 0.5), None

    def phi(run, x, gamma, beta, w1, b1, w2, b2, w3, b3):
        weights = PhiWeights(gamma, beta, ((w1, b1), (w2, b2)), (w3, b3), None)
        assert run is reference_phi or fused.supports(x, codes, orders, weights, masks, None) is None
        return run(x, codes.to(x.dtype), orders, weights, masks, None)

    shapes = [(rows, d), (d,), (d,), (d, d + 3), (d,), (d, d), (d,), (d, d), (d,)]
    inputs = [torch.randn(s, device="cuda") / (1 if len(s) == 1 or s[0] == rows else d**0.5) for s in shapes]

    def fast(*tensors):
        return phi(fused.run, *tensors)

    assert_as_good_as_plain(fast, lambda *tensors: phi(reference_phi, *tensors), inputs)
    first, second = values_and_gradients(fast, inputs), values_and_gradients(fast, inputs)
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
