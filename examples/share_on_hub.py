"""A model that can be shared with `huggingface_hub`: configuration as JSON, weights as safetensors.

`PyTorchModelHubMixin` adds ``save_pretrained``, ``from_pretrained`` and ``push_to_hub`` to a module whose
constructor takes plain values. Here a model goes to a folder and comes back; nothing is sent anywhere.

Run it with ``python examples/share_on_hub.py`` where ehnn is installed with the extra ``hub``.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

import torch
from huggingface_hub import PyTorchModelHubMixin
from torch import Tensor, nn

import ehnn

LAYERS = {"ehnn-mlp": ehnn.nn.EHNNMLP, "ehnn-transformer": ehnn.nn.EHNNTransformer}


class SharedModel(nn.Module, PyTorchModelHubMixin):
    """A `Stack` by name.

    Shapes: a Hypergraph with ``x [num_nodes, d_in]`` → ``[num_nodes, d_out]``.
    """

    def __init__(
        self, d_in: int, d_out: int, layer: str = "ehnn-mlp", width: int = 32, pairs: int = 1
    ) -> None:
        super().__init__()
        if layer not in LAYERS:
            raise ValueError(f"layer must be one of {tuple(LAYERS)}, got {layer!r}")
        make = partial(ehnn.nn.Stack, width=width, path=ehnn.nn.pairs_path(pairs))
        self.stack = make(d_in, d_out, LAYERS[layer])

    def forward(self, h: ehnn.Hypergraph) -> Tensor:
        return self.stack(h)


def main() -> None:
    torch.manual_seed(0)
    h = ehnn.testing.random_hypergraph(30, 20, (2, 6), seed=0, d_node=8)
    model = SharedModel(8, 3, layer="ehnn-transformer", width=16, pairs=2).eval()
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        print("written:", ", ".join(sorted(path.name for path in Path(folder).iterdir())))
        again = SharedModel.from_pretrained(folder).eval()
    assert torch.equal(model(h), again(h))
    print("read back: the same outputs, bit for bit")
    print("to share it: model.push_to_hub('you/your-model')")


if __name__ == "__main__":
    main()
