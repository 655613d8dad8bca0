"""``ehnn shard``: from tables that do not fit in memory to the shards of several ranks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from .errors import readable_errors
from .table_options import Names, RoleColumn, WeightColumn

_Text = Optional[str]  # noqa: UP045 (read at run time, also by Python 3.10)


def shard(
    data: Annotated[
        Path,
        typer.Argument(
            help="Table of incidences: a Parquet, Arrow or CSV file, or a folder of them. A row is a node in "
            "a set, or a set with a list of nodes.",
        ),
    ],
    ranks: Annotated[
        int, typer.Option(min=1, help="Number of shards: one for each process of the training.")
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the shards.")],
    node_column: Annotated[str, typer.Option(metavar="NAME", help="Column of nodes.")] = "node",
    edge_column: Annotated[str, typer.Option(metavar="NAME", help="Column of sets.")] = "edge",
    role_column: RoleColumn = None,
    weight_column: WeightColumn = None,
    nodes: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="Table with a row per node: labels, features. Parquet, Arrow or CSV."),
    ] = None,
    id_column: Annotated[
        _Text, typer.Option(metavar="NAME", show_default="--node-column", help="Column of nodes in --nodes.")
    ] = None,
    label_column: Annotated[_Text, typer.Option(metavar="NAME", help="Column of --nodes to predict.")] = None,
    split_column: Annotated[
        _Text,
        typer.Option(
            metavar="NAME", show_default="drawn", help="Column of --nodes with train, valid or test."
        ),
    ] = None,
    feature_columns: Annotated[
        Names, typer.Option(metavar="NAME ...", help="Columns of numbers of --nodes to learn from.")
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            help="Partition: propagation (label propagation, small cut), or contiguous (by the order of ids)."
        ),
    ] = "propagation",
    imbalance: Annotated[float, typer.Option(help="How much larger than the mean a shard may be.")] = 0.05,
    memory: Annotated[str, typer.Option(help="Memory of a worker, such as 3GB.")] = "2GB",
    workers: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(min=0, show_default="one per core", help="Processes here; 0: none but this one."),
    ] = None,
    cluster: Annotated[
        _Text,
        typer.Option(
            metavar="ADDRESS", help="A Dask scheduler, such as tcp://host:8786; its workers see DIR."
        ),
    ] = None,
    valid: Annotated[
        float, typer.Option(help="Share of labels for validation, without --split-column.")
    ] = 0.2,
    test: Annotated[float, typer.Option(help="Share of labels for the test, without --split-column.")] = 0.2,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the partition and of drawn splits.")] = 0,
    fresh: Annotated[bool, typer.Option("--fresh", help="Discard another job in this folder.")] = False,
) -> None:
    """Cut tables into shards, without a process that holds all of them.

    Numbers the nodes and sets, finds a partition, and writes a shard per rank with checksums. The same
    command continues a job that was stopped.

    \b
    ehnn shard members.parquet --ranks 2 --out shards --nodes people.parquet --label-column team
    torchrun --nproc-per-node 2 -m ehnn train --shards shards
    """
    with readable_errors(resume="Run the same command to continue."):
        from ehnn.sharding import Columns, Job, make_shards
        from ehnn.sharding.job import as_bytes, cores

        columns = Columns(id_column or node_column, label_column, split_column, tuple(feature_columns or ()))
        if nodes is None and (label_column or split_column or feature_columns):
            raise ValueError("labels, splits and features are columns of the table of --nodes: name it")
        job = Job(
            data, out, ranks, node_column=node_column, edge_column=edge_column, role_column=role_column,
            weight_column=weight_column, nodes=nodes, columns=columns,
            method=method, imbalance=imbalance, memory=as_bytes(memory),
            workers=cores() if workers is None else workers, cluster=cluster, valid=valid, test=test,
            seed=seed,
        )  # fmt: skip
        try:
            manifest = make_shards(job, fresh=fresh, report=_tell)
        except RuntimeError as error:  # of workers that died
            raise OSError(str(error)) from error
        totals, cut = manifest["totals"], manifest["report"]
        words = {"edges": "hyperedges"}
        typer.echo(", ".join(f"{count:,} {words.get(what, what)}" for what, count in totals.items()))
        typer.echo(f"{cut['ghosts']:,} ghost rows, imbalance {cut['imbalance']:.3f}")
        typer.echo(f"Written: {out}")
        typer.echo(f"Next:    torchrun --nproc-per-node {ranks} -m ehnn train --shards {out}")


def _tell(step: str, tasks: int, seconds: float, peak: int) -> None:
    """A line per step that took time, on the error stream."""
    if seconds >= 0.5:
        typer.echo(f"{step}: {tasks} tasks, {seconds:.1f} s, at most {peak / 1e9:.2f} GB", err=True)
