"""Format numbers, and map them to positions on an axis."""

from __future__ import annotations

import math
from dataclasses import dataclass

SPACE = "\N{NO-BREAK SPACE}"


def short(value: float) -> str:
    """Four digits, whole numbers in full.

    >>> short(1234567), short(0.123456), short(2.0), short(0.00001234)
    ('1,234,567', '0.1235', '2', '1.234e-05')
    """
    if not math.isfinite(value):
        return str(value)
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.1f}" if abs(value) >= 1000 else f"{value:.4g}"


def brief(value: float) -> str:
    """For the places of an axis, where room is scarce.

    >>> brief(9999), brief(20000), brief(2500000), brief(0.25)
    ('9999', '20k', '2.5M', '0.25')
    """
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size and (letter != "k" or abs(value) >= 10000):
            return f"{value / size:.3g}{letter}"
    return f"{value:.4g}"


def percent(share: float) -> str:
    """A share in [0, 1] as a percentage with one digit."""
    return f"{100 * share:.1f}{SPACE}%"


def duration(seconds: float) -> str:
    """Seconds, minutes or hours.

    >>> duration(0.8), duration(75), duration(7380)
    ('0.8\\xa0s', '1\\xa0min\\xa015\\xa0s', '2\\xa0h\\xa03\\xa0min')
    """
    if seconds < 59.5:
        return f"{seconds:.2g}{SPACE}s"
    minutes, left = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}{SPACE}min{SPACE}{left}{SPACE}s"
    return f"{minutes // 60}{SPACE}h{SPACE}{minutes % 60}{SPACE}min"


@dataclass(frozen=True)
class Axis:
    """An axis from ``low`` to ``high`` (``low`` < ``high``, both above 0 where ``log``), with its ticks."""

    low: float
    high: float
    ticks: tuple[float, ...]
    log: bool = False

    def place(self, value: float) -> float:
        """0 at ``low``, 1 at ``high``."""
        if self.log:
            return math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


def linear(low: float, high: float, count: int = 5) -> Axis:
    """An axis that begins and ends at round numbers.

    >>> linear(0.3, 9.7).ticks
    (0.0, 2.0, 4.0, 6.0, 8.0, 10.0)
    """
    size = max(abs(low), abs(high), 1e-100)
    if not high - low > 1e-7 * size:
        around = size / 2 if size > 1e-100 else 0.5
        low, high = low - around, high + around
    step = _round_step((high - low) / count)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = tuple(float(f"{i * step:.10g}") for i in range(first, last + 1))
    return Axis(ticks[0], ticks[-1], ticks)


def whole(low: int, high: int, count: int = 6) -> Axis:
    """An axis for whole numbers that begins and ends where it is told, with round ticks between.

    >>> whole(1, 300).ticks, whole(3, 5).ticks
    ((1, 50, 100, 150, 200, 250, 300), (3, 4, 5))
    """
    if not high > low:
        return Axis(low - 0.5, high + 0.5, (low,))
    step = max(int(_round_step((high - low) / count)), 1)
    first = -(-low // step) * step
    ticks = [tick for tick in range(first, high + 1, step) if 2 * (tick - low) >= step]
    return Axis(low, high, (low, *ticks))


def counting(most: int) -> Axis:
    """A logarithmic axis for counts, on which 1 is not nothing.

    >>> counting(700)
    Axis(low=0.5, high=1000.0, ticks=(1.0, 10.0, 100.0, 1000.0), log=True)
    """
    axis = logarithmic(1, max(most, 10))
    ticks = axis.ticks if len(axis.ticks) > 4 or axis.high > 10 else (1.0, 10.0)
    return Axis(0.5, axis.high, ticks, log=True)


def logarithmic(low: float, high: float) -> Axis:
    """An axis for positive values that are far apart.

    >>> logarithmic(0.02, 30).ticks
    (0.01, 0.1, 1.0, 10.0, 100.0)
    """
    first = math.floor(math.log10(low) + 1e-9)
    last = max(math.ceil(math.log10(high) - 1e-9), first + 1)
    step = -(-(last - first) // 6)
    ticks = tuple(10.0**power for power in range(first, last + 1, step))
    if last - first == 1:
        ticks = tuple(d * 10.0**first for d in (1, 2, 5, 10))
    return Axis(10.0**first, 10.0**last, ticks, log=True)


def _round_step(step: float) -> float:
    """The next of 1, 2, 5, 10, … (times a power of ten)."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(d * power for d in (1, 2, 5, 10) if d * power >= step * (1 - 1e-9))
