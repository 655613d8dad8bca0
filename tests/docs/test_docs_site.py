"""The site builds strictly and needs no network to be looked at."""

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
PAGE_OF = {
    "overlap": "hypergraph",
    "tasks": "training",
    "datasets": "io",
    "tables": "io",
    "sharding": "parallel",
}
PACKAGES = (
    *("hypergraph", "overlap", "nn", "estimators", "training", "tasks", "io", "datasets", "tables"),
    *("report", "testing", "ops", "parallel", "sharding", "algebra"),
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


def test_api_shows_the_source(site):
    text = (site / "api" / "nn.html").read_text(encoding="utf-8")
    assert text.count('<details class="mkdocstrings-source">') > 10


def test_code_wraps_instead_of_being_cut_off(site):
    assert "css/site.css" in (site / "guide.html").read_text(encoding="utf-8")
    assert "white-space: pre-wrap" in (site / "css" / "site.css").read_text(encoding="utf-8")


def test_pictures_of_the_results_are_there(site):
    shown = re.findall(r'<img[^>]* src="([^"]+)"', (site / "results.html").read_text(encoding="utf-8"))
    assert len(shown) >= 3
    assert [name for name in shown if not (site / name).is_file()] == []


def test_formulas_are_drawn(site):
    theory, layers = ((site / page).read_text(encoding="utf-8") for page in ("theory.html", "api/nn.html"))
    assert theory.count("<math") > 50
    assert layers.count("<math") > 5
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        text = re.sub(r'<details class="mkdocstrings-source">.*?</details>', "", text, flags=re.DOTALL)
        assert 'class="arithmatex"' not in text, page.name
        assert "math::" not in text, page.name
        assert ":math:" not in text, page.name
    assert "<mi>𝐢</mi>" in theory  # a bold multi-index differs from an index


@pytest.mark.parametrize("package", PACKAGES)
def test_api_has_every_public_name(site, package):
    text = (site / "api" / f"{PAGE_OF.get(package, package)}.html").read_text(encoding="utf-8")
    module = getattr(ehnn, package)
    documented = set(re.findall(r'id="(ehnn[\w.]+)"', text))
    public = [name for name in module.__all__ if callable(getattr(module, name))]
    assert [name for name in public if hook("public").home(module, name) not in documented] == []


def test_docstrings_become_markdown():
    pytest.importorskip("griffe")
    as_markdown = hook("docstrings").as_markdown
    assert as_markdown(".. math:: a = b\n\nwith :math:`c`.") == "\n$$\na = b\n$$\n\n\nwith $c$."
    assert "aligned" in as_markdown(".. math::\n    a &= b \\\\\n    c &= d\n\nend")
    assert as_markdown("See\n\n>>> 1\n1\n\nend") == "See\n\n```pycon\n>>> 1\n1\n```\n\nend"


def test_links_out_of_the_pages_become_names():
    pytest.importorskip("latex2mathml")
    change = hook("pages").on_page_markdown
    assert change("![c](../results/a.png)") == "![c](results/a.png)"
    assert (
        change("[a](../examples/a.py), [b](../guide.md#x), [c](d.md)") == "`a`, [b](../guide.md#x), [c](d.md)"
    )


def test_every_package_is_in_the_list_of_public_names(site):
    listed = hook("public").PACKAGES
    packages = {path.parent.name for path in (ROOT / "src" / "ehnn").glob("[a-z]*/__init__.py")} - {"cli"}
    assert {f"ehnn.{package}" for package in packages} <= set(listed)
    text = (site / "api" / "index.html").read_text(encoding="utf-8")
    assert "<code>NodeClassifier</code>" in text
    assert "<code>assert_equivariant</code>" in text
