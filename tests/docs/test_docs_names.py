"""Every name of the API pages is documented: a text, every parameter, an example that runs."""

import importlib
import importlib.util
import inspect
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "api").glob("*.md"))
OBVIOUS = {"h", "args", "kwargs"}  # h is the hypergraph everywhere
WITHOUT_EXAMPLE = {
    "ehnn.datasets.DataError": "is raised, not called",
    "ehnn.estimators.NotFittedError": "is raised, not called",
    "ehnn.parallel.LostRankError": "is raised, not called",
    "ehnn.training.NotFiniteError": "is raised, not called",
    "ehnn.estimators.base.Estimator": "a base class; its subclasses have examples",
    "ehnn.estimators.nodes.NodeEstimator": "a base class; its subclasses have examples",
    "ehnn.estimators.hypergraphs.HypergraphEstimator": "a base class; its subclasses have examples",
    "ehnn.estimators.hyperedge_labels.HyperedgeEstimator": "a base class; its subclasses have examples",
}


def load_public():
    spec = importlib.util.spec_from_file_location("docs_public", ROOT / "docs" / "hooks" / "public.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


public = load_public()


def shown():
    """Full name and value of what the pages show, each value once, under its first name."""
    found = {}
    for page in PAGES:
        for target in re.findall(r"^::: (\S+)", page.read_text(encoding="utf-8"), re.MULTILINE):
            for name, value in members(target):
                if callable(value):
                    found.setdefault(id(value), (name, value))
    return dict(found.values())


def members(target):
    """The public names of a module, or the one name itself."""
    try:
        module = importlib.import_module(target)
    except ModuleNotFoundError:
        return [(target, value_of(target))]
    return [(f"{target}.{name}", getattr(module, name)) for name in public.names(module)]


def value_of(full_name):
    package, _, name = full_name.rpartition(".")
    return getattr(importlib.import_module(package), name)


def texts(value):
    """Docstrings of a function, or of a class and its bases."""
    return [one.__doc__ or "" for one in (value.__mro__ if inspect.isclass(value) else [value])]


def undocumented(value):
    """The parameters that no docstring names."""
    if inspect.isclass(value) and issubclass(value, Exception):
        return []
    given = [p for p in inspect.signature(value).parameters if not p.startswith("_")]
    text = "\n".join(texts(value))
    return [p for p in given if p not in OBVIOUS and not re.search(rf"\b{p}\b", text)]


def has_example(value):
    """Whether the own docstring has an example of which at least one line runs."""
    lines = re.findall(r"^\s*>>> (.+)$", value.__doc__ or "", re.MULTILINE)
    return any("+SKIP" not in line for line in lines)


SHOWN = shown()
NEEDS_DATA = {"ehnn.datasets.load", "ehnn.datasets.fetch", "ehnn.datasets.locate.locate"}  # or a network
every_name = pytest.mark.parametrize("name", SHOWN)


def test_the_pages_show_the_public_names():
    assert 150 < len(SHOWN) < 260
    documented = set(map(id, SHOWN.values()))
    for package in public.PACKAGES:
        listed = [f"{package}.{name}" for name in public.names(importlib.import_module(package))]
        values = {name: value_of(name) for name in listed}
        assert [n for n, value in values.items() if callable(value) and id(value) not in documented] == []


@every_name
def test_a_name_has_a_text(name):
    assert (SHOWN[name].__doc__ or "").strip()


@every_name
def test_a_name_says_what_its_parameters_are(name):
    assert undocumented(SHOWN[name]) == []


@every_name
def test_a_name_has_an_example(name):
    if name in WITHOUT_EXAMPLE:
        assert ">>>" not in SHOWN[name].__doc__
    elif name in NEEDS_DATA:
        assert ">>>" in SHOWN[name].__doc__
    else:
        assert has_example(SHOWN[name])


def test_exemptions_are_of_shown_names():
    assert {*WITHOUT_EXAMPLE, *NEEDS_DATA} <= set(SHOWN)


# ---------------------------------------------------------------------- the tester is tested


def test_a_missing_parameter_is_noticed():
    def f(alpha, beta):
        """Uses ``alpha``."""

    assert undocumented(f) == ["beta"]


def test_an_example_that_does_not_run_does_not_count():
    def f():
        """Text.

        >>> f()  # doctest: +SKIP
        """

    assert not has_example(f)
    f.__doc__ += ">>> f()\n"
    assert has_example(f)
