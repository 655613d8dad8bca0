"""``ehnn train --data``, ``ehnn predict``, ``ehnn data convert`` as a person with a CSV file meets them."""

from __future__ import annotations

import csv
import json
import re
import shlex
from pathlib import Path

import pytest
import torch

pytest.importorskip("typer")

from typer.testing import CliRunner

from ehnn import Hypergraph
from ehnn.cli import places
from ehnn.cli.app import app
from ehnn.cli.layouts import Layout
from ehnn.cli.lists import expand_lists
from ehnn.cli.sheets import read_sheet
from ehnn.io import read_csv, read_hif, to_named_edges
from ehnn.testing import random_hypergraph

QUICK = ("--epochs", "3", "--width", "8", "--device", "cpu")
PEOPLE, CLUBS = 48, 40


def run(*arguments: object, code: int = 0) -> str:
    """Output and errors of a command, with line breaks and indentation made single spaces."""
    result = CliRunner().invoke(app, expand_lists(list(map(str, arguments))))
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return " ".join(result.output.split())


def members() -> list[tuple[str, str, str]]:
    """(person, club, team): the clubs of a team take their members from it."""
    rows = []
    for club in range(CLUBS):
        team = club % 2
        for step in range(2 + club % 3):
            person = (team + 2 * (club * 5 + step * 7)) % PEOPLE
            rows.append((f"p{person}", f"c{club}", "red" if team else "blue"))
    return rows


def write(path: Path, header: list[str], rows: list[tuple]) -> Path:
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)
    return path


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def pairs() -> Path:
    return write(Path("members.csv"), ["person", "club", "team"], members())


@pytest.fixture
def baskets() -> Path:
    rows = [
        (
            f"b{i}",
            ";".join(f"i{(i * 3 + 2 * j) % 20}" for j in range(2 + i % 3)),
            "ab"[i % 2],
            i % 7 + 0.5,
        )
        for i in range(60)
    ]
    return write(Path("baskets.csv"), ["basket", "items", "kind", "price"], rows)


COLUMNS = ("--node-column", "person", "--edge-column", "club", "--label-column", "team")
SETS = ("--edge-column", "basket", "--member-columns", "items")


# ---------------------------------------------------------------------- layouts

WANTED = {"s": ["ann", "Bob, jr", "cy"], "t": ["cy", "dan"]}
HIF = {
    "incidences": [{"node": n, "edge": e} for e, members in WANTED.items() for n in members],
    "nodes": [{"node": "ann", "attrs": {"team": "red"}}],
}


@pytest.mark.parametrize(
    ("name", "text", "layout"),
    [
        ("a.csv", 'node,edge\nann,s\n"Bob, jr",s\ncy,s\ncy,t\ndan,t\n', Layout()),
        ("a.csv", "person;club\nann;s\nBob, jr;s\ncy;s\ncy;t\ndan;t\n", Layout(node="person", edge="club")),
        ("a.csv", '\ufeffNode , Edge\r\nann, s\r\n"Bob, jr",s\r\ncy,s\r\n,\r\ncy,t\r\ndan,t\r\n', Layout()),
        ("a.tsv", "edge\tnode\ns\tann\ns\tBob, jr\ns\tcy\nt\tcy\nt\tdan\nt\tcy", Layout()),
        ("a.csv", 'id,members\ns,"ann;Bob, jr;cy;"\nt,cy; dan\n', Layout()),
        ("a.csv", 'set,items\ns,"ann|Bob, jr|cy|ann"\nt,cy|dan\n', Layout()),
        ("a.csv", 'id,members\ns,"[\'ann\', \'Bob, jr\', \'cy\']"\nt,"[""cy"", ""dan""]"\n', Layout()),
        ("a.csv", 'id,a,b,c\ns,ann,"Bob, jr",cy\nt,cy,dan,\n', Layout(members=("a", "b", "c"))),
        ("a.json", json.dumps(HIF), Layout()),
    ],
    ids=["pairs", "semicolons", "mark-and-windows", "tabs", "lists", "bars", "literals", "columns", "hif"],
)
def test_layouts(name: str, text: str, layout: Layout) -> None:
    Path(name).write_bytes(text.encode())
    found = to_named_edges(read_sheet(Path(name), layout).h)
    assert isinstance(found, dict)
    assert {e: sorted(set(m)) for e, m in found.items()} == {e: sorted(m) for e, m in WANTED.items()}


@pytest.mark.parametrize(
    ("text", "layout"),
    [
        ("ann\tBob, jr\tcy\n\ncy\tdan\n", Layout()),
        ('ann,"Bob, jr",cy\r\ncy, dan,,\r\n', Layout()),
        ("ann;Bob, jr;cy\ncy;dan", Layout(separator=";")),
    ],
    ids=["tabs", "quoted", "separator"],
)
def test_lines(text: str, layout: Layout) -> None:
    Path("a.txt").write_text(text, encoding="utf-8", newline="")
    sheet = read_sheet(Path("a.txt"), layout)
    assert list(map(sorted, to_named_edges(sheet.h).values())) == list(map(sorted, WANTED.values()))
    assert sheet.h.edge_names == ("1", "2")


def test_white_space_separates_lines_without_another_separator() -> None:
    Path("a.txt").write_text("a b  c\nc d\n", encoding="utf-8")
    assert read_sheet(Path("a.txt"), Layout()).h.edges() == [[0, 1, 2], [2, 3]]


def named(h: Hypergraph) -> Hypergraph:
    return h.replace(edge_names=tuple(map(str, range(h.num_edges))))


def test_places_tell_circles_apart() -> None:
    pairs = [[i + side, j + side] for side in (0, 10) for i in range(9) for j in (i + 1, (i + 3) % 10)]
    x, _ = places.Places.learn(named(Hypergraph.from_edges(pairs)), rank=2).encode(
        named(Hypergraph.from_edges(pairs))
    )
    apart = torch.cdist(x, x)
    assert apart[:10, 10:].min() > apart[:10, :10].max()


def test_places_follow_renumbering_and_names() -> None:
    h = named(Hypergraph.from_edges([*random_hypergraph(20, 30, (2, 5), seed=1).edges(), [19]], num_nodes=20))
    learned = places.Places.learn(h, rank=4)
    assert learned.names == tuple(map(str, range(30)))  # the last joins nothing
    x, unknown = learned.encode(h)
    assert (x.shape, unknown) == ((20, 4), 0)
    again, _ = places.Places.learn(h.permute_nodes(torch.arange(19, -1, -1)), rank=4).encode(h)
    torch.testing.assert_close(again, x, atol=1e-4, rtol=1e-4)
    other = h.replace(edge_names=tuple(str(i + 28) for i in range(h.num_edges)))
    y, unknown = learned.encode(other)
    assert unknown == 28
    assert set(y.any(1).nonzero().squeeze(1).tolist()) == {v for edge in h.edges()[:2] for v in edge}


def test_places_of_many_are_nearly_those_of_a_whole_decomposition(monkeypatch) -> None:
    h = named(random_hypergraph(60, 200, (2, 5), seed=0))
    exact, _ = places.Places.learn(h, rank=3).encode(h)
    monkeypatch.setattr(places, "_DENSE", 0)
    monkeypatch.setattr(places, "_STEPS", 40)
    near, _ = places.Places.learn(h, rank=3).encode(h)
    assert (near - exact).abs().max() < 0.05 * exact.abs().max()


# ---------------------------------------------------------------------- train and predict


def predictions(path: str = "predictions.csv") -> list[dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_from_a_table_to_predictions(pairs: Path) -> None:
    before = pairs.read_bytes()
    said = run("train", "--data", pairs, *COLUMNS, "--epochs", 40, "--width", 16, "--out", "mine")
    record = json.loads(Path("mine/run.json").read_text(encoding="utf-8"))
    assert record["test"]["accuracy"] > record["test"]["majority"]
    assert f"test accuracy: {100 * record['test']['accuracy']:.2f} %" in said
    assert (record["task"], record["model"], record["labels"]) == ("nodes", "ehnn-mlp", ["blue", "red"])
    assert record["data"]["hyperedges"] == CLUBS
    assert sum(record["data"]["orders"].values()) == CLUBS
    assert [row["epoch"] for row in record["history"]] == list(range(1, len(record["history"]) + 1))
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
    assert "--out members.csv is a file" in run(*command, "--out", pairs, code=2)


def test_a_stopped_run_goes_on(pairs: Path, monkeypatch) -> None:
    from ehnn.training import loop

    command = ("train", "--data", pairs, *COLUMNS, "--epochs", 40, "--patience", 40, "--width", 8)
    run(*command, "--out", "whole")
    step, epochs = loop._Trainer.run_epoch, []

    def stops(trainer):
        epochs.append(trainer.epoch)
        if len(epochs) == 30:
            raise KeyboardInterrupt
        return step(trainer)

    monkeypatch.setattr(loop._Trainer, "run_epoch", stops)
    assert "Interrupted. Run the same command to go on." in run(*command, "--out", "parts", code=130)
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
    said = run("predict", "--model", "mine", "--data", strange, "--out", "s.csv", code=2)
    assert "not one of its members was there in training" in said


def test_numbers(baskets: Path) -> None:
    command = ("train", "--data", baskets, *SETS, "--label-column", "price", *QUICK)
    assert "price' has 7 classes" not in run(*command, "--regression", "--out", "mine")
    assert json.loads(Path("mine/run.json").read_text())["test"]["mean_absolute_error"] > 0
    run("predict", "--model", "mine", "--data", baskets)
    assert all(0 < float(row["predicted"]) < 8 for row in predictions())


def test_which_sets_belong_together(baskets: Path) -> None:
    command = ("train", "--data", baskets, *SETS, "--task", "hyperedges", "--out", "mine", *QUICK)
    assert "AUROC against hard sets" in run(*command)
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
    candidates.write_text("i1;i2\ni3;ii6\n", encoding="utf-8")
    said = run("predict", "--model", "mine", "--data", candidates, "--force", code=2)
    assert "candidates.txt, set 2: node 'ii6' was not there in training (did you mean 'i6'?)" in said


def nodes_table(**changes: tuple) -> Path:
    """A table of the people: number, class, free text; rows in ``changes`` are exchanged."""
    team = {person: team for person, _, team in members()}
    rows = {p: (p, t, i if i % 3 else "", "ab"[i % 2], f"text {i}") for i, (p, t) in enumerate(team.items())}
    return write(Path("nodes.csv"), ["id", "team", "age", "town", "remark"], list((rows | changes).values()))


def test_a_table_of_nodes(pairs: Path) -> None:
    import ehnn

    command = ("train", "--data", pairs, *COLUMNS, "--out", "mine", *QUICK, "--nodes")
    count = len({person for person, _, _ in members()})
    assert count < 64, "then free text would be no class"
    said = run(*command, nodes_table(zed=("zed", "red", 3, "b", "alone")))
    assert "1 of the nodes of nodes.csv are in no set of members.csv, the first is 'zed'" in said
    features = json.loads(Path("mine/inputs.json").read_text(encoding="utf-8"))["features"]
    assert [f["column"] for f in features] == ["age", "town", "remark"]
    assert features[1] == {"column": "town", "values": ["a", "b"]}
    assert ehnn.estimators.load("mine").n_features_in_ > 64
    assert "the columns 'age', 'town'" in run("predict", "--model", "mine", "--data", pairs, code=2)
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


def test_sets_without_names_are_known_in_their_own_file_alone() -> None:
    sets = [f"p{i};p{(i + 2) % 24};p{(i + 4) % 24}" for i in range(24)]
    Path("a.txt").write_text("\n".join(sets), encoding="utf-8")
    nodes = write(Path("nodes.csv"), ["id", "side"], [(f"p{i}", "lr"[i % 2]) for i in range(24)])
    command = ("train", "--data", "a.txt", "--nodes", nodes, "--label-column", "side", *QUICK)
    run(*command, "--out", "mine")
    run("predict", "--model", "mine", "--data", "a.txt")
    Path("b.txt").write_text("\n".join(sets[1:]), encoding="utf-8")
    said = run("predict", "--model", "mine", "--data", "b.txt", "--out", "b.csv", code=2)
    assert "b.txt is not the file of training, and its sets have no names" in said
    run(*command, "--out", "other", "--no-places")
    run("predict", "--model", "other", "--data", "b.txt", "--out", "b.csv")
    assert "--nodes" in run("train", "--data", "a.txt", "--label-column", "side", code=2)


def test_the_commands_of_the_page() -> None:
    page = (Path(__file__).parents[2] / "docs" / "own-data.md").read_text(encoding="utf-8")
    exec(re.search(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[1], {})
    lines = "".join(re.findall(r"^```sh\n(.*?)^```", page, re.MULTILINE | re.DOTALL)).splitlines()
    for line in lines:
        name, *arguments = shlex.split(line)
        assert name == "ehnn"
        run(*arguments)
    assert len(lines) > 5
    assert {row["predicted"] for row in predictions("teams.csv")} == {"red", "blue", "green"}
    assert {p.name for p in Path("runs").iterdir()} == {"baskets", "clubs", "together"}


# ---------------------------------------------------------------------- bad input

HEADER = "person,club,team\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "bad.csv is empty: expected a header line"),
        (HEADER, "bad.csv has a header line and no rows"),
        (
            "persn,club,team\na,c,red\n",
            "no column 'person'; found ['persn', 'club', 'team'] (did you mean 'persn'?)",
        ),
        (
            "person,club,taem\na,c,red\n",
            "no column 'team'; found ['person', 'club', 'taem'] (did you mean 'taem'?)",
        ),
        (
            HEADER + "a,c,red\nb,c,blue,old\n",
            "bad.csv, line 3: expected 3 cells, got 4; if each line is a set",
        ),
        (HEADER + "a,c,red\nb,c,red\n", "column 'team' has only one class, 'red'"),
        (HEADER + "a,c,\nb,c,NA\n", "column 'team' has no label at all"),
        (
            HEADER + "a,c,red\na,d,blue\n",
            "line 3: column 'team' says 'blue', but of the same one bad.csv, line 2",
        ),
        (
            HEADER + "a,c,1.5\nb,c,2.5\nd,c,3.5\n",
            "3 classes for 3 labels, too many to learn; to predict a number",
        ),
        (HEADER + 'a,"c,red\n', "bad.csv, line 2: unexpected end of data"),
        ("person,club,person\na,b,c\n", "the column 'person' appears twice"),
    ],
)
def test_bad_tables(text: str, message: str) -> None:
    Path("bad.csv").write_text(text, encoding="utf-8")
    assert message in run("train", "--data", "bad.csv", *COLUMNS, *QUICK, "--out", "mine", code=2)
    assert Path("bad.csv").read_text(encoding="utf-8") == text
    assert not Path("mine").exists()


def test_text_that_is_not_utf_8() -> None:
    Path("bad.csv").write_bytes(HEADER.encode() + b"ann,c,red\nJos\xe9,c,blue\n")
    said = run("train", "--data", "bad.csv", *COLUMNS, code=2)
    assert "bad.csv, line 3: byte 0xe9 is not UTF-8 text" in said


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ("--data membrs.csv --label-column team", 1, "no file membrs.csv (did you mean members.csv?)"),
        (
            "FILE --label-column team",
            2,
            "members.csv: say where the sets are: --node-column and --edge-column",
        ),
        ("FILE --node-column person", 2, "--label-column must say what to predict"),
        ("FILE --node-column person --label-column team", 2, "--edge-column is missing beside 'person'"),
        (
            "FILE --label-column team --model ehnn-mpl",
            2,
            "unknown model 'ehnn-mpl'. Did you mean 'ehnn-mlp'?",
        ),
        ("FILE --label-column team --task node", 2, "unknown task 'node'. Did you mean 'nodes'?"),
        ("FILE --label-column team --task hyperedges", 2, "leave out --label-column"),
        (
            "FILE --label-column team --layout rows",
            2,
            "--layout must be one of auto, pairs, sets, lines, hif",
        ),
        ("FILE --label-column team --test 0.9", 2, "must leave a part to train on"),
        ("--label-column team", 2, "--data must name your file"),
        ("members.csv --label-column team", 2, "'members.csv' is a file: ehnn train --data members.csv"),
        ("--epochs 3 k-edge --model ehnn-mlp", 2, "--epochs stands before the task"),
    ],
)
def test_wrong_options(arguments: str, code: int, message: str, pairs: Path) -> None:
    arguments = arguments.replace("FILE", "--data members.csv")
    assert message in run("train", *arguments.split(), code=code)
    assert not Path("runs").exists() or not list(Path("runs").rglob("run.json"))


@pytest.mark.parametrize(
    ("changes", "arguments", "message"),
    [
        ({"p1": ("p1", "red", "old", "a", "")}, (), "column 'age' holds numbers elsewhere, got 'old'"),
        ({"": ("", "red", 1, "a", "")}, (), "column 'id' is blank"),
        ({}, ("--id-column", "idd"), "there is no column 'idd'"),
        ({}, ("--feature-columns", "age", "twon"), "there is no column 'twon'"),
        ({}, ("--feature-columns", "team"), "'team' is the label, which would give the answer away"),
    ],
)
def test_bad_tables_of_nodes(changes: dict, arguments: tuple, message: str, pairs: Path) -> None:
    nodes = nodes_table(**changes)
    assert message in run("train", "--data", pairs, *COLUMNS, "--nodes", nodes, *arguments, *QUICK, code=2)


def test_labels_for_nodes_that_are_not_there(pairs: Path) -> None:
    nodes = write(Path("nodes.csv"), ["id", "team"], [("P1", "red"), ("P2", "blue")])
    said = run("train", "--data", pairs, *COLUMNS, "--nodes", nodes, code=2)
    assert "no node of nodes.csv is in a set of members.csv; the first is 'P1' (nodes.csv, line 2)" in said
    assert "did you mean 'p1'?" in said


def test_two_sets_of_one_name() -> None:
    write(Path("a.csv"), ["id", "members", "kind"], [("s", "a;b", "x"), ("s", "b;c", "y")])
    assert "a.csv, line 3: 's' names a second set" in run(
        "train", "--data", "a.csv", "--label-column", "kind", code=2
    )


def test_predict_writes_over_nothing(pairs: Path) -> None:
    run("train", "--data", pairs, *COLUMNS, *QUICK, "--out", "mine")
    before = pairs.read_bytes()
    command = ("predict", "--model", "mine", "--data", pairs, "--out")
    assert "is one of the files that are read" in run(*command, pairs, "--force", code=2)
    assert "is one of the files that are read" in run(*command, "mine/model.json", "--force", code=2)
    Path("mine.csv").write_text("precious", encoding="utf-8")
    assert "is there already" in run(*command, "mine.csv", code=2)
    assert Path("mine.csv").read_text(encoding="utf-8") == "precious"
    run(*command, "mine.csv", "--force")
    assert len(predictions("mine.csv")) > 2
    assert "there is no folder" in run(*command, "no/where.csv", code=2)
    assert run(*command, "-").startswith("node,predicted,p(blue),p(red)")
    assert pairs.read_bytes() == before
    Path("empty").mkdir()
    assert "empty holds no model" in run("predict", "--model", "empty", "--data", pairs, code=2)
    Path("mine/inputs.json").write_text("{}", encoding="utf-8")
    assert "mine/inputs.json is damaged" in run("predict", "--model", "mine", "--data", pairs, code=2)


# ---------------------------------------------------------------------- convert


def test_convert_there_and_back(pairs: Path) -> None:
    before = pairs.read_bytes()
    run("data", "convert", pairs, "a.hif.json", "--node-column", "person", "--edge-column", "club")
    run("data", "convert", "a.hif.json", "b.csv")
    run("data", "convert", "b.csv", "c.hif.json")
    first, again = read_hif("a.hif.json"), read_hif("c.hif.json")
    assert first == again == read_csv("b.csv", names="text")
    assert first.node_names[:2] == (members()[0][0], members()[1][0])
    said = run("data", "convert", "b.csv", "d.txt")
    assert "do not carry names of sets" in said
    sets = list(map(sorted, to_named_edges(first).values()))
    assert list(map(sorted, to_named_edges(read_sheet(Path("d.txt"), Layout()).h).values())) == sets
    assert pairs.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("members.csv members.csv", "is one of the files that are read"),
        ("members.csv there.json", "there.json is there already"),
        ("members.csv a.xlsx", "tells no format; give --to: csv, lines, hif"),
        ("members.csv a.json --from cvs", "unknown format 'cvs'. Did you mean 'csv'?"),
        ("members.csv a.json", "say where the sets are"),
    ],
)
def test_convert_refuses(arguments: str, message: str, pairs: Path) -> None:
    Path("there.json").write_text("mine", encoding="utf-8")
    assert message in run("data", "convert", *arguments.split(), code=2)
    assert Path("there.json").read_text(encoding="utf-8") == "mine"
