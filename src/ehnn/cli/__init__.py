"""The command line: a table of typed functions."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Run ``ehnn`` with ``arguments`` (by default those of the process), and leave the process."""
    from .lists import expand_lists

    try:
        from .app import app
    except ImportError as error:  # pragma: no cover
        if error.name != "typer":
            raise
        sys.exit("the command line needs typer: pip install typer")
    try:
        app(expand_lists(sys.argv[1:] if arguments is None else arguments), prog_name="ehnn")
    except KeyboardInterrupt:
        sys.exit(130)
