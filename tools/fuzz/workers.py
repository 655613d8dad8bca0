"""Processes that try inputs: a crash or a hang of one is a finding, and another takes its place."""

from __future__ import annotations

import gc
import multiprocessing
import os
import random
import sys
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import torch

from .seeds import Files, Seed, damaged
from .trial import Outcome, attempt

HANGS = 60.0
"""Seconds of its own time that a silent process may use; it may wait ten times as long for its turn."""
_FORK = multiprocessing.get_context("fork")


def input_of(name: str, seeds: Sequence[Seed], seed: int, number: int) -> tuple[Seed, Files]:
    """Input ``number`` of a format: a function of the format's name, ``seed`` and ``number`` alone."""
    rng = random.Random(f"{seed} {name} {number}")
    chosen = rng.choice(seeds)
    return chosen, damaged(chosen, rng)


def outcomes(
    formats: Mapping[str, Sequence[Seed]], seed: int, inputs: int, jobs: int, scratch: Path, start: int = 0
) -> Iterator[tuple[str, int, Outcome]]:
    """Format, number and outcome of ``inputs`` inputs, the formats in turn, numbers from ``start`` on."""
    names = list(formats)
    every = [(names[i % len(names)], start + i // len(names)) for i in range(inputs)]
    workers = [_Worker(formats, seed, every[job::jobs], scratch) for job in range(jobs)]
    try:
        while running := {w.ours: w for w in workers if w.todo}:
            ready = wait(list(running), timeout=1)
            for worker in running.values():
                found = worker.listen() if worker.ours in ready else worker.overdue()
                if found is not None:
                    yield found
    finally:
        for worker in workers:
            worker.stop()


class _Worker:
    """One process and what is left for it to do."""

    def __init__(
        self, formats: Mapping[str, Sequence[Seed]], seed: int, todo: list[tuple[str, int]], scratch: Path
    ) -> None:
        self.formats, self.seed, self.todo, self.scratch = formats, seed, todo[::-1], scratch
        self._begin()

    def _begin(self) -> None:
        self.ours, theirs = _FORK.Pipe(duplex=False)
        arguments = (self.formats, self.seed, self.todo[::-1], self.scratch, theirs)
        self.process = _FORK.Process(target=_work, args=arguments, daemon=True)
        self.process.start()
        theirs.close()
        self._hear()

    def _hear(self) -> None:
        self.heard, self.used = time.monotonic(), _used(self.process.pid)

    def listen(self) -> tuple[str, int, Outcome] | None:
        self._hear()
        try:
            outcome: Outcome = self.ours.recv()
        except EOFError:
            self.process.join()
            return self._lost(f"the process ended ({self.process.exitcode})")
        return (*self.todo.pop(), outcome)

    def overdue(self) -> tuple[str, int, Outcome] | None:
        silent, busy = time.monotonic() - self.heard, _used(self.process.pid) - self.used
        if silent < HANGS or (busy < HANGS and silent < 10 * HANGS):
            return None
        self.process.kill()
        self.process.join()
        return self._lost("hangs")

    def _lost(self, why: str) -> tuple[str, int, Outcome]:
        name, number = self.todo.pop()
        self.ours.close()
        self._begin()
        return name, number, Outcome(False, 0.0, 0, why, name)

    def stop(self) -> None:
        self.process.kill()
        self.process.join()
        self.ours.close()


def _used(process: int | None) -> float:
    """Seconds of processor time that a process has used; 0 if it is gone."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _work(
    formats: Mapping[str, Sequence[Seed]],
    seed: int,
    todo: list[tuple[str, int]],
    scratch: Path,
    tell: Connection,
) -> None:
    parent = os.getppid()
    quiet()
    gc.freeze()  # what the parent made stays
    folder = scratch / f"process-{os.getpid()}"
    folder.mkdir()
    for count, (name, number) in enumerate(todo):
        chosen, files = input_of(name, formats[name], seed, number)
        tell.send(attempt(chosen, files, folder / str(number)))
        if count % 500 == 499:
            gc.collect()
        if os.getppid() != parent:  # it was killed, and nobody listens
            break
    os._exit(0)  # nothing here is worth taking down in order


def quiet() -> None:
    """Readers may warn, and print; neither is judged here. They have the one thread that a fork leaves."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    nothing = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
        os.dup2(nothing, stream.fileno())


def shrunk(
    name: str, seeds: Sequence[Seed], seed: int, number: int, scratch: Path, tries: int = 150
) -> tuple[Files, Outcome]:
    """The files of an input that fails, as small as a few tries can make them with the same failure."""
    ours, theirs = _FORK.Pipe(duplex=False)
    arguments = (name, seeds, seed, number, scratch, tries, theirs)
    process = _FORK.Process(target=_shrink, args=arguments, daemon=True)
    process.start()
    theirs.close()
    best: Any = None
    while ours.poll(HANGS):
        try:
            best = ours.recv()
        except EOFError:
            break
    process.kill()
    process.join()
    return best or (input_of(name, seeds, seed, number)[1], Outcome(False, 0.0, 0, "", name))


def _shrink(
    name: str, seeds: Sequence[Seed], seed: int, number: int, scratch: Path, tries: int, tell: Connection
) -> None:
    quiet()
    chosen, files = input_of(name, seeds, seed, number)
    place = scratch / f"shrink-{os.getpid()}"
    wanted = attempt(chosen, files, place)
    tell.send((files, wanted))
    changed = [n for n, data in files.items() if data != chosen.files.get(n) and data]
    for target in changed:
        part = len(files[target] or b"") // 2
        at = 0
        while part and tries > 0:
            data = files[target] or b""
            shorter = files | {target: data[:at] + data[at + part :]}
            tries -= 1
            outcome = attempt(chosen, shorter, place)
            if outcome.kind == wanted.kind:
                files = shorter
                tell.send((files, outcome))
            else:
                at += part
            if at >= len(files[target] or b""):
                part, at = part // 2, 0
    tell.close()
