"""The Triton kernels under Triton's interpreter: the GPU code, checked on a CPU."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


def test_kernels_agree_with_the_plain_versions():
    pytest.importorskip("triton")
    script = Path(__file__).with_name("triton_cases.py")
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "all triton cases passed" in done.stdout
