"""The collectives of one rank: through gloo here, through NCCL where there is a GPU."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import ehnn

BACKENDS = [
    ("gloo", "cpu"),
    pytest.param(
        "cpu:gloo,cuda:nccl", "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
    ),
]


@pytest.mark.parametrize(("backend", "device"), BACKENDS)
def test_collectives_and_layers_of_one_rank(tmp_path: Path, backend: str, device: str) -> None:
    path = os.pathsep.join([str(Path(ehnn.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    script = Path(__file__).with_name("nccl_ranks.py")
    ended = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "meet"), backend, device, "1", "0"],
        env=os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True,
        timeout=120,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert f"1 ranks on {device}: all equal" in ended.stdout
