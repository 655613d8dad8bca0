"""Run the tests with other versions of Python and PyTorch: ``nox --list`` shows the sessions.

Needs ``pip install nox`` and the interpreters. ``nox --session "tests-3.12(torch='2.13.0')"`` runs one.
Arguments after ``--`` go to pytest, for example ``-- tests/hypergraph``.
"""

import nox

nox.options.sessions = ["tests"]


@nox.session(python=["3.10", "3.11", "3.12", "3.13"])
@nox.parametrize("torch", ["2.13.0", "2.11.0", "2.6.0"])
def tests(session: nox.Session, torch: str) -> None:
    """The whole test suite; every package but PyTorch in its newest version."""
    session.install(f"torch=={torch}", "numpy")  # first and alone, so that the build on offer is kept
    session.install("--editable", ".[test]", "--editable", "./paper[vision,tune]", f"torch=={torch}")
    session.run("pytest", "-n", "2", *session.posargs, env={"OMP_NUM_THREADS": "1"})
