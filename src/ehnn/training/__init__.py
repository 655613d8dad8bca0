"""One loop, one selection rule, checkpoints, many seeds at once."""

from .config import TrainConfig
from .loop import fit
from .progress import Progress
from .runs import Runs
from .task import NotFiniteError, Result, Task, out_of_memory

__all__ = ["NotFiniteError", "Progress", "Result", "Runs", "Task", "TrainConfig", "fit", "out_of_memory"]
