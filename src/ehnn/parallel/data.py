"""Data parallel training on many small hypergraphs; ranks get equal numbers of incidences."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence

import torch

from ehnn._utils.validation import as_count
from ehnn.tasks.draws import generator_of


def balanced(costs: Sequence[int], ranks: int) -> list[list[int]]:
    """Places of ``costs`` dealt to ``ranks`` lists of nearly equal total, largest first to the least loaded.

    The largest total is at most 4/3 of the best possible one.

    >>> balanced([9, 1, 5, 5], 2)
    [[0, 1], [2, 3]]
    """
    ranks = as_count(ranks, "ranks", 1)
    lists: list[list[int]] = [[] for _ in range(ranks)]
    loads = [(0, rank) for rank in range(ranks)]
    for place in sorted(range(len(costs)), key=lambda i: -costs[i]):
        load, rank = heapq.heappop(loads)
        lists[rank].append(place)
        heapq.heappush(loads, (load + costs[place], rank))
    return [sorted(places) for places in lists]


class BalancedBatches:
    """Places of the items in every batch of one rank; all ranks have the same number of batches.

    Each epoch shuffles the items, cuts them into batches of ``batch_size`` and deals every batch to the ranks
    by cost, so all ranks together see each item once. A rank's part of a batch may be empty where there are
    fewer items than ranks. The order is a function of (seed, epoch) alone.

    Args:
        costs: incidences of each item.
        batch_size: items in a batch, over all ranks.
        rank, ranks: which part.
        seed: of the shuffles.

    >>> batches = [BalancedBatches([9, 1, 5, 5], batch_size=4, rank=rank, ranks=2) for rank in (0, 1)]
    >>> [len(found) for found in batches]
    [1, 1]
    """

    def __init__(self, costs: Sequence[int], batch_size: int, rank: int, ranks: int, seed: int = 0) -> None:
        batch_size = as_count(batch_size, "batch_size", 1)
        if not 0 <= rank < ranks:
            raise ValueError(f"rank must be from 0 to {ranks - 1}, got {rank}")
        self.costs, self.batch_size, self.rank, self.ranks = list(costs), batch_size, rank, ranks
        self.seed = seed

    def __len__(self) -> int:
        return -(-len(self.costs) // self.batch_size)

    def epoch(self, number: int) -> Iterator[list[int]]:
        """The batches of one epoch."""
        generator = generator_of(self.seed, number)
        order = torch.randperm(len(self.costs), generator=generator).tolist()
        for start in range(0, len(order), self.batch_size):
            items = order[start : start + self.batch_size]
            mine = balanced([self.costs[i] for i in items], self.ranks)[self.rank]
            yield [items[i] for i in mine]
