"""Where the real images are, and a machine that has none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_DATA = os.environ.get("EHNN_DATA") or str(Path(__file__).resolve().parents[2].parent / "shared" / "data")


@pytest.fixture
def no_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing is found but what a test names."""
    monkeypatch.delenv("EHNN_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def real_data() -> Path:
    if not Path(_DATA, "vision").is_dir():
        pytest.skip(f"raw data not found at {_DATA}; set EHNN_DATA to the folder that holds it")
    return Path(_DATA)
