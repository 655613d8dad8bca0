"""``ehnn check``: do the layers of this installation commute with renumbering?"""

from __future__ import annotations

from typing import Annotated

import typer

from .errors import FAILED, pick_device
from .show import show_table


def check(
    seed: Annotated[
        int, typer.Option(min=0, max=2**63 - 1, help="Seed of hypergraphs, parameters and permutations.")
    ] = 0,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
) -> None:
    """Test that every layer of this installation is equivariant, on a few random hypergraphs.

    Nodes and hyperedges are renumbered at random; outputs must follow. Ends with code 1 if one does not.
    """
    import torch

    import ehnn

    from .layer_checks import tested_layers

    where = pick_device(device)
    lines = tested_layers(seed, where)
    show_table(
        f"ehnn {ehnn.__version__}, torch {torch.__version__}, {where}", ("layer", "result", "seconds"), lines
    )
    bad = [line[0] for line in lines if line[1] != "equivariant"]
    typer.echo(f"\n{len(lines) - len(bad)} of {len(lines)} pass")
    if bad:
        raise typer.Exit(FAILED)
