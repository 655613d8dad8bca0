"""C kernels of a CPU, compiled when first used by the compiler of the machine, if it has one.

The library is kept in ``$XDG_CACHE_HOME/ehnn/kernels`` (by default in ``~/.cache``). Its name has a key,
which changes with the sources, the compiler, its options and the processor, and the checksum of its contents.
``EHNN_COMPILER`` names the compiler; empty, none is used. Without a compiler the operations run in PyTorch.
They do too where the compiler fails or the folder cannot be trusted, and one warning says why.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shutil
import signal
import stat
import subprocess
import tempfile
import time
import warnings
from functools import cache
from pathlib import Path

import torch

OPERATIONS = Path(__file__).resolve().parents[1]
"""The folder that holds the sources, each beside its operation."""
OPTIONS = ("-O3", "-march=native", "-fno-math-errno", "-fPIC", "-shared")
REALS = {torch.float32: "float", torch.float64: "double"}
LIMIT_S = 60.0
"""Seconds that the compiler may take for one library."""
_SCRATCH, _ABANDONED_S = ".build-", 3600.0
_given_up: set[str] = set()
"""Compilers that failed in this process: none of them is asked again."""


@cache
def library(name: str, dtype: torch.dtype) -> ctypes.CDLL | None:
    """The compiled ``name.c`` for one dtype; None if there is no compiler, or it fails."""
    compiler = _compiler()
    if compiler is None:
        _warn_once_without_compiler()
    if compiler is None or compiler in _given_up or dtype not in REALS:
        return None
    try:
        return ctypes.CDLL(str(_kept(compiler, name, f"-DREAL={REALS[dtype]}")))
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        # A machine without it, or without a home to keep it in, is a slower one, not a broken one.
        _given_up.add(compiler)
        warnings.warn(
            f"the C kernels cannot be used, so operations on a CPU are slower: {_reason(error)}", stacklevel=2
        )
        return None


def missing(name: str, dtype: torch.dtype) -> str | None:
    """Why there is no compiled ``name.c`` for a dtype; None if there is."""
    if dtype not in REALS:
        return f"the C kernel takes float32 and float64, not {dtype}"
    if library(name, dtype) is not None:
        return None
    return "there is no C compiler" if _compiler() is None else "the C kernel could not be built or loaded"


def _warn_once_without_compiler() -> None:
    """No warning if none is wanted (``EHNN_COMPILER=``), or on Windows."""
    if "EHNN_COMPILER" in os.environ or os.name == "nt" or "" in _given_up:
        return
    _given_up.add("")
    warnings.warn(
        "no C compiler was found, so layers on a CPU are two to three times slower; install gcc or clang, "
        "name one in EHNN_COMPILER, or set EHNN_COMPILER= (empty) to run without one",
        stacklevel=3,
    )


def _reason(error: Exception) -> str:
    if isinstance(error, subprocess.TimeoutExpired):
        return f"{error.cmd[0]} took longer than {error.timeout:g} seconds"
    if isinstance(error, subprocess.CalledProcessError):
        said = error.stderr.decode(errors="replace").strip().partition("\n")[0][:200]
        return f"{error.cmd[0]} failed with status {error.returncode}{': ' if said else ''}{said}"
    return str(error)


def _kept(compiler: str, name: str, define: str) -> Path:
    """The library of these sources, compiler, options and processor; built if there is no undamaged one."""
    options = [*OPTIONS, define]
    key = "\n".join([*_sources(), compiler, _version(compiler), *options, _processor()])
    folder, stem = _folder(), f"{name}-{hashlib.sha256(key.encode()).hexdigest()[:24]}"
    for path in sorted(folder.glob(f"{stem}-*.so")):
        if path.name == f"{stem}-{_checksum(path)}.so":
            return path
        path.unlink(missing_ok=True)
    (source,) = OPERATIONS.rglob(f"{name}.c")
    return _build([compiler, *options], source, folder, stem)


def _sources() -> list[str]:
    """All sources, since they include each other."""
    paths = (p for p in OPERATIONS.rglob("*") if p.suffix in (".c", ".h"))
    return [p.read_text("utf-8") for p in sorted(paths)]


def _compiler() -> str | None:
    named = os.environ.get("EHNN_COMPILER")
    return shutil.which(named) if named is not None else shutil.which("gcc") or shutil.which("clang")


@cache
def _version(compiler: str) -> str:
    return _run([compiler, "--version"]).decode(errors="replace")


def _checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:24]


# ---------------------------------------------------------------------- the folder


def _folder() -> Path:
    """The folder for libraries; a PermissionError if another user could put one there."""
    root = Path(os.environ.get("XDG_CACHE_HOME", ""))
    folder = (root if root.is_absolute() else Path.home() / ".cache") / "ehnn" / "kernels"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = folder.resolve()
    if hasattr(os, "getuid"):
        for place in (folder, *folder.parents):
            _check_owner(place, shared=place != folder)
    return folder


def _check_owner(folder: Path, shared: bool) -> None:
    """Only its user may write to a folder; a ``shared`` parent may be root's, or open to all but sticky."""
    about = folder.stat()
    if about.st_uid != os.getuid() and not (shared and about.st_uid == 0):
        raise PermissionError(f"{folder} belongs to another user")
    open_to = about.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if open_to == stat.S_IWGRP and _own_group(about.st_gid):
        return
    if open_to and not (shared and about.st_mode & stat.S_ISVTX):
        raise PermissionError(f"{folder} can be written by other users (mode {about.st_mode & 0o7777:o})")


def _own_group(group: int) -> bool:
    """Whether a group is the private one of this user, of which nobody else is a member."""
    import grp
    import pwd

    try:
        me, members = pwd.getpwuid(os.getuid()), grp.getgrgid(group).gr_mem
    except KeyError:
        return False
    return me.pw_gid == group and set(members) <= {me.pw_name} and grp.getgrgid(group).gr_name == me.pw_name


# ---------------------------------------------------------------------- the compiler


def _build(command: list[str], source: Path, folder: Path, stem: str) -> Path:
    """Compile in a scratch folder, then rename: another process sees the whole library or none."""
    for old in folder.glob(f"{_SCRATCH}*"):  # of a process that was killed
        if time.time() - old.stat().st_mtime > _ABANDONED_S:
            shutil.rmtree(old, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=_SCRATCH) as scratch:
        made = Path(scratch) / f"{stem}.so"
        _run([*command, "-o", str(made), str(source), "-lm"])
        path = folder / f"{stem}-{_checksum(made)}.so"
        os.replace(made, path)
    return path


def _run(command: list[str]) -> bytes:
    """What a command prints; it and the processes it started are killed at the limit."""
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        try:
            out, err = process.communicate(timeout=LIMIT_S)
        except BaseException:
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            process.kill()
            raise
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command, out, err)
    return out


def _processor() -> str:
    """The processor that ``-march=native`` selects, because several machines may share a folder."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()} {platform.node()}"
    return "\n".join(
        sorted({s for s in lines if s.startswith(("model name", "flags", "Features", "CPU part"))})
    )
