"""Dropout whose mask is a function of a seed: recomputed instead of stored, also for many runs at once."""

from __future__ import annotations

from enum import Enum

import torch
from torch import Tensor, nn

from ehnn.ops import Mask, seeded_dropout

_SEEDS = 2**62


class Rows(Enum):
    """Which rows a submodule of a layer processes."""

    SOURCES = "sources"
    GROUPS = "groups"
    MEMBERS = "members"
    GROUPS_AND_MEMBERS = "groups, then members"
    TARGETS = "targets"


class Dropout(nn.Module):
    """Dropout whose mask is a hash of (seed, number of rows, element), the same on every device.

    PyTorch's generator draws a seed at each call, unless `ehnn.training` gives each run, module and step one
    of its own through the buffer ``seed``: then runs are the same trained alone or side by side under
    ``torch.vmap``, and nothing has to be saved to resume.

    Where ``x`` holds only some rows of a whole (on one of several ranks), ``rows`` names them, and each has
    the mask that it would have in the whole.

    Args:
        p: probability of zero, in [0, 1).

    Attributes:
        rows: the number in the whole of each row of ``x``, and how many rows the whole has; None if ``x``
            is the whole.

    >>> layer = Dropout(0.5)
    >>> bool((layer(torch.ones(1000)) == 0).any()), bool((layer.eval()(torch.ones(1000)) == 0).any())
    (True, False)
    """

    seed: Tensor
    rows: tuple[Tensor, int] | None = None

    def __init__(self, p: float = 0.0) -> None:
        super().__init__()
        if not 0 <= p < 1:
            raise ValueError(f"dropout must be in [0, 1), got {p!r}")
        self.p = p
        self.seeded = False
        self.register_buffer("seed", torch.zeros((), dtype=torch.int64), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """Same shape as ``x``; identity when not training."""
        return seeded_dropout(x, self.mask)

    @property
    def mask(self) -> Mask | None:
        """The mask of this step, of a seed that PyTorch draws if none is given; None: nothing is dropped."""
        if not self.training or self.p == 0:
            return None
        seed = self.seed if self.seeded else torch.randint(_SEEDS, (), device=self.seed.device)
        return Mask(seed, self.p, *(self.rows or ()))

    def extra_repr(self) -> str:
        return f"p={self.p}"
