"""C kernels of a CPU, compiled when first used by the compiler of the machine, if it has one.

The library is kept in ``$XDG_CACHE_HOME/ehnn/kernels`` (by default in ``~/.cache``), under a name that
changes with the source, the options and the processor. ``EHNN_COMPILER`` names the compiler; empty, none is
used. Without a compiler the operations run in PyTorch.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import torch

OPTIONS = ("-O3", "-march=native", "-fno-math-errno", "-fPIC", "-shared")
REALS = {torch.float32: "float", torch.float64: "double"}


@cache
def library(name: str, dtype: torch.dtype) -> ctypes.CDLL | None:
    """The compiled ``name.c`` for one dtype; None if there is no compiler, or it fails."""
    compiler = _compiler()
    if compiler is None or dtype not in REALS:
        return None
    source = Path(__file__).with_name(f"{name}.c")
    told = [*OPTIONS, f"-DREAL={REALS[dtype]}"]
    key = "\n".join([*_sources(), compiler, *told, _processor()])
    try:
        path = _folder() / f"{name}-{hashlib.sha256(key.encode()).hexdigest()[:24]}.so"
        if not path.exists():
            _build([compiler, *told], source, path)
        return ctypes.CDLL(str(path))
    except (OSError, RuntimeError, subprocess.SubprocessError):
        # A machine without it, or without a home to keep it in, is a slower one, not a broken one.
        return None


def _sources() -> list[str]:
    """All sources, since they include each other."""
    paths = (p for p in Path(__file__).parent.iterdir() if p.suffix in (".c", ".h"))
    return [p.read_text("utf-8") for p in sorted(paths)]


def _compiler() -> str | None:
    named = os.environ.get("EHNN_COMPILER")
    return shutil.which(named) if named is not None else shutil.which("gcc") or shutil.which("clang")


def _folder() -> Path:
    """The folder for libraries; that of another user is not trusted."""
    root = Path(os.environ.get("XDG_CACHE_HOME", ""))
    folder = (root if root.is_absolute() else Path.home() / ".cache") / "ehnn" / "kernels"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if hasattr(os, "getuid") and folder.stat().st_uid != os.getuid():
        raise PermissionError(f"{folder} belongs to another user")
    return folder


def _build(command: list[str], source: Path, path: Path) -> None:
    with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
        made = Path(scratch) / path.name
        subprocess.run([*command, "-o", made, source, "-lm"], check=True, capture_output=True, timeout=120)
        os.replace(made, path)  # processes that build at the same time replace each other's, all the same


def _processor() -> str:
    """What ``-march=native`` stands for: a folder may be shared by several machines."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()} {platform.node()}"
    return "\n".join(
        sorted({s for s in lines if s.startswith(("model name", "flags", "Features", "CPU part"))})
    )
