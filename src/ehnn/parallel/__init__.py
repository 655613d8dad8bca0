"""Several processes and machines: exact partition-parallel layers, data parallel training, sampling."""

from ehnn._utils.moved import former

from .cost import LayerTraffic, Machine, StepSeconds, layer_traffic, step_seconds
from .data import BalancedBatches, balanced
from .files import load_shard, save_shards
from .gradients import backward, mean_over_ranks, sum_gradients
from .known import KnownLabels
from .masks import number_rows
from .owners import CutReport, Partition, cut_report, given_partition, partition
from .prepare import with_parts
from .ranks import LostRankError, Ranks, Traffic, losing_ranks, start, stop
from .running import RunningPools
from .sampled_task import SampledNodes
from .sampling import sample
from .shards import Shard, shard
from .streamed import StreamedFeatures, WithStreamed
from .train import ShardNodes, fit_shard

__all__ = [
    "BalancedBatches",
    "CutReport",
    "KnownLabels",
    "LayerTraffic",
    "LostRankError",
    "Machine",
    "Partition",
    "Ranks",
    "RunningPools",
    "SampledNodes",
    "Shard",
    "ShardNodes",
    "StepSeconds",
    "StreamedFeatures",
    "Traffic",
    "WithStreamed",
    "backward",
    "balanced",
    "cut_report",
    "fit_shard",
    "given_partition",
    "layer_traffic",
    "load_shard",
    "losing_ranks",
    "mean_over_ranks",
    "number_rows",
    "partition",
    "sample",
    "save_shards",
    "shard",
    "start",
    "step_seconds",
    "stop",
    "sum_gradients",
    "with_parts",
]

__getattr__ = former(__name__, internal={".files": "read_manifest"})
