"""HIF: round trips and clear errors."""

import json

import pytest
import torch
from hypothesis import given
from io_strategies import FILES, hypergraphs

import ehnn.io as eio
from ehnn import Hypergraph


@FILES
@given(hypergraphs(min_width=0))
def test_hif_round_trip(tmp_path, h):
    eio.write_hif(h, tmp_path / "h.json")
    assert eio.read_hif(tmp_path / "h.json") == h


def test_hif_keeps_numbers_and_text_apart(tmp_path):
    h = Hypergraph.from_edges([[0, 1, 2]], node_names=[1, "1", 0], edge_names=[0])
    eio.write_hif(h, tmp_path / "h.json")
    assert eio.read_hif(tmp_path / "h.json") == h


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.int8, torch.bool, torch.uint8])
def test_hif_keeps_dtypes(dtype):
    h = Hypergraph.from_edges([[0, 1]], x=torch.tensor([[1, 0], [0, 1]]).to(dtype), y=torch.tensor([0.5, 2]))
    assert eio.from_hif_dict(eio.to_hif_dict(h)) == h


def test_hif_is_strict_json_even_with_nan(tmp_path):
    x = torch.tensor([[float("nan"), 1.0], [float("inf"), -float("inf")]])
    h = Hypergraph.from_edges([[0, 1]], x=x, y=torch.tensor([float("nan"), 1.0]))
    eio.write_hif(h, tmp_path / "h.json")
    json.loads((tmp_path / "h.json").read_text(), parse_constant=pytest.fail)
    back = eio.read_hif(tmp_path / "h.json")
    assert torch.equal(back.x.nan_to_num(7), x.nan_to_num(7))
    assert back.y.isnan().tolist() == [True, False]
    with pytest.raises(ValueError, match="edge_weight must be finite"):
        eio.to_hif_dict(h.replace(edge_weight=torch.tensor([float("nan")])))
    with pytest.raises(ValueError, match="complex64"):
        eio.to_hif_dict(h.replace(x=x.to(torch.complex64)))


def test_hif_attributes_are_chosen_by_name():
    data = {
        "nodes": [
            {"node": "a", "attrs": {"age": 1, "club": "x"}},
            {"node": "b", "attr": {"age": 2, "club": "w"}},
        ],
        "incidences": [{"node": "a", "edge": 5, "weight": 2}, {"node": "b", "edge": 5}],
    }
    h = eio.from_hif_dict(data, x="age", y="club")
    assert (h.x.tolist(), h.y.tolist(), h.incidence_weight.tolist()) == ([[1], [2]], [1, 0], [2, 1])
    assert h.edge_names == (5,)


PAIR = {"node": 0, "edge": 0}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("{", "line 1, column 2"),
        ("", "line 1"),
        ("[" * 100_000, "nested too deeply"),
        ("9" * 5000, "digits"),
        ([], "expected a JSON object"),
        ({"incidence": []}, "'incidences' is missing.*did you mean 'incidence'"),
        ({"incidences": {}}, "incidences must be a list"),
        ({"incidences": [PAIR, 3]}, r"incidences\[1\] must be an object, got 3"),
        ({"incidences": [PAIR, {"node": 1}]}, r"incidences\[1\] must have 'edge'.*got \['node'\]"),
        ({"incidences": [{"node": True, "edge": 0}]}, r"incidences\[0\] must have 'node'.*got True"),
        ({"incidences": [{"node": [1], "edge": 0}]}, r"incidences\[0\] must have 'node'.*got \[1\]"),
        ({"incidences": [PAIR | {"weight": "2"}]}, r"incidences\[0\].weight must be a number, got '2'"),
        ({"incidences": [PAIR | {"weight": 10**400}]}, "incidence_weight must be numbers"),
        (
            {"incidences": [PAIR | {"weight": 2}, PAIR | {"weight": 3}]},
            "node 0 is given twice in hyperedge 0, with incidence_weight 2.0 and 3.0",
        ),
        ({"incidences": [PAIR], "nodes": [{"node": 0}, {"node": 0}]}, r"nodes\[1\] lists 0 a second time"),
        ({"incidences": [PAIR], "nodes": [{"node": 0, "attrs": 3}]}, r"nodes\[0\].attrs must be an object"),
        ({"incidences": [PAIR], "network-type": "directed"}, "directed"),
        ({"incidences": [PAIR], "network-type": ["x"]}, "network-type must be one of"),
        ({"incidences": [PAIR], "metadata": 3}, "metadata must be an object"),
        ({"incidences": [PAIR], "metadata": {"ehnn": {"version": 2}}}, "version 1"),
        (
            {"incidences": [PAIR], "metadata": {"ehnn": {"version": 1, "tensors": {"A" * 5000: {}}}}},
            "describes 'AAA",
        ),
    ],
)
def test_hif_faults(file, data, message):
    path = file(data if isinstance(data, str) else json.dumps(data), "h.json")
    with pytest.raises(ValueError, match=message) as caught:
        eio.read_hif(path)
    assert "h.json" in str(caught.value)
    assert len(str(caught.value)) < 1000


def test_hif_directed_may_be_read_as_undirected():
    data = {"network-type": "directed", "incidences": [PAIR | {"direction": "head"}]}
    assert eio.from_hif_dict(data, ignore_direction=True) == Hypergraph.from_edges([[0]])


def test_weights_may_be_attributes_as_of_xgi():
    data = {
        "incidences": [{"edge": "e", "node": "a", "attrs": {"weight": 3}}, {"edge": "f", "node": "a"}],
        "edges": [{"edge": "e", "attrs": {"weight": 2.5}}, {"edge": "f", "attrs": {"colour": "red"}}],
    }
    h = eio.from_hif_dict(data)
    assert h.edge_weight.tolist() == [2.5, 1]
    assert h.incidence_weight.tolist() == [3, 1]


def test_weights_that_another_program_lost_are_not_ones():
    h = Hypergraph.from_edges([[0, 1], [1, 2]], edge_weight=torch.tensor([5.0, 2.0]))
    data = eio.to_hif_dict(h)
    for record in data["edges"]:
        del record["weight"]
    with pytest.warns(
        UserWarning, match="edge_weight: ehnn wrote weights, and another program has lost them"
    ):
        assert eio.from_hif_dict(data).edge_weight is None
