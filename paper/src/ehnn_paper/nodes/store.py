"""What is kept of finished runs of node classification."""

from __future__ import annotations

import hashlib
import importlib.util
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ehnn._utils.atomic import atomic_write, locked
from ehnn._utils.schema import check
from ehnn._utils.untrusted import read_json
from ehnn.training.checkpoint import NAME as CHECKPOINT


class Store:
    """Records of finished runs by seed, in a file of their own for every choice of settings."""

    def __init__(self, directory: Path | None) -> None:
        self.directory = directory
        self.records: dict[int, dict[str, Any]] = {}
        if directory is not None and (directory / "runs.json").exists():
            self.records = {r["seed"]: r for r in self._read(directory / "runs.json")}

    @classmethod
    def open(
        cls, directory: Path | str | None, dataset: str, model: str, identity: Mapping[str, Any]
    ) -> Store:
        """The store of a model on a dataset; ``identity`` is what must agree for runs to be the same."""
        if directory is None:
            return cls(None)
        text = json.dumps(identity, sort_keys=True, indent=1)
        own = Path(directory) / dataset / f"{model}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
        own.mkdir(parents=True, exist_ok=True)
        with atomic_write(own / "settings.json") as file:
            file.write(text + "\n")
        return cls(own)

    @staticmethod
    def _read(path: Path) -> list[dict[str, Any]]:
        try:
            records = read_json(path, "finished runs")
            check(records, [{"seed": int, ...: object}], f"{path}: records")
        except ValueError as error:
            raise ValueError(f"{error}; delete it to train its runs again") from error
        return records

    def group(self, seeds: Sequence[int]) -> Path | None:
        """Where a group of runs keeps its checkpoint; None where nothing can be kept."""
        if self.directory is None or importlib.util.find_spec("safetensors") is None:
            return None
        return self.directory / f"seeds-{seeds[0]}-{seeds[-1]}-of-{len(seeds)}"

    def begun(self, seeds: Iterable[int]) -> list[list[int]]:
        """Groups among ``seeds`` that have a checkpoint, none with a seed of another."""
        left, found = set(seeds), []
        for checkpoint in sorted(self.directory.glob(f"seeds-*/{CHECKPOINT}")) if self.directory else []:
            first, last, count = map(int, checkpoint.parent.name.replace("-of", "").split("-")[1:])
            group = range(first, last + 1)
            if len(group) == count and left.issuperset(group):
                left -= set(group)
                found.append(list(group))
        return found

    def add(self, records: Iterable[dict[str, Any]]) -> None:
        """Keep the records of a finished group; its checkpoint has done its work."""
        found = {r["seed"]: r for r in records}
        self.records |= found
        if self.directory is None:
            return
        path = self.directory / "runs.json"
        with locked(self.directory):
            kept = {r["seed"]: r for r in self._read(path)} if path.exists() else {}
            self.records = kept | self.records  # another process may have added some
            with atomic_write(path) as file:
                file.write(json.dumps(list(self.records.values()), indent=1) + "\n")
        group = self.group(list(found))
        if group is not None:
            (group / CHECKPOINT).unlink(missing_ok=True)
