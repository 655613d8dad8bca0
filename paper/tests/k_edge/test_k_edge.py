"""k-edge identification: the generator against brute force, the settings, the metrics."""

from __future__ import annotations

from collections import Counter

import pytest
import torch

from ehnn import Hypergraph
from ehnn.tasks.scores import accuracy, cross_entropy
from ehnn_paper.k_edge import KEdge, k_edge_hypergraphs
from ehnn_paper.k_edge.task import ORDERS, TRAIN_ORDERS


def draw(count: int = 30, orders=ORDERS, seed: int = 0) -> list[Hypergraph]:
    return k_edge_hypergraphs(count, orders, torch.Generator().manual_seed(seed))


def test_orders_are_those_asked_for() -> None:
    found = torch.cat([h.orders for h in draw(60, (3, 7))])
    assert set(found.tolist()) == {3, 7}


def test_ten_hyperedges_and_the_marked_one() -> None:
    assert {h.num_edges for h in draw()} == {11}


def test_the_marked_order_is_that_of_another_hyperedge() -> None:
    for h in draw(100):
        assert int(h.orders[-1]) in h.orders[:-1].tolist()


def test_the_marked_order_is_drawn_from_the_hyperedges_and_not_from_the_orders() -> None:
    # An order that n of the 10 hyperedges have is marked n times as often as one that a single one has.
    shares = [(h.orders[:-1] == h.orders[-1]).double().mean().item() for h in draw(2000, (2, 3), seed=1)]
    # E[share of the marked order] = E[p² + (1 - p)²] for a binomial share p of 10 fair draws: 0.55.
    assert sum(shares) / len(shares) == pytest.approx(0.55, abs=0.01)


def test_isolated_nodes_are_dropped() -> None:
    for h in draw():
        assert int(h.degrees.min()) >= 1
        assert h.num_nodes <= 100


def test_marks_and_labels_by_brute_force() -> None:
    for h in draw(40):
        edges = [set(edge) for edge in h.edges()]
        marked = [v in edges[-1] for v in range(h.num_nodes)]
        label = [any(v in e and len(e) == len(edges[-1]) for e in edges) for v in range(h.num_nodes)]
        assert h.x.tolist() == [[float(not m), float(m)] for m in marked]
        assert h.y.tolist() == [int(value) for value in label]


def test_sets_are_uniform() -> None:
    count = Counter(len(e) for h in draw(300) for e in h.edges()[:-1])
    assert set(count) == set(ORDERS)
    assert max(count.values()) < 1.35 * min(count.values())


def test_a_function_of_the_seed() -> None:
    first, again, other = (draw(3, seed=s)[2].edges() for s in (0, 0, 1))
    assert first == again
    assert first != other


def test_orders_above_the_number_of_nodes() -> None:
    with pytest.raises(ValueError, match="orders must not exceed num_nodes=4, got 9"):
        k_edge_hypergraphs(1, (2, 9), torch.Generator(), num_nodes=4)


@pytest.mark.parametrize("setting", TRAIN_ORDERS)
def test_settings_keep_orders_out_of_training_and_validation(setting: str) -> None:
    task = KEdge(setting, test=60)
    for hypergraphs in (task.members, task.valid_batch.unbatch()):
        assert {int(k) for h in hypergraphs for k in h.orders} == set(TRAIN_ORDERS[setting])
    assert set(task.test_batch.orders.tolist()) == set(ORDERS)
    assert (len(task.members), task.valid_batch.num_members) == (100, 20)


def parts_of(task: KEdge) -> list[list[Hypergraph]]:
    return [task.members, task.valid_batch.unbatch(), task.test_batch.unbatch()]


def test_parts_settings_and_seeds_share_no_hypergraph() -> None:
    tasks = [KEdge(setting, seed, train=20) for setting in TRAIN_ORDERS for seed in (0, 1, 2)]
    seen = [tuple(map(tuple, h.edges())) for task in tasks for part in parts_of(task) for h in part]
    assert len(set(seen)) == len(seen) == 9 * 60


def test_validation_is_scored_on_validation_hypergraphs_and_the_test_on_test_hypergraphs() -> None:
    task = KEdge(train=1)
    asked: list[Hypergraph] = []

    def predict(h: Hypergraph) -> torch.Tensor:
        asked.append(h)
        right = torch.nn.functional.one_hot(h.y, 2).float()
        return (right if h is task.valid_batch else 1 - right).unsqueeze(0)

    assert {k: v.item() for k, v in task.evaluate(predict).items()} == {"valid": 100, "test": 0}
    assert sorted(map(id, asked)) == sorted(map(id, (task.valid_batch, task.test_batch)))


def test_an_epoch_has_each_hypergraph_once_and_repeats_itself() -> None:
    task = KEdge(train=10, batch_size=4)
    for epoch in (0, 1, 5):
        batches = list(task.batches(epoch))
        assert sorted(h.num_members for h in batches) == [2, 4, 4]
        found = Counter(tuple(map(tuple, h.edges())) for b in batches for h in b.unbatch())
        assert found == Counter(tuple(map(tuple, h.edges())) for h in task.members)
        assert [h.edges() for h in KEdge(train=10, batch_size=4).batches(epoch)] == [
            h.edges() for h in batches
        ]


def test_unknown_setting() -> None:
    with pytest.raises(ValueError, match=r"setting must be one of .*, got 'sen'"):
        KEdge("sen")


def test_the_answer_scores_100_by_every_metric() -> None:
    task = KEdge("extrapolation", train=4)

    def oracle(h: Hypergraph) -> torch.Tensor:
        wrong = torch.zeros(h.num_nodes, 2)
        right = torch.nn.functional.one_hot(h.y, 2).float()
        return torch.stack([right, wrong])

    metrics = task.evaluate(oracle)
    zeros = 100 * (task.test_batch.y == 0).double().mean().item()
    assert metrics["test"].tolist() == pytest.approx([100, zeros])
    assert metrics["valid"][0] == 100
    by_order = task.accuracy_by_order(oracle)
    assert all(value[0] == 100 for value in by_order.values())
    assert set(by_order) == {int(h.orders[-1]) for h in task.test_batch.unbatch()}


def test_unlabelled_nodes_do_not_count() -> None:
    logits = torch.tensor([[[2.0, 0.0], [0.0, 2.0], [0.0, 2.0]]])
    y = torch.tensor([0, 0, -1])
    assert accuracy(logits, y).tolist() == [50]
    expected = torch.nn.functional.cross_entropy(logits[0, :2], y[:2])
    torch.testing.assert_close(cross_entropy(logits, y), expected.reshape(1))
