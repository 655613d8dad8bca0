"""``ehnn tune``: search the settings of a model on your own data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from .errors import FAILED, device_to_keep, fail, readable_errors
from .table_options import ClassWeight, Names, NodesFile, OptionalPath, TableOptions, with_options


@with_options
def tune(
    *,
    data: Annotated[Path, typer.Option(help="Your table of sets, as in `ehnn train`.")],
    label_column: Annotated[str, typer.Option(metavar="NAME", help="Column to predict.")],
    nodes: NodesFile = None,
    task: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="nodes or sets.", show_default="detected"),
    ] = None,
    out: Annotated[
        OptionalPath,
        typer.Option(metavar="DIR", show_default="a folder in runs/train", help="Folder of the search."),
    ] = None,
    trials: Annotated[
        int, typer.Option(min=1, help="Number of settings to try, including earlier ones.")
    ] = 30,
    models: Annotated[
        Names,
        typer.Option(
            metavar="NAME ...",
            show_default="ehnn-mlp ehnn-transformer all-set-transformer hgnn mlp",
            help="Models to choose among.",
        ),
    ] = None,
    splits: Annotated[int, typer.Option(min=1, help="Splits of the labels for each trial.")] = 3,
    table: TableOptions,
    feature_columns: Annotated[
        Names,
        typer.Option(metavar="NAME ...", show_default="all others of --nodes", help="Columns to learn from."),
    ] = None,
    regression: Annotated[bool, typer.Option("--regression", help="The label is a number.")] = False,
    epochs: Annotated[int, typer.Option(min=1, help="Largest number of epochs.")] = 200,
    class_weight: ClassWeight = None,
    valid: Annotated[float, typer.Option(help="Share of labels that validate a trial.")] = 0.2,
    test: Annotated[float, typer.Option(help="Share of labels that is scored once, at the end.")] = 0.2,
    seed: Annotated[
        int, typer.Option(min=0, max=2**63 - 1, help="Seed of the splits, the search and the parameters.")
    ] = 0,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    fresh: Annotated[bool, typer.Option("--fresh", help="Discard an earlier search in this folder.")] = False,
) -> None:
    """Search model, width, dropout, learning rate and weight decay with Optuna, on validation labels.

    Then the best is trained and scored on the test part, which the search does not see. Without --models,
    the default of `ehnn train`, which averages many models, is judged too, and trained where it is as
    good. The same command continues a search that was stopped, and more --trials extend it.

    \b
    ehnn tune --data members.csv --node-column person --edge-column club --label-column team --out runs/tuned
    ehnn report runs/tuned
    """
    from ehnn.tables import Source

    from .train_table import Request
    from .tune_table import MODELS, Search, tune_table

    settings: dict[str, Any] = {"model": "ehnn-mlp", "epochs": epochs, "device": device_to_keep(device)}
    settings |= {} if class_weight is None else {"class_weight": class_weight}
    columns = None if feature_columns is None else tuple(c for c in feature_columns if c != "none")
    with readable_errors(resume="Run the same command to continue."):
        source = Source(data, nodes, table.as_layout(), table.id_column)
        request = Request(source, task, label_column, columns, regression, settings, valid, test, seed)
        try:
            search = Search(request, tuple(models or MODELS), trials, splits, beside=models is None)
            tune_table(search, out, fresh)
        except ImportError as error:
            fail(str(error), FAILED)
