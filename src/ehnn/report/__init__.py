"""An HTML page about one or more runs, and the records it is made from."""

from ehnn._utils.moved import former

from .attention import attention_by_order
from .layout import drawing
from .page import render, write_report
from .records import accuracy_by_order, data_record, hypergraph_record, score_record
from .runs import Run, read_run, read_runs, write_run

__all__ = [
    "Run",
    "accuracy_by_order",
    "attention_by_order",
    "data_record",
    "drawing",
    "hypergraph_record",
    "read_run",
    "read_runs",
    "render",
    "score_record",
    "write_report",
    "write_run",
]

__getattr__ = former(
    __name__,
    internal={
        ".layout": "Drawing drawable",
    },
)
