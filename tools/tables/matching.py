"""Keypoint matching: F1 on Willow and PASCAL VOC."""

from __future__ import annotations

from .rows import TITLES, figure, markdown, models, row, rows

CLASSES = ("car", "duck", "face", "motorbike", "winebottle")
FINETUNED = ("ehnn-mlp-finetuned", "ehnn-transformer-finetuned")
OURS = ("nhgm-v2+", "ehnn-mlp+", "ehnn-transformer+")
BATCHES = {
    "gann-mgm": ", 2800 batches",
    "ehnn-transformer": ", 16 channels",
    "ehnn-transformer+": ", 8400 batches",
}
"""How a row of VOC differs from the others."""


def willow() -> str:
    """The paper's protocol: all images of a class train, last epoch."""
    return _willow(("last", "none"), paper=True)


def willow_held_out() -> str:
    """Five images of a class choose the epoch."""
    return _willow(("validation",), paper=False)


def _willow(selection: tuple[str, ...], paper: bool) -> str:
    def of(model: str, setting: str, chosen: tuple[str, ...] = selection) -> str:
        return figure(row("willow", model=model, setting=setting, selection=chosen), 1, deviation=False)

    def best(model: str) -> str:
        """Of the same runs: the paper's protocol, or ours for the rows with +."""
        if paper == (model in OURS):
            return ""
        one = row("willow", model=model, setting="mean", selection="test-best")
        quoted = f" ({one['paper']:.2f})" if one and one["paper"] is not None else ""
        return f"{figure(one, deviation=False)}{quoted}"

    lines = [
        [
            TITLES[model],
            *(of(model, setting) for setting in CLASSES),
            figure(row("willow", model=model, setting="mean", selection=selection)),
            best(model),
            of(model, "mean, rotated"),
            of(model, "mean, 2 outliers"),
        ]
        for model in models(rows("willow", selection=selection), leave_out=FINETUNED)
    ]
    return markdown(["", *CLASSES, "mean", "best on test (paper)", "rotated", "2 outliers"], lines)


def voc() -> str:
    """The last epoch."""

    def line(model: str) -> list[str]:
        mean = row("voc", model=model, setting="mean")
        paper = f"{mean['paper']:.2f}" if mean and mean["paper"] is not None else ""
        others = ("diningtable", "mean, rotated", "mean, 2 outliers")
        rest = [figure(row("voc", model=model, setting=s), 1, deviation=False) for s in others]
        return [TITLES[model] + BATCHES.get(model, ""), figure(mean), paper, *rest]

    header = ["", "mean of 20 classes", "paper (best on test)", "dining table", "rotated", "2 outliers"]
    return markdown(header, [line(model) for model in models(rows("voc"))])
