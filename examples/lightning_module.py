"""A model of this library as a Lightning module, trained by Lightning's `Trainer`.

Which nodes are in a hyperedge of at least five nodes? `ehnn.batch` is the whole collate function, since a
batch of hypergraphs is a hypergraph, and Lightning moves it to the device by its ``to``.

Run it with ``python examples/lightning_module.py`` where ehnn is installed with the extra ``lightning``.
"""

from __future__ import annotations

import logging
import warnings
from typing import Any

import lightning
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.data import DataLoader

import ehnn
from ehnn.testing import random_hypergraph


class LargeHyperedges(lightning.LightningModule):
    """EHNN-MLP with cross entropy and Adam."""

    def __init__(self, width: int = 32, lr: float = 3e-3) -> None:
        super().__init__()
        self.save_hyperparameters()
        self.lr = lr
        self.model = ehnn.nn.Stack(1, 2, ehnn.nn.EHNNMLP, width=width)

    def forward(self, h: ehnn.Hypergraph) -> Tensor:
        """``[num_nodes, 2]`` logits."""
        return self.model(h)

    def training_step(self, h: ehnn.Hypergraph, number: int) -> Tensor:
        return self._loss(h, "train")

    def validation_step(self, h: ehnn.Hypergraph, number: int) -> None:
        self._loss(h, "valid")

    def _loss(self, h: ehnn.Hypergraph, part: str) -> Tensor:
        assert h.y is not None
        logits = self(h)
        loss = F.cross_entropy(logits, h.y)
        accuracy = (logits.argmax(1) == h.y).float().mean()
        self.log_dict({f"{part}_loss": loss, f"{part}_accuracy": accuracy}, batch_size=h.num_nodes)
        return loss

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), lr=self.lr)


def labelled(h: ehnn.Hypergraph) -> ehnn.Hypergraph:
    """All nodes look the same: ``x [n, 1]`` is 1; ``y [n]`` is 1 for nodes in a hyperedge of five or more."""
    y = torch.zeros(h.num_nodes, dtype=torch.long)
    y[h.index[0][h.orders[h.index[1]] >= 5]] = 1
    return h.replace(x=torch.ones(h.num_nodes, 1), y=y)


def loader(count: int, seed: int, shuffle: bool) -> DataLoader:
    """Batches of eight hypergraphs."""
    made: Any = [
        labelled(random_hypergraph(40, 10, orders=(2, 7), seed=1000 * seed + i)) for i in range(count)
    ]
    return DataLoader(made, batch_size=8, shuffle=shuffle, collate_fn=ehnn.batch)


def main(epochs: int = 30) -> None:
    logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)
    warnings.filterwarnings("ignore", message=".*does not have many workers.*")  # hypergraphs are in memory
    lightning.seed_everything(0, verbose=False)
    trainer = lightning.Trainer(
        max_epochs=epochs, accelerator="auto", devices=1, logger=False,
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
    )  # fmt: skip
    module = LargeHyperedges()
    trainer.fit(module, loader(48, 0, True), loader(16, 1, False))
    figures = {name: float(value) for name, value in trainer.callback_metrics.items()}
    print(f"after {epochs} epochs: validation accuracy {100 * figures['valid_accuracy']:.1f} %")


if __name__ == "__main__":
    main()
