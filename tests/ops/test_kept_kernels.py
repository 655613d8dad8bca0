"""Kept C kernels: who may write them, when they are built again, what a bad compiler does."""

import ctypes
import errno
import os
import shutil
import time
import warnings
from pathlib import Path

import pytest
import torch

from ehnn.ops._native import compiled
from ehnn.ops._native.compiled import library

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")

COMPILER = """#!/bin/sh
case "$1" in --version) echo "{version}"; exit 0;; esac
echo built >> "{log}"
exec gcc -O0 -fPIC -shared "$@"
"""


@pytest.fixture
def kernels(tmp_path, monkeypatch):
    """A cache folder and a compiler of the test's own, beside a source that is quick to build."""
    home = tmp_path / "sources"
    home.mkdir()
    (home / "vectors.h").write_text("#define ANSWER 42\n")
    (home / "tiny.c").write_text('#include "vectors.h"\nint answer(void) { return ANSWER; }\n')
    monkeypatch.setattr(compiled, "OPERATIONS", home)
    monkeypatch.setattr(compiled, "OPTIONS", ())
    monkeypatch.setattr(compiled, "_given_up", set())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    compiled._version.cache_clear()
    make_compiler(tmp_path)
    monkeypatch.setenv("EHNN_COMPILER", str(tmp_path / "cc"))
    yield tmp_path
    compiled._version.cache_clear()


def make_compiler(folder, text=COMPILER, version="1"):
    path = folder / "cc"
    path.write_text(text.format(version=version, log=folder / "log"))
    path.chmod(0o755)
    compiled._version.cache_clear()


def builds(folder) -> int:
    log = folder / "log"
    return len(log.read_text().splitlines()) if log.exists() else 0


def load():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return library.__wrapped__("tiny", torch.float32)


def answer() -> int:
    return load().answer()


def kept(folder):
    return sorted((folder / "cache" / "ehnn" / "kernels").iterdir())


def test_a_library_is_built_once_and_nothing_else_is_left(kernels):
    assert (answer(), answer()) == (42, 42)
    assert builds(kernels) == 1
    (path,) = kept(kernels)
    assert path.suffix == ".so"


@pytest.mark.parametrize(
    "change",
    [
        lambda home, monkeypatch: (home / "sources" / "vectors.h").write_text("#define ANSWER 43\n"),
        lambda home, monkeypatch: (home / "sources" / "tiny.c").write_text("int answer(void) {return 44;}\n"),
        lambda home, monkeypatch: make_compiler(home, version="2"),
        lambda home, monkeypatch: monkeypatch.setattr(compiled, "OPTIONS", ("-g",)),
        lambda home, monkeypatch: monkeypatch.setattr(compiled, "_processor", lambda: "flags: avx512"),
    ],
    ids=["header", "source", "compiler", "options", "processor"],
)
def test_a_change_builds_it_again(kernels, monkeypatch, change):
    load()
    change(kernels, monkeypatch)
    load()
    assert builds(kernels) == 2


@pytest.mark.parametrize("damage", ["truncated", "empty", "flipped"])
def test_a_damaged_library_is_built_again(kernels, damage):
    path = compiled._kept(str(kernels / "cc"), "tiny", "-DREAL=float")  # not loaded: the file will change
    data = path.read_bytes()
    flipped = data[:1000] + bytes([data[1000] ^ 1]) + data[1001:]
    path.write_bytes({"truncated": data[: len(data) // 2], "empty": b"", "flipped": flipped}[damage])
    assert answer() == 42
    assert builds(kernels) == 2
    assert len(kept(kernels)) == 1


@pytest.mark.parametrize("place", [".", "ehnn", "ehnn/kernels"])
@pytest.mark.parametrize("mode", [0o777, 0o772])
def test_a_folder_that_others_can_write_is_refused(kernels, place, mode):
    load()
    (kernels / "cache" / place).chmod(mode)
    with pytest.warns(UserWarning, match=r"slower: .*can be written by other users \(mode 77[27]\)"):
        assert library.__wrapped__("tiny", torch.float32) is None


def test_a_group_may_write_if_it_is_the_users_own(kernels, monkeypatch):
    load()
    (kernels / "cache").chmod(0o770)
    monkeypatch.setattr(compiled, "_own_group", lambda group: False)
    assert load() is None
    monkeypatch.setattr(compiled, "_own_group", lambda group: True)
    compiled._given_up.clear()
    assert answer() == 42


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="gives a folder to another user")
@pytest.mark.parametrize("place", ["ehnn", "ehnn/kernels"])
def test_a_folder_of_another_user_is_refused(kernels, place):
    load()
    os.chown(kernels / "cache" / place, 12345, -1)
    with pytest.warns(UserWarning, match="belongs to another user"):
        assert library.__wrapped__("tiny", torch.float32) is None


def test_a_sticky_parent_is_accepted(kernels):
    (kernels / "cache").mkdir()
    (kernels / "cache").chmod(0o1777)
    assert answer() == 42


def test_a_compiler_that_hangs_is_stopped_with_its_processes_and_not_asked_again(kernels, monkeypatch):
    make_compiler(kernels, '#!/bin/sh\nsleep 60 &\necho $! > "{log}"\nwait\n')
    monkeypatch.setattr(compiled, "LIMIT_S", 0.3)
    start = time.perf_counter()
    with pytest.warns(UserWarning, match=r"cc took longer than 0.3 seconds") as seen:
        found = [library.__wrapped__("tiny", dtype) for dtype in compiled.REALS]
    assert found == [None, None]
    assert len(seen) == 1
    assert time.perf_counter() - start < 5
    child = int((kernels / "log").read_text())
    ends_by = time.monotonic() + 5
    while alive(child) and time.monotonic() < ends_by:
        time.sleep(0.02)
    assert not alive(child)


def alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.parametrize("why", ["read-only", "noexec"])
def test_a_home_that_cannot_be_used_costs_speed_and_one_warning(kernels, monkeypatch, why):
    if why == "read-only":  # root may write to a folder that is

        def refuse(*args, **kwargs):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(kernels))

        monkeypatch.setattr(Path, "mkdir", refuse)
    else:

        def refuse(path):
            raise OSError(f"{path}: failed to map segment from shared object")

        monkeypatch.setattr(ctypes, "CDLL", refuse)
    message = {"read-only": "Read-only file system", "noexec": "failed to map segment"}[why]
    with pytest.warns(UserWarning, match=rf"slower: .*{message}") as seen:
        found = [library.__wrapped__("tiny", dtype) for dtype in compiled.REALS]
    assert found == [None, None]
    assert len(seen) == 1


def test_a_compiler_that_fails_is_named_with_its_error(kernels):
    (kernels / "sources" / "tiny.c").write_text("int answer(void) { return\n")
    with pytest.warns(UserWarning, match=r"cc failed with status 1: .*tiny\.c"):
        assert library.__wrapped__("tiny", torch.float32) is None
    assert kept(kernels) == []


def test_scratch_folders_of_killed_builds_are_removed_when_old(kernels):
    load()
    old, young = (kernels / "cache" / "ehnn" / "kernels" / f".build-{n}" for n in ("old", "young"))
    for folder in (old, young):
        folder.mkdir()
    os.utime(old, (1, 1))
    make_compiler(kernels, version="2")
    load()
    assert not old.exists()
    assert young.exists()


def test_a_reader_never_sees_half_a_library(kernels, monkeypatch):
    """The library has its name only once it is whole: in another folder before."""
    seen = []
    replace = os.replace

    def watch(source, target):
        seen.append((os.path.dirname(source) != os.path.dirname(target), os.path.exists(target)))
        ctypes.CDLL(str(source))
        replace(source, target)

    monkeypatch.setattr(os, "replace", watch)
    load()
    assert seen == [(True, False)]
