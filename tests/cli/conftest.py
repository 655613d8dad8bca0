"""Tables in an empty working directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from .own_tables import members, write


@pytest.fixture
def folder(tmp_path: Path, monkeypatch) -> Path:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def pairs(folder: Path) -> Path:
    return write(Path("members.csv"), ["person", "club", "team"], members())


@pytest.fixture
def baskets(folder: Path) -> Path:
    rows = [
        (
            f"b{i}",
            ";".join(f"i{(i * 3 + 2 * j) % 20}" for j in range(2 + i % 3)),
            "ab"[i % 2],
            i % 7 + 0.5,
        )
        for i in range(60)
    ]
    return write(Path("baskets.csv"), ["basket", "items", "kind", "price"], rows)
