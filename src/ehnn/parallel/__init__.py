"""Past one machine, on ``torch.distributed``: exact partition-parallel layers, data parallel, sampling."""

from .cost import LayerTraffic, layer_traffic
from .data import BalancedBatches, balanced
from .files import load_shard, read_manifest, save_shards
from .gradients import backward, mean_over_ranks, sum_gradients
from .owners import CutReport, Partition, cut_report, given_partition, partition
from .ranks import Ranks, Traffic, start, stop
from .shards import Shard, shard

__all__ = [
    "BalancedBatches",
    "CutReport",
    "LayerTraffic",
    "Partition",
    "Ranks",
    "Shard",
    "Traffic",
    "backward",
    "balanced",
    "cut_report",
    "given_partition",
    "layer_traffic",
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
