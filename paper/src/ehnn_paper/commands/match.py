"""``ehnn match``: which keypoints of two images belong together."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ehnn._utils.atomic import atomic_write
from ehnn.cli.errors import readable_errors
from ehnn.cli.run_folder import check_target
from ehnn.cli.table_options import OptionalPath

if TYPE_CHECKING:
    from ehnn_paper.matching.match import Found


def match(
    a: Annotated[Path, typer.Argument(metavar="A", help="An image.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="Another image.")],
    keypoints: Annotated[Path, typer.Option(help="JSON file with the keypoints of both images.")],
    checkpoint: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder of a run of `ehnn reproduce willow` or `voc`.")
    ],
    out: Annotated[Path, typer.Option(help="The picture to write.")] = Path("match.png"),
    json_out: Annotated[Path, typer.Option("--json", help="The matches to write.")] = Path("match.json"),
    data_dir: Annotated[
        OptionalPath,
        typer.Option(help="Holds vision/vgg16_imagenet_fp16.npz.", show_default="EHNN_DATA"),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the files to write if they are there.")
    ] = False,
) -> None:
    """Match the keypoints of two images with a trained matcher.

    The JSON file is that of docs/matching-data.md: {"images": [{"image": "A.jpg", "keypoints": {"beak": [310,
    122], ...}}, ...]}, in pixels of the images. Where both images name their keypoints and share names,
    matches of equal names are drawn green and others red; otherwise all are blue.

    \b
    ehnn match A.jpg B.jpg --keypoints keypoints.json --checkpoint runs/willow/ehnn-mlp+/.../seed-0
    """
    with readable_errors():
        if out.resolve() == json_out.resolve():
            raise ValueError(f"--out and --json must be two files, got {str(out)!r} for both")
        for target in (out, json_out):
            check_target(target, (a, b, keypoints), force)
        from ehnn_paper.matching.match import match_images
        from ehnn_paper.matching.own_images import own_image
        from ehnn_paper.matching.storage import load_matcher
        from ehnn_paper.matching.vgg import load_vgg16

        told = _points_of((a, b), keypoints)
        first, second = (own_image(image, points) for image, points in zip((a, b), told, strict=True))
        model, about = load_matcher(checkpoint, partial(load_vgg16, data_dir=data_dir))
        found = match_images(model, first, second)
        known = all(isinstance(points, Mapping) for points in told) and bool((found.pair.target >= 0).any())
        matches = _matches(found, told, known)
        record = {
            "a": str(a),
            "b": str(b),
            "model": about["model"],
            "trained_on": about["dataset"],
            **matches,
        }
        with atomic_write(json_out) as file:
            file.write(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
        _draw(found, (a, b), known, out)
    typer.echo(f"{len(matches['matches'])} matches" + (f", {matches['right']} right" if known else ""))
    typer.echo(f"Written: {json_out}, {out}")


def _draw(found: Found, paths: tuple[Path, Path], known: bool, out: Path) -> None:
    """The matches on both images, each in its own proportions."""
    import torch

    from ehnn_paper.matching.images import SIZE, ImageFile
    from ehnn_paper.matching.pictures import draw_matches

    image_a, image_b = (ImageFile(path).picture() for path in paths)
    points_a, points_b = (
        k.points * torch.tensor([image.shape[2], image.shape[1]]) / SIZE
        for k, image in ((found.pair.a, image_a), (found.pair.b, image_b))
    )
    truth = found.pair.target if known else None
    draw_matches(image_a, image_b, points_a, points_b, found.matched, truth, out)


def _points_of(images: tuple[Path, Path], keypoints: Path) -> list[Any]:
    """The keypoints of two images in the JSON file: the path of each must be there once.

    Or else its name: of an image that was moved, so there must be no file where the entry says.
    """
    from ehnn_paper.matching.own_images import image_entries

    entries = [(e, keypoints.parent / e["image"]) for e in image_entries(keypoints)]
    found = []
    for image in images:
        same = [e for e, path in entries if path.resolve() == image.resolve()]
        same = same or [e for e, path in entries if path.name == image.name and not path.exists()]
        if len(same) != 1:
            raise ValueError(f"{keypoints} must have one entry for {str(image)!r}, it has {len(same)}")
        found.append(same[0])
    if found[0] is found[1] and images[0].resolve() != images[1].resolve():
        both = f"{images[0]} and {images[1]}"
        raise ValueError(f"{keypoints} has one entry, {found[0]['image']!r}, for both {both}")
    return [entry["keypoints"] for entry in found]


def _matches(found: Found, told: list[Any], known: bool) -> dict[str, Any]:
    """What is written: names and places in the pixels of the images, and how sure the matcher is."""
    pair = found.pair
    place_a, place_b = (_by_name(points) for points in told)
    rows = []
    for name, j, truth, p in zip(
        pair.a.names, found.matched.tolist(), pair.target.tolist(), found.probability.tolist(), strict=True
    ):
        if j < 0:
            continue
        other = pair.b.names[j]
        row = {
            "a": name,
            "b": other,
            "at_a": place_a[name],
            "at_b": place_b[other],
            "probability": round(p, 6),
        }
        rows.append(row | ({"right": j == truth} if known else {}))
    taken_a, taken_b = {row["a"] for row in rows}, {row["b"] for row in rows}
    more = {
        "unmatched_a": [name for name in pair.a.names if name not in taken_a],
        "unmatched_b": [name for name in pair.b.names if name not in taken_b],
    }
    right = {"right": sum(row["right"] for row in rows)} if known else {}
    return {"matches": rows, **more, **right}


def _by_name(points: Any) -> dict[str, Any]:
    return dict(points) if isinstance(points, Mapping) else {str(i): point for i, point in enumerate(points)}
