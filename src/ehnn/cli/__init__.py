"""The command line: a table of typed functions."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ehnn import __version__
from ehnn._utils.malloc import keep_freed_memory

from .lists import expand_lists


def main(arguments: Sequence[str] | None = None) -> None:
    """Run ``ehnn`` with ``arguments`` (by default those of the process), and leave the process."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given == ["--version"]:  # before the imports of the commands, which take seconds
        print(f"ehnn {__version__}")
        sys.exit()
    if arguments is None:
        keep_freed_memory()
    try:
        _run(given)
    except KeyboardInterrupt:
        sys.exit(130)


def _run(arguments: Sequence[str]) -> None:
    try:
        from .app import app
    except ImportError as error:  # pragma: no cover
        if error.name != "typer":
            raise
        sys.exit("the command line needs typer: pip install typer")
    app(expand_lists(arguments), prog_name="ehnn")
