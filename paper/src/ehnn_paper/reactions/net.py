"""A directed EHNN that scores reactions in both directions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor, nn

from ehnn.hypergraph import Hypergraph
from ehnn.nn import EHNNMLP
from ehnn.nn.dropout import Dropout
from ehnn.overlap import Overlap


@dataclass(frozen=True, eq=False)
class Candidates:
    """Reactions to score, beside the known ones.

    Attributes:
        known: the known reactions as hyperedges, with ``x [N, d]`` for the metabolites.
        sets: the candidates as hyperedges over the same metabolites.
        table: ``[candidates, columns]`` of numbers, or None.
        answers: ``[candidates]`` 1 for a reaction and 0 for none, where the task has them.
    """

    known: Hypergraph
    sets: Hypergraph
    table: Tensor | None = None
    answers: Tensor | None = None

    @cached_property
    def from_nodes(self) -> Overlap:
        """From metabolites to candidates."""
        return self.known.overlap("nodes", self.sets)

    @cached_property
    def from_edges(self) -> Overlap:
        """From known reactions to candidates."""
        return self.known.overlap("edges", self.sets)


class ReactionScorer(nn.Module):
    r"""A number for each candidate, from its metabolites, its overlaps with known reactions and its table.

    .. math:: f(j) = w \cdot t_j + \mathrm{MLP}\big[L_1(x)_j \,\|\, L_2(L_3(x))_j \,\|\, t_j\big]

    :math:`L_3` is an EHNN-MLP layer from metabolites x to known reactions, :math:`L_1` and :math:`L_2` are
    layers from metabolites and from known reactions to the candidates, and t is the table. With roles,
    :math:`L_2` sees the matrix M[r, s] = |i_r ∩ j_s| of the candidate j and every known reaction i.

    Shapes: `Candidates` → ``[candidates, 1]``.
    """

    def __init__(self, d_in: int, columns: int, *, width: int = 32, dropout: float = 0.2) -> None:
        super().__init__()
        self.embed, self.input_dropout = nn.Linear(d_in, width), Dropout(dropout)
        self.to_edges, self.nodes, self.edges = (
            EHNNMLP(width, width, aggregation="sum", scale=1 / 8, global_interaction=False, dropout=dropout)
            for _ in range(3)
        )
        self.table_dropout = Dropout(dropout)
        self.hidden, self.hidden_dropout = nn.Linear(2 * width + columns, width), Dropout(dropout)
        self.out = nn.Linear(width, 1)
        self.linear = nn.Linear(columns, 1, bias=False) if columns else None

    def forward(self, asked: Candidates, x: Tensor | None = None) -> Tensor:
        x = self.input_dropout(self.embed(asked.known.features("nodes") if x is None else x))
        edges = self.to_edges(x, asked.known.overlap("nodes", "edges"))
        parts = [self.nodes(x, asked.from_nodes), self.edges(edges, asked.from_edges)]
        if asked.table is not None:
            parts.append(self.table_dropout(asked.table))
        y = self.out(self.hidden_dropout(self.hidden(torch.cat(parts, 1)).relu()))
        return y if self.linear is None else y + self.linear(asked.table)


class DirectionScorer(nn.Module):
    r"""score(tail, head) = f(tail, head) − f(head, tail), which is antisymmetric for every f.

    Shapes: `Candidates` with n reactions, then the same n turned round → ``[n, 1]``; positive: as stated.
    """

    def __init__(self, scorer: ReactionScorer) -> None:
        super().__init__()
        self.scorer = scorer

    def forward(self, asked: Candidates, x: Tensor | None = None) -> Tensor:
        stated, turned = self.scorer(asked, x).chunk(2)
        return stated - turned
