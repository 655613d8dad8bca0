"""Run the tests of the operations with C kernels that watch every access to memory.

The kernels are compiled with ``-fsanitize=address,undefined`` into a folder of their own. Torch allocates
through the address sanitizer, so that a read or write beyond a tensor ends the process with a report, as
does an undefined operation. First a kernel that is wrong on purpose must be noticed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FLAGS = "-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all"
TESTS = (
    "tests/ops/test_ops_cpu_layer.py", "tests/ops/test_ops_cpu_phi.py", "tests/ops/test_ops_dropout.py",
    "tests/ops/test_ops_segment_sum.py", "tests/ops/test_ops_softmax_sum.py", "tests/ops/test_ops_backend.py",
    "tests/ops/test_ops_small_phi.py", "tests/ops/test_ops_grouped_matmul.py",
)  # fmt: skip
_WRONG = "double last(double *x, long n) { return x[n]; }\n"
_CALL = """
import ctypes, sys, torch
x = torch.ones(8, dtype=torch.float64)
made = ctypes.CDLL(sys.argv[1])
made.last.restype = ctypes.c_double
made.last(ctypes.c_void_p(x.data_ptr()), ctypes.c_long(int(sys.argv[2])))
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("tests", nargs="*", default=TESTS, help="files for pytest")
    options = parser.parse_args()
    compiler = shutil.which("gcc")
    if compiler is None:
        sys.exit("make sanitize needs gcc with its address sanitizer")
    with tempfile.TemporaryDirectory(prefix="sanitize-") as scratch:
        environment = _environment(compiler, Path(scratch))
        _check_notices(Path(scratch), environment)
        command = [sys.executable, "-m", "pytest", "-n", "0", "-q", "-x", *options.tests]
        code = subprocess.run(command, cwd=ROOT, env=environment).returncode
        built = {path.name.partition("-")[0] for path in Path(scratch).glob("cache/ehnn/kernels/*.so")}
    print(f"kernels that were watched: {', '.join(sorted(built)) or 'none'}")
    return code or (0 if built else 1)  # tests skip kernels that cannot be built


def _environment(compiler: str, scratch: Path) -> dict[str, str]:
    """With a compiler that adds the flags after all others, and the sanitizer loaded before everything."""
    wrapper = scratch / "sanitizing-gcc"
    wrapper.write_text(f'#!/bin/sh\nunset LD_PRELOAD\nexec {compiler} "$@" {FLAGS}\n', encoding="utf-8")
    wrapper.chmod(0o700)
    found = [
        subprocess.run([compiler, f"-print-file-name={name}"], capture_output=True, text=True).stdout.strip()
        for name in ("libasan.so", "libubsan.so", "libstdc++.so")
    ]
    return os.environ | {
        "EHNN_COMPILER": str(wrapper),
        "XDG_CACHE_HOME": str(scratch / "cache"),
        "LD_PRELOAD": " ".join(found),
        # Python frees little when it ends; a fork that a test makes inherits everything.
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "OMP_NUM_THREADS": "1",
    }


def _check_notices(scratch: Path, environment: dict[str, str]) -> None:
    """A sanitizer that sees nothing would pass every test."""
    source, made = scratch / "wrong.c", scratch / "wrong.so"
    source.write_text(_WRONG, encoding="utf-8")
    subprocess.run([environment["EHNN_COMPILER"], "-fPIC", "-shared", "-o", made, source], check=True)
    for place, noticed in ((7, False), (8, True)):
        command = [sys.executable, "-c", _CALL, str(made), str(place)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if noticed != ("heap-buffer-overflow" in done.stderr) or noticed != bool(done.returncode):
            sys.exit(f"the sanitizer does not work here (place {place} of 8):\n{done.stderr[-3000:]}")


if __name__ == "__main__":
    sys.exit(main())
