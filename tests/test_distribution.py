"""What `make dist` builds can be installed: the wheel in an environment without the checkout.

Torch and the other requirements are too large to be installed again for a test. The environment gets the
wheel alone and, in a path file, the site-packages of the tests; the editable installation there is not seen,
because path files are followed one step only.
"""

import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

import ehnn

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(
    find_spec("build") is None or find_spec("hatchling") is None, reason="needs build and hatchling"
)


def run(*command: object, cwd: Path) -> str:
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, env=environment | {"OMP_NUM_THREADS": "1"},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source distribution, and the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    return folder


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of an environment that has the wheel."""
    folder = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder)
    programs = folder / "bin"
    (wheel,) = built.glob("*.whl")
    pip = (sys.executable, "-m", "pip", "--python", programs / "python", "--disable-pip-version-check")
    run(*pip, "install", "--quiet", "--no-deps", "--no-index", wheel, cwd=folder)
    purelib = run(
        programs / "python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder
    )
    paths = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (Path(purelib.strip()) / "requirements.pth").write_text("\n".join(sorted(paths)) + "\n")
    return programs


def test_wheel_has_the_package_and_its_data(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    for name in ("ehnn/py.typed", "ehnn/report/page.css", "ehnn/report/page.js", "ehnn/nn/mlp.py"):
        assert name in names
    assert {name.partition("/")[0] for name in names} == {"ehnn", f"ehnn-{ehnn.__version__}.dist-info"}
    assert [name for name in names if "__pycache__" in name] == []


def test_source_distribution_has_what_it_takes_and_no_more(built: Path) -> None:
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        names = {name.partition("/")[2] for name in file.getnames()}
    assert names >= {
        *("pyproject.toml", "Makefile", "constraints.txt", "mkdocs.yml", "README.md", "LICENSE"),
        *("docs/index.md", "tests/test_distribution.py", "examples/davis.py", "results/k-edge.json"),
    }
    tops = {name.partition("/")[0] for name in names}
    assert tops.isdisjoint({".venv", ".scratch", "runs", "site", "dist", "demo.png"})


def test_installed_package_is_the_wheel(installed: Path, tmp_path: Path) -> None:
    place = run(installed / "python", "-c", "import ehnn; print(ehnn.__file__)", cwd=tmp_path)
    assert Path(place.strip()).is_relative_to(installed.parent)


def test_installed_command_says_its_version(installed: Path, tmp_path: Path) -> None:
    assert run(installed / "ehnn", "--version", cwd=tmp_path) == f"ehnn {ehnn.__version__}\n"


def test_installed_layers_pass_the_check(installed: Path, tmp_path: Path) -> None:
    said = run(installed / "ehnn", "check", "--device", "cpu", cwd=tmp_path)
    passed, _, total, _ = said.splitlines()[-1].split()
    assert passed == total
    assert int(total) > 10
