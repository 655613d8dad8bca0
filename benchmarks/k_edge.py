"""``python benchmarks/k_edge.py [options]`` is ``ehnn bench k-edge [options]``."""

from __future__ import annotations

import sys

from ehnn.bench.__main__ import main

if __name__ == "__main__":
    raise SystemExit(main(["k-edge", *sys.argv[1:]]))
