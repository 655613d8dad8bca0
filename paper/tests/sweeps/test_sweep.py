"""Searched tables: trials are kept, run after run, and each run chooses on its own validation part."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from ehnn_paper.digest import digest
from ehnn_paper.sweep import Found, Trial, choose, on_data, read, sweep

TRIALS = [Trial("d", model, number, {"lr": number}) for number in range(2) for model in ("a", "b")]


def compute(trial: Trial) -> Found:
    if (trial.model, trial.choice) == ("b", 1):
        raise ValueError("no memory left")
    valid = [50.0, 60.0] if trial.choice == 0 else [50.0, 70.0]
    return {"valid": valid, "test": [10.0 + trial.choice, 20.0 + trial.choice]}


def test_finished_trials_are_kept_and_a_failure_leaves_the_others(tmp_path: Path) -> None:
    said: list[str] = []
    assert sweep(TRIALS, compute, tmp_path, say=said.append) == 1
    assert [read(trial, tmp_path) is not None for trial in TRIALS] == [True, True, True, False]
    assert sum("no memory left" in text for text in said) == 1
    said.clear()
    assert sweep(TRIALS, compute, tmp_path, say=said.append) == 1
    assert len(said) == 1, "only what failed is tried again"


def test_each_run_takes_the_setting_that_its_validation_part_chose(tmp_path: Path) -> None:
    sweep(TRIALS, compute, tmp_path, say=lambda text: None)
    found = {model: chosen for _, model, chosen in choose(TRIALS, tmp_path)}
    assert set(found) == {"a"}, "b lacks a trial, so it has no figure"
    assert found["a"].values == [10.0, 21.0]  # equal in run 0: the first setting
    assert found["a"].choices == [0, 1]
    assert found["a"].settings() == {"search": {"0": {"lr": 0}, "1": {"lr": 1}}, "chosen": {"0": 1, "1": 1}}


def test_nothing_begins_after_the_time_is_over(tmp_path: Path) -> None:
    start = time.monotonic()
    assert sweep(TRIALS, compute, tmp_path, minutes=0.0, say=lambda text: None) == len(TRIALS)
    assert time.monotonic() - start < 60
    assert not list(tmp_path.rglob("*.json"))


def test_a_trial_of_other_data_is_not_reused(tmp_path: Path) -> None:
    def trial() -> Trial:
        return on_data(TRIALS[:1], lambda name: digest(tmp_path / f"{name}.npz"))[0]

    (tmp_path / "d.npz").write_bytes(b"some data")
    path = trial().path(tmp_path)
    path.parent.mkdir()
    path.write_text('{"trial": {}, "found": {"valid": [1.0]}, "origin": {}}')
    assert read(trial(), tmp_path) is not None
    (tmp_path / "d.npz").write_bytes(b"other data")
    assert read(trial(), tmp_path) is None


def test_other_settings_are_another_trial(tmp_path: Path) -> None:
    sweep(TRIALS[:1], compute, tmp_path, say=lambda text: None)
    assert read(Trial("d", "a", 0, {"lr": 5}), tmp_path) is None
    path = TRIALS[0].path(tmp_path)
    path.write_text('{"trial": 3}')
    with pytest.raises(ValueError, match="remove the file to train again"):
        read(TRIALS[0], tmp_path)
