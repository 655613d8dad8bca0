"""Check whether a function commutes with renumbering the nodes and the hyperedges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ehnn.hypergraph import Hypergraph
from ehnn.hypergraph.features import FAMILIES

from .compare import assert_close
from .renumbering import renumberings


def assert_equivariant(
    fn: Callable[..., Any],
    h: Hypergraph,
    source: str | None = None,
    target: str = "nodes",
    *,
    trials: int = 3,
    seed: int = 0,
    tolerance: float | None = None,
) -> None:
    """Raise an AssertionError unless ``fn`` is equivariant on ``h``: f(π·h) = π·f(h).

    ``fn`` is one of:

    - a function ``f(h) -> y``;
    - with ``source``, a layer ``layer(x, overlap) -> y``, called with ``x = h.features(source)`` and
      ``overlap = h.overlap(source, target)``.

    Row i of ``y`` belongs to item i of the family ``target``. In each trial π renumbers the nodes, then
    the hyperedges, then both (see `Hypergraph.permute_nodes`: node v becomes ``perm[v]``).

    >>> h = Hypergraph.from_edges([[0, 1], [1, 2, 3]])
    >>> assert_equivariant(lambda h: h.degrees, h, target="nodes")
    >>> assert_equivariant(lambda h: torch.arange(h.num_edges), h, target="edges")
    Traceback (most recent call last):
    ...
    AssertionError: not equivariant to a permutation of the hyperedges (trial 1 of 3, seed 0)...

    Args:
        fn: the function or layer; it must be deterministic (a module with dropout: in ``eval`` mode).
        h: the hypergraph, with the features that ``fn`` reads; it may be a batch.
        source: ``"nodes"``, ``"edges"``, ``"all"`` or ``"incidences"`` for a layer; None for a function of
            ``h``.
        target: the family that the rows of ``y`` belong to.
        trials: how many times to draw permutations.
        seed: of the permutations.
        tolerance: largest error allowed, relative to the largest entry (at least 1) of the output;
            by default by dtype (float32: 1e-4, float64: 1e-10, integers: 0).
    """
    _check_family("target", target)
    if source is not None:
        _check_family("source", source)
    f = _function_of_h(fn, source, target)
    y = _run_twice(f, h, tolerance)
    _check_rows(y, h, target)
    for renumbering in renumberings(h, trials, seed):
        expected = torch.empty_like(y)
        expected[renumbering.of_rows(h, target).to(y.device)] = y
        got = _run(f, renumbering.apply(h))
        assert_close(got, expected, f"not equivariant to {renumbering}", "f(π·h)", "π·f(h)", tolerance)


def assert_invariant(
    fn: Callable[[Hypergraph], Any],
    h: Hypergraph,
    *,
    trials: int = 3,
    seed: int = 0,
    tolerance: float | None = None,
) -> None:
    """Raise an AssertionError unless ``fn`` is invariant on ``h``: f(π·h) = f(h).

    ``fn`` takes a Hypergraph and gives a tensor of any shape, or a number: a readout, a count, a loss.
    The permutations, ``trials``, ``seed`` and ``tolerance`` are those of `assert_equivariant`.

    >>> h = Hypergraph.from_edges([[0, 1], [1, 2, 3]])
    >>> assert_invariant(lambda h: h.orders.sum(), h)
    >>> assert_invariant(lambda h: h.orders[0], h)
    Traceback (most recent call last):
    ...
    AssertionError: not invariant to a permutation of the hyperedges (trial 1 of 3, seed 0)...
    """
    expected = _run_twice(fn, h, tolerance)
    for renumbering in renumberings(h, trials, seed):
        got = _run(fn, renumbering.apply(h))
        assert_close(got, expected, f"not invariant to {renumbering}", "f(π·h)", "f(h)", tolerance)


def _function_of_h(fn: Callable[..., Any], source: str | None, target: str) -> Callable[[Hypergraph], Any]:
    if source is None:
        return fn
    return lambda h: fn(h.features(source), h.overlap(source, target))


@torch.no_grad()
def _run(f: Callable[[Hypergraph], Any], h: Hypergraph) -> Tensor:
    y = f(h)
    if not isinstance(y, (Tensor, int, float)):
        raise ValueError(f"the function under test must give a tensor, got {type(y).__name__}")
    return y if isinstance(y, Tensor) else torch.as_tensor(y)


def _run_twice(f: Callable[[Hypergraph], Any], h: Hypergraph, tolerance: float | None) -> Tensor:
    """f(h), after a check that it has no NaN and is the same in two calls."""
    y = _run(f, h)
    if bool(y.isnan().any()):
        raise AssertionError(f"f(h) has NaN in {int(y.isnan().sum())} of {y.numel()} entries")
    what = "not deterministic: two calls differ; if f has dropout, call .eval() first"
    assert_close(_run(f, h), y, what, "the second call", "the first call", tolerance)
    return y


def _check_family(name: str, family: str) -> None:
    if family not in FAMILIES:
        raise ValueError(f"{name} must be one of {FAMILIES}, got {family!r}")


def _num_rows(h: Hypergraph, family: str) -> int:
    counts = {"nodes": h.num_nodes, "edges": h.num_edges, "all": h.num_nodes + h.num_edges}
    return {**counts, "incidences": h.num_incidences}[family]


def _check_rows(y: Tensor, h: Hypergraph, target: str) -> None:
    rows = _num_rows(h, target)
    if y.dim() == 0 or y.shape[0] != rows:
        raise AssertionError(
            f"the output must have one row for each of the {rows} items of target {target!r} of {h}, "
            f"got shape {tuple(y.shape)}"
        )
