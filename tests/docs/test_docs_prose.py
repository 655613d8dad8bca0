"""Pages are easy to read: short paragraphs, a short README, and every parameter of an estimator explained."""

import dataclasses
import importlib.util
import inspect
import re
from pathlib import Path

import pytest

from ehnn import estimators

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
GUIDES = [
    page
    for page in [*sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "tasks").glob("*.md"))]
    if page.stem != "robustness"  # for reference
]
WORDS = 80
ESTIMATORS = [name for name in estimators.__all__ if dataclasses.is_dataclass(getattr(estimators, name))]


def paragraphs(text):
    """Paragraphs and items of lists, without code, formulas, tables and headings."""
    text = re.sub(r"^```.*?^```[ \t]*$", "\n", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^\$\$.*?\$\$$", "\n", text, flags=re.MULTILINE | re.DOTALL)
    parts = re.split(r"\n\s*\n|\n(?=\s*[-*] |\s*\d+\. |\||#)", text)
    return [part for part in parts if part.strip() and not part.lstrip().startswith(("|", "#", "<!--"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_paragraphs_are_short(page):
    long = [p for p in paragraphs(page.read_text(encoding="utf-8")) if len(p.split()) > WORDS]
    assert [f"{len(p.split())} words: {p[:60]}" for p in long] == []


@pytest.mark.parametrize("page", GUIDES, ids=lambda p: p.stem)
def test_a_guide_says_where_to_go_next(page):
    *_, last = page.read_text(encoding="utf-8").split("\n## ")
    assert last.startswith(("Next\n", "Where to go\n"))
    assert "](" in last


def test_paragraphs_are_told_apart():
    text = "# a\n\none two\nthree\n\n- four\n- five\n\n| six |\n\n```\nseven\n```\n\n$$\neight\n$$\n"
    assert [part.split() for part in paragraphs(text)] == [
        ["one", "two", "three"],
        ["-", "four"],
        ["-", "five"],
    ]


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_parameter_is_documented(name):
    kind = getattr(estimators, name)
    text = "\n".join(base.__doc__ or "" for base in kind.__mro__)
    fields = [field.name for field in dataclasses.fields(kind)]
    assert [
        f for f in fields if not re.search(rf"^\s+([\w, ]+, )?{f}(, [\w, ]+)?:", text, re.MULTILINE)
    ] == []


def public():
    spec = importlib.util.spec_from_file_location("docs_public", ROOT / "docs" / "hooks" / "public.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def text_of(value):
    return "\n".join(one.__doc__ or "" for one in (value.__mro__ if inspect.isclass(value) else [value]))


def test_the_names_that_most_programs_need_have_examples():
    listed = [(package, name) for package, names in public().MAIN.values() for name in names.split()]
    assert 35 <= len(listed) <= 50
    values = [getattr(importlib.import_module(package), name) for package, name in listed]
    assert [value.__name__ for value in values if ">>>" not in text_of(value)] == []


def test_pages_import_public_names_only():
    known = {package: set(public().names(importlib.import_module(package))) for package in public().PACKAGES}
    found = [
        (page.name, package, name)
        for page in [*PAGES, *(ROOT / "examples").glob("*.py")]
        for package, names in re.findall(r"^from (ehnn[\w.]*) import (.+)$", page.read_text(), re.MULTILINE)
        for name in re.findall(r"\w+", names.partition("#")[0])
        if not package.startswith("ehnn_paper")
    ]
    modules = {package.rpartition(".")[::2] for package in known}
    wrong = [one for one in found if one[2] not in known.get(one[1], set()) and one[1:] not in modules]
    assert len(found) > 10
    assert wrong == []
