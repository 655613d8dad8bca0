"""From Parquet, Arrow or CSV tables that do not fit in memory to the shards of `ehnn.parallel`."""

from .job import Job, make_shards
from .nodes import Columns
from .training import ShardRun, train_shards

__all__ = ["Columns", "Job", "ShardRun", "make_shards", "train_shards"]
