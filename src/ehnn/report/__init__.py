"""One page about one or more runs, to be looked at in a browser; and the records it is made from."""

from .attention import attention_by_order
from .layout import Drawing, drawable, drawing
from .page import render, write_report
from .records import accuracy_by_order, data_record, hypergraph_record, score_record
from .runs import Run, read_run, read_runs, write_run

__all__ = [
    "Drawing",
    "Run",
    "accuracy_by_order",
    "attention_by_order",
    "data_record",
    "drawable",
    "drawing",
    "hypergraph_record",
    "read_run",
    "read_runs",
    "render",
    "score_record",
    "write_report",
    "write_run",
]
