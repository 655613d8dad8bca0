"""What the site does to pages: formulas become MathML, links out of docs/ become plain names.

Pictures in ``results/`` are copied into the site.
"""

from __future__ import annotations

import html
import re
import unicodedata
from functools import cache
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.structure.files import File, Files

RESULTS = Path(__file__).parents[2] / "results"
PICTURE = re.compile(r"(!\[[^\]]*\]\()\.\./results/")
OUTSIDE = re.compile(r"\[([^\]]+)\]\(\.\./(?!api/|tasks/|\w[\w-]*\.md)[^)]*\)")
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)
STYLED = re.compile(r'<(m[in]) mathvariant="(bold|double-struck|script)">(\w)</\1>')


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Add the pictures of ``results/``."""
    for path in sorted(RESULTS.glob("*.png")):
        files.append(File.generated(config, f"results/{path.name}", abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Files of the repository that are neither pages nor pictures are named, not linked."""
    markdown = PICTURE.sub(r"\1results/", markdown)
    return OUTSIDE.sub(lambda m: m[1] if m[1].startswith("`") else f"`{m[1]}`", markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Browsers draw MathML themselves: no script has to be loaded for it."""
    return FORMULA.sub(lambda m: mathml(m[3], block=m[2] == "["), html)


@cache
def mathml(escaped: str, block: bool) -> str:
    """MathML of a formula in LaTeX, given with HTML entities."""
    found = convert(html.unescape(escaped).strip(), display="block" if block else "inline")
    return STYLED.sub(lambda m: f"<{m[1]}>{styled(m[3], m[2])}</{m[1]}>", found)


def styled(letter: str, style: str) -> str:
    """A bold, blackboard or script letter as its own character: browsers no longer read the attribute."""
    name = unicodedata.name(letter).replace("LATIN ", "").replace("LETTER ", "")
    for prefix in (f"MATHEMATICAL {style} ", f"{style} "):
        try:
            return unicodedata.lookup((prefix + name).upper())
        except KeyError:
            continue
    return letter
