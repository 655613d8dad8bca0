"""Every benchmark at a tiny size: rows that can be read back, and the arithmetic behind them."""

from __future__ import annotations

import importlib
import importlib.util
import math

import pytest
import torch

from ehnn.cli import main as command_line
from ehnn.testing import random_hypergraph
from ehnn_paper import benches as bench
from ehnn_paper.cost.cost import PAPER, PLAIN, RELEASE
from ehnn_paper.cost.pair import MODELS, make_pair
from ehnn_paper.cost.plain import PlainPair
from ehnn_paper.k_edge.task import KEdge
from ehnn_paper.measure.memory import held_bytes, peak_bytes
from ehnn_paper.measure.timing import make_step, split_times
from ehnn_paper.results import KEYS, read_rows, write_rows
from ehnn_paper.scale.figure import draw_performance

QUIET = [].append  # a `say` that keeps its lines


@pytest.fixture(scope="module")
def h():
    return random_hypergraph(20, 8, orders=(2, 5), seed=0)


def values(rows, model, setting=None):
    return {r["metric"]: r["mean"] for r in rows if r["model"] == model and setting in (None, r["setting"])}


def check(rows, experiment, out):
    assert rows
    assert all(tuple(sorted(r)) == tuple(sorted(KEYS)) and math.isfinite(r["mean"]) for r in rows)
    assert {r["experiment"] for r in rows} == {experiment}
    assert len(read_rows(experiment, out)) == len(rows)


def test_tables_have_every_row_of_the_paper():
    assert set(PAPER) == set(RELEASE["cpu"]) == set(RELEASE["cuda"]) == set(MODELS)
    assert set(bench.BENCHES) == {"cost", "scale", "peers", "walmart", "k-edge"}


def test_cost(tmp_path):
    rows = bench.cost(out=tmp_path, repeats=3, variants=["eager"], nodes=40, edges=6, say=QUIET)
    check(rows, "cost", tmp_path)
    for name in MODELS:
        found = values(rows, name)
        assert found["total_ms"] > 0
        assert found["peak_mb"] > 0
        assert found["times_faster_than_release"] > 0
        assert found["times_roofline"] == pytest.approx(found["total_ms"] / found["roofline_ms"])
    assert values(rows, "ehnn-mlp")["times_faster_than_plain"] > 0
    assert "total_ms" in values(rows, PLAIN)


def test_scale_and_its_figure(tmp_path):
    pytest.importorskip("matplotlib")
    rows = bench.scale(out=tmp_path, repeats=2, sizes=[100, 1000], width=8, say=QUIET)
    check(rows, "scale", tmp_path)
    small, large = (values(rows, "ehnn-mlp", f"1e{k} incidences, cpu-1") for k in (2, 3))
    assert large["peak_mb"] > small["peak_mb"] > 0
    assert large["bytes_per_incidence"] > 0
    assert large["needed_mb"] > small["needed_mb"] > 0
    assert values(rows, "ehnn-mlp, bounded memory", "1e3 incidences, cpu-1")["peak_mb"] > 0
    assert values(rows, "segment_sum")["fraction_of_copy"] > 0
    assert (tmp_path / "scale.png").stat().st_size > 1000
    assert not (tmp_path / "performance.png").exists()  # no row is of a GPU


def test_time_per_incidence_is_drawn_from_rows_of_a_gpu(tmp_path):
    pytest.importorskip("matplotlib")
    about = {"selection": "none", "std": None, "runs": 1, "paper": None, "command": "", "commit": ""}
    about |= {"hardware": "", "date": ""}
    rows = [
        {"setting": "cuda", "model": "copy", "metric": "gb_per_s", "mean": 4000.0},
        {"setting": "1e6 incidences, cuda", "model": "ehnn-mlp", "metric": "total_ms", "mean": 16.0},
    ]
    write_rows("scale", [row | about for row in rows], tmp_path)
    draw_performance(tmp_path)
    assert (tmp_path / "performance.png").stat().st_size > 1000


def test_scale_stops_where_memory_ends(tmp_path, monkeypatch):
    module = importlib.import_module("ehnn_paper.scale.scale")  # the function of this name hides it
    monkeypatch.setattr(module, "available_bytes", lambda: 1)
    rows = bench.scale(out=None, repeats=2, sizes=[100, 200, 300], width=8, say=QUIET)
    stopped = [(r["setting"], r["model"]) for r in rows if r["metric"] == "out_of_memory"]
    assert stopped == [("2e2 incidences, cpu-1", m) for m in ("ehnn-mlp", "ehnn-mlp, bounded memory")]
    assert not [r for r in rows if r["setting"].startswith("3e2")]


def test_peers(tmp_path):
    rows = bench.peers(out=tmp_path, repeats=2, incidences=200, width=8, say=QUIET)
    check(rows, "peers", tmp_path)
    assert values(rows, "hgnn")["total_ms"] > 0
    assert values(rows, "ehnn-mlp, all")["needed_gflop"] > values(rows, "hgnn")["needed_gflop"] > 0
    if importlib.util.find_spec("torch_geometric"):
        assert values(rows, "hgnn")["times_faster_than_pyg"] > 0
        assert values(rows, "ehnn-mlp")["times_faster_than_pyg"] > 0


def test_walmart_with_a_stand_in(tmp_path):
    rows = bench.walmart(out=tmp_path, repeats=2, width=16, shape=(60, 30, 120), say=QUIET)
    check(rows, "walmart", tmp_path)
    assert {r["model"] for r in rows} == {"ehnn-mlp", "ehnn-transformer"}
    assert all(r["setting"] == "random as walmart-trips, cpu-1, float32, eager" for r in rows)
    least = {"needed_mb", "needed_gflop", "roofline_ms", "times_roofline"}
    assert {r["metric"] for r in rows} == {
        "epoch_ms",
        *least,
    }  # no comparison with the release at another width


def test_k_edge(tmp_path):
    task = KEdge(train=8, valid=2, test=2)
    rows = bench.k_edge(out=tmp_path, repeats=6, task=task, say=QUIET)
    check(rows, "k-edge-speed", tmp_path)
    found = values(rows, "ehnn-mlp")
    assert found["run_s_extrapolated"] * found["times_faster_than_release"] == pytest.approx(180)
    with pytest.raises(ValueError, match="repeats must be above 4"):
        bench.k_edge(repeats=4, task=task, out=None)


def test_plain_message_passing_is_the_same_function(h):
    fast, plain = make_pair("ehnn-mlp", h, width=8).double(), PlainPair(8, h).double()
    for ours, theirs in zip((fast.first, fast.second), plain.layers, strict=True):
        theirs.load_state_dict(ours.state_dict())
    x = torch.randn(h.num_nodes, 8, dtype=torch.float64)
    torch.testing.assert_close(plain(x), fast(x))


def test_peak_counts_what_lives_at_once():
    def doubling():
        a = torch.ones(1000)
        b = a + 1
        del a
        return b * 2

    assert 8000 <= peak_bytes(doubling, "cpu") < 8200


def test_held_counts_each_storage_once(h):
    x = torch.ones(100)
    assert held_bytes(x, [x, x[:10]]) == 400
    assert held_bytes(h) >= 8 * 3 * h.num_incidences


def test_split_times_are_all_there():
    model = torch.nn.Linear(3, 2)
    step = make_step(model, lambda: model(torch.ones(4, 3)))
    times = split_times({"a": step, "b": step}, 5, "cpu")
    assert all(len(times[n][k]) == 5 for n in "ab" for k in ("forward", "backward", "total"))


def main(arguments):
    """The exit code of ``ehnn bench``."""
    with pytest.raises(SystemExit) as left:
        command_line(["bench", *arguments])
    return left.value.code


def test_command_line(tmp_path, capsys):
    assert main(["k-edge", "--out", str(tmp_path / "a"), "--repeats", "5"]) == 0
    assert main(["--merge", str(tmp_path / "a"), "--out", str(tmp_path / "b")]) == 0
    assert read_rows("k-edge-speed", tmp_path / "b") == read_rows("k-edge-speed", tmp_path / "a")
    assert "merged" in capsys.readouterr().out


def test_bad_requests_are_one_line(tmp_path, capsys):
    assert main(["--device", "cpu"]) == 2
    assert "name at least one benchmark" in capsys.readouterr().err
    assert main(["cost", "--variants", "quick", "--out", str(tmp_path)]) == 2
    assert "variants must be among" in capsys.readouterr().err
    assert main(["scale", "--variants", "graph", "--out", str(tmp_path)]) == 2
    assert "--variants does not go with the benchmark 'scale'" in capsys.readouterr().err
    with pytest.raises(ValueError, match="device must be cpu or cuda"):
        bench.peers(device="abacus")
    with pytest.raises(ValueError, match="no tables"):
        bench.merge(tmp_path, tmp_path)
