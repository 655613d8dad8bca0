"""`torch.compile` of all that a training step of matching does."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CASES = Path(__file__).with_name("compiled_cases.py")


LONG = pytest.mark.skipif(
    "EHNN_LONG_TESTS" not in os.environ,
    reason="a minute of compiling: set EHNN_LONG_TESTS=1, as nightly CI does",
)


@pytest.mark.parametrize(
    ("backend", "model"),
    [pytest.param("auto", "ehnn-mlp", marks=LONG), pytest.param("triton", "ehnn-transformer", marks=LONG)],
)
def test_it_compiles_as_one_graph_for_batches_of_any_size(backend: str, model: str) -> None:
    told = {"EHNN_BACKEND": backend, "TRITON_INTERPRET": "1"}
    if backend == "triton":
        pytest.importorskip("triton")
    done = subprocess.run(
        [sys.executable, CASES, model], env=os.environ | told, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "all agree" in done.stdout
