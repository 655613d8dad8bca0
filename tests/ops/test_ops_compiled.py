"""C kernels: built once, left out where there is no compiler; sums by threads."""

import subprocess
import sys

import pytest
import torch

from ehnn.ops import segment_sum
from ehnn.ops._native.compiled import library, missing
from ehnn.ops.segment_sum import cpu as cpu_sum
from ehnn.ops.segment_sum.naive import reference_sum

from .ops_helpers import assert_as_good_as_plain, patterns

PROGRAM = """
import torch, ehnn
from ehnn.ops._native.compiled import library
h = ehnn.Hypergraph.from_edges([[0, 1, 2], [2, 3]], x=torch.ones(4, 16))
torch.manual_seed(0)
layer = ehnn.nn.EHNNMLP(16, 16)
y = layer(h.x, h.overlap("nodes", "edges"))
y.square().sum().backward()
print(library("phi", torch.float32) is not None, y.sum().item(), layer.phi1.w1.grad.sum().item())
"""


def outcome(monkeypatch, tmp_path, **environment):
    for name, value in {"XDG_CACHE_HOME": str(tmp_path), **environment}.items():
        monkeypatch.setenv(name, value)
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    has, *numbers = done.stdout.split()
    return has == "True", torch.tensor([float(n) for n in numbers])


@pytest.mark.skipif(library("phi", torch.float32) is None, reason="needs a C compiler")
def test_with_and_without_a_compiler_the_numbers_are_the_same(monkeypatch, tmp_path):
    has, with_one = outcome(monkeypatch, tmp_path)
    assert has
    built = sorted((tmp_path / "ehnn" / "kernels").iterdir())
    assert {p.suffix for p in built} == {".so"}
    hasnt, without = outcome(monkeypatch, tmp_path, EHNN_COMPILER="")
    assert not hasnt
    torch.testing.assert_close(with_one, without, rtol=1e-4, atol=1e-4)
    failing, other = outcome(monkeypatch, tmp_path, EHNN_COMPILER="false")
    assert not failing
    assert torch.equal(other, without)


needs_sum = pytest.mark.skipif(missing("sums", torch.float32) is not None, reason="needs a C compiler")


@needs_sum
@pytest.mark.parametrize("d", [1, 15, 16, 67])
@pytest.mark.parametrize("name", patterns())
def test_scaled_sums_of_any_width(name, d, monkeypatch):
    torch.manual_seed(0)  # a single sum may by luck be exact in the plain version
    pairs = patterns()[name]
    of_rows, of_cols = torch.rand(pairs.num_rows, dtype=torch.float64), torch.rand(pairs.num_cols)

    def plain(x):
        return reference_sum(x, pairs, of_rows, of_cols)

    x = torch.randn(pairs.num_cols, d)
    y = cpu_sum.compiled_sum(x, (pairs.ptr, pairs.index, None), of_rows, of_cols)
    error, allowed = ((t.double() - plain(x.double())).abs().max() for t in (y, plain(x)))
    assert error <= 2 * allowed + 1e-6
    monkeypatch.setattr(cpu_sum, "PAIRS_PER_THREAD", 1)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    assert torch.equal(cpu_sum.compiled_sum(x, (pairs.ptr, pairs.index, None), of_rows, of_cols), y)


def test_gradients_agree_with_float64():
    pairs = patterns()["random"]
    fast, plain = (lambda x: segment_sum(x, pairs)), (lambda x: reference_sum(x, pairs))
    assert_as_good_as_plain(fast, plain, [torch.randn(pairs.num_cols, 32)])


@needs_sum
def test_pointers_and_rows_with_gaps_between_them():
    x, steps = torch.randn(3, 8)[:, ::2], torch.tensor([0, 9, 1, 9, 3])[::2]
    y = cpu_sum.compiled_sum(x, (steps, torch.tensor([2, 0, 1]), None), None, None)
    torch.testing.assert_close(y, torch.stack([x[2], x[0] + x[1]]))
