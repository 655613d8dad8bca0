"""The package as a user meets it: light import, honest metadata, pins for every requirement."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import ehnn

ROOT = Path(__file__).parents[1]
EXTRAS = {"interop", "plot", "tables", "tune", "parallel", "scale", "lightning", "hub", "docs", "test", "dev"}
PIN = re.compile(r"[A-Za-z0-9._-]+==[0-9][0-9a-z.]*")  # no local suffix, no path, no address

IMPORT = """
import json, sys, time
import numpy, torch
before = set(sys.modules)
start = time.process_time()
import ehnn
seconds = time.process_time() - start
print(json.dumps({"seconds": seconds, "new": sorted(set(sys.modules) - before)}))
"""


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    tomllib = pytest.importorskip("tomllib", reason="tomllib comes with Python 3.11")
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="module")
def imported() -> dict[str, Any]:
    """What ``import ehnn`` adds to a fresh process that has torch and numpy."""
    path = str(Path(ehnn.__file__).parents[1])
    code = f"import sys; sys.path.insert(0, {path!r})\n{IMPORT}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_import_needs_torch_and_numpy_alone(imported: dict[str, Any]) -> None:
    tops = {name.partition(".")[0] for name in imported["new"]}
    assert tops - sys.stdlib_module_names <= {"ehnn", "torch", "numpy"}


def test_import_is_quick(imported: dict[str, Any]) -> None:
    assert imported["seconds"] < 0.5  # seconds of processor time, beyond torch and numpy


def test_packages_are_reached_as_attributes() -> None:
    assert ehnn.hypergraph.Hypergraph is ehnn.Hypergraph
    with pytest.raises(AttributeError, match="no attribute 'nosuchpackage'"):
        ehnn.nosuchpackage  # noqa: B018


def test_names_are_found_by_completion() -> None:
    assert {"Hypergraph", "NodeClassifier", "HyperedgePredictor", "nn", "io"} <= set(dir(ehnn))
    assert all(hasattr(ehnn, name) for name in dir(ehnn))


def test_version_is_said_once(project: dict[str, Any]) -> None:
    assert project["version"] == ehnn.__version__
    assert f"\nversion: {ehnn.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"\n## {ehnn.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_package_is_typed() -> None:
    assert (Path(ehnn.__file__).parent / "py.typed").is_file()


def test_extras_exist(project: dict[str, Any]) -> None:
    extras = project["optional-dependencies"]
    assert set(extras) == EXTRAS
    ours = [r for r in requirements(project) if r.name == "ehnn"]
    assert {name for r in ours for name in r.extras} <= EXTRAS


def test_pyproject_holds_lower_bounds_only(project: dict[str, Any]) -> None:
    others = [r for r in requirements(project) if r.name != "ehnn"]
    assert [str(r) for r in others if [s.operator for s in r.specifier] != [">="]] == []


def test_constraints_pin_every_requirement_exactly(project: dict[str, Any]) -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert [line for line in pins if not PIN.fullmatch(line)] == []
    versions = {canonicalize_name(line.split("==")[0]): line.split("==")[1] for line in pins}
    for r in requirements(project):
        if r.name != "ehnn":
            assert r.specifier.contains(versions[canonicalize_name(r.name)]), r


def test_command_points_at_a_module(project: dict[str, Any]) -> None:
    for target in project.get("scripts", {}).values():
        assert find_spec(target.partition(":")[0]) is not None, target


def requirements(project: dict[str, Any]) -> list[Requirement]:
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    return [Requirement(text) for one in lists for text in one]
