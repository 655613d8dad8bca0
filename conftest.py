"""Examples in docstrings: which files are not looked through, where examples run, and for how long."""

from importlib.util import find_spec

import pytest

OPTIONAL = {
    "triton": ["src/*_kernels.py", "src/*/triton*.py", "paper/src/*/triton*.py"],
    "torch_geometric": ["src/ehnn/io/pyg.py"],
    "xgi": ["src/ehnn/io/with_xgi.py"],
    "hypernetx": ["src/ehnn/io/with_hypernetx.py"],
}
"""Files whose examples need a library that may be missing."""

# Former names, which warn.
collect_ignore = [f"src/ehnn/{name}.py" for name in ("bench", "reproduce", "results", "tasks/matching")]
collect_ignore_glob = [
    file for library, files in OPTIONAL.items() if not find_spec(library) for file in files
]


@pytest.fixture(autouse=True)
def _examples_write_elsewhere(request: pytest.FixtureRequest) -> None:
    """An example runs in an empty folder, so that it may write files; its fits take a second at most."""
    if isinstance(request.node, pytest.DoctestItem):
        from ehnn.estimators.portfolio.budget import BUDGETS

        monkeypatch = request.getfixturevalue("monkeypatch")
        monkeypatch.chdir(request.getfixturevalue("tmp_path"))
        monkeypatch.setitem(BUDGETS, "fast", 0.03)
