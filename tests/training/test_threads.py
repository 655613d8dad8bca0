"""Training on a machine whose cores other processes use too."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info

import ehnn
from ehnn._utils import threads
from ehnn._utils.threads import crowded, threads_with_cores


@pytest.fixture(autouse=True)
def four_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(threads, "_last", threads._Found())
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    yield
    torch.set_num_threads(before)


def blas_threads() -> list[int]:
    return [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]


def busy(monkeypatch: pytest.MonkeyPatch, free: int) -> None:
    """As if only so many cores were free."""
    monkeypatch.setattr(threads, "crowded", lambda: torch.get_num_threads() > free)


def test_one_thread_is_never_crowded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_WAIT", 0.0)  # every operation takes too long
    assert crowded()
    torch.set_num_threads(1)
    assert not crowded()
    torch.set_num_threads(4)
    monkeypatch.setattr(threads, "_WAIT", 1e9)
    assert not crowded()


@pytest.mark.parametrize(("free", "used"), [(0, 1), (1, 1), (2, 2), (3, 2), (4, 4)])
def test_threads_are_halved_and_all_come_back(monkeypatch: pytest.MonkeyPatch, free: int, used: int) -> None:
    busy(monkeypatch, max(free, 1))
    blas = blas_threads()
    with threads_with_cores() as look:
        assert torch.get_num_threads() == used
        assert used == 4 or set(blas_threads()) == {used}
        look()
        assert torch.get_num_threads() == used
        with threads_with_cores():
            assert torch.get_num_threads() == used
        assert torch.get_num_threads() == used
    assert (torch.get_num_threads(), blas_threads()) == (4, blas)
    with pytest.raises(KeyError), threads_with_cores():
        raise KeyError
    assert (torch.get_num_threads(), blas_threads()) == (4, blas)


def test_a_loop_notices_that_others_came(monkeypatch: pytest.MonkeyPatch) -> None:
    busy(monkeypatch, 4)
    with threads_with_cores() as look:
        assert torch.get_num_threads() == 4
        busy(monkeypatch, 2)
        look()
        assert torch.get_num_threads() == 2
    assert torch.get_num_threads() == 4


def test_a_crowded_machine_counts_as_such_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    busy(monkeypatch, 2)
    with threads_with_cores():
        pass
    busy(monkeypatch, 4)
    with threads_with_cores():
        assert torch.get_num_threads() == 2
    threads._last.until = 0.0
    with threads_with_cores():
        assert torch.get_num_threads() == 4


@pytest.mark.parametrize("model", ["auto", "ehnn-mlp"])
def test_estimators_train_on_fewer_threads_then(monkeypatch: pytest.MonkeyPatch, model: str) -> None:
    busy(monkeypatch, 1)
    seen: set[int] = set()
    linear = torch.nn.functional.linear

    def watched(*given: torch.Tensor) -> torch.Tensor:
        if torch.is_grad_enabled():
            seen.add(torch.get_num_threads())
        return linear(*given)

    monkeypatch.setattr(torch.nn.functional, "linear", watched)
    generator = np.random.default_rng(0)
    y = generator.integers(0, 2, 60)
    edges = [generator.choice(np.flatnonzero(y == c), 4, replace=False) for c in (0, 1) for _ in range(20)]
    h = ehnn.Hypergraph.from_edges([e.tolist() for e in edges], num_nodes=60)
    known = [int(v) if i < 40 else None for i, v in enumerate(y)]
    settings = {"epochs": 5} if model != "auto" else {"budget": "fast"}
    ehnn.NodeClassifier(model=model, width=8, **settings).fit(h, known)
    assert seen == {1}
    assert torch.get_num_threads() == 4
