"""The rows of Tables 3 and 4, and what may be asked of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ehnn_paper.matching.positional import make_model
from ehnn_paper.matching.prepare import Setup, setup_of
from ehnn_paper.matching.recipes import BENCHMARKS, VOC, WILLOW, Benchmark
from ehnn_paper.matching.run import config_of
from ehnn_paper.matching.script import parse
from ehnn_paper.matching.table import command, make_rows, reproduce


def test_the_command_says_all_that_was_asked_for() -> None:
    setup = Setup(finetune=True, amp=True, tf32=True, batch_size=16, epoch_pairs=100, test_every=2, lr=1e-3)
    told = command(VOC, "ehnn-mlp", setup, range(2, 3))
    for words in ("--first-seed 2", "--batch-size 16", "--lr 0.001", "--epoch-pairs 100", "--test-every 2"):
        assert words in told
    assert "--finetune --amp --tf32" in told
    assert "--amp" not in command(VOC, "ehnn-mlp", Setup(), range(1))


def test_a_command_read_again_asks_for_the_same() -> None:
    cases = [
        (WILLOW, {"finetune": True, "blocks": 2, "lr": 2e-4, "device": "cuda"}),
        (VOC, {"device": "cuda"}),
        (VOC, {"device": "cuda", "finetune": False}),
        (VOC, {"device": "cuda", "blocks": 5, "amp": False, "lr_steps": (2, 4), "batch_size": 8}),
        (VOC, {"device": "cpu", "finetune": True, "thin": 0.25, "width": 32}),
    ]
    for benchmark, given in cases:
        setup = setup_of(benchmark, **given)
        words = command(benchmark, "ehnn-transformer", setup, range(1)).split()[2:]
        models, again = parse(benchmark, words)
        assert models == ["ehnn-transformer"]
        assert again == replace(setup, epochs=benchmark.epochs, iterations=benchmark.iterations)


def test_on_a_gpu_the_table_of_voc_is_the_bare_command() -> None:
    setup = setup_of(VOC, device="cuda")
    assert (setup.finetune, setup.blocks, setup.amp, setup.tf32, setup.batch_size) == (
        True,
        2,
        True,
        True,
        32,
    )
    frozen = setup_of(VOC, device="cuda", finetune=False)
    assert (frozen.finetune, frozen.blocks, frozen.amp, frozen.batch_size) == (False, 5, False, 32)
    assert not setup_of(VOC, device="cpu").finetune
    assert not setup_of(WILLOW, device="cuda").finetune
    assert command(VOC, "ngm", setup, range(1)).endswith(
        "--seeds 1 --epochs 26 --iterations 350 --device cuda"
    )


def test_rows_of_another_backbone_have_another_name() -> None:
    assert (WILLOW.row("ehnn-mlp", False), WILLOW.row("ehnn-mlp", True)) == ("ehnn-mlp", "ehnn-mlp-finetuned")
    assert (VOC.row("ehnn-mlp", False), VOC.row("ehnn-mlp", True)) == ("ehnn-mlp-frozen", "ehnn-mlp")
    assert "--finetune --minutes 8 " in command(VOC, "ngm", Setup(finetune=True, minutes=8), range(2))
    scores = [{"test-best": {"mean": 1.0}}, {"test-best": {"mean": 3.0}}]
    row = make_rows(VOC, "ehnn-mlp-frozen", scores, {"seeds": [0, 1]})[0]
    assert row["seeds"] == [0, 1]
    assert (row["mean"], row["std"], row["runs"], row["paper"]) == (2.0, 2**0.5, 2, None)


def test_what_was_asked_for_must_make_sense() -> None:
    with pytest.raises(ValueError, match="blocks=2 says which blocks learn, and needs finetune"):
        Setup(blocks=2)
    with pytest.raises(ValueError, match=r"thin must be a probability below 1, got 1\.5"):
        Setup(thin=1.5)
    with pytest.raises(ValueError, match=r"backbone_factor=0\.1 .* needs finetune"):
        Setup(backbone_factor=0.1)


def test_an_average_and_the_rate_of_the_backbone_reach_the_training() -> None:
    setup = Setup(finetune=True, weight_decay=0.5, clip_norm=1.0, ema=0.99, backbone_factor=0.1)
    config = config_of(VOC, "ehnn-mlp", setup)
    assert (config.weight_decay, config.clip_norm, config.ema) == (0.5, 1.0, 0.99)
    assert "--weight-decay 0.5 " in command(VOC, "ehnn-mlp", setup, range(1))
    assert (config.lr_factor("backbone.x"), config.lr_factor("x")) == (0.1, 1.0)
    assert "--clip-norm 1 --ema 0.99 --finetune --backbone-factor 0.1 " in command(
        VOC, "ehnn-mlp", setup, range(1)
    )
    assert config_of(VOC, "ehnn-mlp", Setup()).lr_factor("backbone.x") == 0.01


@pytest.mark.parametrize("name", list(BENCHMARKS))
def test_the_papers_means_are_means_of_its_categories(name: str) -> None:
    for model, figures in BENCHMARKS[name].paper.items():
        assert len(figures) == len(BENCHMARKS[name].short) + 1
        assert sum(figures[:-1]) / len(figures[:-1]) == pytest.approx(figures[-1], abs=0.01), model


@pytest.mark.parametrize("benchmark", list(BENCHMARKS.values()), ids=list(BENCHMARKS))
def test_every_recipe_makes_its_model(benchmark: Benchmark) -> None:
    for model, recipe in benchmark.recipes.items():
        make_model(model, 8, 4, **recipe.options)
        config = recipe.config(benchmark.epochs, benchmark.lr_steps)
        assert config.lr_at(0) == recipe.lr
        assert config.lr_at(benchmark.lr_steps[0]) == recipe.lr / 2


def test_options_of_networks_are_those_asked_for() -> None:
    setup = Setup(width=32, global_dropout=0.5)
    changed = VOC.with_options(["ehnn-transformer"], setup.options).recipes
    wanted = {"width": 32, "heads": 4, "dropout": 0.1, "global_dropout": 0.5}
    assert changed["ehnn-transformer"].options == wanted
    assert {name for name in changed if changed[name] != VOC.recipes[name]} == {"ehnn-transformer"}
    assert "--width 32 --global-dropout 0.5" in command(VOC, "ehnn-transformer", setup, range(1))


@pytest.mark.parametrize("model", ["ehnn-mlp", "ngm-v2", "bbgm"])
def test_options_that_a_network_does_not_have_are_refused_at_once(model: str) -> None:
    with pytest.raises(ValueError, match=f"'{model}' does not take all of .'global_dropout': 0.5"):
        reproduce(VOC, [model], Setup(global_dropout=0.5))
