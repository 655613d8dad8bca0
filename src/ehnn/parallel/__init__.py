"""Past one machine, on ``torch.distributed``: exact partition-parallel layers, data parallel, sampling."""

from .cost import LayerTraffic, layer_traffic
from .data import BalancedBatches, balanced
from .files import load_shard, read_manifest, save_shards
from .gradients import backward, mean_over_ranks, sum_gradients
from .owners import CutReport, Partition, cut_report, given_partition, partition
from .ranks import LostRankError, Ranks, Traffic, losing_ranks, start, stop
from .shards import Shard, shard
from .train import ShardNodes, fit_shard

__all__ = [
    "BalancedBatches",
    "CutReport",
    "LayerTraffic",
    "LostRankError",
    "Partition",
    "Ranks",
    "Shard",
    "ShardNodes",
    "Traffic",
    "backward",
    "balanced",
    "cut_report",
    "fit_shard",
    "given_partition",
    "layer_traffic",
    "load_shard",
    "losing_ranks",
    "mean_over_ranks",
    "partition",
    "read_manifest",
    "save_shards",
    "shard",
    "start",
    "stop",
    "sum_gradients",
]
