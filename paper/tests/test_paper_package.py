"""The second package: its requirements are pinned, its commands are there."""

from __future__ import annotations

import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import ehnn
import ehnn_paper.k_edge
import ehnn_paper.results
from ehnn.cli.plugins import GROUP, PAPER

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    tomllib = pytest.importorskip("tomllib", reason="tomllib comes with Python 3.11")
    return tomllib.loads((ROOT / "paper" / "pyproject.toml").read_text())["project"]


def test_both_packages_have_one_version(project: dict[str, Any]) -> None:
    assert project["version"] == ehnn.__version__


def test_constraints_pin_every_requirement(project: dict[str, Any]) -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    versions = {canonicalize_name(name): version for name, version in pins.items()}
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    for requirement in (Requirement(text) for one in lists for text in one):
        if requirement.name != "ehnn":
            assert [s.operator for s in requirement.specifier] == [">="]
            assert requirement.specifier.contains(versions[canonicalize_name(requirement.name)]), requirement


def test_commands_are_entry_points(project: dict[str, Any]) -> None:
    assert set(project["entry-points"][GROUP]) == set(PAPER)
    found = {point.name: point for point in entry_points(group=GROUP)}
    assert all(callable(found[name].load()) for name in PAPER)


def test_every_table_has_a_readme_with_claim_result_and_commands() -> None:
    for folder in ("k_edge", "nodes", "matching", "cost", "scale"):
        text = (ROOT / "paper" / "src" / "ehnn_paper" / folder / "README.md").read_text(encoding="utf-8")
        for word in ("**The claim.**", "**What we get.**", "**How to run it.**", "docs/results.md#"):
            assert word in text, (folder, word)


@pytest.fixture
def fresh_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Former modules that another test imported are not attributes of the package."""
    for name in ("bench", "reproduce", "results"):
        monkeypatch.delitem(vars(ehnn), name, raising=False)  # delattr would ask the module's __getattr__


@pytest.mark.usefixtures("fresh_names")
def test_old_names_work_with_a_warning() -> None:
    with pytest.warns(DeprecationWarning, match=r"ehnn\.results is now ehnn_paper\.results"):
        assert ehnn.results is ehnn_paper.results
    with pytest.warns(DeprecationWarning, match=r"ehnn\.tasks\.KEdge is now ehnn_paper\.k_edge\.KEdge"):
        assert ehnn.tasks.KEdge is ehnn_paper.k_edge.KEdge


@pytest.mark.usefixtures("fresh_names")
def test_old_names_say_how_to_get_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ehnn_paper", None)
    with pytest.raises(ImportError, match=r"ehnn\.reproduce is now ehnn_paper.* pip install \./paper"):
        ehnn.reproduce  # noqa: B018
