"""C kernels: built once, left out where there is no compiler; sums by threads; memory used again."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from ehnn.ops import buffers, cpu_sum
from ehnn.ops.compiled import library
from ehnn.ops.segment_sum import reference_sum

from .ops_helpers import assert_as_good_as_plain, patterns

PROGRAM = """
import torch, ehnn
from ehnn.ops.compiled import library
h = ehnn.Hypergraph.from_edges([[0, 1, 2], [2, 3]], x=torch.ones(4, 16))
torch.manual_seed(0)
layer = ehnn.nn.EHNNMLP(16, 16)
y = layer(h.x, h.overlap("nodes", "edges"))
y.square().sum().backward()
print(library("phi", torch.float32) is not None, y.sum().item(), layer.phi1.first.weight.grad.sum().item())
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


needs_sum = pytest.mark.skipif(not cpu_sum.has_kernel(torch.ones(1)), reason="needs a C compiler")


@needs_sum
@pytest.mark.parametrize("d", [1, 15, 16, 67])
@pytest.mark.parametrize("name", patterns())
def test_scaled_sums_of_any_width(name, d, monkeypatch):
    torch.manual_seed(0)  # a single sum may by luck be exact in the plain version
    pairs = patterns()[name]
    of_rows, of_cols = torch.rand(pairs.num_rows, dtype=torch.float64), torch.rand(pairs.num_cols)

    def plain(x):
        y = reference_sum(x * of_cols[:, None].to(x.dtype), pairs.ptr, pairs.index)
        return y * of_rows[:, None].to(x.dtype)

    x = torch.randn(pairs.num_cols, d)
    y = cpu_sum.compiled_sum(x, pairs.ptr, pairs.index, of_rows, of_cols)
    error, allowed = ((t.double() - plain(x.double())).abs().max() for t in (y, plain(x)))
    assert error <= 2 * allowed + 1e-6
    monkeypatch.setattr(cpu_sum, "PAIRS_PER_THREAD", 1)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    assert torch.equal(cpu_sum.compiled_sum(x, pairs.ptr, pairs.index, of_rows, of_cols), y)


def test_memory_is_used_again_once_no_view_of_it_is_left():
    buffers.release()
    like = torch.zeros(1, dtype=torch.float64)
    y = buffers.empty((1024, 1024), like)
    assert (y.shape, y.dtype, y.data_ptr() % 64) == ((1024, 1024), torch.float64, 0)
    place, view = y.data_ptr(), y[3:]
    del y
    other = buffers.empty((1024, 1024), like)
    assert other.data_ptr() != place
    del view
    assert buffers.empty((1000, 1024), like).data_ptr() == place
    assert buffers.empty((2, 2), like).data_ptr() != place
    buffers.release()


def test_no_more_than_the_limit_waits(monkeypatch):
    buffers.release()
    monkeypatch.setattr(buffers, "KEPT", 20 * 2**20)
    many = [buffers.empty((2**20,), torch.zeros(1, dtype=torch.float64)) for _ in range(4)]
    many.clear()
    assert sum(m.nbytes for m in buffers._waiting.values()) <= 20 * 2**20
    assert len(buffers._waiting) == 2
    buffers.release()


def test_memory_that_comes_back_meanwhile_does_no_harm():
    """Threads give and take: every tensor has memory of its own, for as long as it lives."""
    buffers.release()
    like = torch.zeros(1)

    def hold(number: int) -> bool:
        kept = []
        for i in range(40):
            kept.append(
                (number * 100 + i, buffers.empty((2**20 + 64 * (i % 3),), like).fill_(number * 100 + i))
            )
            if len(kept) > 3:
                kept.pop(0)
            if not all(bool((t == value).all()) for value, t in kept):
                return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(hold, range(4)))
    buffers.release()


def test_gradients_agree_with_float64():
    pairs = patterns()["random"]
    from ehnn.ops import segment_sum

    def plain(x):
        return reference_sum(x, pairs.ptr, pairs.index)

    assert_as_good_as_plain(lambda x: segment_sum(x, pairs), plain, [torch.randn(pairs.num_cols, 32)])


@needs_sum
def test_pointers_and_rows_with_gaps_between_them():
    x, steps = torch.randn(3, 8)[:, ::2], torch.tensor([0, 9, 1, 9, 3])[::2]
    y = cpu_sum.compiled_sum(x, steps, torch.tensor([2, 0, 1]), None, None)
    torch.testing.assert_close(y, torch.stack([x[2], x[0] + x[1]]))
