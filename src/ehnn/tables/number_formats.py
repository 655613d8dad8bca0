"""Numbers formatted for people, such as ``30,000`` or ``12 %``, and numbers that stand for none."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from ehnn._utils.validation import short
from ehnn.io._csv_table import Table

FORMATTED = re.compile(r"[-+(]?\s*[$€£¥%]?\s*[-+]?\d[\d.,' \u00a0\u202f]*\s*[$€£¥%]?\)?")
"""A number with a sign of a currency, per cent, or signs between thousands."""
_GROUPED = re.compile(r"[-+]?[1-9]\d{0,2}(\.\d{3})+")
_COMMA = re.compile(r"[-+]?(\d+,(\d{1,2}|\d{4,})|0,\d+)")
"""A comma that is not between thousands."""
_DATE = re.compile(r"\d{4}-\d\d-\d\d.*|\d{1,2}([./])\d{1,2}\1\d{2,4}.*", re.DOTALL)
_NINES = re.compile(r"-?99+(\.0+)?")
_VERSION = re.compile(r"\d+(\.\d+){2,}")
"""A version or a date, unless it is `_GROUPED`."""
_MINUS = re.compile(r"^[\u2212\u2013](?=\s?\d)")
"""A minus of texts for people, which no program reads as a sign."""
_UNIT = re.compile(r"[-+]?\d[\d.,]*\s?([^\W\d_]{1,4}|°C|°F)")


def no_number(text: str) -> str:
    """A hint where a text is a formatted number."""
    if _MINUS.match(text):
        return "; write negative numbers with the sign '-'"
    hint = "; write numbers without currencies, % and signs between thousands"
    if _COMMA.fullmatch(text):
        return "; write fractions with a point"
    if is_number(text) or (_VERSION.fullmatch(text) and not _GROUPED.fullmatch(text)):
        return ""
    return hint if FORMATTED.fullmatch(text) else ""


def are_dates(texts: Sequence[str]) -> bool:
    """Whether all texts are dates, and there is one."""
    return bool(texts) and all(map(_DATE.fullmatch, texts))


def why_texts(texts: Sequence[str]) -> str:
    """A hint where all texts are dates, numbers with one unit, or formatted numbers."""
    if are_dates(texts):
        return "; write dates as numbers, such as days"
    units = [_UNIT.fullmatch(text) for text in texts]
    if all(units) and len({unit[1] for unit in units if unit}) == 1:
        return "; write numbers without their unit"
    plain = [_MINUS.sub("-", text) for text in texts]
    hints = map(no_number, texts) if all(map(FORMATTED.fullmatch, plain)) else ()
    return next(filter(None, hints), "")


def is_number(text: str) -> bool:
    """Whether Python reads a text as a number other than NaN."""
    try:
        return float(text) == float(text)
    except ValueError:
        return False


def thousands(texts: Sequence[str], table: Table) -> str:
    """A remark where points may stand between thousands, in a file whose commas may be decimal ones."""
    if table.delimiter not in (";", "\t"):
        return ""
    pointed = sorted((text for text in texts if "." in text), key=lambda text: (text.count("."), text))
    if len(pointed) < 2 or pointed[0].count(".") > 1 or not all(map(_GROUPED.fullmatch, pointed)):
        return ""
    return (
        f"{short(pointed[0])}, which is read as {float(pointed[0]):g}; where the point is between thousands, "
        "leave it out"
    )


def missing_code(texts: Sequence[str], numbers: np.ndarray, counts: np.ndarray) -> str:
    """A remark where the least or the largest number is written in nines, occurs in several rows, and is
    farther from the others than these are from each other: -999 may stand for a missing number.

    Args:
        texts: the distinct texts of a column.
        numbers: what they are read as, all finite.
        counts: the rows of each.
    """
    for place in {int(numbers.argmin()), int(numbers.argmax())} if len(numbers) > 2 else ():
        rest = np.delete(numbers, place)
        low, high = float(rest.min()), float(rest.max())
        code = numbers[place]
        if not _NINES.fullmatch(texts[place]) or counts[place] < 2:
            continue
        if max(low - code, code - high) > high - low > 0:
            others = f"the number {code:g} in {counts[place]} rows, and others from {low:g} to {high:g}"
            return f"{others}; where it stands for a missing number, leave it blank"
    return ""
