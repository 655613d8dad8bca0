"""Shared by the dataset tests: no network, no real cache, and the raw files where they are to be had."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_DATA = os.environ.get("EHNN_DATA") or str(Path(__file__).resolve().parents[2].parent / "shared" / "data")


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty cache, no data folder, and an address that nothing answers at."""
    for name in (
        "EHNN_DATA",
        "http_proxy",
        "HTTP_PROXY",
        "https_proxy",
        "HTTPS_PROXY",
        "all_proxy",
        "ALL_PROXY",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("EHNN_MIRROR", "http://127.0.0.1:9/nothing")


@pytest.fixture(scope="session")
def real_data() -> Path:
    if not Path(_DATA, "hypergraphs").is_dir():
        pytest.skip(f"raw data not found at {_DATA}; set EHNN_DATA to the folder that holds it")
    return Path(_DATA)
