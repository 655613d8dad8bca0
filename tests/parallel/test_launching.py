"""Ranks that are not started again in vain, and that do not outlive their launcher."""

from __future__ import annotations

import os
import signal
import time

import pytest
import torch.distributed.run

from ehnn.parallel import launch as launching
from ehnn.parallel.ranks import _end_with, start


def test_a_run_that_the_ranks_refuse_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    starts = []

    def torchrun(arguments: list[str]) -> None:
        starts.append(arguments)
        launching.refuse()

    monkeypatch.setattr(torch.distributed.run, "main", torchrun)
    monkeypatch.setenv("EHNN_REFUSED", "")
    with pytest.raises(ValueError, match="refused the run"):
        launching.launch("module", [], 2)
    assert len(starts) == 1
    monkeypatch.setattr(torch.distributed.run, "main", starts.append)
    launching.launch("module", [], 2)  # what was refused before does not count


def test_ranks_of_torchrun_watch_their_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "run")
    monkeypatch.setattr("torch.distributed.is_initialized", lambda: True)
    monkeypatch.setattr("ehnn.parallel.ranks.Ranks", lambda wire: wire)
    monkeypatch.setattr("ehnn.parallel.ranks.Thread", lambda **given: started.append(given) or Started())
    assert start(wire="bfloat16") == "bfloat16"
    assert [(given["target"], given["args"]) for given in started] == [(_end_with, (os.getppid(),))]


class Started:
    def start(self) -> None:
        """Nothing runs."""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_rank_ends_with_its_launcher() -> None:
    mine, theirs = os.pipe()
    launcher = os.fork()
    if not launcher:
        launcher = os.getpid()
        rank = os.fork()
        if not rank:
            _end_with(launcher)
        os.close(mine)
        os.write(theirs, str(rank).encode())
        time.sleep(600)
        os._exit(0)
    os.close(theirs)
    assert os.read(mine, 20)
    os.kill(launcher, signal.SIGKILL)
    os.waitpid(launcher, 0)
    assert os.read(mine, 1) == b""  # the last process that had the pipe open has ended
    os.close(mine)
