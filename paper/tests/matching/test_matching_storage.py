"""Places of keypoints, and trained matchers in files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

from ehnn_paper.matching.match import match_images
from ehnn_paper.matching.pair_model import PairModel
from ehnn_paper.matching.positional import make_model, positional_channels
from ehnn_paper.matching.storage import NAME, load_matcher, save_matcher
from ehnn_paper.matching.vgg import VGG16

from .matching_examples import random_batch
from .painted import Colours, painted_set

SMALL = {"refine": 0, "width": 8}


def test_places_do_not_change_with_shift_and_scale() -> None:
    side = random_batch([(5, 4), (3, 3)]).a
    moved = replace(side, points=3 * side.points + 40)
    torch.testing.assert_close(positional_channels(moved), positional_channels(side), atol=1e-4, rtol=1e-4)
    assert torch.isfinite(positional_channels(replace(side, points=torch.zeros_like(side.points)))).all()
    with pytest.raises(ValueError, match="no variant with places"):
        make_model("pca-gm+", 8, 4)


ABOUT = {"model": "ehnn-mlp+", "dataset": "painted", "options": SMALL, "channels": 6, "whole_channels": 3}


def test_a_saved_matcher_matches_a_rotated_copy(tmp_path: Path) -> None:
    from ehnn_paper.matching.feature_cache import weights_hash

    torch.manual_seed(0)
    model = PairModel(make_model("ehnn-mlp+", 6, 3, **SMALL))
    save_matcher(tmp_path, model.state_dict(), {**ABOUT, "backbone": weights_hash(Colours())})
    loaded, about = load_matcher(tmp_path, Colours)
    assert about["model"] == "ehnn-mlp+"
    a, b = painted_set().items("Duck", "test")[:2]
    found, same = match_images(loaded, a, b), match_images(PairModel(model.matcher, Colours()), a, b)
    assert sorted(found.matched.tolist()) == list(range(6))
    torch.testing.assert_close(found.probability, same.probability, atol=2e-2, rtol=2e-2)


def test_what_is_not_a_matcher_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"matcher\.safetensors is not there"):
        load_matcher(tmp_path, Colours)
    (tmp_path / NAME).write_bytes(b"nothing")
    with pytest.raises(ValueError, match=r"is not a matcher of ehnn"):
        load_matcher(tmp_path, Colours)
    state = PairModel(make_model("ehnn-mlp+", 6, 3, **SMALL)).state_dict()
    save_matcher(tmp_path, state, {**ABOUT, "backbone": "other"})
    with pytest.raises(ValueError, match="backbone with other weights"):
        load_matcher(tmp_path, Colours)
    save_matcher(tmp_path, state, {**ABOUT, "channels": 7, "backbone": "other"})
    with pytest.raises(ValueError, match="does not fit its model 'ehnn-mlp"):
        load_matcher(tmp_path, Colours)


def test_a_backbone_with_batch_norm_that_was_trained_along_is_read_again(tmp_path):
    def normed() -> VGG16:
        layers: list[nn.Module] = []
        plain = VGG16()
        for layer in (*plain.to_relu4_2, *plain.to_relu5_1, *plain.to_end):
            layers += [layer, nn.BatchNorm2d(layer.out_channels)] if isinstance(layer, nn.Conv2d) else [layer]
        return VGG16(nn.Sequential(*layers))

    about = {"model": "ehnn-mlp", "dataset": "own", "options": {"width": 4, "refine": 0}, "channels": 1024}
    about |= {"whole_channels": 512, "backbone": "trained"}
    matcher = make_model("ehnn-mlp", 1024, 512, width=4, refine=0)
    save_matcher(tmp_path, PairModel(matcher, normed()).state_dict(), about)
    with pytest.raises(ValueError, match="does not fit its model"):
        load_matcher(tmp_path)
    model, _ = load_matcher(tmp_path, trained=normed)
    assert any(isinstance(m, nn.BatchNorm2d) for m in model.backbone.modules())
