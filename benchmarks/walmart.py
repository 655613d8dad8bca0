"""``python benchmarks/walmart.py [options]`` is ``ehnn bench walmart [options]``."""

from __future__ import annotations

import sys

from ehnn.bench.__main__ import main

if __name__ == "__main__":
    raise SystemExit(main(["walmart", *sys.argv[1:]]))
