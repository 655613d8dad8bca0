"""The layers that ``ehnn check`` tests, and how."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial

import torch
from torch import nn

import ehnn
from ehnn import Hypergraph
from ehnn.nn import EHNNMLP, EHNNLinear, EHNNTransformer, Readout, Stack, baselines, pairs_path
from ehnn.testing import assert_equivariant, assert_invariant, random_hypergraph

D_IN, D_OUT = 4, 8
ORDERS = range(7)

LAYERS: dict[str, Callable[[int, int], nn.Module]] = {
    "EHNNLinear, lookup": partial(EHNNLinear, weights="lookup", source_orders=ORDERS, target_orders=ORDERS),
    "EHNNLinear, hypernetwork": EHNNLinear,
    "EHNNMLP": EHNNMLP,
    "EHNNMLP, sums and numbers": partial(EHNNMLP, aggregation="sum", order_encoding="number", norm=False),
    "EHNNTransformer": EHNNTransformer,
    "AllDeepSets": baselines.AllDeepSets,
    "AllSetTransformer": baselines.AllSetTransformer,
}
READOUTS: dict[str, Callable[[int, int], nn.Module]] = {
    f"Readout, {kind}": partial(Readout, kind=kind) for kind in ("sum", "mean", "attention")
}
MODELS: dict[str, Callable[[int, int], nn.Module]] = {
    "Stack of EHNNMLP": partial(Stack, block=EHNNMLP, width=8, path=pairs_path(2)),
    "Stack of EHNNTransformer": partial(Stack, block=EHNNTransformer, width=8, path=pairs_path(2)),
    **{
        name: partial(getattr(baselines, name), width=8)
        for name in (
            "MLP",
            "CEGCN",
            "CEGAT",
            "HNHN",
            "HGNN",
            "HCHA",
            "HyperGCN",
            "UniGCNII",
            "HAN",
            "EDHNN",
            "TFHNN",
            "PhenomNN",
            "SheafHyperGNN",
            "HealHGNN",
        )
    },
}
FAMILIES = [("nodes", "edges"), ("edges", "nodes"), ("nodes", "all"), ("all", "nodes"), ("edges", "edges")]


def tested_layers(seed: int, device: str) -> list[tuple[str, str, str]]:
    """A line for each layer: its name, ``"equivariant"`` or what is wrong, and seconds."""
    return [_tested(name, case, seed, device) for name, case in _all_cases()]


Case = Callable[[Hypergraph, int], None]


def _all_cases() -> Iterator[tuple[str, Case]]:
    for name, make in LAYERS.items():
        yield name, partial(_layer_case, make)
    for name, make in READOUTS.items():
        yield name, partial(_readout_case, make)
    for name, make in MODELS.items():
        yield name, partial(_model_case, make)


def _tested(name: str, case: Case, seed: int, device: str) -> tuple[str, str, str]:
    """One line of the table."""
    start = time.perf_counter()
    try:
        for h in hypergraphs(seed):
            torch.manual_seed(seed)
            case(h.to(device), seed)
    except Exception as error:  # any failure of an installation is a line of the table
        result = f"{'NOT EQUIVARIANT' if isinstance(error, AssertionError) else 'FAILS'}: {_short(error)}"
    else:
        result = "equivariant"
    return name, result, f"{time.perf_counter() - start:.2f}"


def hypergraphs(seed: int) -> list[Hypergraph]:
    """Two random ones, the second with an empty hyperedge and an isolated node, and the batch of both."""
    first = random_hypergraph(9, 6, (1, 5), seed=seed)
    second = Hypergraph.from_edges([*random_hypergraph(7, 5, (1, 6), seed=seed + 1).edges(), []], num_nodes=8)
    dressed = [_dress(h, seed) for h in (first, second)]
    return [*dressed, ehnn.batch(dressed)]


def _dress(h: Hypergraph, seed: int) -> Hypergraph:
    generator = torch.Generator().manual_seed(seed)
    x, edge_x = (torch.randn(n, D_IN, generator=generator).double() for n in (h.num_nodes, h.num_edges))
    return h.replace(x=x, edge_x=edge_x)


def _made(make: Callable[[int, int], nn.Module], d_in: int, h: Hypergraph) -> nn.Module:
    return make(d_in, D_OUT).double().to(h.device).eval()


def _layer_case(make: Callable[[int, int], nn.Module], h: Hypergraph, seed: int) -> None:
    for source, target in FAMILIES:
        layer = _made(make, h.features(source).shape[1], h)
        assert_equivariant(layer, h, source, target, trials=1, seed=seed)


def _readout_case(make: Callable[[int, int], nn.Module], h: Hypergraph, seed: int) -> None:
    layer = _made(make, D_IN, h)
    if h.num_members == 1:
        assert_invariant(
            lambda h: layer(h.features("nodes"), h.overlap("nodes", "graph")), h, trials=1, seed=seed
        )


def _model_case(make: Callable[[int, int], nn.Module], h: Hypergraph, seed: int) -> None:
    assert_equivariant(_made(make, D_IN, h), h, trials=1, seed=seed)


def _short(error: Exception, limit: int = 160) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= limit else text[: limit - 1] + "…"
