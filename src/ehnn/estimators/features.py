"""What a network reads of each node: given features, degrees and orders, spectral ones; standardised."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ehnn._utils.validation import short
from ehnn.hypergraph import Hypergraph

from .finite import HUGE, finite_columns
from .portfolio.fit_nodes import FitNodes
from .portfolio.node_table import RANK, incidence_matrix
from .portfolio.spectral import spectral_features
from .sketches import STEPS, sketch_features
from .storage import plain_name

_TENSORS = ("mean", "scale", "edge_mean", "edge_scale")
FEATURES = ("auto", "given", "structural", "both")
ALL = "all"
"""Given features, structural and spectral ones: for the nodes of one hypergraph."""


STRUCTURAL = 5
"""Channels of `structural_features`."""


def structural_features(h: Hypergraph, new: Tensor | None = None) -> Tensor:
    """Return five features of each node, ``[num_nodes, 5]``, from degrees and orders alone.

    The columns are 1 and log(1 + n), where n is: the degree of the node; the mean order of its hyperedges;
    their largest order; its number of co-members. They do not depend on how the nodes are numbered.

    Args:
        h: a hypergraph.
        new: ``[num_nodes]`` bool: nodes that were not there in `fit`. In a hyperedge with nodes that were,
            other new nodes are not counted, so that the numbers of one do not depend on the others.

    >>> h = Hypergraph.from_edges([[0, 1, 2], [2, 3]], num_nodes=5)
    >>> structural_features(h).exp().sub(1)[2, 1:]
    tensor([2.0000, 2.5000, 3.0000, 3.0000])
    >>> structural_features(h, torch.tensor([False, True, True, False, False])).exp().sub(1)[2, 1:]
    tensor([2., 2., 2., 2.])
    """
    node, edge = h.index
    order = h.orders[edge]
    if new is not None and bool(new.any()):
        before = torch.zeros_like(h.orders).index_add_(0, edge, (~new).to(h.orders.dtype)[node])
        order = torch.where(before[edge] > 0, before[edge] + new[node], order)
    total = torch.zeros(h.num_nodes, dtype=torch.int64, device=h.device).index_add_(0, node, order)
    largest = torch.zeros_like(total).scatter_reduce_(0, node, order, "amax")
    mean = total / h.degrees.clamp(min=1)
    others = total - h.degrees
    columns = torch.stack([h.degrees, mean, largest, others], 1).to(torch.get_default_dtype()).log1p()
    return torch.cat([torch.ones_like(columns[:, :1]), columns], 1)


@dataclass(frozen=True)
class Features:
    """How node features are made, and the scale learned in `fit`.

    Attributes:
        kind: ``"given"``, ``"structural"``, ``"both"`` or ``"all"``.
        width, edge_width: channels of x and edge_x that were given in `fit`; 0 for none.
        mean, scale: ``[d]`` of the node features.
        edge_mean, edge_scale: ``[d_e]`` of the hyperedge features.
        sketch, seed: `sketch_features` of so many channels stand behind the node features; 0 for none.
        fit_nodes: of kind ``"all"`` the spectral features of the nodes of `fit`.
    """

    kind: str
    width: int
    edge_width: int
    mean: Tensor
    scale: Tensor
    edge_mean: Tensor
    edge_scale: Tensor
    sketch: int = 0
    seed: int = 0
    fit_nodes: FitNodes | None = None

    @classmethod
    def learn(
        cls, h: Hypergraph, wanted: str, auto: str = "given", bare: str = "structural", weights: bool = True,
        sketch: int = 0, seed: int = 0,
    ) -> Features:  # fmt: skip
        """From the hypergraph to fit.

        ``"auto"`` means ``auto`` where x is given, ``"structural"`` where edge_x alone is, and ``bare`` where
        nothing is. ``weights`` is as in `apply`.
        """
        check_features(h, wanted, spectral=bare == ALL)
        h = h if weights else h.replace(edge_weight=None, incidence_weight=None)
        kind = wanted
        if wanted == "auto":
            kind = auto if _has_columns(h.x) else "structural" if _has_columns(h.edge_x) else bare
        width = 0 if h.x is None or kind == "structural" else h.x.shape[1]
        edge_width = 0 if h.edge_x is None else h.edge_x.shape[1]
        fit_nodes = None
        if kind == ALL:
            coordinates = spectral_features(abs(incidence_matrix(h)), RANK)
            fit_nodes = FitNodes.of(h, np.full(h.num_nodes, -1), coordinates)
        empty = torch.zeros(0)
        unscaled = cls(kind, width, edge_width, empty, empty, empty, empty, sketch, seed, fit_nodes)
        mean, scale = _scale_of(unscaled.raw(h, np.arange(h.num_nodes)))
        edge = (empty, empty)
        if h.edge_x is not None and edge_width:
            edge = _scale_of(_floats(h.edge_x, "edge_x"))
        return replace(unscaled, mean=mean, scale=scale, edge_mean=edge[0], edge_scale=edge[1])

    @classmethod
    def restore(cls, about: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Features:
        """Inverse of `about` and `tensors`."""
        kept = {name: tensors[f"features.{name}"] for name in _TENSORS}
        sizes = {name: int(about[name]) for name in ("width", "edge_width")}
        sizes |= {name: int(about.get(name, 0)) for name in ("sketch", "seed")}  # not in older files
        found = cls(kind=str(about["kind"]), **kept, **sizes)  # type: ignore[arg-type]
        if found.kind == ALL:
            arrays = {
                name: tensors[f"features.company.{name}"].numpy() for name in ("target", "sets", "spectral")
            }
            found = replace(found, fit_nodes=FitNodes.restore(about["names"], arrays))
        channels = {
            "given": found.width, "structural": STRUCTURAL, "both": found.width + STRUCTURAL,
            ALL: found.width + STRUCTURAL + found.rank,
        }  # fmt: skip
        wanted = channels.get(found.kind, -1) + len(STEPS) * found.sketch
        for size, tensors_of in ((wanted, _TENSORS[:2]), (found.edge_width, _TENSORS[2:])):
            if min(found.width, found.sketch) < 0 or any(kept[n].shape != (size,) for n in tensors_of):
                raise ValueError(f"the saved features of kind {short(found.kind)} do not fit together")
        return found

    def knows_nothing(self, h: Hypergraph) -> bool:
        """Whether no node of ``h`` was there in fit, and degrees and orders are all that is read of them."""
        if self.width or self.edge_width or not h.num_nodes:
            return False
        places = self.places(h)
        return places is not None and not (places >= 0).any()

    def places(self, h: Hypergraph) -> np.ndarray | None:
        """``[num_nodes]`` the number in fit of each node, -1: new; None where nothing is known of nodes."""
        return None if self.fit_nodes is None else self.fit_nodes.places(h.to("cpu"))

    @property
    def rank(self) -> int:
        """Spectral channels."""
        spectral = None if self.fit_nodes is None else self.fit_nodes.spectral
        return 0 if spectral is None else spectral.shape[1]

    def raw(self, h: Hypergraph, places: np.ndarray | None = None, separately: bool = False) -> Tensor:
        """``[num_nodes, d]`` before scaling, in float64.

        Args:
            h: a hypergraph.
            places: ``[num_nodes]`` the number in fit of each node, -1: new; None: they are found by name.
            separately: whether degrees and orders of a new node are those without the other new ones; see
                `structural_features`.
        """
        found = 0 if h.x is None else h.x.shape[1]
        if self.kind != "structural" and found != self.width:
            raise ValueError(f"x must have {self.width} channels as in fit, got {found or 'no x'}")
        parts = [_floats(h.x, "x")] if self.width else []
        places = self.places(h) if places is None else places
        if self.kind != "given":
            new = torch.from_numpy(places < 0).to(h.device) if separately and places is not None else None
            parts.append(structural_features(h, new).double())
        if self.fit_nodes is not None and places is not None:
            coordinates = self.fit_nodes.coordinates(places, h.to("cpu"))
            parts.append(torch.from_numpy(coordinates).to(h.device).double())
        parts += [sketch_features(h, self.sketch, self.seed).double()] if self.sketch else []
        return torch.cat(parts, 1)

    @property
    def channels(self) -> int:
        """Channels that the model reads."""
        return self.mean.shape[0] + self.edge_width

    def apply(
        self, h: Hypergraph, weights: bool = False, places: np.ndarray | None = None,
        separately: bool = False,
    ) -> Hypergraph:  # fmt: skip
        """``h`` with the features that the model reads; without its weights, unless it reads ``weights``.

        ``places`` and ``separately`` are as in `raw`.
        """
        h = h if weights else h.replace(edge_weight=None, incidence_weight=None)
        x = _scaled(self.raw(h, places, separately), self.mean, self.scale, "x")
        found = 0 if h.edge_x is None else h.edge_x.shape[1]
        if found != self.edge_width:
            raise ValueError(f"edge_x must have {self.edge_width} channels as in fit, got {found}")
        if h.edge_x is None or not found:
            return h.replace(x=x, edge_x=None)
        edge_x = _scaled(_floats(h.edge_x, "edge_x"), self.edge_mean, self.edge_scale, "edge_x")
        return h.replace(x=x, edge_x=edge_x)

    def tensors(self) -> dict[str, Tensor]:
        """What is saved of it, beside `about`."""
        kept = {f"features.{name}": getattr(self, name) for name in _TENSORS}
        arrays = {} if self.fit_nodes is None else self.fit_nodes.arrays()
        return kept | {f"features.company.{k}": torch.from_numpy(v) for k, v in arrays.items()}

    def about(self) -> dict[str, Any]:
        """What goes to JSON."""
        kept: dict[str, Any] = {
            k: getattr(self, k) for k in ("kind", "width", "edge_width", "sketch", "seed")
        }
        if self.fit_nodes is None:
            return kept
        names = self.fit_nodes.names
        return kept | {"names": None if names is None else [plain_name(name) for name in names]}


def check_features(h: Hypergraph, wanted: str, spectral: bool = True) -> None:
    """A ValueError for ``wanted`` features that there are none of; ``spectral``: whether ``"all"`` may be."""
    allowed = (*FEATURES, ALL) if spectral else FEATURES
    if wanted not in allowed:
        raise ValueError(f"features must be one of {allowed}, got {wanted!r}")
    if wanted in ("given", "both") and not _has_columns(h.x):
        raise ValueError(f"features={wanted!r} needs node features x, got none: {h}")


def _has_columns(x: Tensor | None) -> bool:
    return x is not None and x.shape[1] > 0


def feature_shifts(h: Hypergraph) -> dict[str, np.ndarray]:
    """``[d]`` of x and of edge_x: means of columns that vary little for their size (dates, say), else 0."""
    found = {}
    for name, value in (("x", h.x), ("edge_x", h.edge_x)):
        if value is not None and value.shape[1]:
            column = _floats(value, name)
            mean, spread = column.mean(0), column.std(0, correction=0)
            found[name] = mean.masked_fill(mean.abs() <= 100 * spread.clamp(min=0.01), 0.0).numpy()
    return found


def shifted_features(h: Hypergraph, shifts: Mapping[str, np.ndarray]) -> Hypergraph:
    """``h`` with features less ``shifts`` in float32; a ValueError for those that are not finite numbers."""
    changed = {}
    for name, value in (("x", h.x), ("edge_x", h.edge_x)):
        if value is not None:
            shift = torch.from_numpy(shifts[name]) if name in shifts else 0.0
            changed[name] = finite_columns((_floats(value, name) - shift).float(), name)
    return h.replace(**changed)


def _floats(x: Tensor | None, name: str) -> Tensor:
    assert x is not None
    if x.is_complex():
        raise ValueError(f"{name} must be real numbers, got {x.dtype}")
    x = x.double()
    if not bool(x.isfinite().all()):
        row = int((~x.isfinite()).any(1).nonzero()[0])
        raise ValueError(f"{name} must be finite, got NaN or infinity in row {row}")
    return x


def _scale_of(x: Tensor) -> tuple[Tensor, Tensor]:
    """``[d]`` mean and standard deviation of each column, which `_scaled` removes.

    A constant column, such as ones, is left as it is; where it is beyond ±1 its mean is removed alone.
    """
    if x.shape[0] == 0:
        return x.new_zeros(x.shape[1]).cpu(), x.new_ones(x.shape[1]).cpu()
    largest = x.abs().amax(0)
    largest = torch.where(largest > HUGE, largest, 1.0)  # squares of what is left do not overflow
    mean, scale = (x / largest).mean(0) * largest, (x / largest).std(0, correction=0) * largest
    constant = scale <= 1e-12 * mean.abs().clamp(min=1e-30)
    return mean.masked_fill(constant & (mean.abs() <= 1), 0.0).cpu(), scale.masked_fill(constant, 1.0).cpu()


def _scaled(x: Tensor, mean: Tensor, scale: Tensor, name: str) -> Tensor:
    """In float64, or the small differences between large numbers (dates, say) would be rounded off."""
    x = (x - mean.to(x)) / scale.to(x)
    return finite_columns(x.to(torch.get_default_dtype()), name)
