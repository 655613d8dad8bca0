"""Node classification: the models of Table 2, their hyperparameters per dataset, and the paper's figures.

Protocol of every row: 500 epochs, full batch, Adam with L2 weight decay, the gradient of a run clipped at
norm 5, dropout 0.5 between layers, a linear classifier (behind LayerNorm for AllSet), a new 50/25/25
split and initialisation for each of 20 runs, test accuracy at the epoch of the best validation accuracy.

**EHNN** has the values of the paper's hyperparameter table. Two notes: for the Transformer on NTU2012 the
released script has width 512 where the table has 256 (used here); and d_c, "classifier hidden dimension", is
kept here but does nothing, because the experiments were run with a one-layer classifier
(``classifier_layers=2`` turns it on).

What stands between the layers is not in the paper. In the released code it is, for the MLP, ReLU and dropout
0.5 between the two layers and nothing behind the second, for the Transformer dropout 0.5 on all of x after
each layer and inside the feed-forward part, and no LayerNorm before the classifier (``released``). Ours was
LayerNorm there and dropout 0.5 on what each layer adds. Of the two, that with the better best validation
accuracy is used, and the released one where they were not compared or are equal (ModelNet40, Yelp; Mushroom,
where both reach 100). ``paper/experiments/nodes_between.py`` compares them. The figures are from before it
was written, by the same computation with seeds from 100: 500 epochs, other splits than the reported ones, no
test nodes scored; on Zoo, and on House(1) for the Transformer, on a CPU, else on an H200 with TF32 products;
Zoo 300 epochs for the Transformer; at commit df2824f for the MLP on Walmart and Zoo, else at 175230d with
what df2824f changed. Ours → the released one:

- MLP: House(1) 69.0 → 70.9, House(0.6) 82.3 → 82.9 and NTU2012 88.6 → 87.4 (10 runs each), 20News 81.23 →
  81.30 (8), Walmart(1) 65.4 → 65.8 and Walmart(0.6) 78.7 → 78.5 (3 each), Zoo 96.0 → 96.0 (20);
- Transformer: House(1) 73.4 → 74.7, House(0.6) 84.9 → 86.1 and Zoo 93.6 → 96.0 (10 each), NTU2012 89.8 → 89.5
  (6), 20News 81.19 → 81.22 (4). Not compared: Walmart, where ours drops 0.2 of the input features too, as
  AllSet's code does, which is better on Walmart(1), 67.1 → 68.4 (one run); on Walmart(0.6), of 0.1, 0.2, 0.35
  and 0.5 the first is best (80.2, 79.6, 77.5 and 74.6, 2 runs each).

The best of 500 epochs flatters what fluctuates. Scored on the half of the validation nodes that did not
choose the epoch (``paper/experiments/nodes_between.py house-1 zoo --runs 6 --epochs 300``, 2 CPU cores,
commit 6f981f9), the MLP gains on House(1), 63.8 → 66.4, and loses on Zoo, 94.0 → 93.3; the Transformer gains
on both, 71.2 → 72.6 and 91.3 → 94.0.

**Baselines.** The paper quotes them from AllSet (Chien et al., 2022), which searched, for every model and
dataset, widths {64, 128, 256, 512}, learning rates {0.1, 0.01, 0.001} and weight decay {0, 1e-5}. What it
published of the outcome is the setting of AllSetTransformer on each dataset (`ALL_SET_TRANSFORMER`);
AllDeepSets is given the same widths, and the others the values common to AllSet's scripts: learning rate
0.001, no weight decay, dropout 0.5, at width 256, and two layers. On Zoo their learning rate is 0.01, of the
two the better in validation for the four that were tried (MLP, HNHN, HGNN, HCHA). As in AllSet, HGNN, HCHA
and HNHN see every node as a hyperedge of its own too (self-loops; AllSet's layers get them from the path V →
V∪E → V), and AllSet's layers are followed by ReLU. What departs from that is in `ehnn_paper.nodes.baselines`,
with the validation figures that it was chosen by. `ehnn_paper.nodes.tune` runs the search itself.

**Recipes beyond the paper** (``ehnn-mlp+``, ``ehnn-transformer+``) are in `ehnn_paper.nodes.recipes`.
"""

from __future__ import annotations

from dataclasses import replace

from torch import nn

from .baselines import ALL_SET_TRANSFORMER, BASELINES
from .published import DATASETS, PAPER
from .recipes import RECIPES
from .settings import MODELS, Model, Settings, find_model

__all__ = [
    "ALL_SET_TRANSFORMER", "DATASETS", "EHNN_MLP", "EHNN_TRANSFORMER", "MODELS", "PAPER", "SETTINGS", "Model",
    "Settings", "as_released", "find_model", "make_model", "settings_of",
]  # fmt: skip


def as_released(model: str, settings: Settings) -> Settings:
    """What stands between the layers of ``"ehnn-mlp"`` or ``"ehnn-transformer"`` as in the released code."""
    if model not in ("ehnn-mlp", "ehnn-transformer"):
        raise ValueError(f"the release has 'ehnn-mlp' and 'ehnn-transformer', got {model!r}")
    if model == "ehnn-mlp":
        return replace(settings, stack={"activation": True, "after_last": False, "final_norm": False})
    options = {**settings.options, "feed_forward_dropout": 0.5}
    return replace(settings, options=options, stack={"drop_kept": True, "final_norm": False})


def _mlp(width: int, weight_decay: float, dropout: float, *, released: bool = True) -> Settings:
    ours = Settings(width, weight_decay, options={"dropout": dropout})
    return as_released("ehnn-mlp", ours) if released else ours


def _transformer(
    heads: int,
    width: int,
    weight_decay: float,
    dropout: float,
    d_c: int,
    attention: float = 0.0,
    *,
    features: float = 0.0,
    released: bool = True,
) -> Settings:
    options = {
        "heads": heads,
        "dropout": dropout,
        "local_dropout": attention,
        "global_dropout": attention,
    }
    ours = Settings(width, weight_decay, options=options, classifier_hidden=d_c, input_dropout=features)
    return as_released("ehnn-transformer", ours) if released else ours


EHNN_MLP = {  # d, weight decay, dropout in the MLPs
    "zoo": _mlp(128, 0.0, 0.0),
    "20news": _mlp(256, 1e-5, 0.0),
    "mushroom": _mlp(128, 1e-5, 0.0),
    "ntu2012": _mlp(256, 0.0, 0.2, released=False),
    "modelnet40": _mlp(256, 1e-5, 0.2),
    "yelp": _mlp(64, 0.0, 0.0),
    "house-1": _mlp(256, 0.0, 0.2),
    "walmart-1": _mlp(256, 0.0, 0.2),
    "house-0.6": _mlp(128, 0.0, 0.0),
    "walmart-0.6": _mlp(256, 1e-5, 0.2, released=False),
}
EHNN_TRANSFORMER = {  # heads, d, weight decay, dropout in the MLPs, d_c, dropout of the attention output
    "zoo": _transformer(8, 256, 0.0, 0.0, 128),
    "20news": _transformer(8, 256, 1e-5, 0.0, 64),
    "mushroom": _transformer(4, 256, 1e-5, 0.0, 128),
    "ntu2012": _transformer(8, 256, 1e-5, 0.2, 64, 0.1, released=False),
    "modelnet40": _transformer(4, 256, 1e-5, 0.0, 64),
    "yelp": _transformer(8, 64, 0.0, 0.0, 128),
    "house-1": _transformer(4, 64, 1e-5, 0.2, 64),
    "walmart-1": _transformer(8, 256, 0.0, 0.2, 64, features=0.2, released=False),
    "house-0.6": _transformer(4, 256, 0.0, 0.0, 64),
    "walmart-0.6": _transformer(8, 128, 1e-5, 0.2, 64, features=0.1, released=False),
}

SETTINGS: dict[str, dict[str, Settings]] = (
    {
        "ehnn-mlp": EHNN_MLP,
        "ehnn-transformer": EHNN_TRANSFORMER,
    }
    | BASELINES
    | RECIPES
)
DEFAULTS = {
    "ehnn-mlp": _mlp(256, 0.0, 0.2),
    "ehnn-transformer": _transformer(8, 256, 0.0, 0.2, 64),
    "all-set-transformer": Settings(256, options={"heads": 8}),
    "cegat": Settings(256, options={"heads": 8}),
    "all-deep-sets": Settings(256, options={"norm": True}),
    "han": Settings(256, options={"heads": 8}, dropout=0.6),
    "han-minibatch": Settings(256, options={"heads": 8}, dropout=0.6),
    **{name: recipes["ntu2012"] for name, recipes in RECIPES.items()},
}
"""Where there is nothing for the dataset; models that are not here have `Settings()`."""


def settings_of(model: str, dataset: str) -> Settings:
    """The committed hyperparameters; any other σ of House and Walmart has those of the nearer one."""
    find_model(model)
    dataset = dataset.strip().lower().replace("_", "-")
    table = SETTINGS.get(model, {"zoo": replace(DEFAULTS.get(model, Settings()), lr=1e-2)})
    stem, _, sigma = dataset.partition("-")
    if dataset not in table and stem in ("house", "walmart"):
        dataset = f"{stem}-{'1' if float(sigma) >= 0.8 else '0.6'}"
    return table.get(dataset, DEFAULTS.get(model, Settings()))


def make_model(name: str, settings: Settings, d_in: int, d_out: int) -> nn.Module:
    """A fresh model ``model(h) -> [num_nodes, d_out]``."""
    hidden = (settings.classifier_hidden,) * (settings.classifier_layers - 1)
    return find_model(name).make(
        d_in,
        d_out,
        width=settings.width,
        dropout=settings.dropout,
        path=settings.path,
        options=settings.options,
        stack={"input_dropout": settings.input_dropout, "classifier": hidden, **settings.stack},
    )
