"""Scripts of ``paper/experiments`` as modules."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

EXPERIMENTS = Path(__file__).parents[2] / "experiments"


@pytest.fixture
def experiment(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """Imports a script by name; what it adds to the path is gone after the test."""
    pytest.importorskip("sklearn")
    monkeypatch.setattr(sys, "path", [*sys.path])

    def load(name: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(name, EXPERIMENTS / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load
