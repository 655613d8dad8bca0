"""Public names of version 0.1 that were renamed, moved or made internal work for one version, and warn."""

from __future__ import annotations

import sys
from importlib import import_module

import pytest

MOVED = [
    ("ehnn.hypergraph", "Pairs", "ehnn.hypergraph.SparsePattern"),
    ("ehnn.ops", "spread", "ehnn.ops.broadcast_rows"),
    ("ehnn.nn", "bounded_memory", "ehnn.ops.bounded_memory"),
    ("ehnn", "results", "ehnn_paper.results"),
    ("ehnn.tasks", "KEdge", "ehnn_paper.k_edge.KEdge"),
    ("ehnn.tasks", "SampledNodeClassification", "ehnn_paper.nodes.sampled.SampledNodeClassification"),
    ("ehnn.tasks.matching", "Keypoints", "ehnn_paper.matching.Keypoints"),
]
INTERNAL = [
    ("ehnn.algebra", "tie pattern_basis stirling2 to_uniform_sequence"),
    ("ehnn.datasets", "BASE_URL altered download"),
    ("ehnn.hypergraph", "FAMILIES MAX_PAIRS"),
    ("ehnn.io", "atomic_write"),
    ("ehnn.overlap", "Family"),
    ("ehnn.parallel", "read_manifest"),
    ("ehnn.report", "Drawing drawable"),
    ("ehnn.tasks.hyperedges", "Scored same_sets without_sets"),
    ("ehnn.training", "out_of_memory"),
]
NAMES = [(module, name) for module, names in INTERNAL for name in names.split()]


@pytest.mark.parametrize(("module", "name", "successor"), MOVED)
def test_a_moved_name_warns_and_is_its_successor(
    module: str, name: str, successor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if successor.startswith("ehnn_paper"):
        pytest.importorskip("ehnn_paper")
    package = import_module(module)
    if name in vars(package):  # a former module that another test imported
        monkeypatch.delattr(package, name)
    with pytest.warns(DeprecationWarning, match=f"{module}.{name} is now {successor}; .* version 0.3"):
        found = getattr(import_module(module), name)
    place, _, last = successor.rpartition(".")
    assert found is getattr(import_module(place), last)


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_an_internal_name_warns(module: str, name: str) -> None:
    package = import_module(module)
    assert name not in package.__all__
    with pytest.warns(DeprecationWarning, match=f"{module}.{name} is internal now"):
        assert getattr(package, name) is not None


@pytest.mark.parametrize(
    "module", ["ehnn", "ehnn.hypergraph", "ehnn.tasks", "ehnn.tasks.matching", "ehnn.algebra"]
)
def test_an_unknown_name_is_an_attribute_error(module: str) -> None:
    with pytest.raises(AttributeError, match="no attribute 'nosuchname'"):
        import_module(module).nosuchname  # noqa: B018


def test_the_error_says_how_to_get_the_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "ehnn_paper"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "ehnn_paper", None)
    with pytest.raises(ImportError, match=r"ehnn_paper\.matching\.Keypoints.* pip install \./paper"):
        exec("from ehnn.tasks.matching import Keypoints")
