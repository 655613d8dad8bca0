"""HTML and SVG as values. Text is escaped unless it is `Markup`, so a label cannot become code."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

VOID = frozenset({"meta", "input"})
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


class Markup(str):
    """Text that is HTML or SVG; nothing else goes into a page without being escaped."""

    __slots__ = ()


def escape(value: object) -> Markup:
    """``value`` as text of a page, also inside a quoted attribute.

    >>> escape('<script>alert("1")</script>')
    '&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;'
    """
    if isinstance(value, Markup):
        return value
    plain = str(value).encode("utf-8", "replace").decode("utf-8")  # a lone surrogate cannot be written
    return Markup(html.escape(_CONTROL.sub("\N{REPLACEMENT CHARACTER}", plain)))


def join(parts: Iterable[object]) -> Markup:
    """Parts one after another; None is nothing."""
    return Markup("".join(escape(part) for part in parts if part is not None))


def tag(name: str, /, *children: object, **attributes: object) -> Markup:
    """An element. ``class_`` is the attribute class, ``data_run`` is data-run; None and False are left out.

    >>> tag("p", "a < b", class_="note", hidden=True, title=None)
    '<p class="note" hidden>a &lt; b</p>'
    """
    written = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in VOID:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{join(children)}</{name}>")


def _attribute(key: str, value: object) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(value)}"'


def shorten(text: str, width: int) -> str:
    """At most ``width`` characters; what is left out is in the middle, as names often differ at their ends.

    >>> shorten("class number 12", 10)
    'class…r 12'
    """
    if len(text) <= width:
        return text
    end = (width - 1) // 2
    return f"{text[: width - 1 - end]}…{text[-end:]}"
