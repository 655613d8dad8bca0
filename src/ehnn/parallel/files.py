"""Shards on disk: one safetensors file per rank and a manifest, so that a rank reads only its own part."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ehnn._utils.atomic import atomic_write
from ehnn._utils.schema import check as check_schema
from ehnn._utils.schema import count, positive
from ehnn._utils.untrusted import parse_json, shortened
from ehnn.datasets.transfer import file_sha256
from ehnn.hypergraph import Hypergraph

from .owners import Partition, cut_report
from .ranks import Ranks
from .shards import Shard, check, cut, join

MANIFEST = "partition.json"
FORMAT = 1
_HEADER = 2**24
"""Bytes that the header of a shard has at most."""


def save_shards(
    h: Hypergraph, partition: Partition, directory: str | Path, source: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Write a file per rank and then the manifest, each atomically; returns the manifest.

    The manifest holds the identity of the partition, the size and SHA-256 of every file, the report of
    balance and cut, and ``source`` (JSON values), which says what the hypergraph was made from. It is written
    last: a directory without it is unfinished.

    >>> import ehnn
    >>> h = ehnn.Hypergraph.from_edges([[0, 1, 2], [2, 3], [3, 4, 5]])
    >>> manifest = save_shards(h, ehnn.parallel.partition(h, 2, "contiguous"), "shards")
    >>> manifest["ranks"]
    2
    """
    from safetensors.torch import save

    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / MANIFEST).unlink(missing_ok=True)  # the old one would speak for new files
    identity, files = _identity(h, partition), []
    for rank in range(partition.ranks):
        meta = {"partition": identity, "rank": str(rank), "ranks": str(partition.ranks)}
        tensors = {k: v.contiguous() for k, v in cut(h, partition, rank).items()}
        data = save(tensors, metadata=meta)
        name = shard_name(rank, partition.ranks)
        with atomic_write(directory / name, "wb") as file:
            file.write(data)
        files.append({"name": name, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()})
    report = cut_report(h, partition).as_dict()
    totals = {"nodes": h.num_nodes, "edges": h.num_edges, "incidences": h.num_incidences}
    manifest = {"format": FORMAT, "partition": identity, "ranks": partition.ranks, "files": files}
    manifest |= {"totals": totals, "report": report, "source": source}
    with atomic_write(directory / MANIFEST) as file:
        json.dump(manifest, file, indent=1)
    return manifest


def load_shard(directory: str | Path, ranks: Ranks, *, features: bool = True) -> Shard:
    """This rank's shard, from the ``directory`` that `save_shards` wrote; ``ranks`` is from `start`. A
    collective. Without ``features`` it has no ``x``: for `StreamedFeatures`, which are larger than memory.

    A file that is missing, truncated, changed or from another partition is a ValueError that names it, on
    every rank, so that no rank waits for one that could not start.

    >>> import ehnn
    >>> h = ehnn.Hypergraph.from_edges([[0, 1, 2], [2, 3], [3, 4, 5]])
    >>> _ = save_shards(h, ehnn.parallel.partition(h, 1, "contiguous"), "shards")
    >>> load_shard("shards", ehnn.parallel.Ranks()).num_nodes
    6
    """
    without = () if features else ("x",)
    return join(ranks.together(lambda: read_shard(directory, ranks.rank, ranks.size, without)), ranks)


def read_shard(
    directory: str | Path, rank: int, ranks: int, without: Collection[str] = ()
) -> dict[str, Tensor]:
    """The checked tensors of one rank's file; those ``without`` stay there."""
    from safetensors import SafetensorError, safe_open

    directory = Path(directory)
    manifest = read_manifest(directory)
    if manifest["ranks"] != ranks:
        raise ValueError(f"{directory} holds {manifest['ranks']} shards, but {ranks} ranks are running")
    entry = manifest["files"][rank]
    path = directory / entry["name"]
    try:
        size, found = path.stat().st_size, file_sha256(path)
        meta = read_header(path)[0].get("__metadata__")
    except OSError as error:
        raise ValueError(f"shard {path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError):
        meta = None
    if isinstance(meta, dict) and meta.get("partition") != manifest["partition"]:
        raise ValueError(f"shard {path} is from another partition than {MANIFEST}")
    if size != entry["bytes"]:
        raise ValueError(f"shard {path} must have {entry['bytes']} bytes, got {size}")
    if found != entry["sha256"]:
        raise ValueError(f"shard {path} does not have the checksum that {MANIFEST} gives: it was changed")
    try:
        with safe_open(path, framework="pt") as file:
            names = [name for name in file.keys() if name not in without]  # noqa: SIM118
            tensors = {name: file.get_tensor(name).clone() for name in names}  # not a view of the file
    except (SafetensorError, OSError) as error:
        raise ValueError(f"shard {path} is not a safetensors file: {shortened(error)}") from error
    try:
        check(tensors, rank, ranks)
    except ValueError as error:
        raise ValueError(f"shard {path} is damaged: {error}") from error
    return tensors


def read_manifest(directory: str | Path) -> dict[str, Any]:
    """The manifest of a directory of shards."""
    path = Path(directory) / MANIFEST
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}; save_shards writes it") from error
    manifest = parse_json(data, f"{path} is not a manifest")
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ValueError(f"{path} is not a manifest of format {FORMAT}")
    check_schema(manifest, SCHEMA, f"{path} is damaged: its manifest")
    if len(manifest["files"]) != manifest["ranks"]:
        raise ValueError(f"{path} is damaged: files must name one for each of {manifest['ranks']!r} ranks")
    return manifest


def _file_name(value: Any) -> bool:
    """the name of a file in the same folder"""
    return isinstance(value, str) and 0 < len(value) < 256 and Path(value).name == value and "\0" not in value


SCHEMA = {
    "format": positive, "partition": str, "ranks": positive,
    "files": [{"name": _file_name, "bytes": count, "sha256": str}], ...: object,
}  # fmt: skip
"""What a manifest holds, beside what people read in it."""


def check_sizes(directory: str | Path) -> None:
    """Raise a ValueError that names a shard that is missing or has a wrong size; none is read."""
    for entry in read_manifest(directory)["files"]:
        path = Path(directory) / entry["name"]
        found = path.stat().st_size if path.exists() else None
        if found is None:
            raise ValueError(f"shard {path} is missing")
        if found != entry["bytes"]:
            raise ValueError(f"shard {path} must have {entry['bytes']} bytes, got {found}")


def shard_name(rank: int, ranks: int) -> str:
    """The file of a rank."""
    return f"shard-{rank:05d}-of-{ranks:05d}.safetensors"


def read_header(path: Path) -> tuple[dict[str, Any], int]:
    """The header of a safetensors file, also of a truncated one, and where its data begin."""
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(min(length, _HEADER)).decode("utf-8"))
    return header if isinstance(header, dict) else {}, 8 + length


def _identity(h: Hypergraph, partition: Partition) -> str:
    """A fingerprint of the hypergraph's structure and the partition."""
    digest = hashlib.sha256()
    for t in (h.incidence.ptr, h.incidence.index, h.node_batch, partition.nodes, partition.edges):
        digest.update(t.to(torch.int64).contiguous().numpy().tobytes())
    return digest.hexdigest()
