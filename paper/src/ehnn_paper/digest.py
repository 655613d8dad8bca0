"""What tells the data and the settings of a finished trial from others."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from ehnn.datasets.transfer import file_sha256


def digest(*told: Any) -> str:
    """Eight hexadecimal digits of what was ``told``: a path stands for its file, anything else for its JSON.

    >>> digest({"lr": 0.1}) == digest({"lr": 0.1}), digest({"lr": 0.1}) == digest({"lr": 0.2})
    (True, False)
    """
    words = [file_sha256(one) if isinstance(one, Path) else json.dumps(one, sort_keys=True) for one in told]
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:8]
