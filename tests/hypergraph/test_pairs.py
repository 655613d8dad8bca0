import pytest
import torch
from hypothesis import given, settings

import ehnn
from ehnn.hypergraph import pairs as pairs_module
from ehnn.hypergraph.pairs import (
    lexsort,
    owners,
    pairs_from_coo,
    pairs_from_sorted,
    pointer,
    repeat,
    selection,
)
from ehnn.testing.strategies import hypergraphs

QUICK = settings(max_examples=40, deadline=None)
TENSORS = ("ptr", "index", "t_ptr", "t_index", "t_perm")


def same(a, b):
    return (a.num_rows, a.num_cols) == (b.num_rows, b.num_cols) and all(
        torch.equal(getattr(a, name), getattr(b, name)) for name in TENSORS
    )


@given(hypergraphs())
@QUICK
def test_transposing_twice_gives_the_same(h):
    assert same(h.incidence.transpose().transpose(), h.incidence)


@given(hypergraphs())
@QUICK
def test_the_transpose_is_what_sorting_gives(h):
    p, t = h.incidence, h.incidence.transpose()
    assert same(t, pairs_from_sorted(p.t_ptr, p.t_index, p.num_rows))
    assert torch.equal(t.lengths, p.t_lengths)
    assert torch.equal(t.rows, p.index[p.t_perm])
    assert torch.equal(p.rows[p.t_perm], p.t_index)


@given(hypergraphs())
@QUICK
def test_the_sorted_transpose_without_scipy_agrees(h):
    p = h.incidence
    values, perm = torch.sort(p.index, stable=True)
    assert torch.equal(p.t_perm, perm)
    assert torch.equal(p.t_ptr, pointer(values, p.num_cols))
    assert torch.equal(p.t_index, p.rows[perm])


def test_everything_is_int64():
    from ehnn import Hypergraph

    for edges in ([[0, 1], [1]], [], [[]]):
        p = Hypergraph.from_edges(edges).incidence
        assert {getattr(p, name).dtype for name in TENSORS} == {torch.int64}


def test_pointer_and_repeat():
    assert pointer(torch.tensor([0, 0, 2]), 4).tolist() == [0, 2, 2, 3, 3]
    assert pointer(torch.zeros(0, dtype=torch.int64), 0).tolist() == [0]
    assert repeat(torch.tensor([2, 0, 1]), 3).tolist() == [0, 0, 2]


@given(hypergraphs(max_nodes=12, max_edges=8))
@QUICK
def test_compiled_code_counts_without_looking_at_values(h):
    p = h.incidence
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.compiler, "is_compiling", lambda: True)
        assert torch.equal(pointer(p.index, p.num_cols), p.t_ptr)


def test_each_place_has_an_owner_and_those_beyond_the_end_the_last_row():
    assert owners(torch.tensor([0, 2, 2, 3]), 3).tolist() == [0, 0, 2]
    assert owners(torch.tensor([0, 2, 2, 3]), 5).tolist() == [0, 0, 2, 2, 2]


def test_moving_keeps_everything():
    from ehnn import Hypergraph

    p = Hypergraph.from_edges([[0, 1], [1]]).incidence
    moved = p.to("meta")
    assert (moved.num_rows, moved.num_cols, len(moved)) == (2, 2, 3)
    assert all(getattr(moved, name).device.type == "meta" for name in TENSORS)


@given(hypergraphs(max_nodes=12, max_edges=8))
@QUICK
def test_a_compiled_split_sums_the_same_chunks(h):
    p, x = h.incidence, torch.arange(h.incidence.num_cols + 0.0) + 1

    def sums(split):
        chunk_ptr, row_ptr = split
        ends = torch.cat([x.new_zeros(1), x[p.index].cumsum(0)])
        chunks = torch.cat([x.new_zeros(1), ends[chunk_ptr].diff().cumsum(0)])
        return chunks[row_ptr].diff()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairs_module, "LONG", 2)
        counted = pairs_module._split(p.ptr, len(p))
        patch.setattr(torch.compiler, "is_compiling", lambda: True)
        bounded = pairs_module._split(p.ptr, len(p))
    wanted = torch.stack([x[row].sum() for row in p.index.split(p.lengths.tolist())]) if p.num_rows else None
    for split in (counted, bounded):
        if split is not None:
            assert int(split[0].diff().max()) <= 2
            assert torch.equal(sums(split), wanted)
    assert (bounded is None) == (p.num_rows == 0)


def test_short_rows_are_not_counted():
    h = ehnn.Hypergraph.from_edges([[0, 1], [1, 2]])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairs_module, "_split", None)
        p = pairs_module.with_short(h.incidence, rows=True, columns=True)
        assert (p.split, p.t_split) == (None, None)


def lexsorted(row, col):
    found = sorted(zip(row, col, strict=True))
    return [pair[0] for pair in found], [pair[1] for pair in found]


@pytest.mark.parametrize("base", [1, 7, 2**20 + 1, 10**10, 2**40, 2**62])
def test_sorting_is_right_up_to_the_largest_numbers(base):
    """Row and column are sorted as one number where that fits into 63 bits: just so, and one too many."""
    last = (2**63 - 1) // base
    for largest in (last - 1, last, min(last + 1, 2**63 - 1)):
        row = [largest, 0, largest, largest - 1, 0, largest]
        col = [base - 1, base - 1, 0, base // 2, 0, base // 3]
        found = lexsort(torch.tensor(row), torch.tensor(col), base)
        assert tuple(t.tolist() for t in found) == lexsorted(row, col)


def test_repeated_pairs_keep_the_place_of_the_first():
    row, col = torch.tensor([1, 0, 1, 1, 0]), torch.tensor([2, 1, 0, 2, 1])
    pairs, order = pairs_from_coo(row, col, 3, 4, need_order=True)
    assert (pairs.rows.tolist(), pairs.index.tolist()) == ([0, 1, 1], [1, 0, 2])
    assert order.tolist() == [1, 2, 0]
    assert same(pairs, pairs_from_coo(row, col, 3, 4)[0])


def test_a_selection_is_one_column_per_row():
    chosen = torch.tensor([2, 0, 2])
    pairs = selection(chosen, 4)
    assert same(pairs, pairs_from_coo(torch.arange(3), chosen, 3, 4)[0])
    assert pairs.split is None


def test_empty_rows_are_divided_by_one():
    pairs = ehnn.Hypergraph.from_edges([[0, 1], [], [0, 1, 2, 3]]).incidence
    assert pairs.inverse_lengths.tolist() == [0.5, 1.0, 0.25]
    assert pairs.inverse_lengths.dtype == torch.float64
