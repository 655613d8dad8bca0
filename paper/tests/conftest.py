"""Where the real data are, for tests that read them, and what is not looked through for tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

collect_ignore_glob = ["*_cases.py"]  # for processes of their own: they change what every kernel does

_DATA = Path(os.environ.get("EHNN_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")


def _with(part: str) -> Path:
    if not (_DATA / part).is_dir():
        pytest.skip(f"no folder {part} in {_DATA}; set EHNN_DATA to the folder that holds it")
    return _DATA


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of the raw files, if it holds hypergraphs."""
    return _with("hypergraphs")


@pytest.fixture(scope="session")
def real_images() -> Path:
    """The same, if it holds images."""
    return _with("vision")
