"""Where the real data are, for tests that read them, and what is not looked through for tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

collect_ignore_glob = ["*_cases.py"]  # for processes of their own: they change what every kernel does

_DATA = Path(os.environ.get("EHNN_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")


def _with(part: str) -> Path:
    if not (_DATA / part).is_dir():
        pytest.skip(f"no folder {part} in {_DATA}; set EHNN_DATA to the folder that holds it")
    return _DATA


@pytest.fixture(autouse=True, scope="session")
def _not_waiting_for_the_disk() -> Iterator[None]:
    """Files of tests need not survive a loss of power, and hundreds of them would wait for the disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: None)
        yield


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of the raw files, if it holds hypergraphs."""
    return _with("hypergraphs")


@pytest.fixture(scope="session")
def real_images() -> Path:
    """The same, if it holds images."""
    return _with("vision")
