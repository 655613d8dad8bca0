"""Layers on one rank whose collectives go through NCCL; and what NCCL says to two ranks on one GPU.

``python tests/parallel/nccl_ranks.py`` needs a GPU, and no test runner.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from ehnn import parallel
from ehnn.nn import EHNNMLP, EHNNLinear, EHNNTransformer
from ehnn.parallel import Ranks
from ehnn.testing import random_hypergraph

LAYERS = {"mlp": EHNNMLP, "transformer": EHNNTransformer, "linear": EHNNLinear}


def join(rank: int, size: int, path: str, backend: str) -> Ranks:
    """Ranks that meet through a file, and take no short cut when alone."""
    for name in ("all_reduce", "all_gather", "all_to_all_single"):
        setattr(dist, name, strict(getattr(dist, name)))
    dist.init_process_group(backend, init_method=f"file://{path}", rank=rank, world_size=size)
    ranks = Ranks()
    ranks._direct = False
    return ranks


def strict(collective: Callable[..., Any]) -> Callable[..., Any]:
    """Refuses what NCCL refuses, also where gloo would take it."""

    def checked(*arguments: Any, **options: Any) -> Any:
        tensors = [
            t for a in arguments for t in (a if isinstance(a, list) else [a]) if isinstance(t, torch.Tensor)
        ]
        assert all(t.is_contiguous() for t in tensors), [(t.shape, t.stride()) for t in tensors]
        return collective(*arguments, **options)

    return checked


def collectives(ranks: Ranks, device: str) -> None:
    """Each collective gives what it was given, times the number of ranks where it adds."""
    rows = torch.randn(3, 5, device=device).T
    send = [0] * ranks.size
    send[ranks.rank] = 5
    assert torch.equal(ranks.exchange(rows, send, send), rows)
    assert ranks.sum(torch.ones(2, device=device)).tolist() == [ranks.size] * 2
    torch.testing.assert_close(ranks.sum(rows), ranks.size * rows)
    assert float(ranks.max(torch.tensor(3.0, device=device))) == 3.0
    assert len(ranks.gather(torch.arange(4, device=device))) == ranks.size
    ranks.agree(None)


def layers(ranks: Ranks, device: str) -> None:
    """Outputs and gradients of one rank are those of the hypergraph without ranks."""
    h = random_hypergraph(40, 30, (1, 6), seed=0, d_node=4, d_edge=4, dtype=torch.float64)
    s = parallel.shard(h, parallel.partition(h, ranks.size, "contiguous"), ranks).to(device)
    h = h.to(device)
    for name, make in LAYERS.items():
        for source, target in (("nodes", "edges"), ("edges", "nodes"), ("nodes", "all"), ("edges", "edges")):
            torch.manual_seed(0)
            layer = make(4, 8).double().to(device)
            results = []
            for where in (h, s):
                x = where.features(source).clone().requires_grad_()
                y = layer(x, where.overlap(source, target))
                layer.zero_grad()
                y.square().sum().backward()
                results.append([y.detach(), x.grad, *(p.grad for p in layer.parameters())])
            for one, other in zip(*results, strict=True):
                if one is not None:
                    torch.testing.assert_close(
                        one, other, rtol=1e-9, atol=1e-9, msg=f"{name} {source}→{target}"
                    )
        print(f"{name}: the same with and without ranks", flush=True)


def run(rank: int, size: int, path: str, backend: str, device: str) -> None:
    ranks = join(rank, size, path, backend)
    if device == "cuda":
        torch.cuda.set_device(0)
    collectives(ranks, device)
    layers(ranks, device)
    parallel.stop()
    print(f"{backend}: {size} ranks on {device}: all equal", flush=True)


def two_on_one_gpu() -> str:
    """What happens with two NCCL ranks on one GPU, in words."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, str(Path(folder, "meet")), "cpu:gloo,cuda:nccl", "cuda", "2"]
        ranks = [
            subprocess.Popen([*command, str(r)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            for r in range(2)
        ]
        try:
            told = [r.communicate(timeout=30)[0] for r in ranks]
        except subprocess.TimeoutExpired:
            for r in ranks:
                r.kill()
            return "two ranks on one GPU: silent for 30 s"
    if all(r.returncode == 0 for r in ranks):
        return "two ranks on one GPU: works"
    lines = [line for line in "\n".join(told).splitlines() if "uplicate GPU" in line or "Error" in line]
    lines.sort(key=lambda line: "uplicate GPU" in line)
    return f"two ranks on one GPU: refused: {lines[-1][:300] if lines else told[0][-300:]}"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        run(int(sys.argv[5]), int(sys.argv[4]), *sys.argv[1:4])
    else:
        assert torch.cuda.is_available(), "no GPU"
        os.environ.setdefault("NCCL_DEBUG", "WARN")
        with tempfile.TemporaryDirectory() as folder:
            run(0, 1, str(Path(folder, "meet")), "cpu:gloo,cuda:nccl", "cuda")
        print(two_on_one_gpu(), flush=True)
