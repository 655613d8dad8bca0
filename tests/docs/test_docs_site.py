"""The site builds strictly, needs no network to be looked at, and shows figures that are in results/."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ehnn

ROOT = Path(__file__).parents[2]
HOOKS = ROOT / "docs" / "hooks"
ASSET = re.compile(r'<(?:script[^>]* src|link[^>]* rel="stylesheet"[^>]* href|img[^>]* src)="([^"]+)"')
PAGE_OF = {"overlap": "hypergraph", "tasks": "training", "datasets": "io"}
ROOMS = (
    *("hypergraph", "overlap", "nn", "estimators", "training", "tasks", "io", "datasets"),
    *("report", "testing", "ops", "parallel", "algebra"),
)


def hook(name):
    spec = importlib.util.spec_from_file_location(f"docs_{name}", HOOKS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    for library in ("mkdocs", "material", "mkdocstrings_handlers.python", "latex2mathml"):
        pytest.importorskip(library, reason="needs the extra docs")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "not included in the" not in done.stderr, done.stderr  # every page is in the menu
    return folder


def test_site_loads_nothing_from_elsewhere(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 20
    for page in pages:
        assert [a for a in ASSET.findall(page.read_text(encoding="utf-8")) if "://" in a] == [], page.name


def test_formulas_are_drawn(site):
    theory, layers = ((site / page).read_text(encoding="utf-8") for page in ("theory.html", "api/nn.html"))
    assert theory.count("<math") > 50
    assert layers.count("<math") > 5
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert 'class="arithmatex"' not in text, page.name
        assert "math::" not in text, page.name
        assert ":math:" not in text, page.name
    assert "<mi>𝐢</mi>" in theory  # a bold multi-index differs from an index


@pytest.mark.parametrize("room", ROOMS)
def test_api_has_every_public_name(site, room):
    text = (site / "api" / f"{PAGE_OF.get(room, room)}.html").read_text(encoding="utf-8")
    module = getattr(ehnn, room)
    named = re.findall(rf'id="ehnn\.{room}\.(\w+)', text)
    assert [n for n in module.__all__ if callable(getattr(module, n)) and n not in named] == []


def test_figures_are_those_of_the_results():
    figures = hook("figures")
    text = figures.PAGE.read_text(encoding="utf-8")
    assert len(figures.PLACE.findall(text)) == len(figures.TABLES)
    assert text == figures.filled(text), "results have changed: python docs/hooks/figures.py"


def test_docstrings_become_markdown():
    pytest.importorskip("griffe")
    as_markdown = hook("docstrings").as_markdown
    assert as_markdown(".. math:: a = b\n\nwith :math:`c`.") == "\n$$\na = b\n$$\n\n\nwith $c$."
    assert "aligned" in as_markdown(".. math::\n    a &= b \\\\\n    c &= d\n\nend")
    assert as_markdown("See\n\n>>> 1\n1\n\nend") == "See\n\n```pycon\n>>> 1\n1\n```\n\nend"


def test_links_out_of_the_pages_become_names():
    pytest.importorskip("latex2mathml")
    change = hook("pages").on_page_markdown
    assert (
        change("[a](../examples/a.py), [b](../guide.md#x), [c](d.md)") == "`a`, [b](../guide.md#x), [c](d.md)"
    )
