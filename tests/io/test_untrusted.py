"""What a file claims is checked before it is believed."""

from __future__ import annotations

import gzip
import io
import json
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save

from ehnn._utils.schema import check, count, positive, vector
from ehnn._utils.untrusted import read_arrays, read_json, read_tensors
from ehnn.io import read_edge_lines, read_hif


def npz(path: Path, body: bytes, method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("a.npy", body)
    return path


def array_bytes(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["<f8", ">i4", "<f2", "|b1", "<U3"])
def test_arrays_are_those_of_numpy(tmp_path: Path, dtype: str, order: str) -> None:
    array = np.asarray(np.arange(6).reshape(2, 3).astype(dtype), order=order)
    np.savez_compressed(tmp_path / "a.npz", a=array, empty=array[:0], one=array[0, 0])
    found = read_arrays(tmp_path / "a.npz", "numbers")
    assert found.keys() == {"a", "empty", "one"}
    np.testing.assert_array_equal(found["a"], array)
    assert found["a"].dtype == array.dtype
    assert found["empty"].shape == (0, 3)
    assert found["one"].shape == ()
    assert found["a"].flags.writeable


def test_an_array_is_as_long_as_its_bytes(tmp_path: Path) -> None:
    lies = array_bytes(np.arange(4.0)).replace(b"(4,), ", b"(4000000000000,), ")
    with pytest.raises(ValueError, match=r"a\.npz is not an npz file of numbers: .* claims float64 of shape"):
        read_arrays(npz(tmp_path / "a.npz", lies), "numbers")


def test_what_unpacks_beyond_all_proportion_is_refused(tmp_path: Path) -> None:
    bomb = npz(tmp_path / "a.npz", array_bytes(np.zeros(1_000_000)))
    with pytest.raises(ValueError, match=r"it claims 8,000,128 bytes, and has"):
        read_arrays(bomb, "numbers")
    (tmp_path / "a.txt").write_bytes(gzip.compress(b"0 1\n" * 2_000_000))
    with pytest.raises(ValueError, match=r"a\.txt unpacks to more than .* unpack it first"):
        read_edge_lines(tmp_path / "a.txt")


@pytest.mark.parametrize("header", [b"{'descr': '<f8', 'shape': (", b"[" * 90, b"{'descr': 'O'"])
def test_broken_headers_of_arrays(tmp_path: Path, header: bytes) -> None:
    body = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    with pytest.raises(ValueError, match=r"a\.npz is not an npz file of numbers"):
        read_arrays(npz(tmp_path / "a.npz", body), "numbers")


def test_a_folder_or_a_device_is_no_file(tmp_path: Path) -> None:
    for read in (
        read_hif,
        read_edge_lines,
        lambda path: read_json(path, "x"),
        lambda path: read_arrays(path, "x"),
    ):
        with pytest.raises(ValueError, match="is a folder; a file is expected"):
            read(tmp_path)
        with pytest.raises(FileNotFoundError):
            read(tmp_path / "none")
    if os.path.exists("/dev/zero"):
        with pytest.raises(ValueError, match="is a device; a file is expected"):
            read_hif("/dev/zero")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"[" * 100_000, "nested too deeply"),
        (b'"\\ud800"', "surrogates not allowed"),
        (b"1" * 5000, "integer string"),
        (b"\xff{}", "can't decode"),
        (b"{", "Expecting property name"),
    ],
)
def test_json_that_is_none(tmp_path: Path, text: bytes, message: str) -> None:
    (tmp_path / "a.json").write_bytes(text)
    with pytest.raises(ValueError, match=rf"a\.json is not JSON of x: .*{message}"):
        read_json(tmp_path / "a.json", "x")


def test_messages_do_not_repeat_a_whole_header(tmp_path: Path) -> None:
    header = json.dumps({"A" * 5000: "B" * 5000}).encode()
    (tmp_path / "a").write_bytes(len(header).to_bytes(8, "little") + header)
    with pytest.raises(ValueError, match="is not a matcher") as caught:
        read_tensors(tmp_path / "a", "a matcher")
    assert len(str(caught.value)) < 400


def test_tensors_and_metadata(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(save({"x": torch.arange(3)}, metadata={"about": "b"}))
    tensors, about = read_tensors(tmp_path / "a", "tensors")
    assert tensors["x"].tolist() == [0, 1, 2]
    assert about == {"about": "b"}
    (tmp_path / "a").write_bytes(save({"x": torch.arange(3)}))
    assert read_tensors(tmp_path / "a", "tensors")[1] == {}


SCHEMA = {
    "name": str,
    "size": positive,
    "rate?": (float, None),
    "kind": frozenset(("a", "b")),
    "rows": [{"x": vector(2)}],
}
GOOD = {"name": "n", "size": 2, "kind": "a", "rows": [{"x": [1, 2.5]}]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": 1}, "file.name must be text, got 1"),
        ({"size": True}, "file.size must be a count of at least 1, got True"),
        ({"size": 10**30}, "file.size must be a count"),
        ({"rate": float("nan")}, "file.rate must be a finite number or null, got nan"),
        ({"rate": 10**400}, "file.rate must be a finite number or null, got 1000"),
        ({"kind": "c"}, "file.kind must be one of a, b, got 'c'"),
        ({"kind": ["a"]}, r"file.kind must be one of a, b, got \['a'\]"),
        ({"rows": {}}, "file.rows must be a list, got {}"),
        (
            {"rows": [{"x": [1, 2]}, {"x": [1]}]},
            r"file.rows\[1\].x must be a list of 2 finite numbers",
        ),
        ({"rows": [3]}, r"file.rows\[0\] must be an object, got 3"),
        ({"more": 1}, "file has the unknown 'more'; it must have name"),
    ],
)
def test_schemas_name_the_place_and_what_is_there(change: dict[str, object], message: str) -> None:
    check(GOOD, SCHEMA, "file")
    with pytest.raises(ValueError, match=message):
        check({**GOOD, **change}, SCHEMA, "file")


def test_schemas_of_missing_and_further_keys() -> None:
    with pytest.raises(ValueError, match="file lacks 'name'"):
        check({k: v for k, v in GOOD.items() if k != "name"}, SCHEMA, "file")
    check({**GOOD, "more": 1}, {**SCHEMA, ...: count}, "file")
    with pytest.raises(ValueError, match=r"file\.more must be a count, not negative, got -1"):
        check({**GOOD, "more": -1}, {**SCHEMA, ...: count}, "file")


def test_the_smallest_number_does_not_wrap_around(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(f"1\n{-(2**63)}")
    with pytest.raises(ValueError, match=r"a\.txt, line 2: node number -9223372036854775808 must be from 1"):
        read_edge_lines(tmp_path / "a.txt", base=1)
