"""The committed settings fit the models, and the paper's figures are the paper's."""

from __future__ import annotations

import inspect
import json
from dataclasses import replace

import pytest
import torch

from ehnn.datasets import list_datasets
from ehnn.nn import Stack
from ehnn.nn.dropout import Dropout
from ehnn_paper.nodes.config import (
    DATASETS,
    EHNN_MLP,
    EHNN_TRANSFORMER,
    MODELS,
    PAPER,
    SETTINGS,
    Settings,
    as_released,
    find_model,
    make_model,
    settings_of,
)
from ehnn_paper.nodes.inputs import PreparedNodes
from ehnn_paper.nodes.recipes import BASELINES_WITH_RECIPE, RECIPES
from ehnn_paper.nodes.runs import make_task
from ehnn_paper.nodes.table import average_ranks


@pytest.mark.parametrize("name", MODELS)
def test_settings_fit_the_signature(name):
    model = MODELS[name]
    known = set(inspect.signature(model.kind.__init__).parameters)
    for dataset in DATASETS:
        settings = settings_of(name, dataset)
        assert set(settings.options) <= known, (name, dataset)
        assert model.stacked or {"width", "dropout"} <= known
        config = settings.train_config(500, name)
        assert (config.epochs, config.lr, config.weight_decay) == (500, settings.lr, settings.weight_decay)
        if name not in RECIPES:
            assert (config.optimizer, config.clip_norm, config.schedule) == ("adam", 5.0, "constant")
            assert settings.to_dict().keys().isdisjoint({"path", "inputs", "train"})


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("dataset", DATASETS)
def test_recipes_are_complete_and_make_task_and_model(name, dataset, h):
    settings = settings_of(name, dataset)
    task = make_task(h, name, (0, 1), settings)
    assert isinstance(task, PreparedNodes)
    model = make_model(name, replace(settings, width=8), task.num_features, 2)
    if MODELS[name].stacked:
        assert isinstance(model, Stack)
        assert model.block.residual
    assert model.eval()(h, task.evaluated.run_x[1]).shape == (40, 2)
    assert json.loads(json.dumps(settings.to_dict()))["inputs"] == dict(settings.inputs)


@pytest.mark.parametrize("name", BASELINES_WITH_RECIPE)
@pytest.mark.parametrize("dataset", DATASETS)
def test_baselines_get_what_ours_gets(name, dataset):
    ours, theirs = settings_of("ehnn-mlp+", dataset), settings_of(name, dataset)
    assert replace(theirs, options=ours.options) == ours
    assert theirs.options["dropout"] == ours.options["dropout"]


@pytest.mark.parametrize("name", MODELS)
def test_every_model_can_be_built_and_run(name, h):
    options = {k: 2 if k == "heads" else v for k, v in settings_of(name, "zoo").options.items()}
    model = make_model(name, Settings(8, options=options), 6, 3)
    assert model.eval()(h).shape == (40, 3)
    assert not any(isinstance(m, torch.nn.Dropout) for m in model.modules())


def test_settings_reach_the_model():
    model = make_model("ehnn-transformer", EHNN_TRANSFORMER["ntu2012"], 100, 67)
    assert isinstance(model, Stack)
    assert model.path == ("nodes", "all", "nodes", "all", "nodes")
    layer = model.layers[0]
    assert (layer.d_out, layer.heads, layer.local_dropout.p, layer.phi1.dropout1.p) == (256, 8, 0.1, 0.2)
    assert model.dropouts[0].p == 0.5
    assert len(model.classifier) == 1
    assert isinstance(model.norm, torch.nn.LayerNorm)
    deep = make_model("ehnn-mlp", Settings(8, classifier_layers=2, classifier_hidden=5), 6, 3)
    assert [m.out_features for m in deep.classifier if isinstance(m, torch.nn.Linear)] == [5, 3]
    assert any(isinstance(m, Dropout) for m in deep.classifier)


def test_between_the_layers_stands_what_the_release_has():
    mlp = make_model("ehnn-mlp", EHNN_MLP["zoo"], 16, 7)
    assert (mlp.activations, [d.p for d in mlp.dropouts]) == ([True, False], [0.5, 0.0])
    transformer = make_model("ehnn-transformer", EHNN_TRANSFORMER["zoo"], 16, 7)
    assert (transformer.activations, [d.p for d in transformer.dropouts]) == ([False] * 4, [0.5] * 4)
    assert (transformer.block.residual, transformer.block.drop_kept) == (True, True)
    assert transformer.layers[0].feed_forward.dropout.p == 0.5
    assert isinstance(mlp.norm, torch.nn.Identity)
    assert isinstance(transformer.norm, torch.nn.Identity)
    assert Settings(stack={"final_norm": False}).to_dict()["stack"] == {"final_norm": False}
    assert "stack" not in Settings().to_dict()  # runs that are stored without it are still known


def test_where_validation_says_so_our_arrangement_stays():
    ours = {
        "ehnn-mlp": {"ntu2012", "walmart-0.6"},
        "ehnn-transformer": {"ntu2012", "walmart-1", "walmart-0.6"},
    }
    for model, table in (("ehnn-mlp", EHNN_MLP), ("ehnn-transformer", EHNN_TRANSFORMER)):
        assert {d for d in DATASETS if not table[d].stack} == ours[model]
        for dataset in set(DATASETS) - ours[model]:
            assert table[dataset] == as_released(model, table[dataset])


def test_features_are_dropped_where_that_was_chosen(h):
    walmart = make_model("ehnn-transformer", settings_of("ehnn-transformer", "walmart-1"), 6, 3)
    zoo = make_model("ehnn-transformer", settings_of("ehnn-transformer", "zoo"), 6, 3)
    assert (walmart.input_dropout.p, zoo.input_dropout.p) == (0.2, 0.0)
    model = make_model("ehnn-mlp", Settings(8, dropout=0.0, input_dropout=0.99), 6, 3)
    assert not torch.equal(model.train()(h), model.eval()(h))
    assert "input_dropout" not in Settings().to_dict()  # runs that are stored without it are still known
    assert Settings(input_dropout=0.2).to_dict()["input_dropout"] == 0.2


def test_settings_of_baselines_reach_the_model():
    for name in ("uni-gcn-ii", "hcha"):
        assert settings_of(name, "walmart-0.6") == Settings(lr=1e-2)
    for name in ("all-set-transformer", "all-deep-sets"):
        assert settings_of(name, "walmart-1").input_dropout == 0.2
        assert settings_of(name, "20news").input_dropout == 0.0
    assert len(make_model("uni-gcn-ii", settings_of("uni-gcn-ii", "ntu2012"), 100, 67).convs) == 1
    assert len(make_model("uni-gcn-ii", settings_of("uni-gcn-ii", "house-1"), 100, 2).convs) == 2
    assert len(make_model("hnhn", settings_of("hnhn", "ntu2012"), 100, 67).convs) == 1
    han = make_model("han", settings_of("han", "zoo"), 16, 7)
    assert (han.classifier.in_features, han.dropouts[0].p) == (64, 0.0)
    for dataset, normed in (("walmart-1", True), ("house-0.6", False)):
        layer = make_model("all-deep-sets", settings_of("all-deep-sets", dataset), 100, 2).layers[0]
        assert any(isinstance(m, torch.nn.LayerNorm) for m in layer.modules()) == normed


def test_a_baseline_without_a_choice_of_its_own_has_the_common_settings():
    for dataset in set(DATASETS) - {"zoo"}:
        for name in ("mlp", "hgnn"):
            assert settings_of(name, dataset) == Settings()
    assert settings_of("hgnn", "zoo") == settings_of("hnhn", "zoo") == Settings(lr=1e-2)
    assert settings_of("cegat", "mushroom") == settings_of("cegat", "cora-cocitation")
    assert settings_of("uni-gcn-ii", "20news") == settings_of("hnhn", "mushroom") == Settings()


def test_the_transformer_keeps_what_a_node_was():
    assert make_model("ehnn-transformer", Settings(8, options={"heads": 2}), 6, 3).block.residual
    assert not make_model("ehnn-mlp", Settings(8), 6, 3).block.residual


def test_the_papers_table_of_hyperparameters():
    """Spot checks against the table, one from each row of both halves."""
    assert set(EHNN_MLP) == set(EHNN_TRANSFORMER) == set(DATASETS)
    assert [EHNN_MLP[d].width for d in DATASETS] == [128, 256, 128, 256, 256, 64, 256, 256, 128, 256]
    assert [EHNN_MLP[d].weight_decay for d in DATASETS] == [0, 1e-5, 1e-5, 0, 1e-5, 0, 0, 0, 0, 1e-5]
    assert [EHNN_MLP[d].options["dropout"] for d in DATASETS] == [0, 0, 0, 0.2, 0.2, 0, 0.2, 0.2, 0, 0.2]
    t = EHNN_TRANSFORMER
    assert [t[d].options["heads"] for d in DATASETS] == [8, 8, 4, 8, 4, 8, 4, 8, 4, 8]
    assert [t[d].width for d in DATASETS] == [256, 256, 256, 256, 256, 64, 64, 256, 256, 128]
    assert [t[d].weight_decay for d in DATASETS] == [0, 1e-5, 1e-5, 1e-5, 1e-5, 0, 1e-5, 0, 0, 1e-5]
    assert [t[d].options["dropout"] for d in DATASETS] == [0, 0, 0, 0.2, 0, 0, 0.2, 0.2, 0, 0.2]
    assert [t[d].options["local_dropout"] for d in DATASETS] == [0, 0, 0, 0.1, 0, 0, 0, 0, 0, 0]
    assert [t[d].classifier_hidden for d in DATASETS] == [128, 64, 128, 64, 64, 128, 64, 64, 64, 64]
    assert {s.lr for table in (EHNN_MLP, t) for s in table.values()} == {1e-3}


def test_datasets_are_in_the_catalogue_and_tables_complete():
    assert set(DATASETS) <= {c.name for c in list_datasets()}
    assert set(SETTINGS) <= set(MODELS) == set(PAPER) | set(RECIPES)
    assert all(set(table) == set(DATASETS) for table in SETTINGS.values())


def test_other_noise_takes_the_nearer_setting():
    assert settings_of("ehnn-transformer", "house-0.9") == EHNN_TRANSFORMER["house-1"]
    assert settings_of("ehnn-transformer", "walmart-0.2") == EHNN_TRANSFORMER["walmart-0.6"]
    assert settings_of("ehnn-mlp", "cora-cocitation").width == 256


def test_unknown_model():
    with pytest.raises(ValueError, match=r"unknown model 'ehnn'.*Known: mlp, cegcn"):
        find_model("ehnn")


def test_average_rank_of_the_papers_figures_is_the_papers():
    printed = dict(
        zip(PAPER, (6.4, 11.5, 10.5, 5.9, 7.8, 8.1, 12.4, 5.8, 9.9, 10.6, 5.4, 2.4, 5.0, 1.6), strict=True)
    )
    table = {model: {d: mean for d, (mean, _) in row.items()} for model, row in PAPER.items()}
    assert average_ranks(table) == pytest.approx(printed)
    assert PAPER["ehnn-transformer"]["walmart-1"] == (68.73, 0.35)
    assert "zoo" not in PAPER["hyper-gcn"]


def test_names_of_datasets_may_be_spelled_as_the_catalogue_takes_them():
    assert settings_of("ehnn-mlp", "Zoo") == EHNN_MLP["zoo"]
    assert settings_of("ehnn-mlp", "house_0.6") == EHNN_MLP["house-0.6"]


def test_the_release_has_two_models():
    with pytest.raises(ValueError, match="'ehnn-mlp' and 'ehnn-transformer', got 'hgnn'"):
        as_released("hgnn", Settings())
    with pytest.raises(ValueError, match="drop_kept=True needs residual=True"):
        make_model("ehnn-mlp", Settings(8, stack={"drop_kept": True}), 6, 3)


def test_stacks_that_differ_between_their_layers_print_differently():
    plain = {"residual": True}
    others = ({"residual": True, "drop_kept": True}, {"residual": True, "activation": True})
    texts = {repr(make_model("ehnn-mlp", Settings(8, stack=o), 6, 3)) for o in (plain, *others)}
    assert len(texts) == 3
