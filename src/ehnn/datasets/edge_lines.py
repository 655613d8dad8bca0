"""One hyperedge per line, comma separated, and one label per line, all from 1 (House, Walmart)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ehnn.hypergraph import Hypergraph

from .errors import bad_line
from .labels import as_labels
from .text import MISSING, read_lines

NUM_FEATURES = 100


def read_edge_lines(edges: Path, labels: Path, sigma: float, seed: int) -> Hypergraph:
    """A labelled hypergraph with features made from its labels by `noisy_labels`."""
    y = as_labels(_read_labels(labels), labels)
    node, edge, num_edges = _read_edges(edges, y.shape[0])
    x = noisy_labels(y, sigma, seed)
    return Hypergraph.from_incidence((node, edge), y.shape[0], num_edges, x=x, y=y)


def noisy_labels(y: Tensor, sigma: float, seed: int, num_features: int = NUM_FEATURES) -> Tensor:
    """``[n, num_features]``: one-hot ``y`` (zeros where it is -1) plus Gaussian noise of std ``sigma``."""
    num_classes = int(y.max()) + 1 if y.numel() else 0
    if num_classes > num_features:
        raise ValueError(f"num_features must be at least the {num_classes} classes, got {num_features}")
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(y.shape[0], num_features, generator=generator) * sigma
    known = (y >= 0).nonzero().squeeze(1)
    x[known, y[known]] += 1.0
    return x


def _read_labels(path: Path) -> np.ndarray:
    tokens = [line.strip() for line in read_lines(path)]
    if not tokens:
        raise bad_line(path, 1, "the file holds no rows")
    kinds = {token: _label(path, tokens, token) for token in set(tokens)}
    return np.fromiter(map(kinds.__getitem__, tokens), dtype=np.int64, count=len(tokens))


def _label(path: Path, tokens: list[str], token: str) -> int:
    if token.lower() in MISSING:
        return -1
    if _is_number(token) and 1 <= int(token) <= NUM_FEATURES:
        return int(token) - 1
    expected = f"a label must be one integer from 1 to {NUM_FEATURES}"
    raise bad_line(path, tokens.index(token) + 1, f"{expected}, got {token[:40]!r}")


def _is_number(token: str) -> bool:
    """Digits alone, and few enough for int64."""
    return token.isascii() and token.isdigit() and len(token) <= 18


def _read_edges(path: Path, num_nodes: int) -> tuple[Tensor, Tensor, int]:
    lines = read_lines(path)
    text = "\n".join(lines)
    if not lines or not text.isascii() or "_" in text or "+" in text:  # int() would read 1_0 as 10
        raise _first_bad_edge(path, lines, num_nodes)
    raw = np.frombuffer(text.encode(), dtype=np.uint8)
    separators = raw[(raw == ord(",")) | (raw == ord("\n"))]
    tokens = text.replace("\n", ",").split(",")
    try:
        node = np.fromiter(map(int, tokens), dtype=np.int64, count=len(tokens)) - 1
    except (ValueError, OverflowError):
        raise _first_bad_edge(path, lines, num_nodes) from None
    if node.min() < 0 or node.max() >= num_nodes:
        raise _first_bad_edge(path, lines, num_nodes)
    edge = np.concatenate([[0], np.cumsum(separators == ord("\n"))])
    return torch.from_numpy(node), torch.from_numpy(edge), len(lines)


def _first_bad_edge(path: Path, lines: list[str], num_nodes: int) -> ValueError:
    for number, line in enumerate(lines, 1):
        for token in (t.strip() for t in line.split(",")):
            if not (_is_number(token) and 1 <= int(token) <= num_nodes):
                expected = f"node numbers from 1 to {num_nodes} separated by commas"
                return bad_line(path, number, f"expected {expected}, got {token[:40]!r}")
    return bad_line(path, 1, "the file holds no hyperedges")
