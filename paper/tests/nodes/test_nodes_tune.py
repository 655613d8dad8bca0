"""The search: grid, sampler, resuming, two processes on one study."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, TimeoutError
from functools import partial
from pathlib import Path

import pytest

import ehnn
from ehnn import Hypergraph
from ehnn._utils.atomic import locked
from ehnn_paper.nodes import search as nodes_search
from ehnn_paper.nodes import tune as tuning
from ehnn_paper.nodes.config import MODELS, make_model

optuna = pytest.importorskip("optuna")
GRID = {"width": (4, 8), "mlp_dropout": (0.0, 0.2), "weight_decay": (0.0, 1e-5)}
OPTIONS = {"runs": 2, "epochs": 1}


def test_the_papers_grid():
    assert tuning._points(tuning.PAPER_GRID) == 16
    assert tuning._points(tuning.TRANSFORMER_GRID) == 128
    assert set(tuning.grid_of("hgnn")) == {"width", "weight_decay", "lr"}


@pytest.mark.parametrize("model", MODELS)
def test_every_point_makes_a_model(model):
    last = {name: choices[-1] for name, choices in tuning.grid_of(model).items()}
    settings = tuning.settings_from(model, "house-1", last | {"width": 64})
    make_model(model, settings, 5, 2)
    assert settings.weight_decay == 1e-5
    if model == "ehnn-transformer":
        assert settings.options["global_dropout"] == settings.options["local_dropout"] == 0.1
        assert (settings.classifier_hidden, settings.classifier_layers) == (128, 2)


def test_grid_visits_every_point_once_and_resumes(h, tmp_path):
    storage = tmp_path / "s" / "study.db"
    first = tuning.tune("zoo", "ehnn-mlp", storage=storage, grid=GRID, h=h, trials=3, **OPTIONS)
    assert len(first.trials) == 3
    study = tuning.tune("zoo", "ehnn-mlp", storage=storage, grid=GRID, h=h, **OPTIONS)
    points = {tuple(sorted(t.params.items())) for t in study.trials}
    assert len(study.trials) == len(points) == 8
    again = tuning.tune("zoo", "ehnn-mlp", storage=storage, grid=GRID, h=h, **OPTIONS)
    assert len(again.trials) == 8
    best = tuning.best_settings(study, "zoo", "ehnn-mlp")
    assert best.width == study.best_params["width"]


def test_a_point_that_two_processes_tried_leaves_none_out(h, tmp_path, monkeypatch):
    """Both draw before either has said which point it takes."""
    search = partial(tuning.tune, "zoo", "ehnn-mlp", storage=tmp_path / "s.db", grid=GRID, h=h, **OPTIONS)
    (first,) = search(trials=1).trials
    twice = optuna.trial.create_trial(
        value=1.0, params=first.params, distributions=first.distributions, system_attrs=first.system_attrs
    )
    search(trials=1).add_trial(twice)
    finished = [t.params for t in search(trials=100).trials]
    assert len(finished) == 9
    assert len({tuple(point.items()) for point in finished}) == 8


def test_test_accuracy_is_never_computed(h, tmp_path, monkeypatch):
    fit, seen = nodes_search.fit, []
    monkeypatch.setattr(nodes_search, "fit", lambda *a, **k: seen.append(fit(*a, **k)) or seen[-1])
    study = tuning.tune("zoo", "hgnn", storage=tmp_path / "s.db", sampler="tpe", trials=2, h=h, **OPTIONS)
    assert len(study.trials) == 2
    assert all(
        set(row) == {"epoch", "loss", "valid", "first", "second"} for result in seen for row in result.history
    )
    assert study.trials[0].value == pytest.approx(sum(seen[0].best_valid) / 2)


def test_a_trial_that_diverges_is_pruned(h, tmp_path, monkeypatch):
    def diverge(*args, **options):
        raise tuning.NotFiniteError("the loss is not finite")

    monkeypatch.setattr(tuning, "compare", diverge)
    study = tuning.tune("zoo", "hgnn", storage=tmp_path / "s.db", sampler="tpe", trials=1, h=h, **OPTIONS)
    assert study.trials[0].state.name == "PRUNED"


@pytest.fixture
def log():
    """What Optuna logs."""
    records, handler = [], logging.Handler()
    handler.emit = records.append
    logging.getLogger("optuna").addHandler(handler)
    yield records
    logging.getLogger("optuna").removeHandler(handler)


def test_other_epochs_or_runs_are_another_study_in_the_same_file(h, tmp_path):
    search = partial(tuning.tune, "zoo", "hgnn", storage=tmp_path / "s.db", trials=1, h=h)
    studies = [search(runs=r, epochs=e) for r, e in ((1, 1), (2, 1), (1, 2), (1, 1))]
    assert [len(study.trials) for study in studies] == [1, 1, 1, 1]
    assert len({study.study_name for study in studies}) == 3


@pytest.mark.parametrize("sampler", tuning.SAMPLERS)
@pytest.mark.parametrize("done", [0, 6, 7])
def test_the_point_of_an_interrupt_is_tried_again(h, tmp_path, monkeypatch, log, done, sampler):
    search = partial(
        tuning.tune, "zoo", "ehnn-mlp", storage=tmp_path / "s.db", sampler=sampler, grid=GRID, h=h, **OPTIONS
    )
    search(trials=done)
    with monkeypatch.context() as m:
        m.setattr(tuning, "compare", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            search()
    study = search()
    (stopped,) = (t for t in study.trials if t.state.name == "FAIL")
    finished = [t.params for t in study.trials if t.state.name == "COMPLETE"]
    assert len(finished) == 8
    assert stopped.params in finished
    assert sampler == "tpe" or all(finished.count(point) == 1 for point in finished)
    assert log == []


def _interrupt(*args, **options):
    raise KeyboardInterrupt


def test_a_hypergraph_without_features_is_refused_before_there_is_a_study(h, tmp_path):
    bare = Hypergraph.from_edges(h.edges(), num_nodes=h.num_nodes, y=h.y)
    with pytest.raises(ValueError, match="must have node features x"):
        tuning.tune("zoo", "hgnn", storage=tmp_path / "s.db", h=bare, **OPTIONS)
    assert not (tmp_path / "s.db").exists()


def test_an_error_in_a_trial_is_raised_and_not_logged(h, tmp_path, monkeypatch, log):
    def wrong(*args, **options):
        raise ValueError("wrong")

    monkeypatch.setattr(tuning, "compare", wrong)
    with pytest.raises(ValueError, match="wrong"):
        tuning.tune("zoo", "hgnn", storage=tmp_path / "s.db", h=h, **OPTIONS)
    assert log == []


@pytest.mark.parametrize("content", [b"text" * 9, b"SQLite format 3\0" + b"text" * 999])
def test_a_storage_that_is_no_database_is_named_and_kept(h, tmp_path, content):
    storage = tmp_path / "notes.txt"
    storage.write_bytes(content)
    with pytest.raises(ValueError, match=r"storage must be an SQLite file .*notes\.txt: .*not a database"):
        tuning.tune("zoo", "hgnn", storage=storage, h=h, **OPTIONS)
    assert storage.read_bytes() == content


def test_a_storage_that_cannot_be_opened_is_named(h, tmp_path, monkeypatch):
    monkeypatch.setattr(tuning, "_PAUSE", 0.0)
    with pytest.raises(ValueError, match=r"storage must be an SQLite file .*unable to open"):
        tuning.tune("zoo", "hgnn", storage=tmp_path, h=h, **OPTIONS)


def test_a_waiting_trial_is_taken_by_one_process_alone(tmp_path):
    storage = tuning._one_at_a_time(optuna.storages.RDBStorage, tmp_path / "s.db")(
        f"sqlite:///{tmp_path / 's.db'}"
    )
    study = optuna.create_study(storage=storage)
    study.enqueue_trial({"x": 1})
    trial = study.trials[0]._trial_id
    take = partial(storage.set_trial_state_values, trial, optuna.trial.TrialState.RUNNING)
    with ThreadPoolExecutor() as pool:
        with locked(tmp_path):  # as another process that is taking one
            taken = pool.submit(take)
            with pytest.raises(TimeoutError):
                taken.result(timeout=0.3)
        assert taken.result(timeout=60)
    assert not take()


def test_two_processes_share_a_study(data_dir, tmp_path):
    code = (
        "import sys; from ehnn_paper.nodes.tune import tune; "
        f"s = tune('zoo', 'ehnn-mlp', storage=r'{tmp_path / 's.db'}', data_dir=r'{data_dir}', grid={GRID!r}, "
        "runs=2, epochs=5); print(len(s.trials))"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(ehnn.__file__).parents[1]), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "error", "-W", "ignore::DeprecationWarning", "-c", code]
    both = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for process in both:
        out, error = process.communicate(timeout=100)
        assert process.returncode == 0, error
        assert int(out) >= 7  # the other may still be at its last point
    study = optuna.load_study(  # the only one in the file
        study_name=None, storage=f"sqlite:///{tmp_path / 's.db'}"
    )
    assert len({tuple(sorted(t.params.items())) for t in study.trials}) == 8
    assert len(study.trials) <= 10  # few points are tried by both


def test_unknown_sampler(h, tmp_path):
    with pytest.raises(ValueError, match="sampler must be one of"):
        tuning.tune("zoo", "ehnn-mlp", storage=tmp_path / "s.db", sampler="random", h=h)


def left_by_a_kill(study, *values):
    """A trial as a process leaves it that is killed before its first sign of life."""
    number = study._storage.create_new_trial(study._study_id)
    for name, choices, value in values:
        kind = optuna.distributions.CategoricalDistribution(choices)
        study._storage.set_trial_param(number, name, kind.to_internal_repr(value), kind)
    return number


@pytest.mark.parametrize("sampler", tuning.SAMPLERS)
@pytest.mark.parametrize("drawn", [(), (("width", (4, 8), 8),)])
def test_a_trial_that_was_killed_at_once_does_not_hold_up_the_others(h, tmp_path, sampler, drawn):
    search = partial(
        tuning.tune, "zoo", "ehnn-mlp", storage=tmp_path / "s.db", sampler=sampler, grid=GRID, h=h, **OPTIONS
    )
    left_by_a_kill(search(trials=2), *drawn)
    study = search(trials=3)  # it is not waited for
    assert [t.state.name for t in study.trials].count("COMPLETE") == 3
    assert study.trials[2].state.name == "FAIL"


def test_such_a_trial_is_given_up_after_a_while_where_others_are_at_work(h, tmp_path, monkeypatch):
    search = partial(tuning.tune, "zoo", "hgnn", storage=tmp_path / "s.db", h=h, **OPTIONS)
    study = search(trials=1)
    left_by_a_kill(study)
    tuning._fail_stale(optuna, study, alone=False)
    assert study.trials[1].state.name == "RUNNING"
    monkeypatch.setattr(tuning, "_GRACE", -1)
    tuning._fail_stale(optuna, study, alone=False)
    assert study.trials[1].state.name == "FAIL"


def test_such_a_trial_is_given_up_at_once_by_who_is_alone(h, tmp_path):
    study = tuning.tune("zoo", "hgnn", storage=tmp_path / "s.db", h=h, trials=1, **OPTIONS)
    left_by_a_kill(study)
    tuning._fail_stale(optuna, study, alone=True)
    assert study.trials[1].state.name == "FAIL"


def test_who_is_alone_at_a_storage(tmp_path):
    with tuning._at_work(tmp_path / "s.db") as first:
        assert first()
        with tuning._at_work(tmp_path / "s.db") as second:
            assert not first()
            assert not second()
        assert first()


def test_a_grid_goes_on_with_the_points_that_it_would_have_tried(h, tmp_path):
    """Also when the process was killed between failing a trial and queueing its point."""
    search = partial(tuning.tune, "zoo", "ehnn-mlp", grid=GRID, h=h, trials=4, **OPTIONS)
    whole = search(storage=tmp_path / "whole.db")
    study = tuning.tune(
        "zoo", "ehnn-mlp", grid=GRID, h=h, trials=2, storage=tmp_path / "killed.db", **OPTIONS
    )
    study._storage.set_trial_state_values(left_by_a_kill(study), optuna.trial.TrialState.FAIL)
    killed = search(storage=tmp_path / "killed.db")
    values = [{tuple(t.params.items()): t.value for t in s.trials if t.value} for s in (whole, killed)]
    assert values[0] == values[1]


def test_other_data_are_another_study(h, tmp_path):
    search = partial(tuning.tune, "zoo", "hgnn", storage=tmp_path / "s.db", trials=1, **OPTIONS)
    names = {search(h=g).study_name for g in (h, h.replace(x=h.x + 1), h)}
    assert len(names) == 2
