"""On P ranks, outputs, loss and every gradient are those of one process, for any partition."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from launching import launch
from workers import SPARSE, exact, marks

from ehnn.parallel import Ranks

UNIT = [(s, t) for s, t in SPARSE if "nodes" in (s, t) or t == "graph"]


THOROUGH = bool(os.environ.get("EHNN_THOROUGH"))


def some(families: list[tuple[str, str]], share: int) -> dict:
    """One combination in ``share``; EHNN_THOROUGH=1 runs them all."""
    return {"families": families, "share": 1 if THOROUGH else share}


def test_one_rank() -> None:
    exact(Ranks(), **some(SPARSE, 8))


@pytest.mark.filterwarnings("ignore:incidence_weight does not act between two hyperedges")
def test_one_rank_with_roles_and_weights() -> None:
    marks(Ranks(), **some(SPARSE, 32))


def test_two_ranks(tmp_path: Path) -> None:
    """Exactness, also with roles, weights and large logits; training from files; data parallel gradients;
    an overlap that a rank refuses."""
    launch(
        2, tmp_path, ("exact", some(UNIT, 8)), ("marks", some(UNIT, 48)), ("large_logits", {}),
        ("ahead", {}), ("both_ways", {}), ("twice", {}),
        ("training", {"directory": str(tmp_path / "shards")}),
        ("data_parallel", {}), ("too_many_pairs", {}),
    )  # fmt: skip


def test_three_ranks(tmp_path: Path) -> None:
    """Exactness, also between hyperedges; bytes sent are those of the formula, also if rows are rounded."""
    launch(
        3, tmp_path, ("exact", some(SPARSE, 16)), ("marks", some(SPARSE, 64)), ("traffic", {}),
        ("rounded", {}),
    )  # fmt: skip


def test_four_ranks(tmp_path: Path) -> None:
    launch(4, tmp_path, ("exact", some(UNIT, 32)))
