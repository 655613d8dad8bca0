"""``ehnn bench``: speed and memory, measured here and now."""

from __future__ import annotations

import inspect
import time
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from ehnn.cli.errors import choose, fail, readable_errors
from ehnn.cli.table_options import Names, OptionalPath

Count = Optional[int]  # noqa: UP045 (read at run time, also by Python 3.10)
NAMES = ("cost", "scale", "peers", "walmart", "k-edge")


def bench(
    names: Annotated[
        Names, typer.Argument(metavar="NAME ...", help=f"What to measure: {', '.join(NAMES)}.")
    ] = None,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    out: Annotated[Path, typer.Option(help="Folder of the tables and figures.")] = Path("results"),
    repeats: Annotated[
        Count, typer.Option(min=1, help="Repeats of each measurement (cost: at least 50 for the table).")
    ] = None,
    threads: Annotated[Count, typer.Option(min=1, help="CPU threads of PyTorch.")] = None,
    sizes: Annotated[Names, typer.Option(metavar="NUMBER ...", help="scale: incidences.")] = None,
    variants: Annotated[
        Names,
        typer.Option(metavar="NAME ...", help="cost, walmart: eager, compiled, graph, compiled+graph."),
    ] = None,
    models: Annotated[Names, typer.Option(metavar="NAME ...", help="cost, walmart: these only.")] = None,
    modes: Annotated[
        Names, typer.Option(metavar="NAME ...", help="scale: ehnn-mlp, 'ehnn-mlp, bounded memory'.")
    ] = None,
    data_dir: Annotated[
        OptionalPath, typer.Option(help="walmart: folder of the raw files.", show_default="$EHNN_DATA")
    ] = None,
    merge: Annotated[
        OptionalPath, typer.Option(metavar="DIR", help="Merge the tables in DIR into --out instead.")
    ] = None,
) -> None:
    """Measure speed and memory, and write the figures to OUT/NAME.json and .csv.

    \b
    ehnn bench cost --device cuda
    ehnn bench scale --sizes 1e5 1e6
    ehnn bench cost peers walmart k-edge
    """
    from ehnn_paper import benches
    from ehnn_paper.measure.machine import threads as use_threads

    with readable_errors():
        if merge is not None:
            _merge(merge, out)
            return
        if not names:
            fail(f"name at least one benchmark: {', '.join(NAMES)}")
        given = {
            "device": device, "out": out, "repeats": repeats, "variants": variants, "models": models,
            "sizes": None if sizes is None else [int(float(size)) for size in sizes], "modes": modes,
            "data_dir": data_dir,
        }  # fmt: skip
        for name in names:
            run = benches.BENCHES[choose("benchmark", name, NAMES)]
            start = time.perf_counter()
            with use_threads(threads):
                run(**_fitting(name, inspect.signature(run), given))
            typer.echo(f"{name}: {time.perf_counter() - start:.0f} s, written to {out}\n")


def _fitting(name: str, signature: inspect.Signature, given: dict[str, Any]) -> dict[str, Any]:
    """The options that were given, which must be this benchmark's."""
    asked = {key: value for key, value in given.items() if value is not None}
    wrong = next((key for key in asked if key not in signature.parameters), None)
    if wrong is not None:
        raise ValueError(f"--{wrong.replace('_', '-')} does not go with the benchmark {name!r}")
    return asked


def _merge(folder: Path, out: Path) -> None:
    from ehnn_paper.measure.tables import merge
    from ehnn_paper.scale.figure import draw_scale

    names = merge(folder, out)
    if "scale" in names:
        draw_scale(out)
    typer.echo(f"merged into {out}: {', '.join(names)}")
