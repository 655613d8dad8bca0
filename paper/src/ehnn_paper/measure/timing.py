"""Time and memory of a step, on a CPU by the clock, on a GPU by its own events."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ehnn.training.replay import no_collection

WARM_UP = 3


@dataclass(frozen=True)
class Step:
    """A forward pass and the gradients of its parameters and input.

    Attributes:
        forward: makes ``y`` from tensors that stay where they are.
        inputs: the tensors whose gradients the backward pass makes.
        grad: the gradient of ``y``; a fixed one, so that no loss is timed.
    """

    forward: Callable[[], Tensor]
    inputs: list[Tensor]
    grad: Tensor

    def backward(self, y: Tensor) -> None:
        torch.autograd.grad(y, self.inputs, self.grad, allow_unused=True)

    def __call__(self) -> None:
        self.backward(self.forward())


def make_step(model: nn.Module, forward: Callable[[], Tensor], *inputs: Tensor) -> Step:
    """The step of ``forward``, with gradients of the parameters of ``model`` and of ``inputs``."""
    with torch.no_grad():
        y = forward()
    generator = torch.Generator(y.device).manual_seed(1)
    grad = torch.randn(y.shape, generator=generator, dtype=y.dtype, device=y.device)
    return Step(forward, [*model.parameters(), *inputs], grad)


def milliseconds(fn: Callable[[], Any], repeats: int, device: str, warm_up: int = WARM_UP) -> list[float]:
    """``[repeats]`` times of ``fn()``, after a warm-up."""
    for _ in range(warm_up):
        fn()
    return _marks([fn], repeats, device)[0]


def split_times(
    steps: Mapping[str, Step], repeats: int, device: str, warm_up: int = WARM_UP
) -> dict[str, dict[str, list[float]]]:
    """Forward, backward and total milliseconds of each step.

    The steps take turns, so that what else happens on the machine happens to all of them.
    """
    for step in steps.values():
        for _ in range(warm_up):
            step()
    out: dict[str, dict[str, list[float]]] = {name: {"forward": [], "backward": []} for name in steps}
    for _ in range(repeats):
        for name, step in steps.items():
            forward, backward = _once(step, device)
            out[name]["forward"].append(forward)
            out[name]["backward"].append(backward)
    for times in out.values():
        times["total"] = [a + b for a, b in zip(times["forward"], times["backward"], strict=True)]
    return out


def _once(step: Step, device: str) -> tuple[float, float]:
    kept: list[Tensor] = []
    parts = [lambda: kept.append(step.forward()), lambda: step.backward(kept.pop())]
    forward, backward = _marks(parts, 1, device)
    return forward[0], backward[0]


def _marks(parts: Sequence[Callable[[], Any]], repeats: int, device: str) -> list[list[float]]:
    """Milliseconds of each of ``parts``, run one after another ``repeats`` times."""
    if torch.device(device).type == "cuda":
        return _event_marks(parts, repeats)
    times: list[list[float]] = [[] for _ in parts]
    for _ in range(repeats):
        for part, kept in zip(parts, times, strict=True):
            start = time.perf_counter()
            part()
            kept.append(1e3 * (time.perf_counter() - start))
    return times


def _event_marks(parts: Sequence[Callable[[], Any]], repeats: int) -> list[list[float]]:
    marks = [[torch.cuda.Event(enable_timing=True) for _ in range(len(parts) + 1)] for _ in range(repeats)]
    torch.cuda.synchronize()
    for row in marks:
        row[0].record()
        for part, mark in zip(parts, row[1:], strict=True):
            part()
            mark.record()
    torch.cuda.synchronize()
    return [[row[i].elapsed_time(row[i + 1]) for row in marks] for i in range(len(parts))]


def record_graph(fn: Callable[[], Any]) -> Callable[[], None]:
    """``fn`` as a CUDA graph: what it returns replays it."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(WARM_UP):
            fn()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with no_collection(), torch.cuda.graph(graph, stream=stream):
        output = fn()

    def replay() -> None:
        _ = output  # its memory belongs to the graph
        graph.replay()

    return replay


def median_ratio(slow: Sequence[float], fast: Sequence[float]) -> list[float]:
    """``slow / fast`` of each round."""
    return [a / b for a, b in zip(slow, fast, strict=True)]


def enough(seconds: float, repeats: int, fn: Callable[[], Any], device: str) -> int:
    """How many repeats of ``fn``, which has run before, fit into ``seconds``: from 2 to ``repeats``."""
    start = time.perf_counter()
    fn()
    if torch.device(device).type == "cuda":
        torch.cuda.synchronize()
    each = max(time.perf_counter() - start, 1e-9)
    return max(2, min(repeats, int(seconds / each)))


def median(values: Sequence[float]) -> float:
    return statistics.median(values)
