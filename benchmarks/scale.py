"""``python benchmarks/scale.py [options]`` is ``ehnn bench scale [options]``."""

from __future__ import annotations

import sys

from ehnn.bench.__main__ import main

if __name__ == "__main__":
    raise SystemExit(main(["scale", *sys.argv[1:]]))
