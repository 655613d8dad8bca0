"""Runs the Python blocks of a Markdown file and checks what they say comes out.

The blocks of a file run in order in one namespace. A statement whose last line ends in ``# → text`` must
be an expression that gives ``text``: what it prints if it prints, else its `repr`, or ``Error: message`` if
it raises. Lines ``# → …`` right below carry on. ``...`` in the text stands for anything.

Where asked for, shell blocks run too, between the Python blocks: their lines that begin with ``ehnn``,
in this process.
"""

import ast
import contextlib
import doctest
import io
import re
import shlex
from pathlib import Path
from typing import Any, NamedTuple

FENCE = re.compile(r"^```(python|sh)[ \t]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
ARROW = re.compile(r"#\s*→ ?(.*)$")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Block(NamedTuple):
    line: int  # of the file, before the first line of the code
    code: str
    language: str = "python"


def blocks(text: str, shell: bool = False) -> list[Block]:
    """The Python blocks, and the shell blocks if asked for, in order."""
    found = [Block(text[: m.start(2)].count("\n"), m[2], m[1]) for m in FENCE.finditer(text)]
    return [block for block in found if shell or block.language == "python"]


def run_file(path: Path, shell: bool = False) -> int:
    """Run the blocks of a file; returns how many outputs were compared."""
    namespace: dict[str, Any] = {"__name__": path.stem}
    found = blocks(path.read_text(encoding="utf-8"), shell)
    return sum(_run(block, namespace, str(path)) for block in found)


def _run(block: Block, namespace: dict[str, Any], name: str) -> int:
    if block.language == "python":
        return run_block(block, namespace, name)
    run_commands(block, name)
    return 0


def run_commands(block: Block, name: str = "block") -> None:
    """Run the ``ehnn`` commands of a shell block; each must end with code 0."""
    from ehnn.cli import main

    for command in block.code.replace("\\\n", " ").splitlines():
        words = shlex.split(command, comments=True)
        if words[:1] != ["ehnn"]:
            continue
        try:
            main(words[1:])
        except SystemExit as left:
            if left.code:
                raise AssertionError(
                    f"{name}, after line {block.line}: {command!r} ends with {left.code}"
                ) from left


def run_block(block: Block, namespace: dict[str, Any], name: str = "block") -> int:
    lines = block.code.splitlines()
    compared, arrows = 0, {i for i, line in enumerate(lines, 1) if ARROW.search(line)}
    for statement in ast.parse(block.code, name).body:
        end = statement.end_lineno or statement.lineno
        shown = expected(lines, end)
        arrows -= set(shown)
        ast.increment_lineno(statement, block.line)
        found = outcome(statement, namespace, name, bool(shown))
        said = "\n".join(shown.values())
        if shown and not doctest.OutputChecker().check_output(f"{said}\n", f"{found}\n", FLAGS):
            raise AssertionError(f"{name}, line {block.line + end}: says {said!r}, got {found!r}")
        compared += bool(shown)
    if arrows:
        raise AssertionError(
            f"{name}, line {block.line + min(arrows)}: an output that belongs to no statement"
        )
    return compared


def expected(lines: list[str], end: int) -> dict[int, str]:
    """The output shown for a statement whose last line has number ``end``, by line number."""
    last = ARROW.search(lines[end - 1])
    shown = {} if last is None else {end: last[1]}
    for number, line in enumerate(lines[end:], end + 1):
        match = ARROW.match(line)
        if match is None:
            break
        shown[number] = match[1]
    return shown


def outcome(statement: ast.stmt, namespace: dict[str, Any], name: str, shown: bool) -> str:
    if not shown:
        exec(compile(ast.Module([statement], []), name, "exec"), namespace)
        return ""
    if not isinstance(statement, ast.Expr):
        raise AssertionError(f"{name}, line {statement.lineno}: only an expression can show an output")
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            value = eval(compile(ast.Expression(statement.value), name, "eval"), namespace)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return printed.getvalue().rstrip("\n") if printed.getvalue() else repr(value)
