"""``python -m tools.tables`` writes the tables of all pages anew; ``--check`` only compares them."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

from . import accuracy, headlines, matching, reactions, robustness, speed
from .rows import ROOT

PLACE = re.compile(r"(<!-- table (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
TABLES: dict[str, Callable[[], str]] = {
    "ablation": accuracy.ablation,
    "cost": speed.cost,
    "cost-gpu": speed.cost_gpu,
    "default-times": accuracy.default_times,
    "defaults": accuracy.defaults,
    "later-models": accuracy.later_models,
    "fuzz": robustness.fuzz,
    "headline-results": headlines.results,
    "headline-speed": headlines.speed,
    "hyperedges": accuracy.hyperedges,
    "k-edge": accuracy.k_edge,
    "k-edge-chosen": accuracy.k_edge_chosen,
    "kills": robustness.kills,
    "mutants": robustness.mutants,
    "nodes": accuracy.nodes,
    "peers": speed.peers,
    "reactions-direction": reactions.direction,
    "reactions-pool": reactions.pool,
    "reactions-swapped": reactions.swapped,
    "recipe": accuracy.recipe,
    "scale": speed.scale,
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
