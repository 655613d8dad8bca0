"""How long a fit may take."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from ehnn._utils.validation import short

BUDGETS = {"fast": 0.25, "default": 1.0, "best": 6.0}
"""Factors of `default_seconds`."""
CORES, STOP = 1.5, 4.0
"""For each second of a named budget on two cores: the CPU seconds that members may use by estimate, and the
seconds after which the fit stops."""


def default_seconds(rows: int, incidences: int) -> float:
    r"""Seconds on two cores: 20 for 5,000 rows, 70 for 30,000, 250 at most for 10⁶ incidences.

    .. math:: 20 + \max(\min(0.002 (rows - 5000)_+, 230), 0.00024 (incidences - 50000)_+) \le 600

    Reading the table, the last fits and saving come on top.
    """
    of_rows = min(2e-3 * max(0, rows - 5000), 230.0)
    return min(600.0, 20.0 + max(of_rows, 2.4e-4 * max(0, incidences - 50_000)))


def clock_of(budget: Any, rows: int, incidences: int) -> Clock:
    """A clock for a ``budget``, started."""
    seconds = seconds_of(budget, rows, incidences)
    if isinstance(budget, str):
        return Clock(CORES * seconds, stop=STOP * seconds)
    return Clock(seconds, stop=seconds, wall=True)


def seconds_of(budget: Any, rows: int, incidences: int) -> float:
    """Seconds of a ``budget``: a name of `BUDGETS` or a number."""
    if isinstance(budget, str) and budget in BUDGETS:
        return BUDGETS[budget] * default_seconds(rows, incidences)
    if isinstance(budget, bool) or not isinstance(budget, (int, float)) or not budget > 0:
        raise ValueError(f"budget must be one of {list(BUDGETS)} or seconds above 0, got {short(budget)}")
    return float(budget)


@dataclass
class Clock:
    """What a fit may cost, and when it must end.

    A member is tried if its estimated time, added to that of the members before it, is within the budget.
    Estimates depend on sizes only, so two fits on the same data try the same members on any machine. The
    measured time only stops a fit that takes far longer.

    Attributes:
        seconds: of one core that the members may take, by estimate.
        stop: seconds after which no member is begun or continued.
        wall: count the time on the wall alone. Otherwise the time of the processor counts where it is less,
            so that other work on the machine does not stop a fit.
        spent: estimated seconds of the members so far.
    """

    seconds: float
    stop: float
    wall: bool = False
    spent: float = 0.0
    started: float = field(default_factory=time.monotonic)
    processor: float = field(default_factory=time.process_time)

    @property
    def passed(self) -> float:
        """Seconds since the start."""
        wall = time.monotonic() - self.started
        return wall if self.wall else min(wall, time.process_time() - self.processor)

    @property
    def late(self) -> bool:
        return self.passed > self.stop

    def room(self, seconds: float) -> bool:
        """Whether a member that takes ``seconds`` is within the budget."""
        return self.spent + seconds <= self.seconds
