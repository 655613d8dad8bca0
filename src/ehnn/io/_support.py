"""What every reader and writer needs: text of a file, optional libraries, one hypergraph at a time."""

from __future__ import annotations

import difflib
import importlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ehnn.hypergraph import Hypergraph

MIN_BOUND, BOUND_PER_ENTRY = 1_000_000, 100


def require(module: str, extra: str = "interop") -> Any:
    """A library of an extra of this package, or an ImportError that says how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        name = module.split(".")[0]
        raise ImportError(
            f"this needs {name}, of the extra {extra!r}: pip install '.[{extra}]' in the clone of ehnn"
        ) from error


def single(h: Hypergraph, target: str) -> Hypergraph:
    """``h``, unless it is a batch, whose membership ``target`` cannot carry."""
    if not isinstance(h, Hypergraph):
        raise ValueError(f"{target} takes a Hypergraph, got {type(h).__name__}")
    if h.num_members != 1:
        raise ValueError(
            f"{target} cannot carry a batch (of {h.num_members} hypergraphs): convert each of h.unbatch()"
        )
    return h


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a UTF-8 file without its byte-order mark; a ValueError names the line that is not UTF-8."""
    data = Path(path).read_bytes()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        kind = "UTF-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "WINDOWS-1252"
        raise ValueError(
            f"{path}, line {line}: byte 0x{data[error.start]:02x} is not UTF-8 text; save it as "
            f"'CSV UTF-8', or convert it: iconv -f {kind} -t UTF-8"
        ) from error


def check_bound(largest: int, entries: int, what: str, place: Callable[[], str]) -> None:
    """Refuse a number that would make a small file claim a huge hypergraph."""
    bound = max(MIN_BOUND, BOUND_PER_ENTRY * entries)
    if largest >= bound:
        raise ValueError(
            f"{place()}: {what} number {largest} is beyond {bound:,}, too large for a file with {entries:,} "
            "entries; if it is meant, give the count yourself"
        )


def suggest(wanted: object, known: Iterable[object]) -> str:
    """`` (did you mean 'node'?)``, or nothing if no known name is close."""
    names = {str(k).lower(): k for k in known}
    close = difflib.get_close_matches(str(wanted).lower(), list(names), n=1)
    return f" (did you mean {names[close[0]]!r}?)" if close else ""
