"""φ₂ of the pool by itself, as on a GPU, against φ₂ of all rows together."""

import pytest
import torch

import ehnn
from ehnn.nn import EHNNMLP
from ehnn.ops import relation
from ehnn.ops.relation import PHI_TO_TARGETS
from ehnn.testing import random_hypergraph


def two() -> ehnn.Hypergraph:
    return ehnn.batch([random_hypergraph(n, 8, orders=(2, 5), seed=n) for n in (9, 14)])


@pytest.mark.parametrize("h", [random_hypergraph(20, 12, orders=(2, 5), seed=0), two()], ids=["one", "two"])
@pytest.mark.parametrize("ends", [("nodes", "edges"), ("edges", "nodes"), ("edges", "edges")])
@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_values_and_gradients_are_those_of_all_rows_together(h, ends, dropout):
    overlap = h.overlap(*ends)
    torch.manual_seed(0)
    phi2 = EHNNMLP(16, 16, dropout=dropout).double().phi2
    for module in phi2.modules():
        module.seeded = True  # the mask is a function of the place of a row
    groups, members = (
        torch.randn(n, 16, dtype=torch.float64).requires_grad_()
        for n in (overlap.num_groups, overlap.num_members)
    )
    outcomes = []
    for run in (relation._apart, relation._joined):
        y = run(groups, members, phi2, overlap)
        outcomes.append([y, *torch.autograd.grad(y.square().sum(), [groups, members, *phi2.parameters()])])
    for apart, joined in zip(*outcomes, strict=True):
        torch.testing.assert_close(apart, joined)


def test_few_rows_and_a_cpu_keep_them_together():
    overlap = random_hypergraph(20, 12, orders=(2, 5), seed=0).overlap("nodes", "edges")
    rows = torch.zeros(overlap.num_groups, 16)
    ran, declined = PHI_TO_TARGETS.choose(rows, rows[:1], EHNNMLP(16, 16).phi2, overlap)
    assert ran == "naive"
    assert [name for name, _ in declined] == ["apart"]
