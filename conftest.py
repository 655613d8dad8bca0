"""What is not looked through for examples: former names, which warn, and kernels where Triton is missing."""

from importlib.util import find_spec

collect_ignore = [f"src/ehnn/{name}.py" for name in ("bench", "reproduce", "results", "tasks/matching")]
collect_ignore_glob = [] if find_spec("triton") else ["src/*/triton*.py", "paper/src/*/triton*.py"]
