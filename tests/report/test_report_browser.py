"""The page in a real browser: it renders, its controls work, it fits, it can be read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ehnn.report import write_report

from .browser import Browser
from .conftest import hostile, put

WIDTHS, THEMES = (375, 760, 1280), ("light", "dark")


@pytest.fixture(scope="module")
def pages(runs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    odd = put(
        folder / "a-run-with-a-name-that-is-much-too-long-for-a-phone-and-has-no-place-to-break", hostile()
    )
    names = [f"class {i}" for i in range(30)]
    large = {
        "labels": names, "task": "nodes", "model": "hgnn",
        "data": {"nodes": 10**7, "orders": {k: 10**6 // k**2 + 1 for k in range(1, 400)}},
        "test": {
            "confusion": [[9 * (i == j) + (i == j + 1) for j in range(30)] for i in range(30)],
            "per_class": {name: [i, 30] for i, name in enumerate(names)},
        },
    }  # fmt: skip
    given = {"one": runs[:1], "two": runs, "odd": [odd], "large": [put(folder / "large", large)]}
    given["all"] = [*runs, odd, folder / "large"]
    return {name: write_report(some, folder / f"{name}.html") for name, some in given.items()}


@pytest.mark.parametrize("name", ["one", "two", "odd", "large", "all"])
@pytest.mark.parametrize("width", WIDTHS)
def test_renders_and_fits(browser: Browser, pages: dict[str, Path], name: str, width: int) -> None:
    browser.open(pages[name], width)
    assert browser.complaints() == []
    assert browser.requests() == [pages[name].as_uri()]
    assert browser.js("window.pwned") is None
    assert browser.js("document.documentElement.scrollWidth") <= width
    assert browser.probe("outside()") == []
    assert browser.probe("clipped()") == []


# ---------------------------------------------------------------------- themes


@pytest.mark.parametrize("scheme", THEMES)
@pytest.mark.parametrize("name", ["one", "two", "odd"])
def test_both_themes_can_be_read(browser: Browser, pages: dict[str, Path], scheme: str, name: str) -> None:
    """WCAG AA: 4.5 for text, 3 for what is drawn."""
    browser.open(pages[name], scheme=scheme)
    dark = browser.js("getComputedStyle(document.body).backgroundColor") == "rgb(15, 19, 25)"
    assert dark == (scheme == "dark")
    found = browser.probe("contrast()")
    assert found["count"] > 60
    assert found["text"][0] >= 4.5, found
    assert found["mark"][0] >= 3, found


@pytest.mark.parametrize("scheme", THEMES)
def test_the_theme_button(browser: Browser, pages: dict[str, Path], scheme: str) -> None:
    browser.open(pages["one"], scheme=scheme)
    browser.js("localStorage.removeItem('ehnn-theme')")
    browser.open(pages["one"], scheme=scheme)
    back = "getComputedStyle(document.body).backgroundColor"
    first, other = browser.js(back), "Light" if scheme == "dark" else "Dark"
    assert browser.js("document.getElementById('theme').textContent") == other
    browser.pointer("#theme", click=True)
    second = browser.js(back)
    assert second != first
    assert browser.probe("contrast()")["text"][0] >= 4.5
    browser.open(pages["one"], scheme=scheme)
    assert browser.js(back) == second  # kept for the next visit
    browser.js("document.getElementById('theme').focus()")
    browser.key("Enter", 13, "\r")
    assert browser.js(back) == first
    browser.js("localStorage.removeItem('ehnn-theme')")


# ---------------------------------------------------------------------- controls


def shown(browser: Browser, selector: str) -> int:
    """How many of these elements can be seen."""
    return browser.probe(f"shown({selector!r})")


@pytest.mark.parametrize(
    ("group", "first", "second"),
    [("loss-0", "linear", "log"), ("confusion-0", "counts", "percent"), ("network-0", "hulls", "stars"),
     ("attention-0-1", "meeting", "all")],
)  # fmt: skip
def test_switches(browser: Browser, pages: dict[str, Path], group: str, first: str, second: str) -> None:
    browser.open(pages["one"])
    figure = f"figure:has(input[name={group}])"
    before = shown(browser, f"{figure} [data-view={first}]")
    assert before > 0
    assert shown(browser, f"{figure} [data-view={second}]") == 0
    browser.pointer(f"input[name={group}][value={second}]", click=True)
    assert shown(browser, f"{figure} [data-view={first}]") == 0
    assert shown(browser, f"{figure} [data-view={second}]") > 0
    browser.js(f"document.querySelector('input[name={group}]:checked').focus()")
    browser.key("ArrowLeft", 37)
    assert shown(browser, f"{figure} [data-view={first}]") == before


def test_percentages_are_shares_of_rows(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["one"])
    counts: list[list[int]] = browser.probe("cells()")
    browser.pointer("input[name=confusion-0][value=percent]", click=True)
    for row, shares in zip(counts, browser.probe("cells()"), strict=True):
        assert shares == [pytest.approx(100 * count / sum(row), abs=0.51) for count in row]


def test_runs_can_be_hidden(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["two"])
    assert shown(browser, "[data-run='0']") > 5
    browser.pointer("[data-shows='0']", click=True)
    assert shown(browser, "[data-run='0']") == 0
    assert shown(browser, "[data-run='1']") > 5
    browser.js("document.querySelector('[data-shows=\"0\"]').focus()")
    browser.key(" ", 32, " ")
    assert shown(browser, "[data-run='0']") > 5


def test_curves_are_read_with_pointer_and_keys(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["two"])
    browser.pointer("figure[data-lines] svg.lines", x=0.97)
    tip = "document.querySelector('figure[data-lines] .tip')"
    assert browser.js(f"{tip}.textContent").startswith("epoch 6")
    assert browser.js(f"{tip}.querySelectorAll('.swatch').length") == 2
    assert browser.js("document.querySelectorAll('figure[data-lines] .cursor')[0].children.length") == 3
    browser.pointer("h1")
    assert browser.js(f"{tip}.hidden")
    browser.js("document.querySelector('svg.lines').focus()")
    keys = {"Home": (36, 1), "ArrowRight": (39, 2), "End": (35, 6), "ArrowLeft": (37, 5)}
    for key, (code, epoch) in keys.items():
        browser.key(key, code)
        assert browser.js(f"{tip}.querySelector('b').textContent") == f"epoch {epoch}"
    browser.key("Escape", 27)
    assert browser.js(f"{tip}.hidden")
    assert browser.complaints() == []


def test_everything_that_can_be_used_has_a_name(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["all"])
    nodes: list[dict[str, Any]] = browser.call("Accessibility.getFullAXTree")["nodes"]
    roles = {"button", "radio", "checkbox", "link", "img", "image", "region", "radiogroup", "navigation"}
    named = [node for node in nodes if not node["ignored"] and node.get("role", {}).get("value") in roles]
    assert {node["role"]["value"] for node in named} >= {"button", "radio", "checkbox", "link", "region"}
    assert [node for node in named if not node.get("name", {}).get("value")] == []


def test_it_says_something_without_scripts(browser: Browser, pages: dict[str, Path]) -> None:
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(pages["one"])
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)
    assert shown(browser, "svg.lines .curve") == 2
    assert shown(browser, ".confusion td span") == 9
