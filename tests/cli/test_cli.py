"""The command line as a person meets it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import MappingProxyType, SimpleNamespace

import pytest

pytest.importorskip("typer")

import typer
from typer.testing import CliRunner

import ehnn
from ehnn.cli import plugins
from ehnn.cli.app import app
from ehnn.cli.lazy import Lazy, LazyGroup
from ehnn.cli.lists import expand_lists


def run(*arguments: str, code: int = 0) -> str:
    """Output and errors of a command, with line breaks and indentation made single spaces."""
    result = CliRunner().invoke(app, expand_lists(arguments))
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return " ".join(result.output.split())


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("--models a b --seeds 2", "--models a --models b --seeds 2"),
        ("--models a,b, c", "--models a --models b --models c"),
        ("--models a --models b", "--models a --models b"),
        ("--setting=seen,x y --out d", "--setting seen --setting x --setting y --out d"),
        ("--datasets zoo", "--datasets zoo"),
        (
            "--feature-columns a,b c --member-columns=d,e",
            "--feature-columns a,b --feature-columns c --member-columns d,e",
        ),
        ("k-edge --seeds 2 --fresh", "k-edge --seeds 2 --fresh"),
        ("--out=a,b", "--out=a,b"),
        ("", ""),
    ],
)
def test_lists(arguments: str, expected: str) -> None:
    assert expand_lists(arguments.split()) == expected.split()


def test_version() -> None:
    assert run("--version") == f"ehnn {ehnn.__version__}"


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ((), ("train", "predict", "explain", "report", "data", "check", "--version")),
        (("train",), ("--data", "--label-column", "--task", "--nodes", "--out")),
        (("explain",), ("MODEL", "DATA", "--node", "--set", "--target")),
        (("predict",), ("--model", "--data", "--out", "--force")),
        (("check",), ("equivariant", "--device")),
        (("data",), ("list", "fetch", "info", "convert")),
        (("data", "convert"), ("FROM", "TO", "--from", "--to", "--force")),
    ],
)
def test_help_reads_well(command: tuple[str, ...], words: tuple[str, ...]) -> None:
    text = run(*command, "--help")
    assert [word for word in words if word not in text] == []
    assert "Annotated" not in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("reprodcue", "No such command 'reprodcue'"),
        ("train zoo --model ehnn-mlp", "unknown task 'zoo'"),
        ("data info zooo", "unknown dataset 'zooo' (did you mean 'zoo'?)"),
        ("data fetch zoo nothing", "unknown dataset 'nothing'."),
    ],
)
def test_wrong_arguments_fail_at_once(arguments: str, message: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in run(*arguments.split(), code=2)
    assert not list(tmp_path.iterdir())


def test_a_gpu_that_is_not_there(monkeypatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert "sees no CUDA device" in run("check", "--device", "cuda", code=2)


def test_check() -> None:
    text = run("check", "--device", "cpu")
    assert "EHNNTransformer equivariant" in text
    assert "HyperGCN equivariant" in text
    assert "NOT" not in text


def test_check_finds_a_broken_layer(monkeypatch) -> None:
    import torch

    from ehnn.cli import layer_checks
    from ehnn.nn import EHNNMLP

    class Broken(EHNNMLP):
        def forward(self, x, overlap):
            y = super().forward(x, overlap)
            return y + torch.arange(y.shape[0]).unsqueeze(1)

    def fails(d_in: int, d_out: int) -> EHNNMLP:
        raise RuntimeError("no such kernel")

    monkeypatch.setattr(layer_checks, "LAYERS", {"Broken": Broken, "Failing": fails})
    monkeypatch.setattr(layer_checks, "MODELS", {})
    text = run("check", "--device", "cpu", code=1)
    assert "Broken NOT EQUIVARIANT: not equivariant to" in text
    assert "Failing FAILS: no such kernel" in text
    assert "3 of 5 pass" in text


def test_data() -> None:
    listed = run("data", "list")
    assert all(card.name in listed for card in ehnn.datasets.list_datasets())
    assert "licence CC BY 4.0" in run("data", "info", "zoo")


def test_tables_in_a_terminal(monkeypatch, capsys) -> None:
    from ehnn.cli.show import show_table

    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    show_table("A [title]", ("what", "count"), [("a", "1"), ("a", "2"), ("[b]", "3 ± 1")])
    text = capsys.readouterr().out
    assert "A [title]" in text
    assert "3 ± 1" in text
    assert "[b]" in text


def test_data_that_cannot_be_fetched(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("EHNN_MIRROR", "http://127.0.0.1:9")
    monkeypatch.delenv("EHNN_DATA", raising=False)
    assert "dataset 'zoo' lacks zoo/zoo.content" in run("data", "fetch", "zoo", code=1)


# ---------------------------------------------------------------------- training


def made(monkeypatch, *points: SimpleNamespace) -> typer.Typer:
    """An app of the commands of other packages alone, ``train`` as a group."""
    monkeypatch.setattr(plugins, "entry_points", lambda group: points if group == "ehnn.commands" else ())

    class Tasks(LazyGroup):
        lazy = plugins.commands_of("train")

    class Commands(LazyGroup):
        lazy = MappingProxyType({"train": Lazy(lambda: train, "Train."), **plugins.commands_of()})

    train, app = (typer.Typer(cls=kind, rich_markup_mode=None) for kind in (Tasks, Commands))
    for one in (train, app):
        one.callback()(lambda: None)
    return app


@pytest.mark.parametrize(
    "command", ["reproduce k-edge --seeds 2", "bench", "tune --help", "match", "train nodes --ranks 2"]
)
def test_commands_of_the_paper_say_how_to_get_them(command: str, monkeypatch) -> None:
    said = CliRunner().invoke(made(monkeypatch), command.split())
    assert said.exit_code == 2
    assert "is in the package ehnn-paper, which is not installed: pip install ./paper" in said.output


def test_commands_that_are_not_installed_are_not_listed(monkeypatch) -> None:
    said = CliRunner().invoke(made(monkeypatch), ["--help"]).output
    assert "train" in said
    assert "reproduce" not in said


def test_commands_of_other_packages_are_added(monkeypatch) -> None:
    def greet(name: str) -> None:
        """Say hello."""
        typer.echo(f"hello {name}")

    app = made(monkeypatch, SimpleNamespace(name="greet", load=lambda: greet))
    assert CliRunner().invoke(app, ["greet", "you"]).output == "hello you\n"
    assert "Say hello." in CliRunner().invoke(app, ["--help"]).output


def test_a_package_that_cannot_be_imported_spoils_its_own_commands_alone(monkeypatch) -> None:
    def load() -> None:
        raise ImportError("no module named nosuch")

    def fine() -> None:
        typer.echo("fine")

    broken = SimpleNamespace(name="reproduce", load=load)
    app = made(monkeypatch, broken, SimpleNamespace(name="bench", load=lambda: fine))
    assert CliRunner().invoke(app, ["bench", "--help"]).exit_code == 0
    said = CliRunner().invoke(app, ["reproduce"])
    assert said.exit_code == 2
    assert "`ehnn reproduce` cannot be loaded: no module named nosuch" in said.output


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("", "reproduce"),
        ("train", "--label-column"),
        ("predict", "--alone"),
        ("explain", "--target"),
        ("tune", "--trials"),
        ("report", "--out"),
        ("check", "--seed"),
        ("data", "convert"),
        ("data convert", "--from"),
    ],
)
def test_help_needs_no_torch(command: str, shown: str) -> None:
    words = [*command.split(), "--help"]
    code = f"import sys; from ehnn.cli.app import app; app({words}, standalone_mode=False); "
    code += "sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert shown in done.stdout
