"""What is known of a dataset, what is asked, and how scores are measured."""

from __future__ import annotations

from functools import cache

import torch

import ehnn
from ehnn import datasets
from ehnn.datasets import loading
from ehnn.tasks.hyperedges import (
    CONNECTED,
    SAMPLERS,
    auroc,
    average_precision,
    mean_reciprocal_rank,
    sample_negatives,
    split_hyperedges,
)
from ehnn.tasks.hyperedges.scoring import answers_of
from ehnn.tasks.hyperedges.sets import among_most_active, keep_edges
from ehnn.tasks.hyperedges.split import one_of_each, set_numbers
from ehnn_paper.digest import digest

DATASETS = {  # the name here, and the dataset whose hyperedges it has; those that take longest first
    "congress-bills": "congress-bills",
    "threads-math-sx": "threads-math-sx",
    "house-committees": "house-1",
    "cora-coauthorship": "cora-coauthorship",
}
GIVEN = ("cora-coauthorship",)  # node features of its own; House's are made of the labels
MOST_ACTIVE = {"threads-math-sx": 2000}
PART = {"congress-bills": 10000}  # distinct hyperedges, at random
RANKED = 10
KINDS = (*SAMPLERS, *CONNECTED)


@cache
def load(name: str, data_dir: str | None) -> ehnn.Hypergraph:
    """The hyperedges, and the node features of the dataset's own."""
    h = datasets.load(DATASETS[name], data_dir)
    h = h.replace(y=None, x=h.x if name in GIVEN else None)
    return among_most_active(h, MOST_ACTIVE[name]) if name in MOST_ACTIVE else h


@cache
def digest_of(name: str, data_dir: str | None) -> str:
    """Eight digits that other files of a dataset would change."""
    return digest(loading.digest(DATASETS[name], data_dir))


def part_of(h: ehnn.Hypergraph, hyperedges: int | None, seed: int, smallest: int) -> ehnn.Hypergraph:
    """At most so many distinct hyperedges of at least ``smallest`` nodes, at random, with all nodes."""
    number, sets = set_numbers(h, smallest)
    if hyperedges is None or len(sets) <= hyperedges:
        return h
    generator = torch.Generator().manual_seed(seed)
    chosen = sets[torch.randperm(len(sets), generator=generator)[:hyperedges]]
    return one_of_each(h, number, chosen).replace(x=h.x)


@cache
def problem(
    dataset: str, hyperedges: int | None, seed: int, candidates: int, smallest: int, data_dir: str | None
) -> tuple[ehnn.Hypergraph, list[ehnn.Hypergraph]]:
    """What is known, and what is to be scored: true hyperedges, negatives of each kind, ten hard ones."""
    h = part_of(load(dataset, data_dir), hyperedges, seed, smallest)
    split = split_hyperedges(h, (0.8, 0.0, 0.2), seed, smallest)
    test = keep_edges(split.test, torch.arange(split.test.num_edges) < candidates)
    wanted = [(kind, seed) for kind in KINDS] + [("hard", 1000 * (seed + 1) + i) for i in range(RANKED)]
    drawn = [sample_negatives(split.known, test, kind, seed=s, avoid=h) for kind, s in wanted]
    return split.known, [test, *drawn]


def measure(scores: torch.Tensor, test: ehnn.Hypergraph) -> dict[str, float]:
    """AUROC and AP against each kind of negative, MRR among ten hard ones."""
    positive, *negative = scores.reshape(1 + len(KINDS) + RANKED, -1)
    found = {}
    for kind, wrong in zip(KINDS, negative, strict=False):
        both, answers = torch.cat([positive, wrong]), answers_of(test, test)
        found[f"auroc-{kind}"] = 100 * auroc(both, answers)
        found[f"ap-{kind}"] = 100 * average_precision(both, answers)
    return found | {"mrr-hard": 100 * mean_reciprocal_rank(positive, torch.stack(negative[-RANKED:], 1))}
