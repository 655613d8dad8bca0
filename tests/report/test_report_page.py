"""The page as text: whole, safe, small, and never a stack trace."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ehnn.report import read_runs, render, write_report
from ehnn.report.markup import VOID
from ehnn.report.runs import PARTS

from .conftest import EVIL, hostile, put


class Checked(HTMLParser):
    """Elements that are opened and closed in order; collects what a test asks about."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.words: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.append(tag)
        self.ids += [found["id"]] if found.get("id") else []
        self.links += [value for key in ("href", "src") if (value := found.get(key)) is not None]
        assert not [key for key in found if key.startswith("on")], found
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("style", "script"):
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def page_of(*folders: Path) -> Checked:
    return Checked(render(read_runs(folders)))


def test_one_run_has_all_sections(runs: list[Path]) -> None:
    page = page_of(runs[0])
    for word in (
        "ehnn-transformer on node classification", "Training loss", "Validation", "Confusion matrix",
        "Accuracy per class", "Accuracy per order", "Orders of hyperedges", "Degrees of nodes", "hulls",
        "Layer 2: nodes and hyperedges → nodes", "evenness", "Configuration", "ehnn train --data club.csv",
        "test accuracy", "36", "1.5 s",
    ):  # fmt: skip
        assert word in page.text
    assert "Comparison" not in page.text
    assert len(page.ids) == len(set(page.ids))
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)


def test_several_runs_are_compared(runs: list[Path]) -> None:
    page = page_of(*runs)
    for word in ("2 runs compared", "Comparison", "Settings that differ", "Test accuracy", "Time"):
        assert word in page.text
    assert {"run-0", "run-1", "compare"} <= set(page.ids)


def test_runs_of_different_metrics_share_no_axis(runs: list[Path], tmp_path: Path) -> None:
    history = [{"epoch": e, "loss": [1 / e], "valid": [-1 / e]} for e in (1, 2)]
    other = put(tmp_path / "other", {"task": "node regression", "metric": "−RMSE", "history": history})
    page = page_of(*runs, other)
    alone, alike = page_of(other), page_of(*runs)
    assert (
        page.words.count("Validation")
        == alike.words.count("Validation") + alone.words.count("Validation") + 1
    )
    assert "-0.5 (−RMSE)" in page.text.replace("−0.5", "-0.5")
    assert "(accuracy, %)" in page.text
    assert "(accuracy, %)" not in page_of(*runs).text


def test_the_page_asks_for_nothing(runs: list[Path], tmp_path: Path) -> None:
    page = render(read_runs([*runs, put(tmp_path, hostile())]))
    assert all(link.startswith("#") for link in Checked(page).links)
    addresses = set(re.findall(r"https?://[^\s\"'<]+", page))
    assert addresses <= {"http://www.w3.org/2000/svg"}  # a name, not an address
    assert "@import" not in page
    assert "url(" not in page


def test_texts_stay_texts(tmp_path: Path) -> None:
    page = render(read_runs([put(tmp_path, hostile())]))
    found = Checked(page)
    assert found.tags.count("script") == 1
    assert "img" not in found.tags
    assert EVIL in "".join(found.words)
    page.encode("utf-8")  # a lone surrogate would not be written


def test_the_policy_names_the_script_of_the_page(runs: list[Path]) -> None:
    import base64
    import hashlib

    page = render(read_runs(runs))
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"sha256-{digest}" in page


@pytest.mark.parametrize(
    "record", [{}, {"model": "m"}, {"history": [{"epoch": 1}]}, {"test": {}}, {"data": {}}]
)
def test_almost_nothing_is_a_page_too(tmp_path: Path, record: dict[str, Any]) -> None:
    page = page_of(put(tmp_path / "run", record))
    for word in ("Training loss", "Confusion", "Accuracy", "Attention", "Degrees"):
        assert word not in page.text


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    page = page_of(put(tmp_path, {"model": "m", "seconds": "long"}))
    assert "could not be read and is left out: seconds: expected a number, got 'long'" in page.text


KEYS = ["0", "1", "2", "17", "a", "epoch", "loss", "valid", "edges", "layers", "name"]
values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 400) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)
tallies = st.dictionaries(
    st.sampled_from(["0", "1", "2", "90", "a"]), st.just([1, 2]) | st.just([0, 0]) | values, max_size=40
)
shares = st.dictionaries(
    st.integers(0, 9).map(str), st.lists(st.floats(0, 1), min_size=2, max_size=2) | values, max_size=4
)
likely = {
    "history": st.lists(
        st.fixed_dictionaries(
            {"epoch": st.integers(-5, 10**12)}, optional={"loss": values, "valid": values}
        ),
        max_size=6,
    ),
    "test": st.fixed_dictionaries({}, optional={
        "accuracy": values, "confusion": st.sampled_from([[], [[0]], [[1, 0], [2, 5]], [[1]]]),
        "per_class": tallies, "per_order": tallies,
    }),
    "data": st.fixed_dictionaries({}, optional={
        "nodes": values, "degrees": values,
        "orders": st.dictionaries(st.integers(-1, 10**6).map(str), st.integers(0, 10**15), max_size=60),
    }),
    "hypergraph": st.fixed_dictionaries(
        {"edges": st.lists(st.lists(st.integers(0, 4), max_size=4), max_size=5)}, optional={"labels": values}
    ),
    "attention": st.fixed_dictionaries({"layers": st.lists(st.fixed_dictionaries({}, optional={
        "name": values, "meeting": shares, "everywhere": shares, "evenness": values,
    }), max_size=2)}),
}  # fmt: skip


@given(st.fixed_dictionaries({}, optional={key: likely.get(key, values) | values for key in PARTS}))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_record_is_a_page(tmp_path: Path, record: dict[str, Any]) -> None:
    page_of(put(tmp_path / "run", record))
    page_of(put(tmp_path / "run", record), put(tmp_path / "other", record))


# ---------------------------------------------------------------------- size


def test_long_histories_are_thinned(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    history = [
        {"epoch": e, "loss": [float(v) for v in rng.random(5)], "valid": [float(v) for v in rng.random(5)]}
        for e in range(1, 10_001)
    ]
    folder = put(tmp_path, {"history": history})
    assert (folder / "run.json").stat().st_size > 2_000_000
    page = render(read_runs([folder]))
    assert len(page) < 200_000


def test_large_data_make_small_pages(tmp_path: Path) -> None:
    size = 150
    confusion = np.random.default_rng(0).poisson(0.5, (size, size)) + np.diag(np.full(size, 50))
    names = [f"class {i}" for i in range(size)]
    many = {str(k): 10**6 // k for k in range(1, 20_000)}
    record = {
        "labels": names,
        "data": {"nodes": 10**7, "orders": many, "degrees": many},
        "test": {
            "confusion": confusion.tolist(),
            "per_class": {n: [1, 2] for n in names},
            "per_order": {str(k): [1, 3] for k in range(2, 3000)},
        },
    }
    page = render(read_runs([put(tmp_path, record)]))
    assert len(page) < 700_000
    assert "Commonest mistakes" in Checked(page).text
    record["test"]["confusion"] = np.diag(np.full(size, 50)).tolist()
    assert "Commonest mistakes" not in render(read_runs([put(tmp_path / "right", record)]))


# ---------------------------------------------------------------------- writing


def test_write_report_replaces_its_own_page_alone(runs: list[Path], tmp_path: Path) -> None:
    out = write_report(runs[:1], tmp_path / "new" / "page.html")
    first = out.read_text(encoding="utf-8")
    assert write_report(runs, out) == out
    assert out.read_text(encoding="utf-8") != first
    assert [path.name for path in out.parent.iterdir()] == ["page.html"]
    mine = tmp_path / "notes.html"
    mine.write_text("<p>mine</p>")
    with pytest.raises(ValueError, match="exists and is not a report of ehnn"):
        write_report(runs, mine)
    assert mine.read_text() == "<p>mine</p>"
    with pytest.raises(ValueError, match=r"is a folder; the report is one file"):
        write_report(runs, tmp_path)


def test_a_failure_leaves_the_old_page(runs: list[Path], tmp_path: Path) -> None:
    out = write_report(runs, tmp_path / "page.html")
    before = out.read_bytes()
    with pytest.raises(ValueError, match="holds no run"):
        write_report([*runs, tmp_path], out)
    assert out.read_bytes() == before


def test_the_command(runs: list[Path], tmp_path: Path) -> None:
    typer = pytest.importorskip("typer")
    from typer.testing import CliRunner

    from ehnn.cli.report import report

    app = typer.Typer()
    app.command()(report)
    out = tmp_path / "page.html"
    done = CliRunner().invoke(app, [*map(str, runs), "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert done.output.startswith(f"Written: {out} (")
    assert json.loads((runs[0] / "run.json").read_text())["model"] == "ehnn-transformer"  # only read
    failed = CliRunner().invoke(app, [str(tmp_path), "--out", str(out)])
    assert failed.exit_code == 2
    assert "holds no run: expected a folder with run.json" in " ".join(failed.output.split())
