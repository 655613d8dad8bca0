"""Old names of public things warn and lead to the new ones."""

import pytest

import ehnn
from ehnn.testing import random_hypergraph

OLD = {
    "local": "source_to_group", "gather": "group_to_target", "pool": "source_to_graph",
    "spread": "graph_to_target", "slots": "source_sizes", "triplets": "weight_groups",
}  # fmt: skip


@pytest.mark.parametrize("old", OLD)
def test_of_an_overlap(old):
    o = random_hypergraph(8, 5, (1, 4), seed=0).overlap("edges", "edges")
    with pytest.warns(DeprecationWarning, match=f"Overlap.{old} is called {OLD[old]} now"):
        assert getattr(o, old) is getattr(o, OLD[old])
    with pytest.raises(AttributeError, match="no attribute 'other'"):
        _ = o.other


VIEWS = {
    "source_sizes": {"local": "slot_to_group", "source": "source_to_slot"},
    "weight_groups": {"local": "source_to_group", "gather": "group_to_target", "pool": "source_to_graph"},
}


@pytest.mark.parametrize("view", VIEWS)
def test_of_a_view(view):
    o = random_hypergraph(8, 5, (1, 4), seed=0).overlap("edges", "edges")
    found = getattr(o, view)
    for old, new in VIEWS[view].items():
        with pytest.warns(DeprecationWarning, match=f"{type(found).__name__}.{old} is called {new} now"):
            assert getattr(found, old) is getattr(found, new)


def test_of_modules():
    with pytest.warns(DeprecationWarning, match="SparsePattern"):
        assert ehnn.hypergraph.Pairs is ehnn.hypergraph.SparsePattern
    with pytest.warns(DeprecationWarning, match="broadcast_rows"):
        assert ehnn.ops.spread is ehnn.ops.broadcast_rows
    for module in (ehnn.hypergraph, ehnn.ops):
        with pytest.raises(AttributeError, match="no attribute 'other'"):
            _ = module.other
