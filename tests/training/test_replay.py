"""What is kept of batches while steps are recorded; the recording itself needs a GPU."""

import gc
import weakref

import pytest
import torch

from ehnn import Hypergraph
from ehnn.training.replay import Replayed, no_collection


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Batches that would be recorded, on a machine without a GPU."""
    found: list[object] = []

    def record(self: Replayed, h: object) -> object:
        found.append(h)
        raise RuntimeError("recorded")

    monkeypatch.setattr(torch.cuda, "graph_pool_handle", lambda: (0, 0))
    monkeypatch.setattr(Replayed, "_record", record)
    return found


def test_a_batch_that_its_task_drops_is_not_kept(recorded: list[object]) -> None:
    step = Replayed(lambda h: torch.zeros(h.num_nodes))
    for _ in range(20):
        h = Hypergraph.from_edges([[0, 1]])
        assert step(h).shape == (2,)
        gone = weakref.ref(h)
        del h
        assert gone() is None
    assert not recorded


@pytest.mark.parametrize("batch", [Hypergraph.from_edges([[0, 1]]), (1, 2)], ids=["hypergraph", "tuple"])
def test_the_second_visit_of_an_object_is_recorded(recorded: list[object], batch: object) -> None:
    step = Replayed(lambda h: torch.zeros(1))
    step(batch)
    with pytest.raises(RuntimeError, match="recorded"):
        step(batch)
    assert recorded == [batch]


@pytest.mark.parametrize("enabled", [True, False])
def test_garbage_collection_is_as_it_was_before_a_recording(enabled: bool) -> None:
    (gc.enable if enabled else gc.disable)()
    try:
        with no_collection():
            assert not gc.isenabled()
        assert gc.isenabled() is enabled
    finally:
        gc.enable()
