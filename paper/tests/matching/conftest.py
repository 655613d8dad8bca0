"""A machine that has no data."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def no_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing is found but what a test names."""
    monkeypatch.delenv("EHNN_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
