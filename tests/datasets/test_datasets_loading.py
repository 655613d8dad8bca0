"""Names, cards, the order of search, and the real files where they are to be had."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import http.server
import threading
from pathlib import Path

import numpy as np
import pytest
import torch

from ehnn import datasets
from ehnn.datasets import catalogue, locate
from ehnn.datasets.loading import altered

NAMES = (
    "zoo 20news mushroom ntu2012 modelnet40 yelp house-1 house-0.6 walmart-1 walmart-0.6 "
    "cora-cocitation cora-coauthorship congress-bills threads-math-sx tags-math-sx"
)
CONTENT = "".join(f"{i}\t{i}\t1\t{i % 2}\n" for i in range(4)) + "4\t0\t0\t0\n"
EDGES = "0\t4\n1\t4\n3\t4\n"


def put_zoo(folder: Path, content: str = CONTENT) -> Path:
    (folder / "zoo").mkdir(parents=True, exist_ok=True)
    (folder / "zoo" / "zoo.content").write_text(content)
    (folder / "zoo" / "zoo.edges").write_text(EDGES)
    return folder


@pytest.fixture
def small_zoo(monkeypatch):
    """Zoo's card with the sums of our small files."""
    sums = [hashlib.sha256(text.encode()).hexdigest() for text in (CONTENT, EDGES)]
    old = catalogue._CARDS["zoo"]
    files = [
        dataclasses.replace(f, sha256=s, size=len(t))
        for f, s, t in zip(old.files, sums, (CONTENT, EDGES), strict=True)
    ]
    monkeypatch.setitem(catalogue._CARDS, "zoo", dataclasses.replace(old, files=tuple(files)))


@pytest.fixture
def mirror(tmp_path):
    """(address, folder) of a server of plain files."""
    folder = tmp_path / "mirror"
    folder.mkdir()

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

    handler = functools.partial(Quiet, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}", folder
    server.shutdown()
    server.server_close()
    thread.join()


# ------------------------------------------------------------------ names and cards


def test_cards():
    cards = datasets.list_datasets()
    assert [c.name for c in cards] == NAMES.split()
    for c in cards:
        assert datasets.card(c.name.upper()) is c
        assert all([c.title, c.source, c.licence, c.features, c.splits, c.files])
        assert all(f.sha256 is None or len(f.sha256) == 64 for f in c.files)
        assert c.files[0].path in c.describe()
        with pytest.raises(dataclasses.FrozenInstanceError):
            c.name = "other"


def test_any_noise_has_a_card():
    c = datasets.card("house-0.25")
    assert c.name == "house-0.25"
    assert c.features.endswith("0.25")
    assert "σ = 0.25" in c.title
    assert datasets.card("walmart_0.6").name == "walmart-0.6"
    assert datasets.card("house-.250") == c
    assert datasets.card("house-1.0") is datasets.card("house-1")


@pytest.mark.parametrize("ask", [datasets.card, datasets.load, datasets.fetch])
def test_unknown_names(ask):
    with pytest.raises(
        ValueError, match=r"unknown dataset 'mushrom' \(did you mean 'mushroom'\?\)"
    ) as caught:
        ask("mushrom")
    assert all(name in str(caught.value) for name in NAMES.split())
    with pytest.raises(ValueError, match=r"unknown dataset 'qqq'\. Known"):
        ask("qqq")
    for name in ("house-x", "", None, 3, "../zoo"):
        with pytest.raises(ValueError, match=r"unknown dataset|must be a string"):
            ask(name)


# ------------------------------------------------------------------ the order of search


@pytest.mark.parametrize("level", ["", "hypergraphs"])
def test_layouts_of_the_data_folder(tmp_path, level):
    put_zoo(tmp_path / "d" / level)
    h = datasets.load("zoo", tmp_path / "d")
    assert (h.num_nodes, h.num_edges, h.y.tolist()) == (4, 1, [0, 1, 0, 1])
    assert datasets.fetch("zoo", tmp_path / "d") == tmp_path / "d" / level / "zoo"


def test_flat_folder(tmp_path):
    put_zoo(tmp_path)
    assert datasets.load("zoo", tmp_path / "zoo").num_nodes == 4


def test_environment_variable_and_argument(tmp_path, monkeypatch):
    monkeypatch.setenv("EHNN_DATA", str(put_zoo(tmp_path / "env")))
    put_zoo(tmp_path / "argument", CONTENT.replace("0\t0\t1", "0\t9\t1", 1))
    assert datasets.load("zoo").x[0, 0] == 0
    assert datasets.load("zoo", str(tmp_path / "argument")).x[0, 0] == 9


def test_data_folder_that_is_none(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=r"data_dir must be a folder, got .*nowhere"):
        datasets.load("zoo", tmp_path / "nowhere")
    monkeypatch.setenv("EHNN_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(ValueError, match="EHNN_DATA must be a folder"):
        datasets.load("zoo")


def test_cache_folder(monkeypatch, tmp_path):
    assert datasets.cache_dir() == tmp_path / "cache" / "ehnn" / "datasets"
    for relative in ("relative", ""):
        monkeypatch.setenv("XDG_CACHE_HOME", relative)
        assert datasets.cache_dir() == Path.home() / ".cache" / "ehnn" / "datasets"


@pytest.mark.usefixtures("small_zoo")
def test_download_then_cache(mirror, monkeypatch):
    address, folder = mirror
    put_zoo(folder)
    h = datasets.load("zoo", base_url=address + "/")
    assert h.num_nodes == 4
    assert datasets.load("zoo", download=False) == h
    assert datasets.fetch("zoo") == datasets.cache_dir() / "zoo"
    cached = datasets.cache_dir() / "zoo" / "zoo.content"
    cached.write_text(CONTENT[:-4])  # a disk that lost the end
    with pytest.raises(datasets.DataError, match=r"lacks zoo/zoo\.content: .*switched off"):
        datasets.load("zoo", download=False)
    monkeypatch.setenv("EHNN_MIRROR", address)
    assert datasets.load("zoo") == h


def test_wrong_file_on_the_mirror(mirror):
    address, folder = mirror
    put_zoo(folder)
    with pytest.raises(datasets.DataError, match=r"SHA-256|ended after|longer") as caught:
        locate.locate(datasets.card("house-1"), base_url=_serve_house(address, folder), progress=False)
    assert "house-committees/hyperedges" in str(caught.value)
    assert not any(datasets.cache_dir().rglob("*.*"))


def _serve_house(address: str, folder: Path) -> str:
    for file in datasets.card("house-1").files:
        (folder / file.path).parent.mkdir(exist_ok=True)
        (folder / file.path).write_bytes(b"1" * (file.size or 0))
    return address


def test_missing_files_say_what_and_where(mirror, tmp_path):
    address, folder = mirror
    for file in datasets.card("yelp").files[:4]:
        (folder / file.path).parent.mkdir(exist_ok=True)
        (folder / file.path).write_text("x\n1\n")
    (tmp_path / "d" / "hypergraphs").mkdir(parents=True)
    with pytest.raises(
        datasets.DataError, match=r"lacks yelp/yelp_restaurant_incidence_H\.csv: .*404"
    ) as caught:
        datasets.load("yelp", tmp_path / "d", base_url=address)
    assert str(tmp_path / "d" / "hypergraphs" / "yelp" / "yelp_restaurant_incidence_H.csv") in str(
        caught.value
    )
    with pytest.raises(datasets.DataError, match=r"lacks ModelNet40/ModelNet40\.content, ModelNet40/Mod"):
        datasets.load("modelnet40", download=False)


def test_no_public_address(monkeypatch, tmp_path, mirror):
    monkeypatch.delenv("EHNN_MIRROR")
    with pytest.raises(datasets.DataError, match=r"lacks extra/cora-cocitation\.npz: .*no public address"):
        datasets.load("cora-cocitation")
    with pytest.raises(datasets.DataError, match=r"put the collection's tags-math-sx\.tar\.gz"):
        datasets.load("tags-math-sx")


def test_downloaded_file_without_a_sum_must_fit_the_card(mirror, monkeypatch):
    address, folder = mirror
    (folder / "ModelNet40").mkdir()
    (folder / "ModelNet40" / "ModelNet40.content").write_text(CONTENT)
    (folder / "ModelNet40" / "ModelNet40.edges").write_text(EDGES)
    old = catalogue._CARDS["modelnet40"]
    files = (old.files[0], dataclasses.replace(old.files[1], sha256=None, size=None))
    monkeypatch.setitem(catalogue._CARDS, "modelnet40", dataclasses.replace(old, files=files))
    with pytest.raises(
        datasets.DataError, match=r"hold .* = \(4, 1, 2, 2\), expected \(12311, 12311, 100, 40\)"
    ):
        datasets.load("modelnet40", base_url=address)
    for content in (CONTENT, "<html>please log in</html>"):
        (folder / "ModelNet40" / "ModelNet40.content").write_text(content)
        with pytest.raises(datasets.DataError, match="'modelnet40' is something else, and was removed"):
            datasets.fetch("modelnet40", base_url=address)
        assert not list(datasets.cache_dir().rglob("ModelNet40*.*"))
    (folder / "ModelNet40" / "ModelNet40.content").write_text(CONTENT)
    assert datasets.load("modelnet40", folder).num_nodes == 4  # the user's own folder is the user's word


def test_altered_files_are_named(real_data, tmp_path):
    assert altered("zoo", real_data) == []
    for file in datasets.card("zoo").files:
        source = next(real_data.rglob(Path(file.path).name))
        (tmp_path / source.name).write_bytes(source.read_bytes())
    (tmp_path / "zoo.edges").write_bytes((tmp_path / "zoo.edges").read_bytes()[:-20])
    assert altered("zoo", tmp_path) == [tmp_path / "zoo.edges"]


def test_archive_in_place_of_the_packed_file(tmp_path):
    import io
    import tarfile

    (tmp_path / "scale").mkdir()
    with tarfile.open(tmp_path / "scale" / "tags-math-sx.tar.gz", "w:gz") as tar:
        for part, text in (("nverts", b"2\n1\n"), ("simplices", b"1\n3\n2\n")):
            info = tarfile.TarInfo(f"tags-math-sx/tags-math-sx-{part}.txt")
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text))
    h = datasets.load("tags-math-sx", tmp_path, download=False)
    assert (h.num_nodes, h.num_edges, h.x, h.y) == (3, 2, None, None)
    assert datasets.fetch("tags-math-sx", tmp_path) == tmp_path / "scale"


def test_noise_follows_the_seed(tmp_path):
    (tmp_path / "house-committees").mkdir()
    for file, text in zip(datasets.card("house-1").files, ("1,2\n", "1\n2\n"), strict=True):
        (tmp_path / file.path).write_text(text)
    x = datasets.load("house-1", tmp_path, seed=1).x
    assert torch.equal(x, datasets.load("house-1", tmp_path, seed=1).x)
    assert not torch.equal(x, datasets.load("house-1", tmp_path, seed=2).x)
    clean = torch.eye(2, 100)
    small = datasets.load("house-0.6", tmp_path, seed=1).x
    assert torch.allclose(small - clean, 0.6 * (x - clean), atol=1e-6)


# ------------------------------------------------------------------ the real files


@pytest.mark.parametrize("name", [name for name in NAMES.split() if name not in ("modelnet40", "yelp")])
def test_statistics_of_the_real_files(real_data, name):
    h = datasets.load(name, real_data, download=False)
    s = datasets.card(name).statistics
    assert (h.num_nodes, h.num_edges, h.num_incidences) == (s.nodes, s.hyperedges, s.incidences)
    assert (0 if h.x is None else h.x.shape[1]) == s.features
    assert (0 if h.y is None else len(h.y.unique())) == s.classes
    if h.y is not None:
        assert (int(h.y.min()), int(h.y.max())) == (0, s.classes - 1)
    if h.x is not None:
        assert h.x.dtype == torch.float32
        assert bool(torch.isfinite(h.x).all())


def test_the_last_hyperedges_of_zoo_are_its_classes(real_data):
    h = datasets.load("zoo", real_data, download=False)
    assert h.edges()[-7:] == [(h.y == c).nonzero().flatten().tolist() for c in range(7)]


@pytest.mark.parametrize(
    "card", [c for c in datasets.list_datasets() if c.files[0].sha256], ids=lambda c: c.name
)
def test_sums_of_the_real_files(real_data, card):
    for file in card.files:
        path = locate.find_file(file.path, real_data)
        if path is None:
            pytest.skip(f"{file.path} is not in {real_data}")
        assert path.stat().st_size == file.size
        assert locate.file_sha256(path) == file.sha256


def test_structure_of_modelnet40(real_data, tmp_path):
    """The features are absent, but the known edges and labels go through the reader with made-up ones."""
    path = real_data / "hypergraphs" / "ModelNet40" / "structure_labels.npz"
    if not path.exists():
        pytest.skip(f"{path} is absent")
    with np.load(path, allow_pickle=False) as arrays:
        edges, labels = arrays["edge_index"], arrays["labels"]
    folder = tmp_path / "ModelNet40"
    folder.mkdir()
    content = np.column_stack([np.arange(labels.size), np.ones(labels.size, dtype=int), labels])
    np.savetxt(folder / "ModelNet40.content", content, fmt="%d", delimiter="\t")
    text = "".join(f"{a}\t{b}\n" for a, b in edges.tolist())
    (folder / "ModelNet40.edges").write_text(text)
    h = datasets.load("modelnet40", tmp_path, download=False)
    card = datasets.card("modelnet40")
    s = card.statistics
    assert (h.num_nodes, h.num_edges, h.num_incidences) == (s.nodes, s.hyperedges, s.incidences)
    assert len(h.y.unique()) == s.classes
    assert hashlib.sha256(text.encode()).hexdigest() == card.files[1].sha256
