"""The error raised for missing, damaged or unreadable data files."""

from __future__ import annotations

from pathlib import Path


class DataError(OSError, ValueError):
    """A file is missing, or was not downloaded whole and unchanged; ``message`` names it."""

    def __init__(self, message: str) -> None:
        super().__init__(message)


def bad_line(path: Path, line: int, problem: str) -> ValueError:
    """The error for a corrupted text file; ``line`` counts from 1."""
    return ValueError(f"{path}, line {line}: {problem}")
