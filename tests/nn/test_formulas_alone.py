"""Layers state equations: what runs is chosen in `ehnn.ops`."""

import re
from pathlib import Path

import pytest

import ehnn.nn

SOURCES = sorted(Path(ehnn.nn.__file__).parent.rglob("*.py"))
CHOICES = re.compile(r"is_cpu|is_cuda|backend_of|use_backend|is_compiling|numel\(\) [<>]|from ehnn\.ops\.")


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_no_branch_on_device_backend_or_compiler(path: Path) -> None:
    found = [line for line in path.read_text("utf-8").splitlines() if CHOICES.search(line)]
    assert found == []
