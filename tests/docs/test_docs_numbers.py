"""Numbers in the prose of README and docs come from rows of results/, or are named here with their source."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RESULTS = {
    "k-edge identification": ("k-edge-draws", "ablation-draws"),
    "Node classification": ("nodes", "later-models"),
    "Hyperedge prediction": ("hyperedges",),
    "Keypoint matching": ("willow", "voc", "matching-speed"),
    "Speed": ("cost", "walmart", "scale", "peers", "k-edge-speed", "linear", "ops", "build", "sampling"),
}
"""Section of docs/results.md → the tables that its numbers may come from; other sections: any."""
PAGES = {"docs/benchmark.md": ("benchmark", "inputs"), "docs/tasks/hypergraphs.md": ("graphs",)}
"""Page → tables; other pages: any."""
OTHERS = {
    **{
        ("docs/results.md", n): "other settings of EHNN; the table names the commit of each"
        for n in (
            "85.95",
            "88.00",
            "78.23",
            "79.74",
        )
    },
    (
        "docs/performance.md",
        "22.0",
    ): "bytes that are needed, by ehnn_paper.measure.roofline",
    (
        "docs/performance.md",
        "37.6",
    ): "bytes that are needed, by ehnn_paper.measure.roofline",
    ("docs/how-to.md", "0.971"): "output of a command that the page shows",
    ("docs/matching.md", "98.39"): "cross-validation, see the command above the table",
    ("docs/matching.md", "98.98"): "cross-validation, see the command above the table",
    ("docs/matching.md", "98.86"): "cross-validation, see the command above the table",
    ("docs/matching.md", "98.05"): "cross-validation, see the command above the table",
    ("docs/matching.md", "96.95"): "cross-validation, see the command above the table",
    ("docs/matching.md", "72.38"): "a run that diverged, which has no row",
    ("docs/matching.md", "79.91"): "a second seed of a setting, which has no row",
}
"""(page, number) → where it comes from instead."""
NUMBER = re.compile(r"(?<![\w.])\d+\.\d+(?![\w.]*\d)")
PUBLISHED = re.compile(r"publish|reports? \d|papers? report|the paper|commit|quoted", re.IGNORECASE)
"""A paragraph that names a commit, or says that a figure is published, names its source itself."""


@cache
def known(tables: tuple[str, ...] | None) -> frozenset[str]:
    """The numbers of rows, rounded in every way that a page may have rounded them."""
    found = set()
    for path in (ROOT / "results").glob("*.json"):
        rows = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(rows, list) and (tables is None or path.stem in tables):
            values = (row[key] for row in rows for key in ("mean", "std", "paper") if key in row)
            found |= {f"{v:.{digits}f}" for v in values if v is not None for digits in (1, 2, 3)}
    return frozenset(found)


def paragraphs(page: Path) -> Iterator[tuple[str, str]]:
    """(section, text) without generated tables, code and commands."""
    text = re.sub(
        r"<!-- table .*?<!-- end -->|```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL
    )
    section = ""
    for part in re.split(r"\n\s*\n", text):
        heading = re.match(r"## (.+)", part.strip())
        section = heading[1] if heading else section
        yield section, part


def unknown(page: Path) -> list[str]:
    """Numbers of a page that no row has."""
    name = page.relative_to(ROOT).as_posix()
    found = []
    for section, text in paragraphs(page):
        tables = RESULTS.get(section) if name == "docs/results.md" else PAGES.get(name)
        if PUBLISHED.search(text):
            continue
        numbers = NUMBER.findall(re.sub(r"`[^`]*`", "", text))
        found += [n for n in numbers if n not in known(tables) and (name, n) not in OTHERS]
    return found


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))], ids=lambda page: page.stem
)
def test_numbers_come_from_rows(page: Path) -> None:
    assert unknown(page) == []


def test_a_number_without_a_row_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "nodes.json").write_text('[{"mean": 71.25, "std": null}]')
    page = tmp_path / "page.md"
    page.write_text("It gets 71.25, or 71.2, not 71.9.\n\nOthers report 60.0 at commit abc.\n\n`x 9.9`\n")
    known.cache_clear()
    assert unknown(page) == ["71.9"]
    known.cache_clear()
