"""Libraries that may be missing, and names that may be mistyped."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable
from typing import Any


def require(module: str, extra: str = "interop", package: str = ".") -> Any:
    """A library of an extra of a package of this repository, or an ImportError that says how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        name = module.split(".")[0]
        raise ImportError(
            f"this needs {name}, of the extra {extra!r}: "
            f"pip install '{package}[{extra}]' in the clone of ehnn"
        ) from error


def suggest(wanted: object, known: Iterable[object]) -> str:
    """`` (did you mean 'node'?)``, or nothing if no known name is close."""
    names = {str(k).lower(): k for k in known}
    close = difflib.get_close_matches(str(wanted).lower(), list(names), n=1)
    return f" (did you mean {names[close[0]]!r}?)" if close else ""
