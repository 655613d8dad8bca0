"""Start the ranks of a run on this host, with ``torchrun``."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ehnn._utils.validation import as_count

MAX_RESTARTS = 3
_REFUSED = "EHNN_REFUSED"


def launch(module: str, arguments: Sequence[str], ranks: int) -> None:
    """Run ``python -m module arguments…`` on ``ranks`` ranks of this host and wait for them.

    When a rank dies, the others are stopped and all are started again, up to `MAX_RESTARTS` times. A
    RuntimeError names the rank that failed first when they are used up. A rank that calls `refuse` is not
    started again: that is a ValueError.
    """
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.run import main

    ranks = as_count(ranks, "ranks", 1)
    os.environ.setdefault("TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "1")  # see `ehnn.parallel.start`
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // ranks)))
    options = ["--standalone", f"--nproc-per-node={ranks}", f"--max-restarts={MAX_RESTARTS}"]
    try:
        with tempfile.TemporaryDirectory() as scratch:
            refused = Path(scratch, "refused")
            os.environ[_REFUSED] = str(refused)
            main([*options, "-m", module, *arguments])
            if refused.exists():
                raise ValueError("the ranks refused the run; it is not tried again")
    except SignalException as signal:
        raise KeyboardInterrupt from signal
    except ChildFailedError as error:
        rank, failure = error.get_first_failure()
        raise RuntimeError(
            f"rank {rank} ended with code {failure.exitcode} after {MAX_RESTARTS} restarts"
        ) from error


def refuse() -> None:
    """Say, in a rank of `launch`, that another start would fail in the same way; then end with status 0."""
    if _REFUSED in os.environ:
        Path(os.environ[_REFUSED]).touch()
