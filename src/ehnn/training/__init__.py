"""One loop, one selection rule, checkpoints, many seeds at once."""

from .config import TrainConfig
from .loop import NotFiniteError, Result, Task, fit
from .progress import Progress
from .runs import Runs

__all__ = ["NotFiniteError", "Progress", "Result", "Runs", "Task", "TrainConfig", "fit"]
