"""Array functions of the partition by label propagation; each works on one range of rows."""

from __future__ import annotations

import numpy as np

_MIX = 0x9E3779B97F4A7C15


def mixed(values: np.ndarray, salt: int) -> np.ndarray:
    """``uint64`` hashes of integers."""
    x = values.astype(np.uint64) + np.uint64((salt + 1) * _MIX % 2**64)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))


def runs(rows: np.ndarray, labels: np.ndarray, weights: np.ndarray | None = None) -> tuple[np.ndarray, ...]:
    """Distinct (row, label), sorted, and the count or the sum of ``weights`` of each.

    ``rows`` and ``labels`` are not negative.
    """
    if not len(rows):
        return rows, labels, np.zeros(0)
    span = int(labels.max()) + 1
    key = rows * span + labels
    if weights is None:
        key.sort()
    else:
        order = np.argsort(key, kind="stable")
        key = key[order]
    first = np.flatnonzero(np.diff(key, prepend=-1))
    if weights is None:
        total = np.diff(first, append=len(key)).astype(np.float64)
    else:
        total = np.add.reduceat(weights[order], first)
    return key[first] // span, key[first] % span, total


def heaviest(row: np.ndarray, label: np.ndarray, total: np.ndarray, salt: int) -> np.ndarray:
    """Places of the label with the largest total of each row; ties are broken by a hash."""
    order = np.lexsort((mixed(label, salt), total, row))
    last = np.ones(len(order), dtype=bool)
    last[:-1] = row[order][1:] != row[order][:-1]
    return order[last]


def segment_rows(counts: np.ndarray) -> np.ndarray:
    """``[Σ counts]`` the row of each entry."""
    return np.repeat(np.arange(len(counts)), counts)


def within(order_by: np.ndarray, weight: np.ndarray, room: np.ndarray) -> np.ndarray:
    """For movers in order of preference: whether they fit into the ``room`` of their target ``order_by``."""
    order = np.argsort(order_by, kind="stable")
    target, load = order_by[order], weight[order].astype(np.float64)
    before = np.cumsum(load) - load
    first = np.flatnonzero(np.diff(target, prepend=-1))
    offset = np.repeat(before[first], np.diff(first, append=len(target)))
    fits = np.empty(len(order), dtype=bool)
    fits[order] = before - offset + load <= room[order]
    return fits


def new_labels(
    node: np.ndarray, votes: np.ndarray, weight: np.ndarray, label: np.ndarray, size: np.ndarray,
    mass: np.ndarray, numbers: np.ndarray, *, limit: float, share: int, salt: int,
) -> np.ndarray:  # fmt: skip
    """``[nodes]`` the label with the largest vote, if its cluster has room; half of the nodes may move.

    ``node``, ``votes``, ``weight``: row, label and weight of each vote. ``label``, ``mass``, ``numbers``: of
    each node its label, weight and number. ``size``: weight of each cluster. ``limit``: largest cluster, of
    whose free room this range takes one part of ``share``.
    """
    row, choice, total = runs(node, votes, weight)
    own = choice == label[row]
    open_ = own | (size[choice] + mass[row] <= limit)
    row, choice, total = row[open_], choice[open_], total[open_] + 1e-9 * own[open_]
    best = heaviest(row, choice, total, salt)
    row, choice, total = row[best], choice[best], total[best]
    active = (mixed(numbers[row], salt) & np.uint64(1)).astype(bool) & (choice != label[row])
    row, choice, total = row[active], choice[active], total[active]
    order = np.argsort(-total, kind="stable")
    row, choice = row[order], choice[order]
    room = np.maximum((limit - size[choice]) / share, mass[row])
    fits = within(choice, mass[row], room)
    changed = label.copy()
    changed[row[fits]] = choice[fits]
    return changed


def contracted(edge: np.ndarray, cluster: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Orders, members and weights of the hyperedges between clusters; equal ones are one, with a weight."""
    edge, cluster, _ = runs(edge, cluster)
    orders = np.bincount(edge) if len(edge) else np.zeros(0, dtype=np.int64)
    keep = orders[edge] > 1 if len(edge) else np.zeros(0, dtype=bool)
    cluster, orders = cluster[keep], orders[orders > 1]
    return merged(orders, cluster, np.ones(len(orders), dtype=np.int64))


def merged(
    orders: np.ndarray, members: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Hyperedges with the same members become one, whose weight is the sum."""
    if not len(orders):
        return orders, members, weights
    start = np.cumsum(orders) - orders
    prints = np.stack([np.add.reduceat(mixed(members, salt), start) for salt in (1, 2)])
    order = np.lexsort((prints[1], prints[0], orders))
    same = np.zeros(len(order), dtype=bool)
    same[1:] = (np.diff(orders[order]) == 0) & (np.diff(prints[:, order]) == 0).all(0)
    first = np.flatnonzero(~same)
    kept = order[first]
    total = np.add.reduceat(weights[order], first)
    counts = orders[kept]
    place = np.repeat(start[kept] - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())
    return counts, members[place], total


def presence(edge: np.ndarray, part: np.ndarray, edges: int, ranks: int) -> np.ndarray:
    """``[edges, ranks]`` nodes of each hyperedge on each rank: 0, 1, or 2 for more."""
    counts = np.bincount(edge * ranks + part, minlength=edges * ranks)
    return np.minimum(counts, 2).astype(np.uint8).reshape(edges, ranks)


def gains(
    degrees: np.ndarray, there: np.ndarray, part: np.ndarray, ranks: int
) -> tuple[np.ndarray, np.ndarray]:
    """The best other rank of each node, and by how much the connectivity falls if the node alone moves there.

    ``there [incidences, ranks]``: `presence` of the hyperedge of each incidence, sorted by node.
    """
    start = np.cumsum(degrees) - degrees
    some = degrees > 0
    missing = np.zeros((len(degrees), ranks), dtype=np.int32)
    alone = np.zeros((len(degrees), ranks), dtype=np.int32)
    if some.any():
        missing[some] = np.add.reduceat((there == 0).astype(np.int32), start[some])
        alone[some] = np.add.reduceat((there == 1).astype(np.int32), start[some])
    rows = np.arange(len(part))
    gain = alone[rows, part][:, None] - missing
    gain[rows, part] = np.iinfo(np.int32).min
    to = gain.argmax(1)
    return to, gain[rows, to]


def moved(
    part: np.ndarray, to: np.ndarray, gain: np.ndarray, mass: np.ndarray, room: np.ndarray, active: np.ndarray
) -> np.ndarray:
    """``[nodes]`` ranks after the moves that fit: pairs of ranks exchange nodes and fill ``room [ranks]``."""
    ranks, new, room = len(room), part.copy(), room.copy()
    wish = np.flatnonzero(active & (gain >= 0))
    wish = wish[np.argsort(-gain[wish], kind="stable")]
    for a in range(ranks):
        for b in range(a + 1, ranks):
            there = wish[(part[wish] == a) & (to[wish] == b)]
            back = wish[(part[wish] == b) & (to[wish] == a)]
            up, down = np.cumsum(mass[there]), np.cumsum(mass[back])
            swapped = min(up[-1] if len(up) else 0, down[-1] if len(down) else 0)
            k = np.searchsorted(up, swapped + max(room[b], 0), "right")
            j = np.searchsorted(down, swapped + max(room[a], 0), "right")
            # Moves without a gain are made only in exchange for moves with one.
            k, j = min(k, _useful(gain[there], j, gain[back])), min(j, _useful(gain[back], k, gain[there]))
            gone, come = (up[k - 1] if k else 0), (down[j - 1] if j else 0)
            room[b] -= gone - come
            room[a] -= come - gone
            new[there[:k]], new[back[:j]] = b, a
    return new


def _useful(mine: np.ndarray, other: int, theirs: np.ndarray) -> int:
    """How many of ``mine`` (descending gains) are worth a move, if ``other`` of ``theirs`` come back."""
    positive = int((mine > 0).sum())
    return max(positive, min(len(mine), int((theirs[:other] > 0).sum())))
