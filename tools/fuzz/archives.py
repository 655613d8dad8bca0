"""Mutations of archives: members of tar and zip files and their headers, arrays of npz files."""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
import warnings
import zipfile

import numpy as np

from .plain import Random, mutate_bytes, mutate_text

_NAMES = ("../out", "/abs", "a/../../b", "", "a\x00b", "A" * 300, ".", "é", "x" * 99, "con", "a\\b")
_TYPES = (
    tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE,
    tarfile.CONTTYPE, tarfile.GNUTYPE_SPARSE, tarfile.XHDTYPE, b"?",
)  # fmt: skip
_DTYPES = (
    "<i8",
    "<f8",
    "<i4",
    ">i4",
    "<u8",
    "|b1",
    "<f2",
    "<U4",
    "|S3",
    "<c16",
    "<M8[s]",
    "|V0",
    "O",
    "<i9",
    "{",
)


def mutate_tar(data: bytes, rng: Random) -> bytes:
    """One change of a member of a tar file, compressed or not; something else stays as it is."""
    packed = data[:2] == b"\x1f\x8b"
    try:
        members = _tar_members(gzip.decompress(data) if packed else data)
    except (tarfile.TarError, OSError, EOFError, ValueError):
        return data
    if not members:
        return data
    i = rng.randrange(len(members))
    info, body = members[i]
    action = rng.randrange(8)
    if action == 0:
        del members[i]
    elif action == 1:
        members.insert(i, (_renamed(info, rng.choice(_NAMES)), body))
    elif action == 2:
        info.type = rng.choice(_TYPES)
        info.linkname = rng.choice(
            (info.name, "nowhere", "../x", "/etc/passwd", *(m.name for m, _ in members))
        )
    elif action == 3:
        members.insert(i, (_renamed(info, info.name), body))
    elif action == 4:
        members[i] = info, mutate_text(body, rng) if rng.random() < 0.5 else mutate_bytes(body, rng)
    elif action == 5:
        members[i] = info, b"1\n" * rng.choice((0, 1, 100_000, 1_500_000))
    else:
        info.size = -1 - rng.choice((0, 1, 2**20, 2**33, 2**40))  # negative: claimed, not true
    raw = _tar_bytes(members)
    raw = mutate_bytes(raw, rng) if rng.random() < 0.2 else raw
    return gzip.compress(raw, 1, mtime=0) if packed else raw


def _tar_members(data: bytes) -> list[tuple[tarfile.TarInfo, bytes]]:
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        return [(m, found.read() if (found := tar.extractfile(m)) else b"") for m in tar.getmembers()]


def _renamed(info: tarfile.TarInfo, name: str) -> tarfile.TarInfo:
    other = tarfile.TarInfo(name)
    other.type = info.type
    return other


def _tar_bytes(members: list[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    parts = []
    for info, body in members:
        info.size = len(body) if info.size >= 0 else -1 - info.size
        parts += [info.tobuf(tarfile.GNU_FORMAT, errors="surrogateescape"), body, b"\0" * (-len(body) % 512)]
    return b"".join(parts) + b"\0" * 1024


def mutate_npz(data: bytes, rng: Random) -> bytes:
    """One change of an array, of its header or of the zip file around it; something else stays as it is."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
    except (zipfile.BadZipFile, OSError, ValueError, EOFError, NotImplementedError, struct.error):
        return data
    if not members:
        return data
    name = rng.choice(list(members))
    action = rng.randrange(7)
    if action == 0:
        del members[name]
    elif action == 1:
        members[rng.choice(("", "../x.npy", "y.npy", "a", f"{name}x", "A" * 2000))] = members.pop(name)
    elif action == 2:
        members[name] = mutate_bytes(members[name], rng)
    elif action == 3:
        members[name] = _claimed(members[name], rng)
    else:
        members[name] = _other_array(members[name], rng)
    method = rng.choice(
        (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
    )
    found = io.BytesIO()
    with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(found, "w", method) as archive:
        for key, body in members.items():
            archive.writestr(zipfile.ZipInfo(key), body, method)
        if rng.random() < 0.05:
            archive.writestr(zipfile.ZipInfo(name), members.get(name, b""))
    raw = found.getvalue()
    return mutate_bytes(raw, rng) if rng.random() < 0.2 else raw


def _claimed(body: bytes, rng: Random) -> bytes:
    """An array whose header claims another shape, dtype or order than it has."""
    shape = rng.choice(
        ("(4000000000000,)", "(0,)", "()", "(-1,)", "(3, 3)", "(1e9,)", "(2, 2, 2)", "(1000000000,)", "x")
    )
    descr = rng.choice(_DTYPES)
    text = (
        f"{{'descr': '{descr}', 'fortran_order': {rng.choice(('True', 'False', '0'))}, 'shape': {shape}, }}"
    )
    if rng.random() < 0.1:
        text = "{" * 3000
    head = text.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + body[128:]


def _other_array(body: bytes, rng: Random) -> bytes:
    try:
        array = np.load(io.BytesIO(body), allow_pickle=False)
    except (ValueError, EOFError, OSError):
        array = np.zeros(3)
    flat = array.reshape(-1)
    others = (
        lambda: array.astype(np.float64), lambda: array.astype(str), lambda: array.astype(np.complex64),
        lambda: array.astype(bool), lambda: flat[:-1], lambda: flat[:0], lambda: np.concatenate([flat, flat]),
        lambda: array[None], lambda: flat[None, :].repeat(2, 0), lambda: -array.astype(np.float64),
        lambda: np.full(array.shape, rng.choice((2**40, np.nan, -5, 2**63 - 1, 2**64 - 1))),
        lambda: np.array(rng.choice((0, 1, 5, 10**6, 10**9, 2**40, 2**62))), lambda: np.zeros(4_000_000),
        lambda: flat[::-1], lambda: array.astype(np.int8), lambda: array.astype(">i4"), lambda: array + 1,
        lambda: np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f4")]), lambda: np.array([0], "M8[D]"),
    )  # fmt: skip
    found = io.BytesIO()
    with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
        try:
            np.save(found, rng.choice(others)(), allow_pickle=False)
        except (ValueError, TypeError, OverflowError):
            np.save(found, np.zeros((2, 3)))
    return found.getvalue()
