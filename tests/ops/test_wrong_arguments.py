"""Arguments by which a kernel would read memory that is not theirs are refused."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import ehnn
from ehnn.hypergraph import SparsePattern
from ehnn.ops import (
    Mask,
    broadcast_rows,
    seeded_dropout,
    segment_mean,
    segment_softmax_sum,
    segment_sum,
)

H = ehnn.Hypergraph.from_edges([[0, 1, 2], [2, 3], [], [1]], 5)


@pytest.mark.parametrize("given", [H, H.overlap("nodes", "edges"), H.index])
def test_something_else_than_a_pattern(given: object) -> None:
    message = rf"pairs must be a SparsePattern, .* got {type(given).__name__}"
    for function in (segment_sum, segment_mean, broadcast_rows):
        with pytest.raises(ValueError, match=message):
            function(torch.ones(5, 2), given)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=message):
        segment_softmax_sum(torch.ones(5, 1, 2), torch.ones(5, 1), given)  # type: ignore[arg-type]


@pytest.mark.parametrize("shape", [(1,), (3,), (4, 1), ()])
@pytest.mark.parametrize(("name", "size"), [("of_rows", 4), ("of_cols", 5)])
def test_factors_of_a_sum(name: str, size: int, shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=rf"{name} must have shape \[{size}\], got"):
        segment_sum(torch.ones(5, 2), H.incidence, **{name: torch.ones(shape)})


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (torch.arange(4, dtype=torch.int32), "rows of a mask must be int64"),
        (torch.arange(4.0), "rows of a mask must be int64"),
        (torch.zeros(4, 1, dtype=torch.int64), "rows of a mask must be int64"),
        (torch.arange(3), "the mask is for 3 rows of a whole, but x has 4"),
    ],
)
def test_rows_of_a_mask(rows: Tensor, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        seeded_dropout(torch.ones(4, 2), Mask(torch.tensor(1), 0.5, rows, 9))


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("ptr", lambda t: t.int(), "ptr must be int64 of shape"),
        ("ptr", lambda t: t[:-1], "ptr must be int64 of shape"),
        ("ptr", lambda t: t + 1, "ptr must ascend from 0 to the 6 pairs"),
        ("ptr", lambda t: t * 2, "ptr must ascend from 0 to the 6 pairs"),
        ("ptr", lambda t: t.flip(0).roll(1), "ptr must ascend"),
        ("index", lambda t: t.int(), "index must be int64"),
        ("index", lambda t: t + 2**40, "index must be below 5"),
        ("index", lambda t: t - 2**40, "index must not be negative"),
        ("t_ptr", lambda t: t * 3, "t_ptr must ascend"),
        ("t_index", lambda t: t[1:], "t_index must be int64 of shape"),
        ("t_index", lambda t: t + 4, "t_index must be below 4"),
        ("t_perm", lambda t: t + 1, "t_perm must be below 6"),
    ],
)
def test_a_pattern_that_is_made_by_hand(name: str, change: object, message: str) -> None:
    p = H.incidence
    given = {n: getattr(p, n) for n in ("num_rows", "num_cols", "ptr", "index", "t_ptr", "t_index", "t_perm")}
    assert SparsePattern(**given).num_rows == 4
    with pytest.raises(ValueError, match=message):
        SparsePattern(**given | {name: change(given[name])})  # type: ignore[operator]
