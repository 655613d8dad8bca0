"""Figures of attention by order."""

from __future__ import annotations

from collections.abc import Mapping

from .attention import LayerAttention, Shares
from .bars import Bar, columns, ranges
from .frame import figure, switch, view
from .markup import Markup
from .runs import Run
from .scales import linear, percent, short

MEETING, EVERYWHERE = "meeting", "all"
NOTE = (
    "At 1 an order gets what it would get if attention were even; mean over heads and targets. "
    "Meeting: over the sources that share a node with the target; all: over every source."
)
FAMILIES = {"nodes": "nodes", "edges": "hyperedges", "all": "nodes and hyperedges", "graph": "the hypergraph"}


def attention_figures(run: Run, place: int) -> list[Markup]:
    """Where attention goes, layer by layer; nothing about layers that have no choice."""
    layers = [] if run.attention is None else run.attention.layers
    found = [_layer(layer, f"attention-{place}-{number}") for number, layer in enumerate(layers)]
    return [figure for figure in found if figure is not None]


def _layer(layer: LayerAttention, group: str) -> Markup | None:
    title = _title(layer.name)
    given = {MEETING: layer.meeting, EVERYWHERE: layer.everywhere}
    charts = {name: _shares(title, shares) for name, shares in given.items() if len(shares) > 1}
    if charts:
        choice = switch("Attention over sources", group, list(charts)) if len(charts) > 1 else None
        note = NOTE if choice is not None else None
        first = next(iter(charts))
        views = [view(name, chart, first=name == first) for name, chart in charts.items()]
        return figure(title, *views, note=note, switch=choice)
    if len(layer.evenness) > 1:
        note = "Entropy of the weights over its largest value: 1 is even attention, 0 is one source alone."
        return figure(title, _evenness(title, layer.evenness), note=note)
    return None


def _title(name: str) -> str:
    """``layer 2, all → nodes`` in words."""
    layer, comma, ends = name.partition(", ")
    words = " → ".join(FAMILIES.get(end, end) for end in ends.split(" → "))
    return layer[:1].upper() + layer[1:] + (f": {words}" if comma else "")


def _shares(title: str, shares: Shares) -> Markup:
    """What sources of an order get, over what they would get if attention were even."""
    bars = []
    for name, low, high, _ in ranges(dict.fromkeys(shares, 1)):
        inside = [pair for order, pair in shares.items() if low <= order <= high]
        share, even = (sum(values) for values in zip(*inside, strict=True))
        words = f"order {name}: {percent(share)} of attention ({percent(even)} if it were even)"
        bars.append(Bar(name, share / even if even else 0, words))
    return columns(title, bars, "attention, times an even share", "order of the source", even=True)


def _evenness(title: str, evenness: Mapping[int, float]) -> Markup:
    bars = []
    for name, low, high, count in ranges(dict.fromkeys(evenness, 1)):
        mean = sum(value for order, value in evenness.items() if low <= order <= high) / count
        bars.append(Bar(name, mean, f"order {name}: {short(mean)}"))
    return columns(title, bars, "evenness", "order of the target", linear(0, 1))
