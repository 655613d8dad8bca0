"""Archives: what is read, and that extraction stays inside."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from ehnn.datasets.archive import extract
from ehnn.datasets.simplices import read_simplices_archive


def make_tar(path: Path, members: dict[str, str], links: dict[str, str] | None = None) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name, text in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))
        for name, target in (links or {}).items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, target
            tar.addfile(info)
    return path


def test_simplices_archive(tmp_path):
    tar = make_tar(tmp_path / "t.tar.gz", {"t/t-nverts.txt": "2\n1\n", "t/t-simplices.txt": "1\n4\n2\n"})
    h = read_simplices_archive(tar, "t")
    assert (h.num_nodes, h.edges()) == (4, [[0, 3], [1]])
    with pytest.raises(ValueError, match=r"must hold u-nverts\.txt"):
        read_simplices_archive(tar, "u")
    short = make_tar(tmp_path / "s.tar.gz", {"t-nverts.txt": "2\n1\n", "t-simplices.txt": "1\n4\n"})
    with pytest.raises(ValueError, match="has 2 lines, expected 3"):
        read_simplices_archive(short, "t")


@pytest.mark.parametrize(
    ("members", "links"),
    [({"../evil": "x"}, {}), ({"/evil": "x"}, {}), ({}, {"l": "../../evil"}), ({"l/x": "x"}, {"l": "/etc"})],
)
def test_extraction_stays_inside(tmp_path, members, links):
    tar = make_tar(tmp_path / "t.tar.gz", members, links)
    try:
        extract(tar, tmp_path / "in" / "side")
    except ValueError as error:
        assert "was refused" in str(error)  # noqa: PT017
    written = {p.relative_to(tmp_path).parts[0] for p in tmp_path.rglob("*")}
    assert written <= {"t.tar.gz", "in"}
    assert not (tmp_path / "in" / "evil").exists()


def test_archive_cut_off(tmp_path):
    tar = make_tar(tmp_path / "t.tar.gz", {"a": "x" * 10_000})
    tar.write_bytes(tar.read_bytes()[:60])
    with pytest.raises(ValueError, match="not a whole tar file"):
        extract(tar, tmp_path / "in")


def test_an_archive_with_a_node_number_out_of_all_proportion(tmp_path):
    tar = make_tar(tmp_path / "t.tar.gz", {"t-nverts.txt": "2\n1\n", "t-simplices.txt": "1\n1000000001\n2\n"})
    with pytest.raises(ValueError, match=r"t\.tar\.gz/t-simplices\.txt, line 2: the node must be an integer"):
        read_simplices_archive(tar, "t")
