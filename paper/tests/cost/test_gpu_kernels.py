"""Rows of what the benchmark of GPU kernels prints."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "gpu_kernels.py"
PRINTED = """
[   52] pair 1e+07 ehnn-mlp             highest eager   70.599 graph   70.525 ms    4089.1 MB
[   63] pair 1e+07 pyg HypergraphConv   highest eager   48.276 graph      nan ms    6922.3 MB
[   75] phi   1000000 rows of 64  high    fused forward    0.514 backward    2.698 total    3.212 ms,   28.1 TFLOP/s,    526.2 MB
[   98] cost ehnn-mlp             eager  10.993 graph   0.314 ms
"""  # noqa: E501


@pytest.fixture
def script():
    spec = importlib.util.spec_from_file_location("gpu_kernels", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_rows_say_what_was_printed(script):
    rows = script.rows_of(PRINTED)
    found = {(r["setting"], r["model"], r["metric"]): r["mean"] for r in rows}
    assert found["1e7 incidences, cuda, highest", "ehnn-mlp, fused phi", "graph_ms"] == 70.525
    assert found["1e7 incidences, cuda, highest", "pyg HypergraphConv", "peak_mb"] == 6922.3
    assert ("1e7 incidences, cuda, highest", "pyg HypergraphConv", "graph_ms") not in found
    assert found["1e6 rows of 64, cuda, high", "fused", "backward_ms"] == 2.698
    assert found["cost table, cuda", "ehnn-mlp, fused phi", "graph_ms"] == 0.314
    assert len(found) == len(rows) == 3 + 2 + 4 + 2
