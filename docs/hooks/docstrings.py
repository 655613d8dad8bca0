"""Docstrings are written for `help()`; this makes Markdown of their formulas and examples."""

from __future__ import annotations

import re
from itertools import groupby
from textwrap import dedent
from typing import Any

import griffe

DIRECTIVE = re.compile(r"^( *)\.\. math::(.*(?:\n\1 +\S.*)*)", re.MULTILINE)
INLINE = re.compile(r":math:`([^`]+)`")


class Docstrings(griffe.Extension):
    """Applied to every object that has a docstring."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)


def as_markdown(text: str) -> str:
    """``.. math::`` as ``$$``, ``:math:`x` `` as ``$x$``, and interactive examples as code."""
    text = INLINE.sub(r"$\1$", DIRECTIVE.sub(_formula, text))
    return "\n".join(_fenced(text.splitlines()))


def _formula(match: re.Match[str]) -> str:
    """Aligned where it has ``&``, on lines of its own."""
    formula = dedent(match[2]).strip()
    if "&" in formula:
        formula = rf"\begin{{aligned}}{formula}\end{{aligned}}"
    lines = ["", "$$", *formula.splitlines(), "$$", ""]
    return "\n".join(match[1] + line for line in lines)


def _fenced(lines: list[str]) -> list[str]:
    """Paragraphs that begin with ``>>>``, between fences."""
    found: list[str] = []
    for blank, group in groupby(lines, lambda line: not line.strip()):
        paragraph = list(group)
        indent = paragraph[0][: len(paragraph[0]) - len(paragraph[0].lstrip())]
        code = not blank and paragraph[0].lstrip().startswith(">>>")
        found += [f"{indent}```pycon", *paragraph, f"{indent}```"] if code else paragraph
    return found
