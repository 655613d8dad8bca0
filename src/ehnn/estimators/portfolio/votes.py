"""Features of a row from the known labels of its co-members, excluding its own label.

Rows are nodes of a hypergraph with incidence matrix H ``[rows, groups]``. Y holds the known labels, zero
where unknown. M says where they are known.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray
_CHUNK = 4_000_000
"""Numbers that `group_evidence` holds at once."""


def votes(incidence: Any, values: Array, known: Array, prior: Array, power: float) -> tuple[Array, Array]:
    r"""Shares ``[rows, width]`` of the labels of co-members, shrunk to the prior, and their total weight.

    .. math:: v_i = \frac{\sum_{e \ni i} b_e^{-p} \sum_{j \in e, j \ne i} M_j Y_j + \pi}
                         {\sum_{e \ni i} b_e^{-p} \sum_{j \in e, j \ne i} M_j + 1}

    with the orders b and ``power`` p: 0 counts every co-member, 1 every hyperedge.
    """
    order = np.asarray(incidence.sum(0)).ravel()
    weight = (np.maximum(order - 1, 1.0) ** -power).astype(np.float32)
    own = (incidence.multiply(incidence) @ weight)[:, None]  # the weight of the row itself

    def others(rows: Array) -> Array:
        return np.asarray(incidence @ (weight[:, None] * (incidence.T @ rows))) - own * rows

    total = np.maximum(others(known), 0.0)
    found = others(values * known)
    return (found + prior) / (total + 1.0), total[:, :1]


def group_evidence(incidence: Any, values: Array, known: Array, prior: Array, strength: float = 1.0) -> Array:
    r"""``[rows, width]`` naive Bayes: the evidence of the groups of a row, each without the row itself.

    .. math:: \sum_{e \ni i} \log \frac{(C_{ec} - Y_{ic} + a \pi_c) / (n_e - M_i + a)}{\pi_c}

    with the counts C of labels in each group, their number n, and the ``strength`` a of the prior π.
    """
    incidence = incidence.tocsr()
    count, number = np.asarray(incidence.T @ (values * known)), np.asarray(incidence.T @ known)
    row, group = _csr_index(incidence)
    found = np.zeros_like(values)
    step = max(1, _CHUNK // max(values.shape[1], 1))
    for start in range(0, len(row), step):
        i, e = row[start : start + step], group[start : start + step]
        entry = incidence.data[start : start + step, None]
        share = np.maximum(count[e] - entry * (values * known)[i], 0) + strength * prior
        share /= np.maximum(number[e] - entry * known[i], 0) + strength
        terms = np.log(np.maximum(share, 1e-9) / np.maximum(prior, 1e-9))
        first = np.flatnonzero(np.r_[True, i[1:] != i[:-1]])
        found[i[first]] += np.add.reduceat(terms, first, axis=0)
    return found


def spread(
    incidence: Any,
    values: Array,
    known: Array,
    prior: Array,
    groups: Array,
    keep: float = 0.8,
    steps: int = 8,
) -> Array:
    r"""``[rows, width]``: labels propagated with restarts, :math:`F \leftarrow a S F + (1 - a) Y`.

    :math:`S = D^{-1/2} H B^{-1} H^\top D^{-1/2}`. Propagation would return a row's own label to it. So each
    label is hidden in one pass, and the row is read from that pass: ``groups[i]`` ≥ 0 is the pass of row i.
    Rows without a label have -1 and are read from a pass with all labels.
    """
    degree = np.maximum(np.asarray(incidence.sum(1)).ravel(), 1e-12) ** -0.5
    order = 1 / np.maximum(np.asarray(incidence.sum(0)).ravel(), 1e-12)
    passes = [-1, *range(int(groups.max(initial=-1)) + 1)]
    width = values.shape[1]
    start = np.concatenate(
        [np.concatenate([values * known, known[:, :1]], 1) * (groups != p)[:, None] for p in passes], 1
    ).astype(np.float32)
    flow = (incidence.multiply(degree[:, None])).tocsr().astype(np.float32)
    back = (incidence.T.multiply(order[:, None])).tocsr().astype(np.float32)
    state = start
    for _ in range(steps):
        state = keep * (flow @ (back @ (degree[:, None].astype(np.float32) * state))) + (1 - keep) * start
    state = state.reshape(len(values), len(passes), width + 1)
    state = state[np.arange(len(values)), groups + 1]
    mass = np.maximum(state[:, width:], 0.0)
    return np.concatenate([(state[:, :width] + 1e-3 * prior) / (mass + 1e-3), np.log(mass + 1e-3)], 1)


def _csr_index(matrix: Any) -> tuple[Array, Array]:
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr)), matrix.indices
