"""The run of the C kernels under sanitizers: it names files that exist, and builds kernels with its flags."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def tool():
    spec = importlib.util.spec_from_file_location("sanitize", ROOT / "tools" / "sanitize.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tests_it_runs_are_there() -> None:
    assert [name for name in tool().TESTS if not (ROOT / name).is_file()] == []


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_the_compiler_adds_the_flags_after_all_others(tmp_path: Path) -> None:
    environment = tool()._environment(shutil.which("gcc"), tmp_path)
    command = [environment["EHNN_COMPILER"], "-O3", "-###", "-c", "-x", "c", "/dev/null"]
    said = subprocess.run(command, capture_output=True, text=True).stderr
    assert "-fsanitize=address" in said
    assert said.index("-O3") < said.index("-O1")
