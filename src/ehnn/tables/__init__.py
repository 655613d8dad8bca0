"""From files and DataFrames to a hypergraph with names, labels and features."""

from .layouts import Layout
from .merged import Merged, merge
from .reader import Source
from .reading import TableData, read
from .sheet import Columns, Sheet
from .sheets import read_sheet

__all__ = ["Columns", "Layout", "Merged", "Sheet", "Source", "TableData", "merge", "read", "read_sheet"]
