"""Commands of other packages: entry points of the group ``ehnn.commands``.

An entry point is a typed function, or a `typer.Typer`. Its name is that of the command; ``train.NAME`` is a
task of ``ehnn train``. The commands of the paper are in ``ehnn-paper``; without it they say how to get it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import typer

from .errors import fail
from .lazy import Lazy

GROUP = "ehnn.commands"
PAPER = {
    "reproduce": "Train a table of the paper and compare the figures.",
    "tune": "Search hyperparameters on validation data.",
    "match": "Match the keypoints of two images.",
    "bench": "Measure speed and memory.",
    "train.k-edge": "k-edge identification: one model, best on validation.",
    "train.nodes": "Node classification on a dataset, on one process or several.",
}
"""The commands of ``ehnn-paper``, with a line for the list of commands."""
NOT_INSTALLED = (
    "is in the package ehnn-paper, which is not installed: "
    "pip install ./paper in a clone of the repository of ehnn"
)
_ANYTHING = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}


def commands_of(group: str = "") -> dict[str, Lazy]:
    """The commands of installed packages that belong to ``group``, and those that could be installed."""
    found: dict[str, EntryPoint | None] = dict.fromkeys(PAPER)
    found |= {point.name: point for point in entry_points(group=GROUP)}
    split = {name: name.rpartition(".") for name in found}
    return {
        task: _lazy(point, PAPER.get(name))
        for name, point in found.items()
        for above, _, task in [split[name]]
        if above == group
    }


def _lazy(point: EntryPoint | None, shown: str | None) -> Lazy:
    if point is None:
        return Lazy(lambda: _failing(NOT_INSTALLED), bare=True, settings=_ANYTHING)

    def load() -> Any:
        try:
            return point.load()
        except ImportError as error:  # the other commands still work
            fail(f"`ehnn {point.name.replace('.', ' ')}` cannot be loaded: {error}")

    return Lazy(load, shown, bare=shown is None)


def _failing(reason: str) -> Callable[[typer.Context], None]:
    """A command that takes anything and says why it does not work."""

    def command(context: typer.Context) -> None:
        fail(f"`{context.command_path}` {reason}")

    return command
