"""``ehnn train --data`` and ``ehnn predict`` as a person with a CSV file meets them."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

pytest.importorskip("typer")

from typer.testing import CliRunner

from ehnn.cli.app import app
from ehnn.estimators import load

from .own_tables import CLUBS, COLUMNS, FAST, QUICK, SETS, members, nodes_table, predictions, run, write

pytestmark = pytest.mark.usefixtures("folder")
PAGE = (Path(__file__).parents[2] / "docs" / "own-data.md").read_text(encoding="utf-8")


def check_documented(path: str) -> None:
    """The page explains every key of a ``run.json``."""
    record = json.loads(Path(path).read_text(encoding="utf-8"))
    told = PAGE.split("Keys of `run.json`")[1].split("\n## ")[0]
    names = [n for n in (*record, *record["test"]) if not n.startswith("average_precision_")]
    assert [name for name in names if f"`{name}`" not in told] == []


def test_from_a_table_to_predictions(pairs: Path) -> None:
    before = pairs.read_bytes()
    said = run("train", "--data", pairs, *COLUMNS, *FAST, "--out", "mine")
    record = json.loads(Path("mine/run.json").read_text(encoding="utf-8"))
    assert record["test"]["accuracy"] > record["test"]["majority"]
    assert f"test accuracy: {100 * record['test']['accuracy']:.2f} %" in said
    assert (record["task"], record["model"], record["labels"]) == ("nodes", "auto", ["blue", "red"])
    assert record["data"]["hyperedges"] == CLUBS
    assert sum(record["data"]["orders"].values()) == CLUBS
    members_tried = [row["member"] for row in record["leaderboard"]]
    assert members_tried[0] == "majority"
    assert members_tried[-1] == "average"
    assert all(name in said for name in members_tried)
    counts = record["data"]["labelled"]
    assert sum(map(sum, record["test"]["confusion"])) == counts["test"]
    assert sum(total for _, total in record["test"]["per_class"].values()) == counts["test"]
    parts = predictions("mine/predicted.csv")
    assert {p: sum(row["part"] == p for row in parts) for p in counts} == counts
    assert "ehnn report mine" in said

    assert "Written: predictions.csv" in run("predict", "--model", "mine", "--data", pairs)
    found = predictions()
    assert {row["node"] for row in found} == {person for person, _, _ in members()}
    assert all(abs(float(row["p(blue)"]) + float(row["p(red)"]) - 1) < 1e-5 for row in found)
    assert [row["predicted"] for row in found] == [row["predicted"] for row in parts]
    assert pairs.read_bytes() == before


def test_a_finished_run_is_kept_and_another_is_refused(pairs: Path) -> None:
    command = ("train", "--data", pairs, *COLUMNS, *QUICK)
    first = run(*command)
    kept = next(Path("runs/train/members").iterdir()) / "run.json"
    time = kept.stat().st_mtime_ns
    assert "done before" in run(*command)
    assert kept.stat().st_mtime_ns == time
    assert kept.parent.name in first
    assert "other data or options" in run(*command, "--lr", 0.1, "--out", kept.parent, code=2)
    assert "done before" not in run(*command, "--fresh")
    assert kept.stat().st_mtime_ns > time
    Path("full").mkdir()
    Path("full/thesis.tex").write_text("mine")
    assert "holds no run" in run(*command, "--out", "full", code=2)
    assert "members.csv is a file; a run is a folder" in run(*command, "--out", pairs, code=2)


def test_a_stopped_run_goes_on(pairs: Path, monkeypatch) -> None:
    from ehnn.training import loop

    command = ("train", "--data", pairs, *COLUMNS, *QUICK, "--epochs", 40, "--patience", 40)
    run(*command, "--out", "whole")
    step, epochs = loop._Trainer.run_epoch, []

    def stops(trainer):
        epochs.append(trainer.epoch)
        if len(epochs) == 30:
            raise KeyboardInterrupt
        return step(trainer)

    monkeypatch.setattr(loop._Trainer, "run_epoch", stops)
    assert "Interrupted. Run the same command to continue." in run(*command, "--out", "parts", code=130)
    assert not Path("parts/run.json").exists()
    run(*command, "--out", "parts")
    assert epochs[30] == 25  # the last checkpoint
    whole, parts = (
        json.loads(Path(name, "run.json").read_text(encoding="utf-8")) for name in ("whole", "parts")
    )
    assert parts["history"] == whole["history"]
    assert parts["test"] == whole["test"]


def test_labels_of_sets(baskets: Path) -> None:
    run("train", "--data", baskets, *SETS, "--label-column", "kind", "--out", "mine", *QUICK)
    record = json.loads(Path("mine/run.json").read_text(encoding="utf-8"))
    assert record["task"] == "sets"
    assert record["data"]["hyperedges"] == 60
    assert (
        sum(total for _, total in record["test"]["per_order"].values()) == record["data"]["labelled"]["test"]
    )
    new = write(Path("new.csv"), ["items", "kind"], [("i1;i2", ""), ("i3;i4;other", "z")])
    said = run("predict", "--model", "mine", "--data", new)
    assert "new.csv, line 3: class 'z' was not there in training and cannot be predicted" in said
    assert [row["set"] for row in predictions()] == ["1", "2"]
    Path("new.csv").write_text("items\tkind\ni1/i2\ta\n", encoding="utf-8")
    run("predict", "--model", "mine", "--data", new, "--delimiter", "\\t", "--separator", "/", "--force")
    assert len(predictions()) == 1
    Path("new.csv").write_text("box,thing\nb,i1\nb,i2\nc,i4\n", encoding="utf-8")
    run(
        "predict",
        "--model",
        "mine",
        "--data",
        new,
        "--node-column",
        "thing",
        "--edge-column",
        "box",
        "--force",
    )
    assert [row["set"] for row in predictions()] == ["b", "c"]
    strange = write(Path("strange.csv"), ["items"], [("x;y",), ("y;x",)])
    said = run("predict", "--model", "mine", "--data", strange, "--out", "s.csv")
    assert "strange.csv: 2 of 2 nodes were not there in training, 'x' for one" in said
    assert "judged by the sizes of sets alone" in said


def test_numbers(baskets: Path) -> None:
    command = ("train", "--data", baskets, *SETS, "--label-column", "price", *QUICK)
    assert "price' has 7 classes" not in run(*command, "--regression", "--out", "mine")
    assert json.loads(Path("mine/run.json").read_text())["test"]["mean_absolute_error"] > 0
    check_documented("mine/run.json")
    run("predict", "--model", "mine", "--data", baskets)
    assert all(0 < float(row["predicted"]) < 8 for row in predictions())


def test_which_sets_belong_together(baskets: Path) -> None:
    command = ("train", "--data", baskets, *SETS, "--task", "hyperedges", "--out", "mine", *QUICK)
    told = run(*command, "--budget", "fast")
    assert "AUROC against hard sets" in told
    assert "Note: --budget is not read with --model ehnn-mlp" in told
    candidates = Path("candidates.txt")
    candidates.write_text("i1;i2\ni3;i6;i9\ni0;i2\n", encoding="utf-8")
    run("predict", "--model", "mine", "--data", candidates)
    found = predictions()
    assert [set(row["members"].split(";")) for row in found] == [
        {"i1", "i2"},
        {"i3", "i6", "i9"},
        {"i0", "i2"},
    ]
    assert [row["known"] for row in found] == ["no", "no", "yes"]
    assert all(0 < float(row["probability"]) < 1 for row in found)
    candidates.write_text("i1;i2\ni3;ii6\nii6\n", encoding="utf-8")
    said = run("predict", "--model", "mine", "--data", candidates, "--force")
    assert "candidates.txt, set 2: node 'ii6' was not in the training data (did you mean 'i6'?)" in said
    assert "sets with such a node: 2, which have no probability" in said
    assert [bool(row["probability"]) for row in predictions()] == [True, False, False]
    candidates.write_text("i1;i2;i1\n", encoding="utf-8")
    assert "members that a set has twice count once: 1" in run(
        "predict", "--model", "mine", "--data", candidates, "--force"
    )
    candidates.write_text("ii6\n", encoding="utf-8")
    assert "node 'ii6'" in run("predict", "--model", "mine", "--data", candidates, "--force", code=2)


def test_a_table_of_nodes(pairs: Path) -> None:
    import ehnn

    command = ("train", "--data", pairs, *COLUMNS, "--out", "mine", *QUICK, "--nodes")
    count = len({person for person, _, _ in members()})
    said = run(*command, nodes_table(zed=("zed", "red", 3, "b", "alone")))
    assert "in no set of members.csv: 1 of the nodes of nodes.csv, the first is 'zed'" in said
    features = json.loads(Path("mine/model.json").read_text(encoding="utf-8"))["reader"]["node_features"]
    assert [f["column"] for f in features] == ["age", "town"]
    assert features[1] == {"column": "town", "values": ["a", "b"]}
    assert ehnn.estimators.load("mine").n_features_in_ == 3
    assert "ehnn predict --model mine --data FILE --nodes TABLE" in said
    assert "the columns 'age', 'town' of a table of nodes" in run(
        "predict", "--model", "mine", "--data", pairs, code=2
    )
    run("predict", "--model", "mine", "--data", pairs, "--nodes", "nodes.csv", "--out", "p.csv")
    assert len(predictions("p.csv")) == count + 1
    nodes = nodes_table(p1=("p1", "red", 3, "c", ""), p3=("p3", "red", "old", "c", ""))
    command = ("predict", "--model", "mine", "--data", pairs, "--nodes", nodes, "--out", "q.csv")
    assert "nodes.csv, line" in run(*command, code=2)
    nodes_table(p1=("p1", "red", 3, "c", ""))
    assert "column 'town' has 1 texts that were not there in training, 'c' for one" in run(*command)


def test_hif_with_attributes() -> None:
    people = sorted({person for person, _, _ in members()})
    team = {person: team for person, _, team in members()}
    data = {
        "incidences": [{"node": p, "edge": c} for p, c, _ in members()],
        "nodes": [{"node": p, "attrs": {"team": team[p], "age": i}} for i, p in enumerate(people)],
    }
    Path("a.hif.json").write_text(json.dumps(data), encoding="utf-8")
    command = ("train", "--data", "a.hif.json", "--label-column", "team", "--feature-columns", "age", *QUICK)
    assert "test accuracy" in run(*command, "--model", "ehnn-transformer", "--out", "mine")
    assert json.loads(Path("mine/run.json").read_text())["attention"]["layers"]
    assert "there is no column 'taem'; found ['team', 'age'] (did you mean 'team'?)" in run(
        "train", "--data", "a.hif.json", "--label-column", "taem", code=2
    )


def test_a_file_of_lines_needs_labels_of_nodes() -> None:
    sets = [f"p{i};p{(i + 2) % 24};p{(i + 4) % 24}" for i in range(24)]
    Path("a.txt").write_text("\n".join(sets), encoding="utf-8")
    nodes = write(Path("nodes.csv"), ["id", "side"], [(f"p{i}", "lr"[i % 2]) for i in range(24)])
    run("train", "--data", "a.txt", "--nodes", nodes, "--label-column", "side", *QUICK, "--out", "mine")
    run("predict", "--model", "mine", "--data", "a.txt")
    assert len(predictions()) == 24
    assert "--nodes" in run("train", "--data", "a.txt", "--label-column", "side", code=2)


def test_several_runs_have_a_mean_and_a_deviation(pairs: Path) -> None:
    said = run("train", "--data", pairs, *COLUMNS, *QUICK, "--runs", 3, "--out", "mine")
    assert re.search(r"accuracy, 3 runs: [\d.]+ ± [\d.]+ %", said)
    found = json.loads(Path("mine/run.json").read_text(encoding="utf-8"))
    assert len(found["runs"]) == 3
    assert found["runs"][0] == found["test"]
    assert "give --test above 0" in run(
        "train", "--data", pairs, *COLUMNS, *QUICK, "--runs", 3, "--test", 0, code=2
    )


def test_the_commands_of_the_page() -> None:
    exec(re.search(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)[1], {})
    lines = "".join(re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)).splitlines()
    for line in lines:
        name, *arguments = shlex.split(line)
        assert name == "ehnn"
        run(*arguments, *(FAST if arguments[0] == "train" else ()))
    assert len(lines) > 5
    assert {row["predicted"] for row in predictions("teams.csv")} == {"red", "blue", "green"}
    assert {p.name for p in Path("runs").iterdir()} == {"baskets", "clubs", "roles", "together"}
    for path in Path("runs").glob("*/run.json"):
        check_documented(str(path))


def test_runs_that_were_done_are_not_done_again(pairs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ehnn.cli.fit_labels import LabelRun

    one, seeds = LabelRun._one, []

    def counted(self: LabelRun, seed: int, folder: Path | None) -> tuple[object, dict]:
        if len(seeds) == 2:
            seeds.append(-1)
            raise KeyboardInterrupt
        seeds.append(seed)
        return one(self, seed, folder)

    monkeypatch.setattr(LabelRun, "_one", counted)
    command = ("train", "--data", pairs, *COLUMNS, *QUICK, "--runs", 4, "--out", "mine")
    run(*command, code=130)
    said = run(*command)
    assert seeds == [0, 1, -1, 2, 3]
    assert "accuracy, 4 runs:" in said
    monkeypatch.setattr(LabelRun, "_one", one)
    record = json.loads(Path("mine/run.json").read_text(encoding="utf-8"))
    run(*command, "--fresh")
    again = json.loads(Path("mine/run.json").read_text(encoding="utf-8"))
    assert again["runs"] == record["runs"]
    refused = run("train", "--data", pairs, *COLUMNS[:4], *QUICK, "--task", "hyperedges", "--runs", 2, code=2)
    assert "--runs 2 is for labels" in refused


def test_a_model_no_better_than_a_simple_answer_says_so(pairs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ehnn.cli.fit_labels import LabelRun

    board = [{"member": "vote: members", "accuracy": 0.7}, {"member": "average", "accuracy": 0.7}]
    record = {"leaderboard": board, "summary": {"test accuracy": "70 %"}, "history": [], "test": None}
    monkeypatch.setattr(LabelRun, "fit", lambda self, folder: record)
    said = run("train", "--data", pairs, *COLUMNS, *FAST, "--out", "mine")
    assert "note: on held-out labels 'vote: members' alone is as good as the model" in said
    run("report", "mine", "--out", "page.html")
    assert "alone is as good as the model" in Path("page.html").read_text(encoding="utf-8")


def test_a_role_column_is_read_and_kept() -> None:
    rows = []
    for deal in range(60):
        giver, taker = f"p{deal % 12}", f"p{(deal + 1 + deal // 12) % 12}"
        kind = "gift" if deal % 12 < 6 else "loan"
        rows += [(f"d{deal}", giver, "from", kind), (f"d{deal}", taker, "to", kind)]
    write(Path("deals.csv"), ["deal", "person", "side", "kind"], rows)
    columns = "--node-column person --edge-column deal --role-column side --label-column kind --task sets"
    said = run("train", "--data", "deals.csv", *columns.split(), *FAST, "--out", "deals")
    assert "2 roles" in said
    refused = "--node-column person --edge-column deal --role-column side --task hyperedges --out other"
    said = run("train", "--data", "deals.csv", *refused.split(), code=2)
    assert "--task hyperedges does not read roles or directions: leave out --role-column" in said
    run("predict", "--model", "deals", "--data", "deals.csv")
    assert len(predictions()) == 60
    write(Path("bare.csv"), ["deal", "person"], [row[:2] for row in rows])
    assert "there is no column 'side'" in run(
        "predict", "--model", "deals", "--data", "bare.csv", "--force", code=2
    )


def test_help_says_what_the_commands_read() -> None:
    assert "Table with a row per node" in run("train", "--help")
    assert "labels, weights and roles" in run("data", "convert", "--help")
    lines = CliRunner().invoke(app, ["data", "example", "--help"]).output.splitlines()
    commands = [line.strip() for line in lines if line.strip().startswith("ehnn")]
    assert [command.split()[1] for command in commands] == ["data", "train"]


def test_rare_classes_may_weigh_as_much_as_others(baskets: Path) -> None:
    """A rare class that nothing tells apart is predicted only where it weighs as much as the other."""
    rows = [(f"b{i}", f"i{i % 7};i{i % 5}", "rare" if i % 8 == 0 else "common") for i in range(160)]
    write(baskets, ["basket", "items", "kind"], rows)
    command = ("train", "--data", baskets, "--label-column", "kind", *QUICK)
    run(*command, "--out", "m")
    run(*command, "--class-weight", "balanced", "--out", "w")
    counts = [
        sum(row["predicted"] == "rare" for row in predictions(f"{folder}/predicted.csv")) for folder in "mw"
    ]
    assert counts[0] < 20 < counts[1]
    assert (
        json.loads(Path("w/run.json").read_text(encoding="utf-8"))["parameters"]["class_weight"] == "balanced"
    )
    assert "--class-weight is for classes" in run(
        *command, "--class-weight", "balanced", "--regression", code=2
    )
    assert "unknown --class-weight 'equal'" in run(*command, "--class-weight", "equal", code=2)


def test_a_model_picks_its_device_where_it_is_loaded(pairs: Path) -> None:
    command = ("train", "--data", pairs, *COLUMNS, "--model", "mlp", "--epochs", 1, "--out")
    for device in ("auto", "cpu"):
        run(*command, device, "--device", device)
        assert load(device).device == device
