"""The page: one self-contained HTML file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from ehnn._utils.atomic import atomic_write

from . import sections, theme
from .attention_figures import attention_figures
from .compare import comparison
from .explanations import explanation_figures
from .markup import Markup, join, shorten, tag
from .runs import Run, read_runs
from .settings import configuration
from .theme import SERIES

GENERATOR = "ehnn report"


def write_report(
    paths: Iterable[str | os.PathLike[str]], out: str | os.PathLike[str] = "report.html"
) -> Path:
    """Write a page about the runs in some folders, and return its path.

    A page that an earlier call wrote is replaced; any other file at ``out`` is left alone, with a
    ValueError.

    Args:
        paths: folders of runs: from ``ehnn train``, `ehnn.training.fit` or an estimator's ``save``.
        out: the page.

    >>> from ehnn.report import write_run
    >>> _ = write_run("run", model="mine", history=[{"epoch": 1, "loss": 0.7}])
    >>> write_report(["run"], "page.html").name
    'page.html'
    """
    target = Path(out)
    _check_free(target)
    text = render(read_runs(paths))
    target.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(target) as file:
        file.write(text)
    return target


def _check_free(target: Path) -> None:
    if target.is_dir():
        raise ValueError(
            f"{target} is a folder; the report is one file, for example {target / 'report.html'}"
        )
    if target.exists() and f'content="{GENERATOR}'.encode() not in target.read_bytes()[:2000]:
        raise ValueError(f"{target} exists and is not a report of ehnn; choose another file")


def render(runs: Sequence[Run]) -> str:
    """The page about some runs, as text.

    >>> render([Run("mine", model="ehnn-mlp")])[:15]
    '<!doctype html>'
    """
    several = len(runs) > 1
    parts = [_section("compare", "Comparison", comparison(runs))] if several else []
    parts += [_run(run, place, several) for place, run in enumerate(runs)]
    title = _title(runs)
    head = [
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="generator", content=GENERATOR),
        tag("meta", http_equiv="Content-Security-Policy", content=theme.policy()),
        tag("title", title),
        tag("style", Markup(theme.style())),
    ]
    body = [
        tag("a", "Skip to content", href="#main", class_="skip"),
        _header(runs, title),
        tag("main", *parts, id="main"),
        tag("footer", tag("p", "Written by ", tag("code", "ehnn report"), ". This page loads nothing.")),
        tag("script", Markup(theme.script())),
    ]
    page = tag("html", tag("head", *head), tag("body", *body), lang="en")
    return f"<!doctype html>\n{page}\n"


def _title(runs: Sequence[Run]) -> str:
    if len(runs) > 1:
        return f"{len(runs)} runs compared"
    run = runs[0]
    return shorten(" on ".join(part for part in (run.model, run.task) if part) or run.name, 100)


def _header(runs: Sequence[Run], title: str) -> Markup:
    toggle = tag("button", "Dark", type="button", id="theme", aria_label="Use the dark theme")
    top = tag("div", tag("span", _logo(), "ehnn report", class_="brand"), toggle, class_="bar-top")
    below = ", ".join(run.name for run in runs[:4]) + (", …" if len(runs) > 4 else "")
    return tag("header", top, tag("h1", title), tag("p", below, class_="sub") if below != title else None)


def _logo() -> Markup:
    shapes = [
        tag("path", d="M8 8L8 24L20 16Z", class_="hull s0"),
        tag("path", d="M20 16L33 16", class_="hull s1"),
        *(tag("circle", cx=x, cy=y, r=2.4, class_="ink") for x, y in ((8, 8), (8, 24), (20, 16), (33, 16))),
    ]
    return tag("svg", *shapes, viewBox="0 0 41 32", width=36, height=28, aria_hidden="true", class_="logo")


def _run(run: Run, place: int, several: bool) -> Markup:
    settings = configuration(run)
    groups = [
        ("training", "Training", sections.curves(run, place)),
        ("results", "Test results", sections.results(run, place)),
        ("explanations", "Explanations", explanation_figures(run)),
        ("hypergraph", "Hypergraph", sections.structure(run, place)),
        ("attention", "Attention", attention_figures(run, place)),
        ("configuration", "Configuration", [] if settings is None else [settings]),
    ]
    there = [(f"{key}-{place}", title, figures) for key, title, figures in groups if figures]
    heading = tag("h2", tag("span", class_="swatch", aria_hidden="true"), run.name) if several else None
    links = [tag("a", title, href=f"#{key}") for key, title, _ in there]
    menu = tag("nav", *links, aria_label=f"Sections of {run.name}") if len(links) > 1 else None
    return tag(
        "article", heading, sections.notes(run), sections.tiles(run), menu,
        *(_section(key, title, figures) for key, title, figures in there),
        None if there else tag("p", "This run has no results yet."),
        id=f"run-{place}", class_=f"run s{place % SERIES}", data_run=place if several else None,
    )  # fmt: skip


def _section(key: str, title: str, figures: Sequence[Markup]) -> Markup:
    kind = "cards packed" if key.startswith("results") else "cards"  # cards there differ in height
    return tag("section", tag("h3", title), tag("div", join(figures), class_=kind), id=key)
