"""VGG16, reading its maps at keypoints, and keeping what was read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ehnn_paper.matching import pairs as pairing
from ehnn_paper.matching import vgg
from ehnn_paper.matching.collate import collate
from ehnn_paper.matching.feature_cache import FeatureStore, weights_hash
from ehnn_paper.matching.features import read_at, see
from ehnn_paper.matching.images import ImageFile
from ehnn_paper.matching.keypoints import Keypoints
from ehnn_paper.matching.transforms import rotate, with_outliers
from ehnn_paper.matching.vgg import VGG16, load_vgg16
from ehnn_paper.matching.willow import willow

Image = pytest.importorskip("PIL.Image", reason="needs Pillow")


# VGG16


def test_the_three_outputs_have_the_right_depth_and_size() -> None:
    model = VGG16()
    with torch.no_grad():
        relu4_2, relu5_1, whole = model(torch.zeros(2, 3, 64, 32, dtype=torch.uint8))
    assert [list(x.shape) for x in (relu4_2, relu5_1, whole)] == [[2, 512, 8, 4], [2, 512, 4, 2], [2, 512]]
    convolutions = [[m for m in part.modules() if isinstance(m, nn.Conv2d)] for part in model.children()]
    assert [len(c) for c in convolutions] == [9, 2, 2]
    assert sum(p.numel() for p in model.parameters()) == 14_714_688  # the convolutions of VGG16


def test_forward_is_the_composition_of_plain_operations() -> None:
    torch.manual_seed(0)
    model = VGG16()
    image = torch.randint(0, 256, (1, 3, 32, 32), dtype=torch.uint8)
    mean, deviation = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
    x = (image / 255 - mean.view(3, 1, 1)) / deviation.view(3, 1, 1)
    seen = []
    for i, conv in enumerate(m for m in model.modules() if isinstance(m, nn.Conv2d)):
        x = F.relu(F.conv2d(x, conv.weight, conv.bias, padding=1))
        seen.append(x)
        x = F.max_pool2d(x, 2) if i in (1, 3, 6, 9) else x
    found = model(image)
    for expected, value in zip((seen[8], seen[10], seen[12].amax((2, 3))), found, strict=True):
        assert torch.allclose(value, expected, atol=1e-6)
    assert torch.allclose(model(image / 255)[2], found[2], atol=1e-6)  # floats in [0, 1] are the same


def test_batch_normalised_features_are_taken_too() -> None:
    plain = VGG16()
    layers: list[nn.Module] = []
    for part in (plain.to_relu4_2, plain.to_relu5_1, plain.to_end):
        for layer in part:
            layers.append(layer)
            if isinstance(layer, nn.Conv2d):
                layers.append(nn.BatchNorm2d(layer.out_channels))
    model = VGG16(nn.Sequential(*layers, nn.MaxPool2d(2))).eval()
    image = torch.rand(1, 3, 32, 32)
    # Fresh running statistics (mean 0, variance 1) change next to nothing.
    assert torch.allclose(model(image)[0], plain(image)[0], rtol=1e-3, atol=1e-4)
    with pytest.raises(ValueError, match="with 13 ReLUs, got 1"):
        VGG16(nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU()))
    with pytest.raises(ValueError, match=r"\[B, 3, H, W\], got \[3, 32, 32\]"):
        model(image[0])


def test_torchvision_models_can_be_given() -> None:
    try:
        from torchvision import models
    except (ImportError, RuntimeError) as error:  # the second where it was built for another torch
        pytest.skip(f"needs a torchvision that fits torch: {error}")
    outputs = VGG16(models.vgg16_bn(weights=None).features).eval()(torch.rand(1, 3, 32, 32))
    assert [list(x.shape) for x in outputs] == [[1, 512, 4, 4], [1, 512, 2, 2], [1, 512]]


def save_weights(path: Path, **changes: np.ndarray | None) -> Path:
    model = VGG16()
    arrays = {}
    for i, conv in enumerate(m for m in model.modules() if isinstance(m, nn.Conv2d)):
        arrays[f"conv{i}.weight"] = conv.weight.detach().half().numpy()
        arrays[f"conv{i}.bias"] = conv.bias.detach().half().numpy()  # type: ignore[union-attr]
    arrays.update({k.replace("_", "."): v for k, v in changes.items() if v is not None})
    np.savez(path, **{k: v for k, v in arrays.items() if changes.get(k.replace(".", "_"), v) is not None})
    return path


def test_wrong_weights_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        vgg, "_WIDTHS", tuple(width // 16 for width in vgg._WIDTHS)
    )  # the files are small then
    path = tmp_path / "weights.npz"
    assert weights_hash(load_vgg16(save_weights(path))) != weights_hash(load_vgg16(save_weights(path)))
    for changes, message in (
        (
            {"conv3_bias": np.zeros(4, np.float16)},
            r"conv3\.bias must be floats of shape \(8,\), got float16 \(4,\)",
        ),
        ({"conv3_bias": np.zeros(8, np.int64)}, r"conv3\.bias must be floats .* got int64"),
        ({"conv3_bias": np.full(8, np.nan, np.float16)}, r"conv3\.bias must be finite"),
        ({"conv3_bias": None}, r"'conv3\.bias' is missing or unknown"),
        ({"conv13_bias": np.zeros(3, np.float16)}, r"'conv13\.bias' is missing or unknown"),
        ({"conv3_bias": np.array([{}], dtype=object)}, "is not an npz file of weights"),
    ):
        with pytest.raises(ValueError, match=message):
            load_vgg16(save_weights(path, **changes))
    path.write_bytes(b"not an archive")
    with pytest.raises(ValueError, match=r"weights\.npz is not an npz file"):
        load_vgg16(path)
    with pytest.raises(FileNotFoundError):
        load_vgg16(tmp_path / "absent.npz")


# Reading


def test_reading_is_bilinear_between_the_middles_of_cells() -> None:
    ramp = torch.arange(32.0).expand(1, 32, 32)  # the value of a cell is its column
    maps = torch.cat([torch.cos(ramp / 40), torch.sin(ramp / 40)])[None]  # length 1 in every cell
    points = torch.tensor([[4.0, 4.0], [12.0, 100.0], [8.0, 4.0], [10.0, 128.0]])
    found = read_at([maps], points, torch.tensor([4]))
    cells = torch.tensor([0.0, 1.0])
    ends = torch.stack([torch.cos(cells / 40), torch.sin(cells / 40)], 1)
    expected = torch.stack([ends[0], ends[1], ends.mean(0), 0.25 * ends[0] + 0.75 * ends[1]])
    assert torch.allclose(found, expected, atol=1e-6)


def test_reading_agrees_with_grid_sample_and_clamps_outside() -> None:
    torch.manual_seed(0)
    maps = [torch.randn(3, 5, 32, 32), torch.randn(3, 7, 16, 8)]
    points, counts = 296 * torch.rand(12, 2) - 20, torch.tensor([5, 0, 7])
    found = read_at(maps, points, counts)
    owner = torch.arange(3).repeat_interleave(counts)
    for values, got in zip(maps, found.split([5, 7], 1), strict=True):
        unit = values / values.norm(dim=1, keepdim=True)
        grid = (points / 128 - 1).reshape(-1, 1, 1, 2)
        expected = F.grid_sample(unit[owner], grid, align_corners=False, padding_mode="border")
        assert torch.allclose(got, expected[:, :, 0, 0], atol=1e-5)


def test_reading_differentiates_and_counts_are_checked() -> None:
    values = torch.randn(2, 3, 4, 4, dtype=torch.float64, requires_grad=True)
    points = 256 * torch.rand(5, 2, dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda v: read_at([v], points, torch.tensor([2, 3])), (values,))
    assert read_at([values], points[:0], torch.tensor([0, 0])).shape == (0, 3)
    for counts in ([2, 2], [5], [1, 1, 3]):
        with pytest.raises(ValueError, match="counts must give the points of each of 2 images and sum to 5"):
            read_at([values], points, torch.tensor(counts))


def test_the_backbone_can_be_trained_through_the_reading() -> None:
    model = VGG16()
    points, counts = 256 * torch.rand(3, 2), torch.tensor([3])
    features, whole = see(model, torch.rand(1, 3, 32, 32), points, counts)
    (features.sum() + whole.sum()).backward()
    assert all(p.grad is not None and bool(p.grad.abs().sum() > 0) for p in model.parameters())


# Keeping


class Tiny(nn.Module):
    """A quick backbone that counts how many images it saw."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 8, 8)
        self.seen = 0

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        self.seen += images.shape[0]
        x = self.conv(images / 255)
        return x, F.max_pool2d(x, 2), x.amax((2, 3))


def photographs(folder: Path, count: int, keypoints: int = 5) -> list[Keypoints]:
    rng = np.random.default_rng(0)
    items = []
    for i in range(count):
        path = folder / f"{i}.png"
        Image.fromarray(rng.integers(0, 256, (16, 16, 3), dtype=np.uint8)).save(path)
        points = torch.from_numpy(256 * rng.random((keypoints, 2))).float()
        items.append(Keypoints(str(i), "noise", points, tuple(map(str, range(keypoints))), ImageFile(path)))
    return items


def test_what_is_stored_is_what_the_backbone_sees(tmp_path: Path) -> None:
    items, model = photographs(tmp_path, 3), Tiny()
    store = FeatureStore(tmp_path / "features", model, torch.float32)
    assert items[0] not in store
    assert store.fill(items, batch_size=2) == 3
    assert store.fill(items) == 0
    assert (model.seen, len(store), items[0] in store) == (3, 3, True)
    images, points = torch.stack([k.read_image() for k in items]), torch.cat([k.points for k in items])
    with torch.no_grad():
        features, whole = see(model, images, points, torch.tensor([5, 5, 5]))
    chosen = items[1].select(torch.tensor([3, 0]))
    again = FeatureStore(tmp_path / "features", model, torch.float32)  # from disk
    for held in (store, again):
        found = held.lookup(chosen)
        assert torch.allclose(found[0], features[[8, 5]], atol=1e-6)
        assert torch.allclose(found[1], whole[1], atol=1e-6)
        assert torch.equal(held.lookup(rotate(chosen, 90.0))[0], found[0])
    half = FeatureStore(tmp_path / "features", model)
    half.fill(items)
    assert half.lookup(chosen)[0].dtype == torch.float32
    assert torch.allclose(half.lookup(chosen)[0], features[[8, 5]], atol=1e-3)


def test_changed_images_points_or_weights_are_not_taken_for_the_old_ones(tmp_path: Path) -> None:
    item, model = photographs(tmp_path, 1)[0], Tiny()
    store = FeatureStore(tmp_path / "features", model)
    store.fill([item])
    moved = Keypoints(item.id, item.category, item.points + 1, item.names, item.image)
    assert moved not in store
    with pytest.raises(ValueError, match=r"features of '0' are not stored in .*fill"):
        store.lookup(moved)
    with torch.no_grad():
        model.conv.bias.zero_()  # type: ignore[union-attr]
    assert item not in FeatureStore(tmp_path / "features", model)
    Image.fromarray(np.zeros((256, 256, 3), np.uint8)).save(tmp_path / "0.png")
    assert Keypoints(item.id, item.category, item.points, item.names, item.image) not in store


def test_an_image_is_seen_once_for_all_its_keypoints(tmp_path: Path) -> None:
    (a, b), model = photographs(tmp_path, 2), Tiny()
    pair = pairing.make_pair(a, b)
    harder = [with_outliers(pair, 2, pairing.seeded(i)) for i in range(4)]
    store = FeatureStore(tmp_path / "features", model, torch.float32)
    store.fill([k for p in (pair, *harder) for k in (p.a, p.b)])
    assert (model.seen, len(store)) == (2, 10)
    names = list(harder[2].a.names)
    rows = [names.index(name) for name in pair.a.names]
    assert torch.allclose(store.lookup(harder[2].a)[0][rows], store.lookup(pair.a)[0])


def test_filling_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    items, model = photographs(tmp_path, 70), Tiny()
    (tmp_path / "66.png").write_bytes(b"not an image")
    folder = tmp_path / "features"
    with pytest.raises(ValueError, match="image '66': cannot read the image"):
        FeatureStore(folder, model).fill(items)
    assert len(FeatureStore(folder, model)) == 64  # a file of 64 is whole or not there
    Image.fromarray(np.zeros((256, 256, 3), np.uint8)).save(tmp_path / "66.png")
    assert FeatureStore(folder, model).fill(photographs(tmp_path, 70)) == 6


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    items, model = photographs(tmp_path, 1), Tiny()
    store = FeatureStore(tmp_path / "features", model)
    store.fill(items)
    path = next(store.folder.glob("*.safetensors"))
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ValueError, match=f"{path.name} is damaged .*delete it"):
        FeatureStore(tmp_path / "features", model)
    with pytest.raises(ValueError, match=r"dtype must be torch\.float16 or torch\.float32"):
        FeatureStore(tmp_path / "features", model, torch.int8)


def test_batches_with_features(tmp_path: Path) -> None:
    items, store = photographs(tmp_path, 2), FeatureStore(tmp_path / "features", Tiny())
    store.fill(items, progress=True)
    pair = pairing.make_pair(*items, generator=pairing.seeded(0))
    batch = collate([pair, pair], store)
    assert batch.a.features is not None
    assert batch.a.whole is not None
    assert (batch.a.features.shape, batch.a.whole.shape) == ((10, 8), (2, 4))
    assert torch.equal(batch.a.features[5:], store.lookup(pair.a)[0])


def test_real_features_match_real_keypoints_better_than_chance(real_images: Path, tmp_path: Path) -> None:
    from scipy.optimize import linear_sum_assignment

    store = FeatureStore(tmp_path, load_vgg16(data_dir=real_images))
    pair = pairing.test_pairs(willow(real_images), "Face", 1, 0)[0]
    store.fill([pair.a, pair.b])
    likeness = store.lookup(pair.a)[0] @ store.lookup(pair.b)[0].T
    assert likeness.shape == (10, 10)
    _, columns = linear_sum_assignment(-likeness)
    assert int((torch.from_numpy(columns) == pair.target).sum()) >= 8
