"""Any file gives a Hypergraph or a ValueError that names the file; nothing else escapes."""

import json

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from io_strategies import hypergraphs

import ehnn.io as eio
from ehnn import Hypergraph

FUZZ = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
READERS = {
    "lines": [eio.read_edge_lines, lambda p: eio.read_edge_lines(p, separator=",", base=1)],
    "names": [lambda p: eio.read_edge_lines(p, named=True)],
    "csv": [
        eio.read_csv,
        lambda p: eio.read_csv(p, nodes=p, edges=p, names="number"),
        lambda p: eio.read_csv(p, names="index", label="weight"),
    ],
    "hif": [eio.read_hif, lambda p: eio.read_hif(p, x="x", y="y", ignore_direction=True)],
}
WRITERS = {
    "lines": eio.write_edge_lines,
    "names": lambda h, path: eio.write_edge_lines(h, path, separator=" "),
    "csv": eio.write_csv,
    "hif": eio.write_hif,
}
# Pieces that look like the real thing more often than random bytes do.
PIECES = [
    b"node,edge",
    b",",
    b"\n",
    b"\r",
    b'"',
    b"0",
    b"1",
    b"-1",
    b"1e999",
    b"nan",
    b"weight",
    b"x0",
    b"y",
    b" ",
]
PIECES += [
    b"999999999999999999999",
    b"1000000000000",
    b"\xff",
    b"\x00",
    b"\xef\xbb\xbf",
    "é".encode(),
    b"_",
    b"{",
]
PIECES += [b"[", b"]", b"}", b'{"incidences":[', b'{"node":', b'"edge":', b":", b"null", b"true", b"\xc2\x85"]
SOUP = st.lists(st.sampled_from(PIECES) | st.binary(max_size=4), max_size=25).map(b"".join)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | st.just(10**400),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


def attempt(function, *arguments):
    """What the function gives, or the ValueError it raises."""
    try:
        return function(*arguments)
    except ValueError as error:
        return error


def survives(kind, data, path):
    path.write_bytes(data)
    for read in READERS[kind]:
        outcome = attempt(read, path)
        assert isinstance(outcome, Hypergraph) or path.name in str(outcome), outcome


@pytest.mark.parametrize("kind", READERS)
def test_any_bytes(kind, tmp_path):
    @FUZZ
    @given(st.binary(max_size=60) | SOUP)
    @example(b"")
    @example(b"\x00")
    @example(b"node,edge\r\r\n\x00")
    def check(data):
        survives(kind, data, tmp_path / "fuzz.dat")

    check()


@pytest.mark.parametrize("kind", WRITERS)
def test_damaged_files(kind, tmp_path):
    @FUZZ
    @given(hypergraphs(), st.data())
    def check(h, data):
        path = tmp_path / "fuzz.dat"
        refusal = attempt(WRITERS[kind], h, path)
        assume(refusal is None)  # names that are 1 and "1"
        content = path.read_bytes()
        for _ in range(data.draw(st.integers(1, 3))):
            start, end = sorted(data.draw(st.integers(0, len(content))) for _ in range(2))
            end = min(end, start + 8) if data.draw(st.booleans()) else end
            piece = data.draw(st.sampled_from(PIECES) | st.binary(max_size=3))
            content = content[:start] + piece + content[end:]
        survives(kind, content, path)

    check()


def _damage(value, draw):
    """``value`` with one of its parts replaced, removed or doubled."""
    if isinstance(value, (dict, list)) and value and draw(st.integers(0, 5)):
        keys = list(value) if isinstance(value, dict) else range(len(value))
        key = draw(st.sampled_from(keys))
        copy = value.copy()
        if draw(st.integers(0, 8)) == 0:
            del copy[key]
        elif isinstance(copy, list) and draw(st.integers(0, 8)) == 0:
            copy.append(copy[key])
        else:
            copy[key] = _damage(value[key], draw)
        return copy
    return draw(JSON | st.sampled_from(["int64", "bool", [0, 2**40], 2**63, -1, [[1]], "x"]))


@pytest.mark.filterwarnings("ignore:.*another program has lost them:UserWarning")
@settings(FUZZ, max_examples=150)
@given(hypergraphs(min_width=0), st.data())
def test_damaged_hif_records(tmp_path, h, data):
    broken = eio.to_hif_dict(h)
    for _ in range(data.draw(st.integers(1, 3))):
        broken = _damage(broken, data.draw)
    survives("hif", json.dumps(broken).encode(), tmp_path / "fuzz.dat")
