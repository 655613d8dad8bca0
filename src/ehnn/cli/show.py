"""Tables for people: with rich in a terminal, plain columns elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ehnn.reproduce.report import plain_table


def show_table(title: str, columns: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    """Print a table; where the first field changes, a line is drawn."""
    if not sys.stdout.isatty():
        print(f"{title}\n\n{plain_table(columns, lines)}")
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(
            column, justify="right" if lines and _numeric(lines, columns.index(column)) else "left"
        )
    for line, after in zip(lines, [*lines[1:], None], strict=True):
        table.add_row(*(Text(v) for v in line), end_section=after is not None and after[0] != line[0])
    Console().print(table)


def _numeric(lines: Sequence[Sequence[str]], column: int) -> bool:
    return all(not line[column] or line[column][0].isdigit() for line in lines)
