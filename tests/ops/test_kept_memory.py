"""Freed memory stays with the process when asked for: the same step touches no new pages."""

import subprocess
import sys

import pytest

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
    assert kept < plain / 4
