"""From Parquet, Arrow or CSV tables that do not fit in memory to the shards of `ehnn.parallel`."""

from .job import Job, make_shards
from .nodes import Columns

__all__ = ["Columns", "Job", "make_shards"]
