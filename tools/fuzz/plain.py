"""Mutations of bytes and of lines of text."""

from __future__ import annotations

import random
import re

Random = random.Random

TOKENS = (
    "", " ", "0", "-1", "1", "2", "1.5", "nan", "inf", "-inf", "1e999", "1e400", "1e18", "1_0", "+1", "0x10",
    "9" * 19, "9" * 5000, "-9223372036854775808", "9223372036854775807", "4294967296", "1000000000",
    "None", "null", "true", "NA", "?", "a", "é", "\u2028", "\ufeff", "\x00", "\x1b[2J", "\ud7ff", "'", '"',
    '""', ",", ";", "\t", "|", "\r", "\n", "\r\n", "[", "]", "{", "}", "(", "[1, 2", "set()", "=1+1", "#",
    "%s", "{0}", "../../etc/passwd", "/dev/null", "A" * 300, "٣", "１", "１２", "²", "[" * 200, "x0", "y",
    "node", "edge",
)  # fmt: skip
_NUMBER = re.compile(rb"-?\d+(\.\d+)?([eE][-+]?\d+)?")


def mutate_bytes(data: bytes, rng: Random) -> bytes:
    """One change of a few bytes anywhere."""
    return rng.choice(_BYTES)(data, rng)


def mutate_text(data: bytes, rng: Random) -> bytes:
    """One change of a line, a cell or a number."""
    return rng.choice(_TEXT)(data, rng)


def token(rng: Random) -> bytes:
    return rng.choice(TOKENS).encode("utf-8", "surrogatepass")


def _span(data: bytes, rng: Random, longest: int = 64) -> tuple[int, int]:
    start = rng.randrange(len(data) + 1)
    return start, min(len(data), start + rng.randint(1, longest))


def _flip(data: bytes, rng: Random) -> bytes:
    found = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 8))):
        if found:
            found[rng.randrange(len(found))] ^= 1 << rng.randrange(8)
    return bytes(found)


def _overwrite(data: bytes, rng: Random) -> bytes:
    start, stop = _span(data, rng, rng.choice((1, 2, 4, 8, 64)))
    fill = rng.choice((b"\x00", b"\xff", b"\x7f", b"\x80", None))
    new = rng.randbytes(stop - start) if fill is None else fill * (stop - start)
    return data[:start] + new + data[stop:]


def _delete(data: bytes, rng: Random) -> bytes:
    start, stop = _span(data, rng, rng.choice((1, 8, 512)))
    return data[:start] + data[stop:]


def _repeat(data: bytes, rng: Random) -> bytes:
    start, stop = _span(data, rng)
    return data[:stop] + data[start:stop] * rng.choice((1, 2, 50)) + data[stop:]


def _insert(data: bytes, rng: Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    new = token(rng) if rng.random() < 0.7 else rng.randbytes(rng.randint(1, 16))
    return data[:at] + new + data[at:]


def _truncate(data: bytes, rng: Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _swap(data: bytes, rng: Random) -> bytes:
    (a, b), (c, d) = sorted((_span(data, rng), _span(data, rng)))
    if b > c:
        return data[c:] + data[:c]
    return data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:]


def _integer(data: bytes, rng: Random) -> bytes:
    """An integer of 2, 4 or 8 bytes as binary formats have them."""
    size = rng.choice((2, 4, 8))
    at = rng.randrange(len(data) + 1)
    value = rng.choice((0, 1, 2**15 - 1, 2**31 - 1, 2**32 - 1, 2**40, 2**63 - 1, 2**64 - 1, 65_536, 1 << 24))
    new = (value % 2 ** (8 * size)).to_bytes(size, rng.choice(("little", "big")))
    return data[:at] + new + data[at + size :]


def _nothing_but(data: bytes, rng: Random) -> bytes:
    return rng.choice((b"", b"\n", b"\x00" * 64, b"\xff" * 64, token(rng), rng.randbytes(64), data + data))


def _number(data: bytes, rng: Random) -> bytes:
    found = list(_NUMBER.finditer(data))
    if not found:
        return _insert(data, rng)
    one = rng.choice(found)
    return data[: one.start()] + token(rng) + data[one.end() :]


def _lines(data: bytes, rng: Random) -> bytes:
    lines = data.split(b"\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    action = rng.randrange(7)
    if action == 0:
        del lines[i]
    elif action == 1:
        lines.insert(i, lines[j])
    elif action == 2:
        lines[i], lines[j] = lines[j], lines[i]
    elif action == 3:
        lines.insert(i, token(rng))
    elif action == 4:
        lines[i] = lines[i] * rng.choice((2, 3, 200))
    elif action == 5:
        rng.shuffle(lines)
    else:
        lines = lines[:1] + lines[1:] * 20
    return b"\n".join(lines)


def _cell(data: bytes, rng: Random) -> bytes:
    lines = data.split(b"\n")
    i = rng.randrange(len(lines))
    mark = rng.choice([m for m in (b",", b";", b"\t", b" ", b"|") if m in lines[i]] or [b","])
    cells = lines[i].split(mark)
    j = rng.randrange(len(cells))
    action = rng.randrange(4)
    if action == 0:
        del cells[j]
    elif action == 1:
        cells.insert(j, token(rng))
    elif action == 2:
        cells[j] = b'"' + cells[j] + rng.choice((b'"', b"", b'""'))
    else:
        cells[j] = token(rng)
    lines[i] = mark.join(cells)
    return b"\n".join(lines)


def _coded(data: bytes, rng: Random) -> bytes:
    """The same text in another encoding, with other line ends, or with a mark at its beginning."""
    text = data.decode("utf-8", "replace")
    return rng.choice(
        (
            b"\xef\xbb\xbf" + data,
            text.encode("utf-16"),
            text.encode("utf-16-be"),
            text.encode("latin-1", "replace").replace(b"a", b"\xe4"),
            data.replace(b"\n", b"\r\n"),
            data.replace(b"\n", b"\r"),
            data.rstrip(b"\n"),
        )
    )


_BYTES = (
    *(_flip, _flip, _overwrite, _delete, _repeat, _insert, _truncate, _swap, _integer, _nothing_but),
    _number,
)
_TEXT = (_lines, _lines, _cell, _cell, _cell, _number, _number, _coded)
