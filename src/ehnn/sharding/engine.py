"""Where the tasks of a step run: in this process, in worker processes here, or on a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from ehnn._utils.optional import require
from ehnn._utils.validation import as_count

RETRIES = 3
"""How often a task is given to another worker after its worker died."""
PATIENCE = 20
"""Seconds to wait for the scheduler of a cluster."""


class Engine(Protocol):
    """Calls a function on many items."""

    def map(self, function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        """The results, in any order. The first error of a task is raised and ends the others."""
        ...


class Here:
    """One task after the other, in this process."""

    def map(self, function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        """The results, in order."""
        return map(function, items)


class OnDask:
    """Tasks on the workers of a ``dask.distributed`` client."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def map(self, function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        """The results, as they come. A task whose worker died is given to another one."""
        distributed = require("distributed", "scale")
        futures = self.client.map(function, items, pure=False)
        try:
            for future in distributed.as_completed(futures):
                yield future.result()
        except distributed.scheduler.KilledWorker as error:
            raise RuntimeError(
                f"a task ended {RETRIES + 1} workers, the last with {error.last_worker.address}: "
                "it may need more memory than a worker has; finished tasks are kept"
            ) from error
        finally:
            self.client.cancel(futures, force=True)


@contextmanager
def engine(workers: int, memory: int, cluster: str | None = None) -> Iterator[Engine]:
    """The `Engine` of a job: ``cluster`` names a Dask scheduler (``tcp://host:8786``); otherwise ``workers``
    processes are started here with ``memory`` bytes each, or none if ``workers`` is 0.
    """
    if as_count(workers, "workers") == 0 and cluster is None:
        yield Here()
        return
    dask, distributed = require("dask", "scale"), require("distributed", "scale")
    if cluster is not None:
        try:
            client = distributed.Client(cluster, timeout=PATIENCE)
        except (OSError, ValueError) as error:
            raise ValueError(f"no Dask scheduler answers at {cluster!r}: {error}") from error
        with client:
            yield OnDask(client)
        return
    # A task returns a few numbers, so there is nothing to spill; a worker ends at 0.98 of its memory.
    limits = {"target": False, "spill": False, "pause": False, "terminate": 0.98}
    settings = {f"distributed.worker.memory.{name}": value for name, value in limits.items()}
    settings |= {"distributed.scheduler.allowed-failures": RETRIES}
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, memory_limit=memory, dashboard_address=":0",
            silence_logs=40,
        ) as local,
        distributed.Client(local) as client,
    ):  # fmt: skip
        yield OnDask(client)
