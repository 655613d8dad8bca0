"""Loss and accuracy of many runs: each run has labels of its own, and rows without a label do not count."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from ehnn.tasks.scores import accuracy, cross_entropy


def test_rows_without_a_label_do_not_count() -> None:
    logits = torch.tensor([[[2.0, 0.0], [0.0, 2.0], [0.0, 2.0]]] * 2, dtype=torch.float64)
    y = torch.tensor([[0, 0, -1], [-1, 1, -1]])
    assert accuracy(logits, y).tolist() == [50, 100]
    expected = torch.stack(
        [F.cross_entropy(logits[0, :2], y[0, :2]), F.cross_entropy(logits[1, 1:2], y[1, 1:2])]
    )
    torch.testing.assert_close(cross_entropy(logits, y), expected)
    assert accuracy(logits, y[0]).tolist() == [50, 50]  # shared by the runs


def test_no_label_at_all_is_zero() -> None:
    logits, y = torch.randn(2, 3, 4), torch.full((3,), -1)
    assert accuracy(logits, y).tolist() == cross_entropy(logits, y).tolist() == [0, 0]
