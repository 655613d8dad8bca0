"""``python benchmarks/peers.py [options]`` is ``ehnn bench peers [options]``."""

from __future__ import annotations

import sys

from ehnn.bench.__main__ import main

if __name__ == "__main__":
    raise SystemExit(main(["peers", *sys.argv[1:]]))
