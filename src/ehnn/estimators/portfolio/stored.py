"""A portfolio as JSON and arrays; nothing is pickled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .members import Member, Spec
from .outputs import Output
from .portfolio import Portfolio

Array = np.ndarray


def portfolio_about(portfolio: Portfolio) -> dict[str, Any]:
    """What goes to JSON."""
    members = [
        {
            "name": name, "kind": m[0].spec.kind, "blocks": list(m[0].spec.blocks), "models": len(m),
            "options": dict(m[0].spec.options), "new_rows": m[0].spec.new_rows,
        }
        for name, m in portfolio.members.items()
    ]  # fmt: skip
    return {
        "output": {"kind": portfolio.output.kind, "width": portfolio.output.width}, "members": members,
        "weights": portfolio.weights, "new_weights": portfolio.new_weights, "powers": portfolio.powers,
        "leaderboard": portfolio.leaderboard, "left_out": portfolio.left_out, "seed": portfolio.seed,
    }  # fmt: skip


def portfolio_arrays(portfolio: Portfolio) -> dict[str, Array]:
    """What goes to the tensors."""
    found = {"portfolio.prior": portfolio.prior, "portfolio.bias": portfolio.bias}
    for i, models in enumerate(portfolio.members.values()):
        for j, member in enumerate(models):
            found[f"portfolio.{i}.{j}.prior"] = member.prior
            for key, value in (member.model.arrays if member.model is not None else {}).items():
                found[f"portfolio.{i}.{j}.model.{key}"] = value
    return found


def portfolio_from(about: Mapping[str, Any], arrays: Mapping[str, Array], device: str) -> Portfolio:
    """Inverse of `portfolio_about` and `portfolio_arrays`."""
    output = Output(str(about["output"]["kind"]), int(about["output"]["width"]))
    found = Portfolio(output, device, int(about["seed"]))
    for i, row in enumerate(about["members"]):
        spec = Spec(
            row["name"], row["kind"], tuple(row["blocks"]), tuple(row["options"].items()), row["new_rows"]
        )
        found.members[spec.name] = []
        for j in range(int(row["models"])):
            member, start = Member(spec, output, device), f"portfolio.{i}.{j}.model."
            member.prior = arrays[f"portfolio.{i}.{j}.prior"]
            if member.model is not None:
                member.model.arrays = {k[len(start) :]: v for k, v in arrays.items() if k.startswith(start)}
            found.members[spec.name].append(member)
    found.weights, found.new_weights = dict(about["weights"]), dict(about["new_weights"])
    found.powers, found.leaderboard = dict(about["powers"]), list(about["leaderboard"])
    found.left_out = dict(about.get("left_out", {}))  # not in older files
    found.prior, found.bias = arrays["portfolio.prior"], arrays["portfolio.bias"]
    return found
