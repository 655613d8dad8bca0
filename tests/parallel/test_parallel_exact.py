"""On P ranks, outputs, loss and every gradient are those of one process, for any partition."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from launching import launch  # noqa: E402
from workers import SPARSE, exact  # noqa: E402

from ehnn.parallel import Ranks  # noqa: E402

UNIT = [(s, t) for s, t in SPARSE if "nodes" in (s, t) or t == "graph"]


SHARE = 1 if os.environ.get("EHNN_THOROUGH") else 8
"""One combination in so many is run, another in every test; EHNN_THOROUGH=1 runs them all."""


def test_one_rank() -> None:
    exact(Ranks(), SPARSE, SHARE)


def test_two_ranks(tmp_path: Path) -> None:
    """Exactness, attention with large logits, a training curve from files, data parallel gradients."""
    launch(
        2, tmp_path, ("exact", {"families": UNIT, "share": SHARE}), ("large_logits", {}),
        ("training", {"directory": str(tmp_path / "shards")}), ("data_parallel", {}),
    )  # fmt: skip


def test_three_ranks(tmp_path: Path) -> None:
    """Exactness, also between hyperedges; bytes sent are those of the formula."""
    launch(3, tmp_path, ("exact", {"families": SPARSE, "share": SHARE}), ("traffic", {}))


def test_four_ranks(tmp_path: Path) -> None:
    launch(4, tmp_path, ("exact", {"families": UNIT, "share": SHARE}))
