"""Training: one loop, one selection rule, checkpoints, and many seeds in one computation."""

from ehnn._utils.moved import former

from .config import TrainConfig
from .loop import fit
from .progress import Progress
from .runs import Runs
from .task import NotFiniteError, Result, Task

__all__ = ["NotFiniteError", "Progress", "Result", "Runs", "Task", "TrainConfig", "fit"]

__getattr__ = former(
    __name__,
    internal={
        ".task": "out_of_memory",
    },
)
