"""Labels of incidences in hyperedges of which some labels are known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ehnn
from ehnn.estimators.portfolio.incidence_table import IncidenceTable, partly_labelled
from ehnn.estimators.portfolio.outputs import Output

FAST = {"budget": "fast", "width": 16}


def crews(count: int = 150, seed: int = 0) -> tuple[ehnn.Hypergraph, np.ndarray]:
    """Sets of four of whom one, drawn at random, leads: the label of one node says nothing of others."""
    generator = np.random.default_rng(seed)
    edges = [generator.choice(60, 4, replace=False).tolist() for _ in range(count)]
    h = ehnn.Hypergraph.from_edges(edges, num_nodes=60)
    leader = generator.integers(0, 4, count)
    place = np.concatenate([np.arange(4)] * count)
    assert np.array_equal(h.index[1].numpy(), np.repeat(np.arange(count), 4))
    return h, (place == np.repeat(leader, 4)).astype(np.int64)


def test_a_known_leader_rules_out_the_others(tmp_path: Path) -> None:
    h, y = crews()
    hidden = np.random.default_rng(1).random(len(y)) < 0.3
    known = [None if gone else int(label) for gone, label in zip(hidden, y, strict=True)]
    model = ehnn.IncidenceClassifier(**FAST).fit(h, known)
    assert model.model_.partly
    edge = h.index[1].numpy()
    leads = np.bincount(edge[~hidden], y[~hidden], h.num_edges)[edge] > 0
    none_yet = np.bincount(edge[~hidden], minlength=h.num_edges)[edge] == 3
    found = model.predict(h)
    assert (found == y)[hidden & leads].mean() > 0.97
    assert (found == y)[hidden & ~leads & none_yet].mean() > 0.97
    model.save(tmp_path)
    again = ehnn.estimators.load(tmp_path)
    np.testing.assert_array_equal(again.predict_proba(h), model.predict_proba(h))


def test_labels_of_fit_are_read_in_a_part_of_the_hypergraph() -> None:
    h, y = crews()
    hidden = np.random.default_rng(1).random(len(y)) < 0.3
    known = [None if gone else int(label) for gone, label in zip(hidden, y, strict=True)]
    model = ehnn.IncidenceClassifier(**FAST).fit(h, known)
    first = h.index[1].numpy() < 60
    members = h.index[0].numpy()[first].reshape(60, 4).tolist()
    part = ehnn.Hypergraph.from_edges(members, num_nodes=60)
    edge = h.index[1].numpy()
    leads = np.bincount(edge[~hidden], y[~hidden], h.num_edges)[edge] > 0
    asked = (hidden & leads)[first]
    assert (model.predict(part) == y[first])[asked].mean() > 0.97


def test_hyperedges_without_any_label_are_predicted_as_before() -> None:
    """The least member leads, so that its rank tells it in hyperedges without labels too."""
    generator = np.random.default_rng(0)
    weight = generator.permutation(60)
    edges = [generator.choice(60, 4, replace=False).tolist() for _ in range(200)]
    h = ehnn.Hypergraph.from_edges(edges, num_nodes=60)
    node, edge = h.index.numpy()
    least = np.full(200, 99)
    np.minimum.at(least, edge, weight[node])
    y = (weight[node] == least[edge]).astype(int)
    hidden = generator.random(len(y)) < 0.2
    new = edge >= 150
    known = [None if gone else int(label) for gone, label in zip(hidden | new, y, strict=True)]
    model = ehnn.IncidenceClassifier(**FAST).fit(h, known)
    assert model.model_.partly
    assert (model.predict(h) == y)[new].mean() > 0.85


def test_whole_hyperedges_without_labels_read_none() -> None:
    h, y = crews(40)
    edge = h.index[1].numpy()
    known = edge < 30
    assert not partly_labelled(h, known, ~known)
    assert not partly_labelled(h, np.ones_like(known), np.zeros_like(known))
    known[edge == 35] = [True, False, False, False]
    assert not partly_labelled(h, known, ~known)  # three of 39 rows
    known[edge == 36] = [True, False, False, False]
    assert partly_labelled(h, known, ~known)  # six of 38
    model = ehnn.IncidenceClassifier(**FAST).fit(
        h, [int(v) if e < 30 else None for v, e in zip(y, edge, strict=True)]
    )
    assert not model.model_.partly


def test_own_labels_are_not_among_those_of_the_others() -> None:
    h, y = crews(50)
    output = Output("classes", 2)
    table = IncidenceTable(h, partly=True)
    prior = np.array([0.75, 0.25])
    rows = np.arange(len(y))
    base = table.with_known(output, y, prior).matrix(("mates",))
    for row in rows[:8]:
        other = y.copy()
        other[row] = 1 - other[row]
        found = table.with_known(output, other, prior).matrix(("mates",))
        np.testing.assert_array_equal(found[row], base[row])
        mates = (h.index[1].numpy() == h.index[1].numpy()[row]) & (rows != row)
        alone = table.alone[h.index[1].numpy()[row]]
        assert (found[mates] == base[mates]).all() == alone


@pytest.mark.parametrize("partly", [False, True])
def test_the_order_of_members_does_not_matter(partly: bool) -> None:
    h, y = crews(30)
    turned = np.random.default_rng(2).permutation(60)
    index = h.index.clone()
    index[0] = index.new_tensor(turned)[index[0]]
    other = ehnn.Hypergraph.from_incidence(tuple(index.numpy()), 60, 30)
    place = {(v, e): i for i, (v, e) in enumerate(other.index.T.tolist())}
    order = np.array([place[v, e] for v, e in index.T.tolist()])
    moved = np.empty_like(y)
    moved[order] = y
    output, prior = Output("classes", 2), np.array([0.75, 0.25])
    both = [
        IncidenceTable(g, partly=partly).with_known(output, t, prior).matrix(("mates",))
        for g, t in ((h, y), (other, moved))
    ]
    np.testing.assert_allclose(both[0], both[1][order])
