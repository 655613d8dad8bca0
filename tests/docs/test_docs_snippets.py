"""The documentation is true: its snippets run, its outputs come out, its links lead somewhere."""

import re
from pathlib import Path

import pytest
import torch

from ehnn.estimators.portfolio.budget import BUDGETS

from .snippets import Block, blocks, run_block, run_file

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
COMMANDS_RUN = {"tutorial.md", "own-data.md", "nodes.md", "hyperedges.md", "k-edge.md"}
NEEDS = {"matching-data.md": ("PIL",), "migration.md": ("torch_geometric",)}
LINK = re.compile(r"\]\(([^)\s]+)\)")
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())


@every_page
def test_snippets_run(page, tmp_path, monkeypatch):
    """In an empty folder, so that a page may write files; fits take a second instead of their budget."""
    monkeypatch.chdir(tmp_path)
    for budget in ("fast", "default"):
        monkeypatch.setitem(BUDGETS, budget, 0.03)
    for module in NEEDS.get(page.name, ()):
        pytest.importorskip(module)
    with torch.random.fork_rng():
        try:
            run_file(page, shell=page.name in COMMANDS_RUN)
        finally:
            torch.set_default_dtype(torch.float32)


@every_page
def test_links_lead_somewhere(page):
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        file, _, heading = target.partition("#")
        path = page.parent / file if file else page
        assert path.exists(), f"{page.name} links to {target}"
        if heading:
            assert heading in headings(path), f"{page.name} links to {target}"


def headings(page):
    """The anchors that GitHub makes of the headings of a page."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("name", ["theory.md", "guide.md"])
def test_pages_show_outputs(name):
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert sum(block.code.count("# →") for block in blocks(text)) >= 10


def test_packages_stand_in_the_order_of_the_contract():
    tomllib = pytest.importorskip("tomllib", reason="tomllib comes with Python 3.11")
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    layers = [layer.strip("()") for layer in contract["contracts"][0]["layers"]]
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    packages = re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
    source = ROOT / "src" / "ehnn"
    there = [
        package
        for package in layers
        if (source / package / "__init__.py").is_file() or (source / f"{package}.py").is_file()
    ]
    assert packages == there


# ---------------------------------------------------------------------- the tester is tested


@pytest.mark.parametrize(
    "code",
    [
        "1 + 1  # → 2",
        "print('a b')  # → a b",
        "[\n    1,\n    2,\n]  # → [1, 2]",
        "'x'\n# → 'x'",
        "print('a\\nb')\n# → a\n# → b",
        "int('no')  # → ValueError: invalid literal ... 'no'",
        "'long and winding'  # → '...winding'",
    ],
)
def test_a_true_output_passes(code):
    assert run_block(Block(0, code), {}) == 1


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("1 + 1  # → 3", "line 8: says '3', got '2'"),
        ("print(1)\n# → 1\n# → 2", r"says '1\\n2', got '1'"),
        ("int('no')  # → 0", "ValueError: invalid"),
        ("x = 1  # → 1", "only an expression"),
        ("x = 1\n\n# → 1", "belongs to no statement"),
    ],
)
def test_a_false_output_fails(code, message):
    with pytest.raises(AssertionError, match=message):
        run_block(Block(7, code), {})


def test_blocks_share_a_namespace(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "text\n```python\nx = 2\n```\n```sh\nno\n```\n```python\nx  # → 2\n```\n", encoding="utf-8"
    )
    assert [block.line for block in blocks(page.read_text())] == [2, 8]
    assert run_file(page) == 1


def test_commands_run_between_the_blocks(tmp_path, capsys):
    page = tmp_path / "page.md"
    page.write_text("```sh\npip install x\nehnn --version  # said\n```\n", encoding="utf-8")
    run_file(page)
    assert capsys.readouterr().out == ""
    run_file(page, shell=True)
    assert capsys.readouterr().out.startswith("ehnn ")


def test_a_failing_command_fails(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```sh\nehnn nosuchcommand\n```\n", encoding="utf-8")
    with pytest.raises(AssertionError, match="'ehnn nosuchcommand' ends with 2"):
        run_file(page, shell=True)


def test_errors_are_not_swallowed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\n1 / 0\n```\n", encoding="utf-8")
    with pytest.raises(ZeroDivisionError):
        run_file(page)
