"""Hypergraphs of every shape, for the round trips."""

import torch
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from ehnn import Hypergraph

FILES = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
# No surrogates (not text), no line ends or commas where a format cannot quote them: tests choose.
# Readers of text refuse NUL, which no text file has.
TEXT = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=1, max_size=6)
IDS = st.one_of(TEXT, st.integers(-(10**12), 10**12))
FLOATS = st.floats(-1e6, 1e6, width=32).map(lambda v: v or 0.5)


def _maybe(draw, strategy):
    return draw(st.none() | strategy)


def _matrix(rows, width, elements, dtype):
    values = st.lists(elements, min_size=rows * width, max_size=rows * width)
    return values.map(lambda v: torch.tensor(v, dtype=dtype).reshape(rows, width))


@st.composite
def hypergraphs(draw, names=IDS, float_dtypes=(torch.float32, torch.float64), min_width=1, weights=FLOATS):
    """Any hypergraph with up to 5 nodes and 5 hyperedges, each attribute there or not."""
    n, m = draw(st.integers(0, 5)), draw(st.integers(0, 5))
    edges = draw(st.lists(st.sets(st.integers(0, n - 1)) if n else st.just(set()), min_size=m, max_size=m))
    h = Hypergraph.from_edges(edges, num_nodes=n)
    width = st.integers(min_width, 3)
    dtype = st.sampled_from(float_dtypes)
    label = st.integers(-(2**62), 2**62)
    y = st.one_of(_matrix(n, 1, label, torch.int64).map(lambda t: t[:, 0]), _matrix(n, 2, label, torch.int64))
    common = draw(dtype)
    return h.replace(
        x=_maybe(draw, width.flatmap(lambda d: _matrix(n, d, FLOATS, common))),
        edge_x=_maybe(draw, width.flatmap(lambda d: _matrix(m, d, FLOATS, common))),
        y=_maybe(draw, y),
        edge_weight=_maybe(draw, _matrix(m, 1, weights, draw(dtype)).map(lambda t: t[:, 0])),
        incidence_weight=_maybe(
            draw, _matrix(h.num_incidences, 1, weights, draw(dtype)).map(lambda t: t[:, 0])
        ),
        node_names=_maybe(draw, st.lists(names, min_size=n, max_size=n, unique=True)),
        edge_names=_maybe(draw, st.lists(names, min_size=m, max_size=m, unique=True)),
    )
