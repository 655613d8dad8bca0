"""Numbers formatted for people, such as ``30,000`` or ``12 %``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ehnn._utils.validation import short
from ehnn.io._csv_table import Table

FORMATTED = re.compile(r"[-+(]?\s*[$€£¥%]?\s*[-+]?\d[\d.,' \u00a0\u202f]*\s*[$€£¥%]?\)?")
"""A number with a sign of a currency, per cent, or signs between thousands."""
_GROUPED = re.compile(r"[-+]?[1-9]\d{0,2}(\.\d{3})+")
_DATE = re.compile(r"\d{4}-\d\d-\d\d.*|\d{1,2}([./])\d{1,2}\1\d{2,4}.*", re.DOTALL)
_UNIT = re.compile(r"[-+]?\d[\d.,]*\s?([^\W\d_]{1,4}|°C|°F)")


def no_number(text: str) -> str:
    """A hint where a text is a formatted number."""
    hint = "; write numbers without currencies, % and signs between thousands"
    return hint if FORMATTED.fullmatch(text) and not _is_float(text) else ""


def why_texts(texts: Sequence[str]) -> str:
    """A hint where all texts are dates, numbers with one unit, or formatted numbers."""
    if texts and all(map(_DATE.fullmatch, texts)):
        return "; write dates as numbers, such as days"
    units = [_UNIT.fullmatch(text) for text in texts]
    if all(units) and len({unit[1] for unit in units if unit}) == 1:
        return "; write numbers without their unit"
    hints = map(no_number, texts) if all(map(FORMATTED.fullmatch, texts)) else ()
    return next(filter(None, hints), "")


def _is_float(text: str) -> bool:
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
