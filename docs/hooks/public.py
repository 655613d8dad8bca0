"""The lists of public names in docs/api/index.md, made when the site is built: always those of the code."""

from __future__ import annotations

import importlib
import inspect
import sys
from types import ModuleType
from typing import Any

PACKAGES = {  # name: what it is for, page
    "ehnn": ("what most programs need", "estimators"),
    "ehnn.hypergraph": ("build, batch and expand hypergraphs", "hypergraph"),
    "ehnn.estimators": ("fit and predict", "estimators"),
    "ehnn.tables": ("read a table as a hypergraph with labels", "io"),
    "ehnn.datasets": ("named data", "io"),
    "ehnn.datasets.locate": ("find the files of a dataset", "io"),
    "ehnn.io": ("files, and other libraries", "io"),
    "ehnn.nn": ("layers and networks", "nn"),
    "ehnn.nn.named": ("networks by name", "nn"),
    "ehnn.nn.baselines": ("other models", "baselines"),
    "ehnn.training": ("the training loop", "training"),
    "ehnn.tasks": ("node classification", "training"),
    "ehnn.tasks.hyperedges": ("hyperedge prediction", "training"),
    "ehnn.tasks.hypergraphs": ("hypergraph classification", "training"),
    "ehnn.report": ("a page about runs", "report"),
    "ehnn.testing": ("tests of equivariance", "testing"),
    "ehnn.parallel": ("several processes", "parallel"),
    "ehnn.sharding": ("shards of tables that do not fit in memory", "parallel"),
    "ehnn.ops": ("operations without parameters", "ops"),
    "ehnn.ops.dispatch": ("choose implementations", "ops"),
    "ehnn.ops.autograd": ("kernels that have gradients", "ops"),
    "ehnn.overlap": ("which rows meet, and how", "hypergraph"),
    "ehnn.algebra": ("the dense reference", "algebra"),
}
MAIN = {  # what you do: package, names
    "build a hypergraph": ("ehnn.hypergraph", "Hypergraph batch"),
    "read files and tables": ("ehnn.io", "read_csv read_hif read_edge_lines from_named_edges"),
    "convert from other libraries": ("ehnn.io", "from_pyg from_networkx from_scipy"),
    "read a table with labels": ("ehnn.tables", "read"),
    "get a dataset": ("ehnn.datasets", "load list_datasets scipy_functions random_split"),
    "fit and predict": (
        "ehnn.estimators",
        "NodeClassifier NodeRegressor HyperedgeClassifier HyperedgeRegressor HyperedgePredictor "
        "IncidenceClassifier HypergraphClassifier HypergraphRegressor load",
    ),
    "build a network": ("ehnn.nn", "EHNNMLP EHNNTransformer EHNNLinear Stack Readout Layer"),
    "train it": ("ehnn.training", "fit TrainConfig Task"),
    "write a layer": ("ehnn.ops", "segment_sum segment_mean explain bounded_memory"),
    "test it": ("ehnn.testing", "assert_equivariant assert_invariant random_hypergraph"),
    "look at runs": ("ehnn.report", "write_run write_report"),
}


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the lists where the page has their marks."""
    for mark, made in (("<!-- main names -->", main_names), ("<!-- public names -->", public_names)):
        markdown = markdown.replace(mark, made()) if mark in markdown else markdown
    return markdown


def main_names() -> str:
    """A line of a Markdown table for each thing that a program does."""
    lines = ["| you want to | package | use |", "|---|---|---|"]
    for what, (package, listed) in MAIN.items():
        module = importlib.import_module(package)
        lines.append(f"| {what} | `{package}` | {_linked(module, listed.split())} |")
    return "\n".join(lines)


def public_names() -> str:
    """A line of a Markdown table for each package."""
    lines = ["| package | what it is for | public names |", "|---|---|---|"]
    for name, (what, page) in PACKAGES.items():
        module = importlib.import_module(name)
        lines.append(f"| [`{name}`]({page}.md) | {what} | {_linked(module, names(module))} |")
    return "\n".join(lines)


def names(module: ModuleType) -> list[str]:
    """``__all__``, or what a module without it defines."""
    listed = getattr(module, "__all__", None)
    if listed is None:
        listed = [n for n, value in vars(module).items() if not n.startswith("_") and _own(value, module)]
    return sorted(listed, key=str.lower)


def _linked(module: ModuleType, listed: list[str]) -> str:
    """Objects with a link to their documentation; constants and modules as they are."""
    found = [(n, callable(getattr(module, n))) for n in listed]
    return " ".join(f"[`{n}`][{home(module, n)}]" if linked else f"`{n}`" for n, linked in found)


def home(module: ModuleType, name: str) -> str:
    """The name under which the pages document an object: in its package, not in ``ehnn`` itself."""
    if module.__name__ == "ehnn":
        return f"ehnn.{getattr(module, name).__module__.split('.')[1]}.{name}"
    full = f"{module.__name__}.{name}"
    return f"{full}.{name}" if full in sys.modules and callable(getattr(module, name)) else full


def _own(value: Any, module: ModuleType) -> bool:
    known = inspect.isclass(value) or inspect.isfunction(value) or isinstance(value, dict)
    return known and getattr(value, "__module__", module.__name__) == module.__name__
