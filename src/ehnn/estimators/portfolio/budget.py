"""How long a fit may take."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from ehnn._utils.validation import short

BUDGETS = {"fast": 0.25, "default": 1.0, "best": 6.0}
"""Factors of `default_seconds`."""


def default_seconds(rows: int, incidences: int) -> float:
    r"""Seconds on two cores: 20 for 5,000 rows, 70 for 30,000, 250 at most for 10⁶ incidences.

    .. math:: 20 + \max(\min(0.002 (rows - 5000)_+, 230), 0.00024 (incidences - 50000)_+) \le 600

    Reading the table, the last fits and saving come on top.
    """
    of_rows = min(2e-3 * max(0, rows - 5000), 230.0)
    return min(600.0, 20.0 + max(of_rows, 2.4e-4 * max(0, incidences - 50_000)))


def clock_of(budget: Any, rows: int, incidences: int) -> Clock:
    """A clock for a ``budget``, started."""
    return Clock(seconds_of(budget, rows, incidences), wall=not isinstance(budget, str))


def seconds_of(budget: Any, rows: int, incidences: int) -> float:
    """Seconds of a ``budget``: a name of `BUDGETS` or a number."""
    if isinstance(budget, str) and budget in BUDGETS:
        return BUDGETS[budget] * default_seconds(rows, incidences)
    if isinstance(budget, bool) or not isinstance(budget, (int, float)) or not budget > 0:
        raise ValueError(f"budget must be one of {list(BUDGETS)} or seconds above 0, got {short(budget)}")
    return float(budget)


@dataclass
class Clock:
    """Time that is left, less what is reserved for the last fits.

    Attributes:
        seconds: the limit.
        wall: count the time on the wall alone. Otherwise the time of the processor counts where it is less,
            so that other work on the machine does not change what is tried.
    """

    seconds: float
    wall: bool = False
    started: float = field(default_factory=time.monotonic)
    processor: float = field(default_factory=time.process_time)
    reserved: float = 0.0

    @property
    def passed(self) -> float:
        """Seconds since the start."""
        wall = time.monotonic() - self.started
        return wall if self.wall else min(wall, time.process_time() - self.processor)

    def reserve(self, seconds: float) -> None:
        self.reserved += seconds

    def over(self, needed: float) -> bool:
        """Whether ``needed`` more seconds are too many."""
        return self.passed + self.reserved + needed > self.seconds
