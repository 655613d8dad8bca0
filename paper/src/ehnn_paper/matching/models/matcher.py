"""The matcher: features → affinities → association hypergraph → network → doubly stochastic matrices."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor, nn

from ehnn.hypergraph import Hypergraph

from ..affinity import Affinity, GeometricAffinity
from ..association import Association, associate
from ..pair_batch import PairBatch
from ..sinkhorn import ITERATIONS, TEMPERATURE, sinkhorn
from ..spline import Refine, spline_graph


class Middle(Protocol):
    """A network on the association hypergraph: ``middle(h, association) → [c, width]``.

    ``h`` has node affinities in ``x [c, 1]`` and affinities of hyperedges of the ``orders`` it asks for in
    ``edge_x [hyperedges, 1]``.
    """

    orders: tuple[int, ...]
    width: int

    def __call__(self, h: Hypergraph, association: Association) -> Tensor: ...


class Matcher(nn.Module):
    """Matches the keypoints of image pairs by learning on their association hypergraph.

    SplineConv refines the features of keypoints, affinities make the association hypergraph, ``middle``
    embeds its candidates, and a linear classifier and Sinkhorn turn embeddings into doubly stochastic
    matrices.

    Args:
        middle: the network on the association hypergraph, see `Middle`.
        channels: of the keypoint features.
        whole_channels: of the global features.
        refine, refine_width: SplineConv layers and the width between them, see `Refine`; 0 layers leave the
            features as they are.
        geometric: edges and triangles are compared in the image, not by features (`GeometricAffinity`).
        iterations, temperature: of the last Sinkhorn.

    Shapes: a `PairBatch` with ``features`` and ``whole`` → ``[c]``, the logarithm of the doubly stochastic
    matrices at each candidate (see `Candidates`; ``associate(batch).candidates`` says which these are).
    """

    def __init__(
        self,
        middle: Middle,
        channels: int = 1024,
        whole_channels: int = 512,
        *,
        refine: int = 2,
        refine_width: int | None = None,
        geometric: bool = False,
        iterations: int = ITERATIONS,
        temperature: float = TEMPERATURE,
    ) -> None:
        super().__init__()
        self.channels, self.whole_channels = channels, whole_channels
        self.iterations, self.temperature = iterations, temperature
        self.refine = Refine(channels, refine, refine_width)
        self.affinity = GeometricAffinity() if geometric else Affinity(channels, whole_channels)
        self.middle = middle
        # No bias: Sinkhorn does not see a constant.
        self.classifier: nn.Module = nn.Linear(middle.width, 1, bias=False)

    def associate(self, batch: PairBatch) -> Association:
        """The structure that `forward` needs; made beforehand, it can be used in every epoch."""
        return associate(batch, self.middle.orders)

    def forward(self, batch: PairBatch, association: Association | None = None) -> Tensor:
        association = self.associate(batch) if association is None else association
        scores = self.scores(batch, association)
        return sinkhorn(scores, association.candidates, self.iterations, self.temperature)

    def scores(self, batch: PairBatch, association: Association) -> Tensor:
        """``[c]``: what the classifier says of each candidate, before Sinkhorn."""
        nodes, edges = self.affinity(*self._features(batch), batch, association)
        embedded = self.middle(association.hypergraph(nodes, edges), association)
        return self.classifier(embedded).squeeze(1)

    def _features(self, batch: PairBatch) -> tuple[Tensor, Tensor]:
        a, b = batch.a.seen, batch.b.seen
        found = (a.shape[1], b.shape[1], batch.a.seen_whole.shape[1], batch.b.seen_whole.shape[1])
        if found != (self.channels, self.channels, self.whole_channels, self.whole_channels):
            raise ValueError(
                f"features and whole must have {self.channels} and {self.whole_channels} channels on both "
                f"sides, got {found[:2]} and {found[2:]}"
            )
        x = torch.cat([a, b])
        if len(self.refine.layers):
            x = self.refine(x, spline_graph(batch.a, batch.b))
        first, second = x.split([a.shape[0], b.shape[0]])
        return first, second
