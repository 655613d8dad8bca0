"""Files and DataFrames as the input of fitted estimators."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ehnn.io._support import reading_once
from ehnn.tables import Source, TableData
from ehnn.tables.frames import is_frame
from ehnn.tables.later import Asked, as_trained, ask, ask_sheet
from ehnn.tables.reader import Reader
from ehnn.tables.reading import in_python

TASK = {"Node": "nodes", "HyperedgeP": "hyperedges", "Hyperedge": "sets", "Incidence": "incidences"}
"""The task of a table by the beginning of the name of an estimator."""


def reader_of(data: Any, estimator: str) -> Reader | None:
    """How tables are read, where ``data`` is what `ehnn.tables.read` read.

    A ValueError where its labels are of something else than the rows of the estimator, or numbers where it
    learns classes.
    """
    if not isinstance(data, TableData):
        return None
    wanted = next(task for name, task in TASK.items() if estimator.startswith(name))
    if data.task not in (wanted, "hyperedges"):
        raise ValueError(
            f"the labels of the table are of {data.task}, and {estimator} learns those of {wanted}; see the "
            "argument task of ehnn.tables.read"
        )
    if data.reader.regression and estimator.endswith("Classifier"):
        raise ValueError(
            f"the labels of the table were read as numbers, and {estimator} learns classes: use "
            f"{estimator.removesuffix('Classifier')}Regressor, or read it with regression=False"
        )
    return data.reader


def asked_of(reader: Reader | None, data: Any) -> Asked | None:
    """What a table asks about, joined to the table of training; None where ``data`` is no table.

    Remarks on it become warnings.
    """
    if isinstance(data, Asked):
        return data
    if reader is None or not is_table(data):
        return None
    if isinstance(data, TableData):
        found = ask_sheet(reader, data.sheet)
    else:
        source = data if isinstance(data, Source) else Source(data)
        try:
            with reading_once():  # of a pipe, the delimiter and the rows
                found = ask(reader, as_trained(reader, source))
        except ValueError as error:
            raise ValueError(in_python(str(error))) from error
    for remark in found.remarks:
        warnings.warn(in_python(remark), stacklevel=4)
    return found


def logits_of(asked: Asked, logits: Callable[[Any], Tensor]) -> Tensor:
    """``[rows, outputs]`` of what is asked about; ``logits`` gives those of all rows of a hypergraph."""
    parts = [logits(part.h)[torch.from_numpy(part.rows)] for part in asked.parts]
    if not parts:
        raise ValueError("the table has no rows to predict")
    order = torch.from_numpy(np.concatenate([part.places for part in asked.parts]))
    found = torch.cat(parts)
    return torch.empty_like(found).index_copy_(0, order, found)


def is_table(data: Any) -> bool:
    """A file, a DataFrame, or what stands for them."""
    return isinstance(data, (str, os.PathLike, Source, TableData)) or is_frame(data)
