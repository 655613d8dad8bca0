"""Errors that a person can act on: one line, no traceback."""

from __future__ import annotations

import difflib
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import typer

USAGE, FAILED, INTERRUPTED = 2, 1, 130
_WRONG_KIND = {
    IsADirectoryError: "a file is expected here, and this is a folder",
    NotADirectoryError: "a part of this path is a file, where a folder is expected",
    PermissionError: "there is no permission to read or write it",
}


def fail(message: str, code: int = USAGE) -> NoReturn:
    """Say what is wrong and end with ``code``."""
    typer.echo(f"Error: {message}", err=True)
    raise typer.Exit(code)


def choose(what: str, given: str, known: Iterable[str]) -> str:
    """``given`` if it is known; else fail with the known ones, and those that begin so or the closest."""
    known = list(known)
    if given in known:
        return given
    begin = [name for name in known if given and name.startswith(given.lower())]
    close = begin or difflib.get_close_matches(given.lower(), known, n=1)
    hint = f" (did you mean {' or '.join(map(repr, close))}?)" if close else ""
    fail(f"unknown {what} {given!r}{hint}. Known: {', '.join(known)}")


def choose_all(what: str, given: Sequence[str] | None, known: Sequence[str]) -> list[str]:
    """Each of ``given`` once, in the order of ``known``; all of ``known`` if none is given."""
    wanted = {choose(what, name, known) for name in given or known}
    return [name for name in known if name in wanted]


@contextmanager
def readable_errors(resume: str | None = None) -> Iterator[None]:
    """Print errors of the library as one line; after an interrupt, how to continue. Pipes are read once."""
    from ehnn.io._support import reading_once
    from ehnn.training import NotFiniteError

    try:
        with reading_once(), _warnings_as_notes():
            yield
    except KeyboardInterrupt:
        typer.echo("\nInterrupted." + (f" {resume}" if resume else ""), err=True)
        raise typer.Exit(INTERRUPTED) from None
    except NotFiniteError as error:
        fail(str(error), FAILED)
    except FileNotFoundError as error:
        fail(f"there is no file {error.filename}{_near(str(error.filename))}", FAILED)
    except (IsADirectoryError, NotADirectoryError, PermissionError) as error:
        fail(f"{error.filename}: {_WRONG_KIND[type(error)]}", FAILED)
    except (ValueError, OSError) as error:
        fail(str(error), FAILED if isinstance(error, OSError) else USAGE)


@contextmanager
def _warnings_as_notes() -> Iterator[None]:
    """Print warnings of the library as the other notes, each once."""
    told: set[str] = set()
    with warnings.catch_warnings():
        usual = warnings.showwarning

        def show(
            message: Warning | str, category: type[Warning], filename: str, *place: Any, **more: Any
        ) -> None:
            ours = category is RuntimeWarning and Path(filename).is_relative_to(Path(__file__).parents[1])
            if category is not UserWarning and not ours:
                usual(message, category, filename, *place, **more)
            elif str(message) not in told:
                told.add(str(message))
                typer.echo(f"Note: {message}", err=True)

        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield


def _near(name: str) -> str:
    """A file of almost the same name in the same folder, as a hint; what to do with an address of the web."""
    if re.match(r"(https?|ftp|s3|gs|hdfs):/", name):
        return "; download it first: files are read from this machine"
    path = Path(name)
    there = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
    close = difflib.get_close_matches(path.name, there, n=1)
    return f" (did you mean {path.parent / close[0]}?)" if close else ""


def pick_device(name: str) -> str:
    """``auto`` is a GPU where there is one."""
    import torch

    name = "cuda" if name == "gpu" else name
    kind, _, number = name.partition(":")
    choose("device", kind if number.isdecimal() and kind == "cuda" else name, ("auto", "cpu", "cuda"))
    seen = torch.cuda.device_count()
    if kind == "cuda" and not torch.cuda.is_available():
        fail(f"--device {name}: this PyTorch sees no CUDA device; use --device cpu or auto")
    if number and int(number) >= seen:
        fail(f"--device {name}: the last CUDA device that this PyTorch sees is cuda:{seen - 1}")
    return ("cuda" if torch.cuda.is_available() else "cpu") if name == "auto" else name


def device_to_keep(name: str) -> str:
    """`pick_device`, but ``auto`` stays: a saved model picks a device where it is loaded."""
    found = pick_device(name)
    return name if name == "auto" else found
