"""Every example runs as a user runs it, in a process of its own and an empty folder, in under a minute."""

import os
import resource
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = {  # arguments, what it needs, a part of what it prints
    "association.py": ([], ["matplotlib", "pygmtools"], "rrwm: beak → beak, eye → eye, tail → tail, foot"),
    "davis.py": ([], ["networkx"], "changes nothing else: checked"),
    "demo.py": (["--epochs", "1"], ["matplotlib"], "Picture: demo.png"),
    "lightning_module.py": ([], ["lightning"], "validation accuracy"),
    "overlaps.py": (["overlaps.png"], ["matplotlib"], ""),
    "own_keypoints.py": (["--epochs", "3"], ["PIL", "matplotlib", "safetensors"], "nose → nose"),
    "pyg_model.py": ([], ["torch_geometric", "sklearn"], "test accuracy"),
    "share_on_hub.py": ([], ["huggingface_hub"], "bit for bit"),
}


def test_every_example_is_listed():
    assert {path.name for path in (ROOT / "examples").glob("*.py")} == set(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_runs(name, tmp_path):
    arguments, needs, said = EXAMPLES[name]
    missing = [library for library in needs if find_spec(library) is None]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}")
    before = processor_seconds()
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / name, *arguments],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
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
