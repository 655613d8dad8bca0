"""Every example runs as a user runs it, in a process of its own and an empty folder, in under a minute."""

import os
import resource
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = os.pathsep.join([str(ROOT / "src"), str(ROOT / "paper" / "src")])
EXAMPLES = {  # arguments, what it needs, a part of what it prints
    "paper/examples/association.py": (
        [],
        ["matplotlib", "pygmtools"],
        "rrwm: beak → beak, eye → eye, tail → tail, foot",
    ),
    "examples/davis.py": ([], ["networkx"], "changes nothing else: checked"),
    "examples/demo.py": (["--budget", "fast"], ["matplotlib", "sklearn"], "Picture: demo.png"),
    "paper/examples/k_edge.py": (["--epochs", "1"], ["matplotlib"], "Picture: k-edge.png"),
    "examples/lightning_module.py": ([], ["lightning"], "validation accuracy"),
    "examples/overlaps.py": (["overlaps.png"], ["matplotlib"], ""),
    "paper/examples/own_keypoints.py": (
        ["--epochs", "3"],
        ["PIL", "matplotlib", "safetensors"],
        "nose → nose",
    ),
    "examples/pyg_model.py": ([], ["torch_geometric", "sklearn"], "test accuracy"),
    "examples/scale.py": (
        ["--nodes", "400", "--epochs", "2", "--workers", "0"],
        ["pyarrow"],
        "test accuracy of two ranks",
    ),
    "examples/share_on_hub.py": ([], ["huggingface_hub"], "bit for bit"),
}


def test_every_example_is_listed():
    found = [*(ROOT / "examples").glob("*.py"), *(ROOT / "paper" / "examples").glob("*.py")]
    assert {path.relative_to(ROOT).as_posix() for path in found} == set(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_runs(name, tmp_path):
    arguments, needs, said = EXAMPLES[name]
    if name == "examples/scale.py" and "EHNN_LONG_TESTS" not in os.environ:
        pytest.skip("tests/cli/test_shard.py runs the same commands; set EHNN_LONG_TESTS=1")
    missing = [library for library in needs if find_spec(library) is None]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}")
    before = processor_seconds()
    done = subprocess.run(
        [sys.executable, ROOT / name, *arguments],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": SOURCES, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert said in done.stdout
    assert processor_seconds() - before < 60


def processor_seconds() -> float:
    """Of all children so far; a busy machine does not count against an example."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
