"""Memory of large results: kept when asked for, and in large pages."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

import ehnn
from ehnn._utils.malloc import on_large_pages
from ehnn.ops._native.compiled import missing

STEPS = """
import resource, sys, torch, ehnn
if sys.argv[1] == "keep" and not ehnn.ops.keep_freed_memory():
    sys.exit("cannot")
def step():
    return [torch.ones(5 * 2**20) for _ in range(4)]  # 20 MiB each
for _ in range(3):
    step()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    step()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(mode: str) -> int:
    done = subprocess.run([sys.executable, "-c", STEPS, mode], capture_output=True, text=True)
    if done.stderr.strip() == "cannot":
        pytest.skip("the C library has no mallopt")
    return int(done.stdout)


def test_kept_memory_is_used_again() -> None:
    kept, plain = faults("keep"), faults("plain")
    if plain < 400:
        pytest.skip("the system hands out memory in large pages")
    assert kept < plain / 2


def flags_at(address: int) -> str:
    """VmFlags of the mapping that holds an address of this process."""
    inside = False
    for line in Path("/proc/self/smaps").read_text("ascii", "replace").splitlines():
        first = line.split(" ", 1)[0]
        if "-" in first and not first.endswith(":"):
            start, end = (int(part, 16) for part in first.split("-"))
            inside = start <= address < end
        elif inside and line.startswith("VmFlags:"):
            return line
    return ""


@pytest.mark.skipif(
    not Path("/sys/kernel/mm/transparent_hugepage/enabled").exists(), reason="the system has no large pages"
)
def test_large_results_are_on_large_pages() -> None:
    if missing("sums", torch.float32):
        pytest.skip("there is no C kernel")
    rows = 2**18
    h = ehnn.Hypergraph.from_incidence((torch.arange(rows), torch.arange(rows) // 2), rows, rows // 2)
    large, small = torch.randn(rows, 64), torch.randn(rows, 1)
    for x, wanted in ((large, True), (small, False)):
        y = ehnn.ops.segment_sum(x, h.overlap("nodes", "edges").source_to_group)
        middle = y.data_ptr() + y.numel() * y.element_size() // 2
        assert (" hg" in flags_at(middle)) == wanted
        torch.testing.assert_close(y, x.view(-1, 2, x.shape[1]).sum(1))
    plain = torch.empty(2**24)
    assert " hg" not in flags_at(plain.data_ptr() + 2**25)
    assert on_large_pages(plain) is plain
    assert " hg" in flags_at(plain.data_ptr() + 2**25)
