"""Labels as numbers that a loss reads, and back."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from ehnn._utils.validation import is_missing, short
from ehnn.tasks.scores import accuracy, cross_entropy

from .finite import HUGE, finite_outputs
from .labels import as_matrix, is_matrix, is_minus_one, minus_one_is_a_class, plain_class


@dataclass(frozen=True)
class Classes:
    """One class per row. Encoded: ``[rows]`` int64, -1 where there is no label."""

    classes: tuple[Any, ...]

    @classmethod
    def learn(cls, values: Sequence[Any]) -> Classes:
        """From the labels to fit."""
        kept = minus_one_is_a_class(values)
        hidden = 0 if kept else sum(map(is_minus_one, values))
        found = {plain_class(v) for v in values if not is_missing(v) and (kept or not is_minus_one(v))}
        if not found:
            raise ValueError(f"not one of the {len(values)} rows has a label")
        kinds = {"text" if isinstance(v, str) else "numbers" for v in found}
        if len(kinds) > 1:
            raise ValueError(
                f"labels must be all text or all numbers, got both: {short(sorted(found, key=str))}"
            )
        if len(found) == 1:
            hint = "; -1 means no label" if hidden else ""
            raise ValueError(f"there is only one class, {short(next(iter(found)))}{hint}")
        if hidden:
            warnings.warn(
                f"-1 is taken for no label in {hidden} of {len(values)} rows: give None or NaN to say so; to "
                "keep it as a class, give classes as text",
                stacklevel=4,
            )
        return cls(tuple(sorted(found)))

    @property
    def num_outputs(self) -> int:
        return len(self.classes)

    @property
    def array(self) -> np.ndarray:
        """``[classes]``; of Python objects where NumPy would round whole numbers of 64 bits."""
        found = np.asarray(self.classes)
        return np.array(self.classes, dtype=object) if found.dtype.kind == "f" else found

    def encode(self, values: Sequence[Any], judged: bool = False) -> Tensor:
        """``[rows]``; a class that was not there in fit is an error.

        With ``judged`` it is a warning, and a number that no prediction has, unless all classes are new.
        """
        number = {c: i for i, c in enumerate(self.classes)}
        kept = -1 in number or minus_one_is_a_class([*values, *self.classes])
        plain = [None if is_missing(v) or (is_minus_one(v) and not kept) else plain_class(v) for v in values]
        unknown = next((v for v in plain if v is not None and v not in number), None)
        if unknown is not None:
            told = f"class {short(unknown)} was not there in fit; known: {short(self.classes)}"
            if not judged or not any(v in number for v in plain):
                raise ValueError(told)
            warnings.warn(f"{told}. Its rows count as wrong", stacklevel=3)
        new = len(number)
        return torch.tensor([-1 if v is None else number.get(v, new) for v in plain], dtype=torch.int64)

    def hide(self, target: Tensor, rows: Tensor) -> Tensor:
        """``target`` with no labels outside the boolean ``rows``."""
        return target.masked_fill(~rows, -1)

    def labelled(self, target: Tensor) -> Tensor:
        return target >= 0

    def loss(self, logits: Tensor, target: Tensor, weight: Tensor | None = None) -> Tensor:
        if weight is None:
            return cross_entropy(logits, target)
        goal = target.expand(logits.shape[:2])
        losses = F.cross_entropy(logits.movedim(-1, 1), goal, ignore_index=-1, reduction="none")
        return (losses * weight).sum(1) / (weight * (goal >= 0)).sum(1).clamp(min=1e-12)

    def metric(self, logits: Tensor, target: Tensor, weight: Tensor | None = None) -> Tensor:
        """``[runs]`` percent; ``weight [rows]``."""
        if weight is None:
            return accuracy(logits, target)
        share = weight.double() * (target >= 0)
        right = (logits.argmax(-1) == target).double()
        return 100 * (share * right).sum(1) / share.sum(-1).clamp(min=1e-12)

    def proba(self, logits: Tensor) -> np.ndarray:
        return logits.double().softmax(-1).cpu().numpy()

    def predict(self, logits: Tensor) -> np.ndarray:
        return self.array[logits.argmax(-1).cpu().numpy()]

    def score(self, logits: Tensor, target: Tensor, weight: Tensor) -> float:
        """Share of labelled rows that are right."""
        share = weight * (target >= 0)
        return float((share * (logits.argmax(-1).cpu() == target)).sum() / share.sum())

    def about(self) -> dict[str, Any]:
        return {"kind": "classes", "classes": list(self.classes)}


class _Rows:
    """Targets ``[rows, columns]``, NaN where missing."""

    def losses(self, logits: Tensor, target: Tensor) -> Tensor:
        """``[runs, rows, columns]``; anything where ``target`` is NaN."""
        raise NotImplementedError

    def loss(self, logits: Tensor, target: Tensor, weight: Tensor | None = None) -> Tensor:
        """``[runs]``: the mean over what is known; ``weight`` is ``[rows]``."""
        known = (~target.isnan()).expand(logits.shape).to(logits.dtype)
        known = known if weight is None else known * weight.unsqueeze(1)
        least = 1 if weight is None else 1e-12
        return (self.losses(logits, target) * known).sum((1, 2)) / known.sum((1, 2)).clamp(min=least)

    def hide(self, target: Tensor, rows: Tensor) -> Tensor:
        return target.masked_fill(~rows.unsqueeze(1), math.nan)

    def labelled(self, target: Tensor) -> Tensor:
        return (~target.isnan()).any(1)


@dataclass(frozen=True)
class MultiLabel(_Rows):
    """Several yes/no labels per row. Encoded: ``[rows, labels]`` of 0, 1 and NaN (missing)."""

    labels: int
    columns: tuple[str, ...] = ()

    @classmethod
    def learn(cls, values: Sequence[Any]) -> MultiLabel:
        table = as_matrix(values, None)
        if bool((table == -1).any()) and not bool((table == 0).any()):
            raise ValueError(
                "a matrix of labels has -1 and 1 but no 0: is -1 no, or no label? Write 0 for no, and NaN "
                "for no label"
            )
        empty = (~(table >= 0).any(0)).nonzero()
        if len(empty):
            raise ValueError(
                f"not one of the {len(values)} rows has a label in column {int(empty[0])} (from 0)"
            )
        return cls(table.shape[1])

    @property
    def num_outputs(self) -> int:
        return self.labels

    def encode(self, values: Sequence[Any], judged: bool = False) -> Tensor:
        table = as_matrix(values, self.labels)
        table[table == -1] = math.nan
        wrong = table[~table.isnan() & (table != 0) & (table != 1)]
        if wrong.numel():
            raise ValueError(f"a matrix of labels must hold 0, 1 and -1 or NaN (missing), got {wrong[0]:g}")
        return table.to(torch.get_default_dtype())

    def losses(self, logits: Tensor, target: Tensor) -> Tensor:
        goal = target.nan_to_num().expand(logits.shape)
        return F.binary_cross_entropy_with_logits(logits, goal, reduction="none")

    def metric(self, logits: Tensor, target: Tensor, weight: Tensor | None = None) -> Tensor:
        return -self.loss(logits, target, weight)

    def proba(self, logits: Tensor) -> np.ndarray:
        return logits.double().sigmoid().cpu().numpy()

    def predict(self, logits: Tensor) -> np.ndarray:
        return (logits > 0).long().cpu().numpy()

    def score(self, logits: Tensor, target: Tensor, weight: Tensor) -> float:
        """Share of labelled rows whose known labels are all right."""
        share = weight * self.labelled(target)
        right = ((logits > 0) == (target > 0)) | target.isnan()
        return float((share * right.all(1)).sum() / share.sum())

    def about(self) -> dict[str, Any]:
        return {"kind": "multi-label", "labels": self.labels, "columns": self.columns}


@dataclass(frozen=True)
class Numbers(_Rows):
    """One or more real numbers per row. Encoded: ``[rows, numbers]``, standardised, NaN where missing."""

    mean: tuple[float, ...]
    scale: tuple[float, ...]
    single: bool
    columns: tuple[str, ...] = ()

    @classmethod
    def learn(cls, values: Sequence[Any]) -> Numbers:
        if not len(values):
            raise ValueError("not one of the 0 rows has a number")
        single = not is_matrix(values)
        table = as_matrix([[v] for v in values] if single else values, None).numpy()
        known = ~np.isnan(table).all(0)
        if not known.all():
            raise ValueError(
                f"not one of the {len(values)} rows has a number" + ("" if single else " in a column")
            )
        largest = np.nanmax(np.abs(table), 0)
        usual = (largest < HUGE) & (largest > 1 / HUGE) | (largest == 0)
        largest = np.where(usual, 1.0, largest)  # squares of what is left neither overflow nor vanish
        mean, scale = np.nanmean(table / largest, 0) * largest, np.nanstd(table / largest, 0) * largest
        scale[scale == 0] = 1.0
        return cls(tuple(mean.tolist()), tuple(scale.tolist()), single)

    @property
    def num_outputs(self) -> int:
        return len(self.mean)

    def encode(self, values: Sequence[Any], judged: bool = False) -> Tensor:
        table = as_matrix([[v] for v in values] if not is_matrix(values) else values, len(self.mean))
        scaled = (table - _double(self.mean)) / _double(self.scale)
        return scaled.to(torch.get_default_dtype())

    def losses(self, logits: Tensor, target: Tensor) -> Tensor:
        return (logits - target.nan_to_num()).square()

    def metric(self, logits: Tensor, target: Tensor, weight: Tensor | None = None) -> Tensor:
        return -self.loss(logits, target, weight)

    def predict(self, logits: Tensor) -> np.ndarray:
        numbers = finite_outputs(logits.double().cpu() * _double(self.scale) + _double(self.mean))
        return numbers.squeeze(1).numpy() if self.single else numbers.numpy()

    def score(self, logits: Tensor, target: Tensor, weight: Tensor) -> float:
        """R², the mean over columns: 1 is perfect, 0 is no better than the mean."""
        found, true = logits.double().cpu(), target.double().cpu()
        known = ~true.isnan() * weight.unsqueeze(1)
        true = true.nan_to_num()
        mean = (true * known).sum(0) / known.sum(0).clamp(min=1e-300)
        residual = ((true - found).square() * known).sum(0)
        total = ((true - mean).square() * known).sum(0)
        constant = torch.where(residual <= 0, 1.0, 0.0).double()
        return float(torch.where(total > 0, 1 - residual / total.clamp(min=1e-300), constant).mean())

    def about(self) -> dict[str, Any]:
        found = {"kind": "numbers", "mean": self.mean, "scale": self.scale, "single": self.single}
        return found | {"columns": self.columns}


def _double(values: Sequence[float]) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


Targets = Classes | MultiLabel | Numbers


def with_columns(targets: Targets, y: Any) -> Targets:
    """``targets`` with the names of the columns of ``y``, where it is a frame of several."""
    return targets if isinstance(targets, Classes) else replace(targets, columns=_columns(y))


def check_columns(targets: Targets, y: Any) -> None:
    """A ValueError where ``y`` is a frame with other columns than that of fit, or in another order."""
    found, known = _columns(y), () if isinstance(targets, Classes) else targets.columns
    if found and known and found != known:
        raise ValueError(f"y must have the columns of fit, {short(list(known))}, got {short(list(found))}")


def _columns(y: Any) -> tuple[str, ...]:
    names = [str(name) for name in getattr(y, "columns", ())]
    return tuple(names) if len(names) > 1 else ()


def targets_from(about: Mapping[str, Any]) -> Targets:
    """Inverse of ``about()``."""
    kind = about["kind"]
    columns = tuple(map(str, about.get("columns", ())))  # not in older files
    if kind == "classes":
        return Classes(tuple(about["classes"]))
    if kind == "multi-label":
        return MultiLabel(int(about["labels"]), columns)
    if kind == "numbers":
        mean, scale = (tuple(float(v) for v in about[name]) for name in ("mean", "scale"))
        return Numbers(mean, scale, bool(about["single"]), columns)
    raise ValueError(f"unknown kind of targets {kind!r}")
