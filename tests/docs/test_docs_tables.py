"""The tables of README and docs are those of the results."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def tables():
    sys.path.insert(0, str(ROOT))
    try:
        from tools.tables import __main__ as module
    finally:
        sys.path.remove(str(ROOT))
    return module


def test_tables_are_those_of_the_results(tables):
    assert tables.stale() == [], "results have changed: make tables"


def test_every_table_is_shown(tables):
    shown = {name for page in tables.pages() for _, name, _ in tables.PLACE.findall(page.read_text("utf-8"))}
    assert set(tables.TABLES) == shown


def test_a_changed_figure_is_noticed(tables):
    text = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    changed = re.sub(r"\| EHNN-MLP \| \d", "| EHNN-MLP | 1", text, count=1)
    assert changed != text
    assert tables.filled(changed) == text
