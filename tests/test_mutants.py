"""The list of mutants still fits the source, and the program that tries them tells what is noticed."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("tomllib")

ROOT = Path(__file__).parents[1]
ENTRY = """
[[mutant]]
file = "src/sums.py"
old = "{}"
new = "{}"
tests = ["tests/test_sums.py"]
why = "{}"
"""


@pytest.fixture(scope="module")
def mutants() -> ModuleType:
    """``tools/mutants.py``, which is not part of the package."""
    spec = importlib.util.spec_from_file_location("mutants", ROOT / "tools" / "mutants.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["mutants"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_every_mutant_still_applies(mutants: ModuleType) -> None:
    wrong = []
    for mutant in mutants.load():
        try:
            changed = mutant.apply(ROOT)
            if mutant.file.endswith(".py"):
                compile(changed, mutant.file, "exec")
            assert mutant.new != mutant.old, f"{mutant.file}: nothing is changed by {mutant.old!r}"
            assert mutant.tests, f"{mutant.file}: {mutant.old!r} names no tests"
            for test in mutant.tests:
                path, _, name = test.partition("::")
                text = (ROOT / path).read_text(encoding="utf-8")
                assert f"def {name.partition('[')[0]}" in text or not name, f"there is no test {test}"
        except (AssertionError, OSError, SyntaxError, ValueError) as error:
            wrong.append(str(error))
    assert wrong == []


def test_tests_on_the_page_on_robustness_are_there() -> None:
    page = (ROOT / "docs" / "robustness.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:paper/)?tests/\S+?\.py)(?:::(\w+))?`", page)
    assert len(named) > 20
    missing = [(f, n) for f, n in named if f"def {n}" not in (ROOT / f).read_text(encoding="utf-8")]
    assert missing == []


def test_no_mutant_is_listed_twice(mutants: ModuleType) -> None:
    found = [(m.file, m.old, m.new) for m in mutants.load()]
    assert len(set(found)) == len(found)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of two functions whose tests notice that `add` is wrong, but not that `double` is."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # it starts faster
    monkeypatch.syspath_prepend(ROOT / "tools")  # where a process of its own finds the module
    root = tmp_path / "project"
    source = "def add(a, b):\n    return a + b\n\n\ndef double(a):\n    return 2 * a\n"
    listed = ENTRY.format("a + b", "a - b", "sums are wrong") + ENTRY.format("2 * a", "3 * a", "double is")
    files = {
        "src/sums.py": source,
        "tests/test_sums.py": "from sums import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n",
        "tools/mutants/sums.toml": listed,
        "pytest.ini": "[pytest]\n",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_what_is_noticed_and_what_is_missed(mutants: ModuleType, project: Path, capsys) -> None:
    assert mutants.main(["--jobs", "2"], project) == 1  # less than 90 % noticed
    found = json.loads((project / "results" / "mutants.json").read_text())
    assert [row["status"] for row in found["rows"]] == ["missed", "noticed"]
    assert (found["mutants"], found["noticed"]) == (2, 1)
    assert "`tests/test_sums.py::test_add`" in (project / "results" / "mutants.md").read_text()
    assert "return a + b" in (project / "src" / "sums.py").read_text()
    assert "50.0 % of 2 noticed; 1 missed, 0 broken" in capsys.readouterr().out

    assert mutants.main(["--least", "50"], project) == 0
    assert "2 mutants, 2 known from before" in capsys.readouterr().out  # nothing is run again
    (project / "tests" / "test_sums.py").write_text(
        "from sums import add, double\n\n\ndef test_both():\n    assert (add(2, 3), double(2)) == (5, 4)\n"
    )
    assert mutants.main(["--only", "double", "--unchecked"], project) == 0
    assert re.search(r"1 mutants, 0 known from before\n\[1/1, 0 min left\] noticed ", capsys.readouterr().out)


def test_defects_are_listed_with_what_notices_them(mutants: ModuleType, project: Path) -> None:
    listed = project / "tools" / "mutants" / "sums.toml"
    mutants.main(["--only", "sums are", "--unchecked"], project)
    listed.write_text(listed.read_text() + 'hole = "doubles were wrong"\n')
    before = [m.key(project) for m in mutants.load(project)]
    mutants.main(["--unchecked"], project)
    text = (project / "results" / "mutants.md").read_text().partition("## Defects")[2]
    assert "| doubles were wrong | src/sums.py: double is | **missed** |" in text
    assert "sums are wrong" not in text
    listed.write_text(listed.read_text().replace("doubles were", "to double was"))
    assert [m.key(project) for m in mutants.load(project)] == before  # what is known stays known


def test_a_crash_is_noticed(mutants: ModuleType) -> None:
    assert mutants.judge(-11, "") == ("noticed", "a crash of the tests (signal 11)")


def test_mutants_may_be_lines_of_json(mutants: ModuleType, project: Path) -> None:
    entry = {"file": "src/sums.py", "old": "b)", "new": "a)", "tests": ["tests/test_sums.py"]}
    (project / "tools" / "mutants" / "more.jsonl").write_text(json.dumps(entry) + "\n")
    assert [m.new for m in mutants.load(project)] == ["a)", "a - b", "3 * a"]


def test_a_mutant_that_never_ends_is_ended(mutants: ModuleType, project: Path) -> None:
    options = ["--only", "sums are", "--unchecked", "--seconds", "0.01", "--out", str(project / "there")]
    assert mutants.main(options, project) == 0
    (row,) = json.loads((project / "there" / "mutants.json").read_text())["rows"]
    assert (row["status"], row["by"]) == ("timeout", "time limit")


def test_tests_that_do_not_run_notice_nothing(mutants: ModuleType, project: Path) -> None:
    listed = project / "tools" / "mutants" / "sums.toml"
    listed.write_text(listed.read_text().replace("test_sums.py", "test_sums.py::test_gone"))
    assert mutants.main(["--only", "sums are", "--unchecked", "--least", "0"], project) == 1
    (row,) = json.loads((project / "results" / "mutants.json").read_text())["rows"]
    assert row["status"] == "broken"


def test_a_list_that_does_not_fit_is_an_error(mutants: ModuleType, project: Path) -> None:
    listed = project / "tools" / "mutants" / "sums.toml"
    listed.write_text(listed.read_text().replace('old = "2 * a"', 'old = "a"'))
    with pytest.raises(ValueError, match=r"src/sums\.py must contain 'a' once, found 5 times"):
        mutants.main(["--only", "double", "--unchecked"], project)


def test_tests_that_fail_without_a_mutant_notice_nothing(mutants: ModuleType, project: Path) -> None:
    (project / "tests" / "test_sums.py").write_text("def test_always():\n    assert False\n")
    with pytest.raises(SystemExit, match=r"tests/test_sums\.py does not pass without a mutant"):
        mutants.main(["--only", "sums are"], project)
    assert not (project / "results").exists()
