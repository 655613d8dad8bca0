"""Tables for people: with rich in a terminal, plain columns elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def show_table(title: str, columns: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    """Print a table; where the first field has groups, there is a gap between them."""
    if not sys.stdout.isatty() or not lines:
        print(f"{title}\n\n{plain_table(columns, lines)}")
        return
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title), title_justify="left", box=SIMPLE, pad_edge=False)
    for i, column in enumerate(columns):
        numeric = _numeric(lines, i)
        table.add_column(column, justify="right" if numeric else "left", no_wrap=numeric, overflow="fold")
    grouped = len({line[0] for line in lines}) < len(lines)
    for line, after in zip(lines, [*lines[1:], lines[-1]], strict=True):
        table.add_row(*map(Text, line), end_section=grouped and after[0] != line[0])
    Console().print(table)


def _numeric(lines: Sequence[Sequence[str]], column: int) -> bool:
    return all(not line[column] or line[column][0].isdigit() for line in lines)


def plain_table(columns: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Columns of text, for people without a terminal and for files."""
    widths = [max(len(row[i]) for row in (columns, *lines)) for i in range(len(columns))]
    rows = [columns, ["-" * w for w in widths], *lines]
    return "\n".join(
        "  ".join(f"{v:<{w}}" for v, w in zip(row, widths, strict=True)).rstrip() for row in rows
    )
