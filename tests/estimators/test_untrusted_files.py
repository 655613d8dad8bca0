"""Numbers that a file of a model or shard gives are checked before anything reads memory by them."""

import hashlib
import json

import pytest
import torch
from safetensors.torch import load_file, save

import ehnn
from ehnn._utils.sealed import read_document, write_document
from ehnn.estimators.storage import hypergraph_about, hypergraph_from, hypergraph_tensors
from ehnn.parallel import Ranks
from ehnn.parallel.files import MANIFEST, load_shard, read_shard, save_shards
from ehnn.parallel.owners import Partition, partition

PTR, INDEX = "hypergraph.ptr", "hypergraph.index"


def example() -> ehnn.Hypergraph:
    h = ehnn.Hypergraph.from_edges([[0, 1, 2], [2, 3], [], [1]], 4, x=torch.rand(4, 2))
    return ehnn.batch([h, h])


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (INDEX, [0, 1, 2, 2, 3, 1, 4, 5, 6, 6, 2**40, 5], "columns of pairs must be below 8"),
        (INDEX, [0, 1, 2, 2, 3, 1, 4, 5, 6, 6, -7, 5], "must not be negative"),
        (INDEX, [0, 2, 1, 2, 3, 1, 4, 5, 6, 6, 7, 5], "must ascend within each row"),
        (INDEX, [0, 0, 1, 2, 3, 1, 4, 5, 6, 6, 7, 5], "must ascend within each row"),
        (INDEX, [0.0] * 12, "must be int64 in one dimension"),
        (PTR, [0, 3, 5, 5, 6, 9, 11, 11, 99], "pointers of rows must ascend from 0 to the 12 pairs"),
        (PTR, [0, 3, 2**40, 5, 6, 9, 11, 11, 12], "pointers of rows must ascend"),
        (PTR, [1, 3, 5, 5, 6, 9, 11, 11, 12], "pointers of rows must ascend"),
        (PTR, [], "pointers of rows"),
        ("hypergraph.node_batch", [0, 0, 0, 0, 1, 1, 1, 9], "node_batch must be below 2"),
        ("hypergraph.edge_batch", [0, 0, 0, 0, 1, 1, 1, -1], "edge_batch must not be negative"),
    ],
)
def test_numbers_of_a_saved_hypergraph(name, value, message):
    h = example()
    about, tensors = hypergraph_about(h), hypergraph_tensors(h)
    assert hypergraph_from(about, tensors) == h
    kind = torch.float32 if 0.0 in value and isinstance(value[0], float) else torch.int64
    with pytest.raises(ValueError, match=message):
        hypergraph_from(about, tensors | {name: torch.tensor(value, dtype=kind)})


def test_a_count_takes_no_memory_on_its_word():
    h = example()
    about, tensors = hypergraph_about(h), hypergraph_tensors(h)
    with pytest.raises(ValueError, match=r"x must have one row per node \(1099511627776\), got 8"):
        hypergraph_from(about | {"nodes": 2**40}, tensors)
    with pytest.raises(ValueError, match=r"the tensor hypergraph.ptr is missing"):
        hypergraph_from(about, {k: v for k, v in tensors.items() if k != PTR})


def change(folder, name, value) -> None:
    """Change a tensor of rank 0 and make every checksum right again."""
    manifest = json.loads((folder / MANIFEST).read_text())
    path = folder / manifest["files"][0]["name"]
    tensors = load_file(path)
    tensors.pop(name) if value is None else tensors.update({name: value(tensors[name])})
    data = save(tensors, metadata={"partition": manifest["partition"]})
    path.write_bytes(data)
    manifest["files"][0] |= {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    (folder / MANIFEST).write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("index", lambda t: t + 2**40, "columns of pairs must be below"),
        ("index", lambda t: t.int(), "index is torch.int32"),
        ("ptr", lambda t: t * 2, "pointers of rows must ascend"),
        ("ptr", lambda t: t[:-1], "ptr must have"),
        ("node_batch", lambda t: t + 5, "node_batch must be below"),
        ("node_ids", lambda t: t.flip(0), "node_ids must ascend"),
        ("ghost_owner", lambda t: t * 0, "ghost_owner must ascend and name other ranks"),
        ("ghost_row", lambda t: t - 2**40, "ghost_row must not be negative"),
        ("touched_orders", lambda t: t[1:], "touched_orders must have"),
        ("num_members", lambda t: t * 0, "num_members"),
        ("edge_ids", None, "the tensor edge_ids is missing"),
    ],
)
def test_numbers_of_a_shard(name, value, message, tmp_path):
    h = example()
    save_shards(h, Partition(torch.arange(8) % 2, torch.arange(8) % 2, 2), tmp_path)
    change(tmp_path, name, value)
    with pytest.raises(ValueError, match=rf"shard .*00000-of-00002.* is damaged: {message}"):
        read_shard(tmp_path, 0, 2)


@pytest.mark.parametrize("files", [[], {}, [3], [{"name": "../x", "bytes": 1, "sha256": ""}], [{}]])
def test_a_manifest_that_names_no_file_for_a_rank(files, tmp_path):
    h = example()
    save_shards(h, partition(h, 1, "auto"), tmp_path)
    manifest = json.loads((tmp_path / MANIFEST).read_text())
    (tmp_path / MANIFEST).write_text(json.dumps(manifest | {"files": files}))
    with pytest.raises(ValueError, match=r"partition\.json is damaged: .*files"):
        load_shard(tmp_path, Ranks())


def test_half_a_character_in_the_name_of_a_file(tmp_path):
    save_shards(example(), partition(example(), 1, "auto"), tmp_path)
    path = tmp_path / MANIFEST
    path.write_text(path.read_text().replace('"shard-00000', '"\\ud800'))
    with pytest.raises(ValueError, match=r"partition\.json is not a manifest: .*surrogates"):
        read_shard(tmp_path, 0, 1)
    write_document(tmp_path / "model.json", {}, {"a": torch.ones(1)}, "weights")
    path = tmp_path / "model.json"
    path.write_text(path.read_text().replace('"weights-', '"\\ud800'))
    with pytest.raises(ValueError, match=r"model\.json is damaged: .*surrogates"):
        read_document(path, lambda about: False)
