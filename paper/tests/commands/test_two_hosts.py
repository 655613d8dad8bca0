"""Two hosts: network namespaces with a cable between them. Skipped where these may not be made."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ehnn_paper.commands.train_nodes import train_nodes

from .command_line import SOURCES

NAMES = [f"ehnn{os.getpid()}{side}" for side in "ab"]
CABLE = [f"eh{os.getpid()}{side}" for side in "ab"]
ADDRESSES = ["10.213.77.1", "10.213.77.2"]
OPTIONS = ["--dataset", "synthetic", "--model", "ehnn-mlp", "--width", "8", "--epochs", "3", "--lr", "0.01"]


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, timeout=20)


@pytest.fixture
def hosts() -> Iterator[list[str]]:
    if shutil.which("ip") is None:
        pytest.skip("there is no ip command")
    try:
        for name in NAMES:
            ip("netns", "add", name)
        ip("link", "add", CABLE[0], "type", "veth", "peer", "name", CABLE[1])
        for name, end, address in zip(NAMES, CABLE, ADDRESSES, strict=True):
            ip("link", "set", end, "netns", name)
            ip("-n", name, "addr", "add", f"{address}/24", "dev", end)
            for device in (end, "lo"):
                ip("-n", name, "link", "set", device, "up")
        yield NAMES
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired, PermissionError) as error:
        pytest.skip(f"network namespaces are not permitted: {error}")
    finally:
        for name in NAMES:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)


def test_the_two_host_command(hosts: list[str], tmp_path: Path) -> None:
    """One rank on each host, the command of the documentation; the curve is that of one process."""
    path = os.pathsep.join([SOURCES, os.environ.get("PYTHONPATH", "")])
    shared = {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
    started = []
    for host, end, address in zip(hosts, CABLE, ADDRESSES, strict=True):
        run = [
            "--nnodes=2",
            "--nproc-per-node=1",
            "--max-restarts=0",
            "--rdzv-backend=c10d",
            "--rdzv-id=ehnn",
        ]
        run += [f"--rdzv-endpoint={ADDRESSES[0]}:29500", f"--local-addr={address}"]
        run += [f"--rdzv-conf=is_host={address == ADDRESSES[0]}"]  # without names, torchrun cannot tell
        command = ["ip", "netns", "exec", host, sys.executable, "-m", "torch.distributed.run", *run]
        command += ["-m", "ehnn", "train", "nodes", *OPTIONS, "--parallel", "partition", "--dtype", "float64"]
        command += ["--out", str(tmp_path / "two")]
        environment = os.environ | shared | {"GLOO_SOCKET_IFNAME": end}
        started.append(subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True))
    try:
        errors = [process.communicate(timeout=240)[1] for process in started]
    finally:
        for process in started:
            process.kill()
    assert [process.returncode for process in started] == [0, 0], errors
    train_nodes(
        dataset="synthetic", model="ehnn-mlp", width=8, epochs=3, lr=0.01, dtype="float64",
        directory=tmp_path / "one",
    )  # fmt: skip
    assert losses(tmp_path / "two") == pytest.approx(losses(tmp_path / "one"), abs=1e-12)


def losses(directory: Path) -> list[float]:
    lines = (directory / "metrics.jsonl").read_text().splitlines()
    return [json.loads(line)["loss"][0] for line in lines]
