"""k-edge identification and its ablation, over several draws of the data."""

from __future__ import annotations

from .rows import TITLES, Row, figure, markdown, models, row, rows

SETTINGS = {"seen orders": "seen", "interpolation": "interpolation", "extrapolation": "extrapolation"}
UNSEEN = {title: name for title, name in SETTINGS.items() if name != "seen"}
TABLE_1, TABLE_5 = "k-edge-draws", "ablation-draws"
SHARED = "ehnn-mlp"
"""The row of Table 5 that Table 1 has too."""


def table_1() -> str:
    """Mean ± deviation over draws, and the mean deviation over seeds within a draw in brackets."""
    return markdown(["", *SETTINGS], _lines(TABLE_1, models(rows(TABLE_1))))


def table_5() -> str:
    """As `table_1`."""
    names = models([*rows(TABLE_5), *rows(TABLE_1, model=SHARED)])
    lines = [line for m in names for line in _lines(TABLE_1 if m == SHARED else TABLE_5, [m])]
    return markdown(["", *SETTINGS], lines)


def beside_paper() -> str:
    """Best epoch on the test set, 20 test hypergraphs, and the paper's figure in brackets."""

    def cell(experiment: str, model: str, setting: str) -> str:
        one = row(experiment, model=model, setting=setting, selection="test-best", metric="accuracy_20")
        return figure(one, 1, missing="–") + (f" ({one['paper']:.1f})" if one else "")

    lines = []
    for experiment in (TABLE_1, TABLE_5):
        published = [r for r in rows(experiment, selection="test-best") if r["paper"] is not None]
        lines += [
            [TITLES[m], *(cell(experiment, m, s) for s in SETTINGS.values())] for m in models(published)
        ]
    return markdown(["", *SETTINGS], lines)


def by_order() -> str:
    """Marked orders of the training data / orders that were never seen."""

    def cell(model: str, setting: str) -> str:
        found = (
            row(
                TABLE_1,
                model=model,
                setting=setting,
                selection="validation",
                metric=f"accuracy_{part}_orders",
            )
            for part in ("seen", "unseen")
        )
        return " / ".join(figure(one, 1) for one in found)

    trained = models(rows(TABLE_1, metric="accuracy_unseen_orders"))
    return markdown(["", *UNSEEN], [[TITLES[m], *(cell(m, s) for s in UNSEEN.values())] for m in trained])


def chosen() -> str:
    """Table 1 without the spread over seeds."""
    lines = [
        [TITLES[model], *(figure(_accuracy(TABLE_1, model, s), 1) for s in SETTINGS.values())]
        for model in models(rows(TABLE_1), leave_out=[m for m in TITLES if m.endswith("-cosine")])
    ]
    return markdown(["", *SETTINGS], lines)


def _accuracy(experiment: str, model: str, setting: str) -> Row | None:
    """On 200 test hypergraphs of each draw; the epoch is chosen on validation where there is a choice."""
    rules = ("validation", "none")
    return row(experiment, model=model, setting=setting, selection=rules, metric="accuracy")


def _lines(experiment: str, names: list[str]) -> list[list[str]]:
    def cell(model: str, setting: str) -> str:
        where = {"model": model, "setting": setting, "selection": "validation"}
        seeds = row(experiment, metric="accuracy_std_over_seeds", **where)
        spread = f" ({seeds['mean']:.1f})" if seeds else ""
        return figure(_accuracy(experiment, model, setting), 1, missing="–") + spread

    return [[TITLES[model], *(cell(model, s) for s in SETTINGS.values())] for model in names]
