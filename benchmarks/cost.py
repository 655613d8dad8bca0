"""``python benchmarks/cost.py [options]`` is ``ehnn bench cost [options]``."""

from __future__ import annotations

import sys

from ehnn.bench.__main__ import main

if __name__ == "__main__":
    raise SystemExit(main(["cost", *sys.argv[1:]]))
