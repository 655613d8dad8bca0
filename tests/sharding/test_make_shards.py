"""Shards that are made from tables in pieces equal those of the hypergraph in memory."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

sys.path.insert(0, str(Path(__file__).parent))
from tables_for_tests import Written, with_attributes, written

from ehnn.parallel.files import read_manifest, read_shard
from ehnn.parallel.owners import cut_report, given_partition
from ehnn.parallel.shards import cut
from ehnn.sharding import Columns, Job, make_shards
from ehnn.sharding import job as job_module

pytest.importorskip("pyarrow")
COLUMNS = Columns("name", "kind", "part", ("age", "size"))


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many pieces, buckets and ranges, also of small tables; and a partition without randomness."""
    monkeypatch.setattr(Job, "rows", property(lambda self: 150))
    monkeypatch.setattr("ehnn.sharding.coarse.installed", lambda: False)


def job_of(w: Written, out: Path, ranks: int = 2, **more: object) -> Job:
    given = {
        "node_column": "member",
        "edge_column": "club",
        "nodes": w.nodes,
        "columns": COLUMNS,
        "workers": 0,
    }
    return Job(w.members, out, ranks, **given | more)


@pytest.mark.parametrize("method", ["propagation", "contiguous"])
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_shards_are_those_of_the_hypergraph_in_memory(tmp_path: Path, ranks: int, method: str) -> None:
    w = written(tmp_path)
    manifest = make_shards(job_of(w, tmp_path / "out", ranks, method=method))
    found = [read_shard(tmp_path / "out", r, ranks) for r in range(ranks)]
    owner, edge_owner = torch.empty(w.h.num_nodes), torch.empty(w.h.num_edges)
    for r, tensors in enumerate(found):
        owner[tensors["node_ids"]], edge_owner[tensors["edge_ids"]] = r, r
    partition = given_partition(w.h, owner.long(), ranks)
    assert torch.equal(partition.edges, edge_owner.long())
    y = np.full((w.h.num_nodes, 3), -1)
    y[np.arange(len(y)), w.parts] = w.labels
    x = np.column_stack([(w.x - w.x.mean(0)) / w.x.std(0), np.ones(len(y)), np.log1p(w.h.degrees.numpy())])
    h = w.h.replace(x=torch.from_numpy(x).float(), y=torch.from_numpy(y))
    for r, tensors in enumerate(found):
        for name, expected in cut(h, partition, r).items():
            torch.testing.assert_close(tensors[name], expected, msg=f"{name} of rank {r}")
        names = pd.read_parquet(tmp_path / "out" / f"names-{r:05d}-of-{ranks:05d}.parquet")["id"]
        assert names.tolist() == [w.names[i] for i in tensors["node_ids"]]
    report = cut_report(h, partition).as_dict() | {"method": method}
    assert manifest["report"] == json.loads(json.dumps(report))
    assert manifest["repeated"] > 0
    assert manifest["classes"] == ["a", "b", "c"]
    assert not (tmp_path / "out" / "work").exists()


def test_the_rows_of_a_piece_change_nothing_but_the_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    w = written(tmp_path)
    make_shards(job_of(w, tmp_path / "small", method="contiguous"))
    monkeypatch.setattr(Job, "rows", property(lambda self: 10**6))
    make_shards(job_of(w, tmp_path / "large", method="contiguous"))
    for rank in range(2):
        small, large = (read_shard(tmp_path / name, rank, 2) for name in ("small", "large"))
        assert all(torch.equal(small[name], large[name]) for name in large)


@pytest.mark.parametrize("end", ["csv", "arrow", "csv.gz"])
def test_other_formats_give_the_same_shards(tmp_path: Path, end: str) -> None:
    w = written(tmp_path)
    make_shards(job_of(w, tmp_path / "parquet"))
    (tmp_path / "other").mkdir()
    for file in w.members.iterdir():
        table, target = pd.read_parquet(file), tmp_path / "other" / f"{file.stem}.{end}"
        table["club"] = table["club"] if end == "arrow" else table["club"].map("{:05d}".format)
        table.to_feather(target) if end == "arrow" else table.to_csv(target, index=False)
    make_shards(replace(job_of(w, tmp_path / "out"), data=tmp_path / "other"))
    for rank in range(2):
        one, other = (read_shard(tmp_path / name, rank, 2) for name in ("parquet", "out"))
        assert all(torch.equal(one[name], other[name]) for name in one)


def test_a_row_may_hold_the_list_of_members(tmp_path: Path) -> None:
    w = written(tmp_path)
    make_shards(job_of(w, tmp_path / "pairs"))
    table = pd.concat([pd.read_parquet(f) for f in sorted(w.members.iterdir())])
    table.groupby("club")["member"].agg(list).reset_index().to_parquet(tmp_path / "lists.parquet")
    make_shards(replace(job_of(w, tmp_path / "lists"), data=tmp_path / "lists.parquet"))
    for rank in range(2):
        one, other = (read_shard(tmp_path / name, rank, 2) for name in ("pairs", "lists"))
        assert all(torch.equal(one[name], other[name]) for name in one)


def test_parts_are_drawn_by_a_hash_where_no_column_has_them(tmp_path: Path) -> None:
    w = written(tmp_path, n=1000, m=200)
    columns = Columns("name", "kind")
    make_shards(job_of(w, tmp_path / "out", columns=columns, valid=0.1, test=0.3))
    y = torch.cat([read_shard(tmp_path / "out", r, 2)["y"] for r in range(2)])
    assert torch.equal((y >= 0).sum(1), torch.ones(1000, dtype=torch.int64))
    share = (y >= 0).double().mean(0)
    assert (share - torch.tensor([0.6, 0.1, 0.3]).double()).abs().max() < 0.04


def test_an_interrupted_job_goes_on_from_its_finished_tasks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    w = written(tmp_path)
    make_shards(job_of(w, tmp_path / "whole"))
    calls: list[str] = []
    handing = job_module.cutting.hand_edges

    def stopped(folder: object, item: dict) -> object:
        calls.append(item["name"])
        if len(calls) == 2:
            raise KeyboardInterrupt
        return handing(folder, item)  # type: ignore[arg-type]

    monkeypatch.setattr(job_module.cutting, "hand_edges", stopped)
    with pytest.raises(KeyboardInterrupt):
        make_shards(job_of(w, tmp_path / "out"))
    monkeypatch.setattr(job_module.numbering, "save_incidence_ids", None)  # would fail if it were called
    make_shards(job_of(w, tmp_path / "out"))
    assert calls[2] != calls[0]
    assert calls[2] == calls[1]
    for rank in range(2):
        one, other = (read_shard(tmp_path / name, rank, 2) for name in ("whole", "out"))
        assert all(torch.equal(one[name], other[name]) for name in one)


def test_a_kill_behind_the_manifest_leaves_no_work_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    w = written(tmp_path)

    def killed(path: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(job_module.shutil, "rmtree", killed)
        with pytest.raises(KeyboardInterrupt):
            make_shards(job_of(w, tmp_path / "out"))
    assert (tmp_path / "out" / "work").exists()
    assert make_shards(job_of(w, tmp_path / "out")) == read_manifest(tmp_path / "out")
    assert not (tmp_path / "out" / "work").exists()


def test_a_file_of_a_finished_task_that_was_changed_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    w = written(tmp_path)
    writing = job_module.cutting.write_shard

    def fails(folder: object, item: dict) -> object:
        raise OSError(28, "No space left on device", "shard")

    monkeypatch.setattr(job_module.cutting, "write_shard", fails)
    with pytest.raises(OSError, match="No space left"):
        make_shards(job_of(w, tmp_path / "out"))
    damaged = next((tmp_path / "out" / "work").glob("pairs-00001.npy"))
    damaged.write_bytes(damaged.read_bytes()[:-8] + bytes(8))
    monkeypatch.setattr(job_module.cutting, "write_shard", writing)
    make_shards(job_of(w, tmp_path / "out"))
    make_shards(job_of(w, tmp_path / "whole"))
    for rank in range(2):
        one, other = (read_shard(tmp_path / name, rank, 2) for name in ("whole", "out"))
        assert all(torch.equal(one[name], other[name]) for name in one)


def test_the_folder_of_another_job_is_refused_unless_fresh(tmp_path: Path) -> None:
    w = written(tmp_path)
    make_shards(job_of(w, tmp_path / "out"))
    assert make_shards(job_of(w, tmp_path / "out")) == read_manifest(tmp_path / "out")
    with pytest.raises(ValueError, match=r"another job \(ranks was 2\)"):
        make_shards(job_of(w, tmp_path / "out", ranks=3))
    assert make_shards(job_of(w, tmp_path / "out", ranks=3), fresh=True)["ranks"] == 3
    assert len(list((tmp_path / "out").glob("shard-*"))) == 3


def damaged_parquet(w: Written) -> str:
    file = w.members / "part-1.parquet"
    file.write_bytes(file.read_bytes()[:-100])
    return r"part-1.parquet cannot be read; it may be cut off"


def other_type(w: Written) -> str:
    table = pd.read_parquet(w.members / "part-1.parquet")
    table.assign(club=table["club"].astype(str)).to_parquet(w.members / "part-1.parquet")
    return r"column 'club' of .*part-1.parquet has texts, but .*part-0.parquet has integers"


def missing_column(w: Written) -> str:
    pd.read_parquet(w.members / "part-1.parquet").rename(columns={"club": "clubs"}).to_parquet(
        w.members / "part-1.parquet"
    )
    return r"part-1.parquet has no column 'club' \(did you mean 'clubs'\?\)"


def empty_cell(w: Written) -> str:
    table = pd.read_parquet(w.members / "part-1.parquet")
    table.loc[table.index[3], "member"] = None
    table.to_parquet(w.members / "part-1.parquet")
    return r"column 'member' of .*part-1.parquet has 1 empty cells"


def node_twice(w: Written) -> str:
    table = pd.read_parquet(w.nodes)
    pd.concat([table, table.iloc[:2]]).to_parquet(w.nodes)
    return r"one row per node; 'file \d+'.* several"


def unknown_split(w: Written) -> str:
    table = pd.read_parquet(w.nodes)
    table.assign(part="training set").to_parquet(w.nodes)
    return r"must have train, valid or test, got 'training set'"


def other_ids(w: Written) -> str:
    table = pd.read_parquet(w.nodes)
    table.assign(name=np.arange(len(table))).to_parquet(w.nodes)
    return r"has texts, but 'name' of .* has integers: ids must be of one type"


@pytest.mark.parametrize(
    "damage", [damaged_parquet, other_type, missing_column, empty_cell, node_twice, unknown_split, other_ids]
)
def test_damaged_input_is_named_and_nothing_is_left_as_if_it_were_done(tmp_path: Path, damage) -> None:  # type: ignore[no-untyped-def]
    w = written(tmp_path)
    expected = damage(w)
    with pytest.raises(ValueError, match=expected):
        make_shards(job_of(w, tmp_path / "out"))
    assert not (tmp_path / "out" / "partition.json").exists()


def test_options_that_cannot_work_are_refused() -> None:
    with pytest.raises(ValueError, match="memory must be at least"):
        Job("a.parquet", "out", 2, memory=2**20)
    with pytest.raises(ValueError, match="method must be one of"):
        Job("a.parquet", "out", 2, method="best")
    with pytest.raises(ValueError, match="must leave a part to train on"):
        Job("a.parquet", "out", 2, valid=0.5, test=0.5)


def of_club(table: pd.DataFrame) -> pd.Series:
    """A role that is the same in rows that are repeated."""
    return table["member"].str[-1].astype(int).mod(3).map({0: "buyer", 1: "seller", 2: "agent"})


def test_roles_and_weights_go_with_their_incidences(tmp_path: Path) -> None:
    w = with_attributes(
        written(tmp_path), role=of_club, weight=lambda t: t["club"] + t["member"].str[-2:].astype(int)
    )
    job = job_of(w, tmp_path / "out", role_column="role", weight_column="weight")
    manifest = make_shards(job)
    assert manifest["roles"] == {"agent": 0, "buyer": 1, "seller": 2}
    number = torch.tensor([int(name[-1]) % 3 for name in w.names])
    role, weight = (number + 1) % 3, torch.tensor([int(name[-2:]) for name in w.names])
    h = w.h.replace(
        roles=role[w.h.incidence.index],
        incidence_weight=(weight[w.h.incidence.index] + 7 * w.h.incidence.rows + 1).float(),
    )
    owner = torch.empty(h.num_nodes, dtype=torch.int64), torch.empty(h.num_edges, dtype=torch.int64)
    found = [read_shard(tmp_path / "out", r, 2) for r in range(2)]
    for rank, part in enumerate(found):
        owner[0][part["node_ids"]], owner[1][part["edge_ids"]] = rank, rank
    for rank, part in enumerate(found):
        expected = cut(h, given_partition(h, owner[0], 2, owner[1]), rank)
        for name in ("ptr", "index", "roles", "num_roles", "incidence_weight"):
            assert torch.equal(part[name], expected[name]), name


def test_tail_and_head_of_one_set_are_a_role_of_their_own(tmp_path: Path) -> None:
    table = pd.DataFrame({"node": list("aabbc"), "edge": [1] * 5, "role": ["tail", "head", *["tail"] * 3]})
    table.to_parquet(tmp_path / "members.parquet")
    make_shards(Job(tmp_path / "members.parquet", tmp_path / "out", 1, role_column="role", workers=0))
    assert read_shard(tmp_path / "out", 0, 1)["roles"].tolist() == [2, 0, 0]
    table.replace("tail", "seller").to_parquet(tmp_path / "others.parquet")
    with pytest.raises(ValueError, match="1 nodes have two roles in one set"):
        make_shards(Job(tmp_path / "others.parquet", tmp_path / "new", 1, role_column="role", workers=0))


def test_a_node_with_two_weights_in_one_set_is_refused(tmp_path: Path) -> None:
    table = pd.DataFrame({"node": list("aab"), "edge": [1] * 3, "weight": [2.0, 2.0, 1.0]})
    table.to_parquet(tmp_path / "same.parquet")
    make_shards(Job(tmp_path / "same.parquet", tmp_path / "out", 1, weight_column="weight", workers=0))
    assert read_shard(tmp_path / "out", 0, 1)["incidence_weight"].tolist() == [2, 1]
    table.assign(weight=[2.0, 3.0, 1.0]).to_parquet(tmp_path / "others.parquet")
    with pytest.raises(ValueError, match="1 nodes have two weights in one set, such as 2 and 3"):
        make_shards(Job(tmp_path / "others.parquet", tmp_path / "new", 1, weight_column="weight", workers=0))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"role": lambda table: [None, *"a" * (len(table) - 1)]}, r"column 'role' of .* has 1 empty cells"),
        ({"role": 32}, "roles must be from 0 to 31, got 32"),
        ({"role": 0.5}, "column 'role' of .* must have words or integers"),
        ({"weight": "heavy"}, "column 'weight' of .* must have numbers"),
        ({"weight": np.inf}, "has weights that are not finite"),
    ],
)
def test_attributes_that_cannot_be_read_are_refused(tmp_path: Path, change: dict, message: str) -> None:
    w = with_attributes(written(tmp_path, files=1), **{"role": 0, "weight": 1.5} | change)
    with pytest.raises(ValueError, match=message):
        make_shards(job_of(w, tmp_path / "out", role_column="role", weight_column="weight"))
