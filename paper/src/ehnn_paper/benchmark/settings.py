"""What every model of the benchmark may choose from: the same trainings and inputs, two shapes of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_RECIPE = {"optimizer": "adamw", "schedule": "cosine", "ema": 0.98}
TRAININGS: tuple[dict[str, Any], ...] = (
    {"lr": 1e-3, "weight_decay": 0.0, "dropout": 0.5, "width": 128, "train": {}, "inputs": {}},
    {
        "lr": 3e-3, "weight_decay": 0.01, "dropout": 0.5, "width": 128, "train": _RECIPE,
        "inputs": {"standardise": True, "smoothing": 0.1},
    },
    {
        "lr": 3e-3, "weight_decay": 0.01, "dropout": 0.2, "width": 64, "train": _RECIPE,
        "inputs": {"gate": 8.0, "hidden": 0.5},
    },
    {
        "lr": 1e-3, "weight_decay": 0.5, "dropout": 0.5, "width": 128, "train": _RECIPE,
        "inputs": {"smoothing": 0.1, "hidden": 0.2},
    },
)  # fmt: skip
"""Plain; our recipe; the recipe with gated features and known labels as input; and with labels alone.

``width`` is that of hidden channels, ``inputs`` are arguments of `ehnn_paper.nodes.inputs.PreparedNodes`."""
_RESIDUAL = {"residual": True}
SHAPES: dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {
    "mlp": ({"options": {"layers": 2}}, {"options": {"layers": 3, "norm": True}}),
    "hgnn": ({"options": {"layers": 2}}, {"options": {"layers": 1}}),
    "uni-gcn-ii": ({"options": {"layers": 2}}, {"options": {"layers": 8}}),
    "all-set-transformer": (
        {"options": {"heads": 4}},
        {"options": {"heads": 4, "dropout": 0.2}, "stack": _RESIDUAL},
    ),
    "ed-hnn": (
        {"options": {"layers": 1, "phi": 0, "rho": 0, "psi": 1, "alpha": 0.0}},
        {"options": {"layers": 2, "phi": 2, "rho": 2, "psi": 2, "alpha": 0.5}},
    ),
    "tf-hnn": (
        {"options": {"layers": 2, "alpha": 0.2, "mlp_layers": 3}},
        {"options": {"layers": 1, "alpha": 0.8, "mlp_layers": 2}},
    ),
    "phenom-nn": (
        {"options": {"lambda0": 0.0, "lambda1": 20.0, "step": 1.0}},
        {"options": {"lambda0": 20.0, "lambda1": 80.0, "step": 0.1}},
    ),
    "sheaf-hyper-gnn": ({"options": {"layers": 2, "stalk": 4}}, {"options": {"layers": 1, "stalk": 2}}),
    "heal-hgnn": ({"options": {"layers": 2}}, {"options": {"layers": 4}}),
    "ehnn-mlp": (
        {"options": {"dropout": 0.2}, "stack": _RESIDUAL},
        {"options": {"dropout": 0.2, "global_interaction": False}, "stack": _RESIDUAL},
    ),
    "ehnn-transformer": (
        {"options": {"heads": 4, "dropout": 0.2}, "stack": _RESIDUAL, "pairs": 1},
        {"options": {"heads": 4, "dropout": 0.2}, "stack": _RESIDUAL, "pairs": 2},
    ),
}
"""Two shapes of each model; where its paper has several, those that differ most."""
MODELS = tuple(SHAPES)
ORDER = ((0, 0), (1, 1), (2, 0), (3, 1), (1, 0), (2, 1), (3, 0), (0, 1))
"""(training, shape) of each setting: the first few are the most different."""


def settings_of(model: str, choice: int) -> dict[str, Any]:
    """Setting ``choice`` of a model, as JSON.

    >>> settings_of("tf-hnn", 2)["options"], settings_of("tf-hnn", 2)["inputs"]
    ({'layers': 2, 'alpha': 0.2, 'mlp_layers': 3}, {'gate': 8.0, 'hidden': 0.5})
    """
    training, shape = ORDER[choice]
    return {**TRAININGS[training], "stack": {}, "pairs": None, **SHAPES[model][shape]}
