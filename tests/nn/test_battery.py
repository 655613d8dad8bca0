"""One battery for every layer and model."""

import copy

import pytest
import torch
from safetensors.torch import load, save
from torch.func import functional_call, stack_module_state

import ehnn
from ehnn import Hypergraph
from ehnn.nn import EHNNMLP, EHNNLinear, EHNNTransformer
from ehnn.ops import explain, use_backend
from ehnn.ops._native.compiled import missing
from ehnn.testing import assert_equivariant, assert_invariant, random_hypergraph

from .battery import (
    ALL,
    COMPILED,
    D_IN,
    D_OUT,
    DEGENERATE,
    LAYERS,
    MODELS,
    READOUTS,
    dressed,
    features,
    hypergraph,
    make,
    run,
)

PAIRS = [(s, t) for s in ("nodes", "edges", "all") for t in ("nodes", "edges", "all")]
every = pytest.mark.parametrize("name", ALL)


def gradients(module, name, h):
    module.zero_grad()
    run(module, name, h).square().sum().backward()
    return {k: p.grad for k, p in module.named_parameters() if p.grad is not None}


# ---------------------------------------------------------------------- symmetry


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_layers_are_equivariant(name, source, target):
    module = make(name).double()
    h = hypergraph(dtype=torch.float64)
    assert_equivariant(lambda h: run(module, name, h, (source, target)), h, target=target, trials=1)


@pytest.mark.parametrize("name", MODELS)
def test_models_are_equivariant(name):
    module = make(name).double()
    assert_equivariant(module, hypergraph(dtype=torch.float64), target="nodes")


@pytest.mark.parametrize("name", [*LAYERS, *READOUTS])
@pytest.mark.parametrize("source", ["nodes", "edges", "all"])
def test_readouts_are_invariant(name, source):
    module = make(name).double()
    h = hypergraph(dtype=torch.float64)
    assert_invariant(lambda h: run(module, name, h, (source, "graph")), h, trials=1)


@pytest.mark.parametrize("name", LAYERS)
def test_candidates_are_targets_of_their_own(name):
    """Rows of candidates inside E are those of "edges"; others depend on nothing but themselves."""
    module, h = make(name).double(), hypergraph(dtype=torch.float64)
    x = features(h, "all")
    x = x.repeat(1, module.d_in // D_IN + 1)[:, : module.d_in]
    inside = module(x, h.overlap("all", "edges"))
    outside = [[0, 1, 2], [], [9]]
    y = module(x, h.overlap("all", [*outside, *h.edges()]))
    torch.testing.assert_close(y[3:], inside, atol=1e-10, rtol=0)
    torch.testing.assert_close(y[:3], module(x, h.overlap("all", outside)), atol=1e-10, rtol=0)


# ---------------------------------------------------------------------- implementations

PATHS = {
    "mlp": {"ehnn_mlp": {"naive"}, "phi": {"cpu", "steps"}, "segment_sum": {"cpu"}},
    "mlp-16x16": {"ehnn_mlp": {"cpu"}},
    "mlp-64x64-no-norm": {"ehnn_mlp": {"cpu"}},
    "mlp-16x16-sum-dropout": {"ehnn_mlp": {"cpu"}},
    "transformer": {"phi": {"cpu", "steps"}, "attention_logits": {"folded"}, "segment_softmax_sum": {"cpu"}},
    "transformer-16x16": {"phi": {"cpu", "steps"}},
    "transformer-64x64-no-norm": {"phi": {"cpu", "steps"}},
    "linear-lookup": {"grouped_matmul": {"by_length"}, "segment_sum": {"cpu"}},
}


@pytest.mark.skipif(missing("layer", torch.float32) is not None, reason="needs a C compiler")
@pytest.mark.parametrize("name", PATHS)
def test_every_path_is_entered(name):
    """The tests of this file run the kernels, and the definitions on the backend "reference"."""
    module, h = make(name), hypergraph()
    found = explain(lambda: run(module, name, h), quiet=True)
    assert {operation: found.ran(operation) for operation in PATHS[name]} == PATHS[name]
    with use_backend("reference"):
        found = explain(lambda: run(module, name, h), quiet=True)
    assert {choice.ran for choice in found} == {"naive"}


@pytest.mark.parametrize("name", PATHS)
def test_every_path_gives_the_gradients_of_the_definitions(name):
    module, h = make(name).double(), hypergraph(dtype=torch.float64)
    found = gradients(module, name, h)
    with use_backend("reference"):
        want = gradients(module, name, h)
    assert found.keys() == want.keys()
    for key, value in found.items():
        torch.testing.assert_close(value, want[key], rtol=1e-8, atol=1e-8)


# ---------------------------------------------------------------------- batches


@every
def test_batch_equals_singles(name):
    module = make(name).double()
    members = [hypergraph(i, 8 + i, 4 + 2 * i, torch.float64) for i in range(3)]
    bare = Hypergraph.from_edges([], num_nodes=2)
    members.insert(1, dressed(bare, torch.float64))
    pair = ("nodes", "edges") if name in LAYERS else None
    together = run(module, name, ehnn.batch(members), pair)
    alone = torch.cat([run(module, name, h, pair) for h in members])
    torch.testing.assert_close(together, alone, atol=1e-10, rtol=0)


@pytest.mark.parametrize("name", LAYERS)
def test_batch_equals_singles_for_all_to_all(name):
    module = make(name).double()
    members = [hypergraph(i, 8 + i, 4 + 2 * i, torch.float64) for i in range(2)]
    y = run(module, name, ehnn.batch(members), ("all", "all"))
    alone = [run(module, name, h, ("all", "all")) for h in members]
    nodes = [h.num_nodes for h in members]
    parts = [a[:n] for a, n in zip(alone, nodes, strict=True)]
    parts += [a[n:] for a, n in zip(alone, nodes, strict=True)]
    torch.testing.assert_close(y, torch.cat(parts), atol=1e-10, rtol=0)


# ---------------------------------------------------------------------- degenerate input


@every
@pytest.mark.parametrize("kind", DEGENERATE)
def test_degenerate_hypergraphs(name, kind):
    module, h = make(name), dressed(DEGENERATE[kind])
    families = [None] if name in MODELS else [("nodes", "edges"), ("all", "all"), ("edges", "graph")]
    for pair in families:
        y = run(module, name, h, pair)
        target = (pair or ("nodes", "nodes"))[1]
        count = {"nodes": h.num_nodes, "edges": h.num_edges, "all": h.num_nodes + h.num_edges}
        rows = h.num_members if target == "graph" or name in READOUTS else count[target]
        assert y.shape == (rows, getattr(module, "d_out", D_OUT))
        assert y.isfinite().all()
        y.square().sum().backward()
        assert all(p.grad.isfinite().all() for p in module.parameters() if p.grad is not None)


# ---------------------------------------------------------------------- gradients and types


@every
def test_gradients_are_finite_and_reach_every_parameter(name):
    module, h = make(name), hypergraph()
    found = gradients(module, name, h)
    assert set(found) == {k for k, _ in module.named_parameters()}
    assert all(g.isfinite().all() for g in found.values())
    x = h.x.clone().requires_grad_()
    run(module, name, h.replace(x=x), ("nodes", "edges")).square().sum().backward()
    assert x.grad.isfinite().all()
    assert x.grad.abs().sum() > 0


@every
def test_float64(name):
    single, double = make(name), make(name).double()
    h = hypergraph()
    wide = h.replace(x=h.x.double(), edge_x=h.edge_x.double())
    y = run(double, name, wide)
    assert y.dtype == torch.float64
    torch.testing.assert_close(run(single, name, h).double(), y, atol=2e-4, rtol=2e-4)


@every
def test_bfloat16_autocast(name):
    module, h = make(name), hypergraph()
    want = run(module, name, h).detach()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = run(module, name, h)
        loss = y.float().square().mean()
    loss.backward()
    assert (y.detach().float() - want).abs().max() < 0.1 * want.abs().max()
    assert all(p.grad.isfinite().all() and p.grad.dtype == p.dtype for p in module.parameters())


@every
def test_bfloat16_module(name):
    module, h = make(name).bfloat16(), hypergraph(dtype=torch.bfloat16)
    y = run(module, name, h)
    assert y.dtype == torch.bfloat16
    y.float().square().mean().backward()
    assert all(p.grad.isfinite().all() for p in module.parameters())


# ---------------------------------------------------------------------- transformations


@every
def test_vmap_over_parameters_is_a_loop(name):
    modules, h = [make(name, seed) for seed in range(3)], hypergraph()
    parameters, buffers = stack_module_state(modules)

    def output(p, b):
        return _call(modules[0], name, p, b, h)

    got = torch.vmap(output)(parameters, buffers)
    torch.testing.assert_close(got, torch.stack([run(m, name, h) for m in modules]), atol=1e-4, rtol=1e-4)
    slopes = torch.vmap(torch.func.grad(lambda p, b: output(p, b).square().sum()))(parameters, buffers)
    for i, module in enumerate(modules):
        for key, want in gradients(module, name, h).items():
            torch.testing.assert_close(slopes[key][i], want, atol=1e-2, rtol=1e-3)


@every
def test_functional_call_leaves_the_module_as_it_was(name):
    module, h = make(name), hypergraph()
    want = run(module, name, h)
    zeros = {k: torch.zeros_like(v) for k, v in module.named_parameters()}
    _call(module, name, zeros, dict(module.named_buffers()), h)
    assert torch.equal(run(module, name, h), want)


def _call(module, name, parameters, buffers, h):
    class _Run(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = module

        def forward(self):
            return run(self.inner, name, h)

    state = {f"inner.{k}": v for k, v in (parameters | buffers).items()}
    return functional_call(_Run(), state, ())


@every
def test_state_dict_through_safetensors(name):
    module, other, h = make(name), make(name, seed=1), hypergraph()
    state = load(save({k: v.contiguous() for k, v in module.state_dict().items()}))
    assert not torch.equal(run(other, name, h), run(module, name, h))
    other.load_state_dict(state)
    assert torch.equal(run(other, name, h), run(module, name, h))


@every
def test_deepcopy_is_independent(name):
    module, h = make(name), hypergraph()
    twin = copy.deepcopy(module)
    want = run(module, name, h)
    assert torch.equal(run(twin, name, h), want)
    with torch.no_grad():
        for p in twin.parameters():
            p.add_(1)
    assert torch.equal(run(module, name, h), want)


@pytest.mark.parametrize("name", COMPILED)
def test_compiles_as_one_graph(name):
    """Traced whole with dynamic shapes; a second hypergraph with other counts needs no new graph."""
    torch.compiler.reset()
    graphs = []

    def backend(graph, example_inputs):
        graphs.append(graph)
        return graph.forward

    module = make(name)
    compiled = torch.compile(module, fullgraph=True, dynamic=True, backend=backend)
    for h in (hypergraph(0, 21, 17), hypergraph(1, 33, 25)):
        want = run(module, name, h)
        torch.testing.assert_close(run(compiled, name, h), want)
    assert len(graphs) == 1


@pytest.mark.parametrize("name", [n for n in ALL if n not in COMPILED and "x16" not in n and "x64" not in n])
def test_compiles_whole(name):
    """Traced without a break, with dynamic shapes; the gradients are the same."""
    torch.compiler.reset()
    module, h = make(name).eval(), hypergraph(0, 21, 17)
    want, slopes = run(module, name, h), gradients(module, name, h)
    compiled = torch.compile(module, fullgraph=True, dynamic=True, backend="eager")
    torch.testing.assert_close(run(compiled, name, h), want)
    for key, value in gradients(compiled, name, h).items():
        torch.testing.assert_close(value, slopes[key.removeprefix("_orig_mod.")], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(
    ("name", "backend"), [("all-set-transformer", "aot_eager"), ("all-deep-sets", "inductor")]
)
def test_compiled_gradients(name, backend):
    torch.compiler.reset()
    module, h = make(name), hypergraph(0, 11, 9)
    want = gradients(module, name, h)
    got = gradients(torch.compile(module, fullgraph=True, dynamic=True, backend=backend), name, h)
    for key, value in want.items():
        torch.testing.assert_close(got[f"_orig_mod.{key}"], value, atol=1e-4, rtol=1e-4)


@every
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_gpu_equals_cpu(name):
    module, h = make(name), hypergraph()
    want, slopes = run(module, name, h), gradients(module, name, h)
    there = copy.deepcopy(module).cuda()
    y = run(there, name, h.to("cuda"))
    torch.testing.assert_close(y.cpu(), want, atol=1e-3, rtol=1e-3)
    for key, value in gradients(there, name, h.to("cuda")).items():
        torch.testing.assert_close(value.cpu(), slopes[key], atol=1e-2, rtol=1e-2)


# ---------------------------------------------------------------------- bad input


@pytest.mark.parametrize("name", MODELS)
def test_a_model_called_with_features(name):
    with pytest.raises(
        ValueError, match=r"is called as model\(h\) with a Hypergraph, got a tensor of \[4, 10\]"
    ):
        make(name)(torch.ones(4, D_IN))


@pytest.mark.parametrize("name", [*LAYERS, *READOUTS])
def test_features_that_do_not_fit(name):
    module, h = make(name), hypergraph()
    overlap = h.overlap("nodes", "edges")
    with pytest.raises(ValueError, match=rf"one row per source \(12\), got shape \[9, {D_IN}\]"):
        module(h.edge_x, overlap)
    with pytest.raises(ValueError, match=rf"d_in={module.d_in} channels, got 2"):
        module(h.x[:, :2], overlap)
    with pytest.raises(ValueError, match="one row per source"):
        module(h.x[:, 0], overlap)


@pytest.mark.parametrize("name", [*LAYERS, *READOUTS])
@pytest.mark.parametrize("width", [0, -1, 2.0, None])
def test_widths_that_do_not_exist(name, width):
    with pytest.raises(ValueError, match="d_in must be a positive integer"):
        ALL[name](width, 8)
    with pytest.raises(ValueError, match="d_out must be a positive integer"):
        ALL[name](D_IN, width)


@pytest.mark.parametrize("make", [
    lambda: EHNNTransformer(8, 8, heads=2), lambda: EHNNMLP(8, 8),
    lambda: EHNNLinear(8, 8, weights="lookup", source_orders=[1], target_orders=range(1, 6)),
])  # fmt: skip
def test_a_layer_made_without_memory_is_the_same_once_loaded(make):
    h = random_hypergraph(12, 6, (1, 5), seed=0, d_node=8)
    one = make()
    with torch.device("meta"):
        other = make()
    other.to_empty(device="cpu").load_state_dict(one.state_dict())
    args = h.x, h.overlap("nodes", "edges")
    torch.testing.assert_close(other(*args), one(*args))
