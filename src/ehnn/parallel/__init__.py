"""Past one machine, on ``torch.distributed``: exact partition-parallel layers, data parallel, sampling."""

from .files import load_shard, read_manifest, save_shards
from .gradients import backward, mean_over_ranks, sum_gradients
from .owners import CutReport, Partition, cut_report, given_partition, partition
from .ranks import Ranks, Traffic, start, stop
from .shards import Shard, shard

__all__ = [
    "CutReport",
    "Partition",
    "Ranks",
    "Shard",
    "Traffic",
    "backward",
    "cut_report",
    "given_partition",
    "load_shard",
    "mean_over_ranks",
    "partition",
    "read_manifest",
    "save_shards",
    "shard",
    "start",
    "stop",
    "sum_gradients",
]
