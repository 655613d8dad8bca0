"""``python -m tools.tables`` writes the tables of all pages anew; ``--check`` only compares them."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

from . import accuracy, headlines, k_edge, matching, reactions, robustness, roles, scaling, searched, speed
from .rows import ROOT

PLACE = re.compile(r"(<!-- table (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
TABLES: dict[str, Callable[[], str]] = {
    "ablation": k_edge.table_5,
    "benchmark": searched.benchmark,
    "benchmark-chosen": searched.benchmark_chosen,
    "benchmark-last": searched.benchmark_last,
    "cost": speed.cost,
    "cost-gpu": speed.cost_gpu,
    "debian": roles.debian,
    "default-times": accuracy.default_times,
    "defaults": accuracy.defaults,
    "demo-draws": accuracy.demo_draws,
    "edge-labels": roles.edge_labels,
    "later-models": accuracy.later_models,
    "few-runs": accuracy.few_runs,
    "engines": scaling.engines,
    "fuzz": robustness.fuzz,
    "graphs": searched.graphs,
    "headline-results": headlines.results,
    "headline-speed": headlines.speed,
    "hyperedges": accuracy.hyperedges,
    "incidences": roles.incidences,
    "inputs": searched.inputs,
    "k-edge": k_edge.table_1,
    "k-edge-orders": k_edge.by_order,
    "k-edge-paper": k_edge.beside_paper,
    "k-edge-chosen": k_edge.chosen,
    "kills": robustness.kills,
    "mutants": robustness.mutants,
    "nodes": accuracy.nodes,
    "partition": scaling.partition,
    "peers": speed.peers,
    "reactions-direction": reactions.direction,
    "reactions-pool": reactions.pool,
    "reactions-swapped": reactions.swapped,
    "recipe": accuracy.recipe,
    "regression": accuracy.regression,
    "roles-speed": roles.speed,
    "scale": speed.scale,
    "scale-real-accuracy": scaling.accuracy,
    "scale-real-ahead": scaling.ahead,
    "scale-real-cost": scaling.cost,
    "scale-real-losses": scaling.losses,
    "scale-real-shards": scaling.shards,
    "split-speed": speed.split,
    "voc": matching.voc,
    "walmart": speed.walmart,
    "willow": matching.willow,
    "willow-held-out": matching.willow_held_out,
}


def pages() -> list[Path]:
    """README and every page that may have tables."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def filled(text: str) -> str:
    """The page with its tables from the results."""
    return PLACE.sub(lambda m: f"{m[1]}{TABLES[m[2]]()}{m[3]}", text)


def stale() -> list[Path]:
    """The pages whose tables differ from their rows."""
    texts = {page: page.read_text(encoding="utf-8") for page in pages()}
    return [page for page, text in texts.items() if filled(text) != text]


def main() -> None:
    found = stale()
    for page in found:
        print(page.relative_to(ROOT))
        if "--check" not in sys.argv[1:]:
            page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
    sys.exit(bool(found) and "--check" in sys.argv[1:])


if __name__ == "__main__":
    main()
