"""The cells of a column: the distinct texts, and which of them each row has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ._names import factorize

NO_NAME = frozenset(("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None"))
"""Cells without a name. There are fewer of them than of missing values: some of those are names too."""
_MISSING = frozenset(("", "?", "na", "n/a", "#n/a", "#na", "<na>", "nan", "-nan", "null", "none", "nat"))


def is_missing(cell: str) -> bool:
    """Whether a cell says that nothing is known, in capitals or not.

    >>> [is_missing(cell) for cell in ("NaN", "n/a", "0", "no")]
    [True, True, False, False]
    """
    return cell.strip().lower() in _MISSING


@dataclass(frozen=True)
class Cells:
    """A column of text.

    Attributes:
        codes: ``[rows]`` place in ``texts``.
        texts: ``[distinct]`` the texts without outer white space, in order of first appearance.

    >>> cells = Cells.of(["b", "a ", "a"])
    >>> cells.texts.tolist(), cells.codes.tolist(), cells[2]
    (['b', 'a'], [0, 1, 1], 'a')
    """

    codes: np.ndarray
    texts: np.ndarray

    @classmethod
    def of(cls, values: Sequence[str] | np.ndarray) -> Cells:
        codes, texts = _factorize(values)
        stripped = [text.strip() for text in texts]
        if stripped != texts.tolist():
            again, texts = _factorize(stripped)
            codes = again[codes]
        return cls(codes.astype(np.min_scalar_type(max(len(texts), 1))), texts)

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, row: int) -> str:
        return str(self.texts[self.codes[row]])

    def tolist(self) -> list[str]:
        return self.texts[self.codes].tolist()

    def where(self, test: Callable[[str], object]) -> np.ndarray:
        """``[rows]`` bool: which cells pass the test."""
        return np.fromiter((bool(test(text)) for text in self.texts), bool, len(self.texts))[self.codes]

    def first(self, text: str) -> int:
        """The first row with ``text``."""
        return int(np.argmax(self.where(text.__eq__)))

    def owners(self) -> tuple[np.ndarray, list[str]]:
        """``[rows]`` number of the name in each row (-1: blank), and the distinct names."""
        named = np.fromiter(map(bool, self.texts), bool, len(self.texts))
        number = np.where(named, np.cumsum(named) - 1, -1)
        return number[self.codes], self.texts[named].tolist()


def _factorize(values: Sequence[str] | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if not isinstance(values, np.ndarray):  # pandas takes texts that differ after a NUL character for one
        codes, names = factorize(values)
        return codes, np.array(names, dtype=object)
    import pandas as pd

    codes, texts = pd.factorize(values)
    return codes, np.asarray(texts, dtype=object)
