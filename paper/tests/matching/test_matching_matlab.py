"""MATLAB files: the same numbers as SciPy reads, and none of its crashes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from ehnn_paper.matching.matlab import read_matrix


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16, np.uint8, np.int32])
def test_the_numbers_are_those_that_were_written(tmp_path: Path, dtype: type, compressed: bool) -> None:
    points = (10 * np.random.default_rng(0).random((2, 7))).astype(dtype)
    others = {
        "a": "text",
        "pts_coord": points,
        "z": np.ones((3, 3, 3)),
        "c": np.array([[1, "x"]], dtype=object),
    }
    savemat(tmp_path / "a.mat", others, do_compression=compressed)
    np.testing.assert_array_equal(read_matrix(tmp_path / "a.mat", "pts_coord"), points.astype(np.float64))
    savemat(tmp_path / "a.mat", {"p": np.zeros((2, 0))}, do_compression=compressed)
    assert read_matrix(tmp_path / "a.mat", "p").shape == (2, 0)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("text", "not a matrix of real numbers"),
        (np.ones((2, 2)) * 1j, "not a matrix of real numbers"),
        (np.ones((2, 2, 2)), r"the shape \[2, 2, 2\]"),
        ({"x": 1.0}, "not a matrix of real numbers"),
    ],
)
def test_other_variables_are_refused(tmp_path: Path, value: object, message: str) -> None:
    savemat(tmp_path / "a.mat", {"p": value})
    with pytest.raises(ValueError, match=rf"a\.mat is not a MATLAB file of numbers: .*{message}"):
        read_matrix(tmp_path / "a.mat", "p")
    with pytest.raises(ValueError, match="lacks the variable 'q'"):
        read_matrix(tmp_path / "a.mat", "q")


def test_a_file_that_ends_early_or_claims_too_much(tmp_path: Path) -> None:
    path = tmp_path / "a.mat"
    savemat(path, {"p": np.ones((2, 5))})
    whole = path.read_bytes()
    for length in range(0, len(whole) - 1, 3):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"a\.mat is not a MATLAB file of numbers"):
            read_matrix(path, "p")
    shape = np.array([2, 5], "<i4").tobytes()
    path.write_bytes(whole.replace(shape, np.array([2, 2**30], "<i4").tobytes()))
    with pytest.raises(ValueError, match="claims the shape"):
        read_matrix(path, "p")
