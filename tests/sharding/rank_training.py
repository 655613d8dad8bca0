"""One rank of a training on shards: run by torchrun from a test. ``KILL`` names a file that is there once."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

from ehnn import parallel
from ehnn.sharding import ShardRun, train_shards


def die_once(metrics: Path, mark: Path) -> None:
    """End this rank without warning as soon as 12 epochs are written."""
    while not metrics.exists() or len(metrics.read_text().splitlines()) < 12:
        time.sleep(0.01)
    mark.touch()
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    shards, out, settings = sys.argv[1:]
    mark = os.environ.get("KILL")
    if mark and os.environ["RANK"] == "1" and not Path(mark).exists():
        threading.Thread(target=die_once, args=(Path(out, "metrics.jsonl"), Path(mark)), daemon=True).start()
    try:
        train_shards(ShardRun(shards, **json.loads(settings)), out, quiet=True)
    except parallel.LostRankError:
        sys.exit(75)
    parallel.stop()
