"""Train a matcher on your own images and keypoints, keep it, and match two images with it.

    python examples/own_keypoints.py                                        # on images that it paints itself
    python examples/own_keypoints.py keypoints.json --data-dir DIR --out runs/own    # on yours, with VGG16

docs/matching-data.md says what the JSON file holds, and where the weights of VGG16 come from. What is trained
here is judged on images of the split "test"; ``ehnn match A.jpg B.jpg --checkpoint runs/own`` uses it.
"""

from __future__ import annotations

import argparse
import json
import random
from functools import partial
from pathlib import Path

import torch
from PIL import Image, ImageDraw

from ehnn.training import TrainConfig, fit
from ehnn_paper.matching.evaluation import evaluation_pairs
from ehnn_paper.matching.feature_cache import FeatureStore, weights_hash
from ehnn_paper.matching.gallery import Gallery
from ehnn_paper.matching.match import match_images
from ehnn_paper.matching.own_images import own_images
from ehnn_paper.matching.pair_model import PairModel
from ehnn_paper.matching.pictures import draw_matches
from ehnn_paper.matching.positional import make_model
from ehnn_paper.matching.storage import load_matcher, save_matcher
from ehnn_paper.matching.task import Matching, MatchingData
from ehnn_paper.matching.vgg import VGG16, load_vgg16

CHANNELS, WHOLE = 1024, 512  # of VGG16: at a keypoint, and of the whole image
OPTIONS = {"width": 32, "refine": 0}


def painted(folder: Path) -> Path:
    """Twelve images of the same five coloured dots, moved about, and their places in a JSON file."""
    dots = {
        "nose": ("red", 60, 60), "ear": ("lime", 130, 50), "eye": ("blue", 90, 110),
        "tail": ("orange", 260, 120), "paw": ("cyan", 180, 190),
    }  # fmt: skip
    draw, entries = random.Random(0), []
    folder.mkdir(parents=True, exist_ok=True)
    for i in range(12):
        image, places = Image.new("RGB", (320, 240), "white"), {}
        for name, (colour, x, y) in dots.items():
            x, y = x + draw.randint(-35, 35), y + draw.randint(-35, 35)
            ImageDraw.Draw(image).ellipse((x - 14, y - 14, x + 14, y + 14), fill=colour)
            places[name] = [x, y]
        image.save(folder / f"{i}.png")
        entries.append({"image": f"{i}.png", "keypoints": places, "split": "train" if i < 8 else "test"})
    path = folder / "keypoints.json"
    path.write_text(json.dumps({"images": entries}))
    return path


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("json", nargs="?", type=Path, help="images and keypoints")
    parser.add_argument("--model", default="ehnn-mlp+")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--iterations", type=int, default=20, help="batches of 8 pairs in an epoch")
    parser.add_argument("--data-dir", default=None, help="holds vision/vgg16_imagenet_fp16.npz")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, default=Path("runs/own-keypoints"))
    given = parser.parse_args()

    torch.manual_seed(0)
    images = own_images(given.json or painted(given.out / "painted"))
    backbone = load_vgg16(data_dir=given.data_dir) if given.json else VGG16()  # dots need no training
    store = FeatureStore(given.out / "features", backbone)
    store.fill(images.items(), given.device)
    gallery = Gallery.of_features(images.items(), store, given.device)
    pairs = evaluation_pairs(images, valid=50, test=50, kinds=())
    data = MatchingData.of(images, gallery, pairs)

    matcher = partial(make_model, given.model, CHANNELS, WHOLE, **OPTIONS)
    orders = getattr(getattr(matcher(), "middle", None), "orders", ())  # of the hyperedges that it reads
    task = Matching(data, orders, iterations=given.iterations, whole_channels=WHOLE)
    config = TrainConfig(epochs=given.epochs, lr=1e-3, clip_norm=None)
    result = fit(lambda: PairModel(matcher()), task, [0], config, device=given.device, label=given.model)
    print(f"F1 on {len(pairs['test'])} test pairs: {result.history[-1]['test'][0]:.1f} %")

    about = {"model": given.model, "dataset": images.name, "options": OPTIONS, "channels": CHANNELS}
    about |= {"whole_channels": WHOLE, "backbone": weights_hash(backbone)}
    save_matcher(given.out, {name: value[0] for name, value in result.best.items()}, about)

    model, _ = load_matcher(given.out, lambda: backbone)
    a, b = images.items(split="test")[:2]
    found = match_images(model, a, b)
    draw_matches(
        a.read_image(), b.read_image(), a.points, b.points, found.matched, found.pair.target,
        given.out / "match.png",
    )  # fmt: skip
    names = ", ".join(f"{a.names[i]} → {b.names[j]}" for i, j in enumerate(found.matched.tolist()) if j >= 0)
    print(f"{a.id} and {b.id}: {names}")


if __name__ == "__main__":
    main()
