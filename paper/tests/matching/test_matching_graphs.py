"""Delaunay graphs and SplineConv."""

import pytest
import torch
from torch.autograd import gradcheck

from ehnn_paper.matching.graphs import delaunay
from ehnn_paper.matching.spline import Refine, SplineConv, SplineGraph, spline_basis, spline_graph

from .matching_examples import random_batch


def connected(edges, n):
    reach = torch.eye(n, dtype=torch.bool)
    reach[edges[0], edges[1]] = reach[edges[1], edges[0]] = True
    for _ in range(n):
        reach = (reach.float() @ reach.float()) > 0
    return bool(reach.all())


def test_square_with_centre():
    points = torch.tensor([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [2.0, 2.0], [1.1, 0.9]])
    edges, triangles = delaunay(points)
    assert edges.T.tolist() == [[0, 1], [0, 2], [0, 4], [1, 3], [1, 4], [2, 3], [2, 4], [3, 4]]
    assert triangles.T.tolist() == [[0, 1, 4], [0, 2, 4], [1, 3, 4], [2, 3, 4]]


def test_no_point_lies_inside_a_circumcircle():
    points = torch.rand(12, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    edges, triangles = delaunay(points)
    n, e, t = 12, edges.shape[1], triangles.shape[1]
    assert n - e + t == 1  # Euler, without the outer face
    for i, j, k in triangles.T.tolist():
        corner = points[[i, j, k]]
        centre = torch.linalg.solve(2 * (corner[1:] - corner[0]), (corner[1:] ** 2 - corner[0] ** 2).sum(1))
        others = torch.ones(12, dtype=torch.bool)
        others[[i, j, k]] = False
        assert bool(((points[others] - centre).norm(dim=1) > (corner[0] - centre).norm() - 1e-12).all())


@pytest.mark.parametrize(
    ("points", "edges", "triangles"),
    [
        ([], [], []),
        ([[3, 4]], [], []),
        ([[3, 4], [1, 1]], [[0, 1]], []),
        ([[3, 4], [3, 4]], [[0, 1]], []),
        ([[0, 0], [1, 0], [0, 1]], [[0, 1], [0, 2], [1, 2]], [[0, 1, 2]]),
        ([[0, 0], [2, 2], [1, 1]], [[0, 2], [1, 2]], []),
        ([[5, 5]] * 4, [[0, 1], [1, 2], [2, 3]], []),
        ([[0, 0], [0, 3], [0, 1], [0, 2]], [[0, 2], [1, 3], [2, 3]], []),
        ([[0, 0], [1, 0], [0, 1], [0, 0]], [[0, 1], [0, 2], [0, 3], [1, 2]], [[0, 1, 2]]),
    ],
)
def test_few_and_degenerate_points(points, edges, triangles):
    found = delaunay(torch.tensor(points, dtype=torch.float32).reshape(-1, 2))
    assert [t.dtype for t in found] == [torch.int64] * 2
    assert (found[0].T.tolist(), found[1].T.tolist()) == (edges, triangles)


@pytest.mark.parametrize("bend", [1e-3, 1e-5, 1e-7, 1e-9, 1e-12, 0.0])
def test_nearly_collinear_points_stay_connected(bend):
    points = torch.tensor([[0.0, 0.0], [100.0, bend], [200.0, 0.0], [50.0, -bend], [250.0, bend]]).double()
    edges, _ = delaunay(points)
    assert connected(edges, 5)


def test_a_repeated_point_stays_connected():
    points = 256 * torch.rand(9, 2, generator=torch.Generator().manual_seed(1))
    points[7] = points[2]
    edges, triangles = delaunay(points)
    assert connected(edges, 9)
    assert bool((edges[0] < edges[1]).all())
    assert edges.unique(dim=1).shape == edges.shape
    assert triangles.unique(dim=1).shape == triangles.shape


@pytest.mark.parametrize("points", [torch.zeros(3), torch.zeros(3, 3), torch.tensor([[0.0, torch.nan]])])
def test_bad_points_are_named(points):
    with pytest.raises(ValueError, match="points must"):
        delaunay(points)


def naive_spline(conv, x, source, target, directions, kernel):
    """Edge by edge, with the hat functions of the control points."""
    messages = {}
    for s, t, (u, v) in zip(source.tolist(), target.tolist(), directions.tolist(), strict=True):
        total = torch.zeros(conv.weight.shape[2], dtype=x.dtype)
        for cx in range(kernel):
            for cy in range(kernel):
                hat = max(0.0, 1 - abs(u * (kernel - 1) - cx)) * max(0.0, 1 - abs(v * (kernel - 1) - cy))
                total = total + hat * (x[s] @ conv.weight[cx + kernel * cy])
        messages.setdefault(t, []).append(total)
    zero = torch.zeros(conv.weight.shape[2], dtype=x.dtype)
    most = [torch.stack(messages[i]).amax(0) if i in messages else zero for i in range(len(x))]
    return torch.stack(most) + conv.root(x)


@pytest.mark.parametrize("used", [True, False])
def test_spline_conv_is_the_naive_sum(used):
    torch.manual_seed(0)
    x, conv = torch.randn(6, 3, dtype=torch.float64), SplineConv(3, 4).double()
    source, target = torch.tensor([[0, 1, 2, 3, 0, 4], [1, 0, 1, 1, 3, 3]])  # node 5 has no neighbours
    directions = torch.rand(6, 2, dtype=torch.float64)
    directions[0], directions[1] = torch.tensor([0.0, 1.0]), torch.tensor([0.5, 0.25])
    corners, weights = spline_basis(directions, 5)
    cells = None
    if used:
        occurring, corners = torch.unique(corners, return_inverse=True)
        cells = tuple(occurring.tolist())
    found = conv(x, SplineGraph(source, target, corners, weights, cells))
    torch.testing.assert_close(found, naive_spline(conv, x, source, target, directions, 5))


def test_spline_shares_sum_to_one_and_reproduce_the_direction():
    directions = torch.rand(50, 2, dtype=torch.float64)
    corners, weights = spline_basis(directions, 5)
    torch.testing.assert_close(weights.sum(1), torch.ones(50, dtype=torch.float64))
    place = torch.stack([corners % 5, corners // 5], 2) / 4
    torch.testing.assert_close((weights.unsqueeze(2) * place).sum(1), directions)


def test_spline_graph_has_both_directions_and_points_the_right_way():
    batch = random_batch([(4, 5)])
    graph = spline_graph(batch.a, batch.b)
    assert graph.source.shape[0] == 2 * (batch.a.edges.shape[1] + batch.b.edges.shape[1])
    points = torch.cat([batch.a.points, batch.b.points])
    cells = torch.tensor(graph.used)[graph.corners]
    place = torch.stack([cells % 5, cells // 5], 2) / 4
    found = (graph.weights.unsqueeze(2) * place).sum(1)
    wanted = (points[graph.source] - points[graph.target]) / 512 + 0.5
    torch.testing.assert_close(found, wanted)


def test_spline_conv_gradients():
    torch.manual_seed(0)
    batch = random_batch([(4, 3)], dtype=torch.float64)
    graph, conv = spline_graph(batch.a, batch.b), SplineConv(2, 3).double()
    x = torch.randn(7, 2, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda x, _: conv(x, graph), (x, conv.weight))


def test_refinement_adds_a_tenth_and_none_of_it_without_layers():
    batch = random_batch([(5, 4)])
    x, graph = torch.randn(9, 6), spline_graph(batch.a, batch.b)
    refine = Refine(6)
    first, second = refine.layers
    torch.testing.assert_close(refine(x, graph), x + 0.1 * second(first(x, graph).relu(), graph))
    assert torch.equal(Refine(6, layers=0)(x, graph), x)


@pytest.mark.parametrize("counts", [(1, 1), (1, 2), (2, 3)])
def test_refinement_of_few_keypoints(counts):
    batch = random_batch([counts])
    assert bool(Refine(6)(torch.randn(sum(counts), 6), spline_graph(batch.a, batch.b)).isfinite().all())


@pytest.mark.parametrize("seed", range(20))
def test_collinear_points_of_any_image_are_a_path(seed):
    """Whole pixels on a line, scaled as images are: float32 rounds them off the line a little."""
    generator = torch.Generator().manual_seed(seed)
    steps = torch.randperm(40, generator=generator)[:5].sort().values
    way = torch.randint(1, 9, (2,), generator=generator)
    size = torch.randint(400, 900, (2,), generator=generator)
    points = ((steps.unsqueeze(1) * way).double() * 256 / size).float()
    edges, triangles = delaunay(points)
    assert edges.T.tolist() == [[0, 1], [1, 2], [2, 3], [3, 4]]
    assert triangles.shape == (3, 0)
