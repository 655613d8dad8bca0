"""VGG16 (Simonyan, Zisserman; ICLR 2015) as a backbone: what it sees at two depths, and overall."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from ehnn._utils.untrusted import read_arrays
from ehnn._utils.validation import short

from .files import DataDir, vision_files

WEIGHTS = "vgg16_imagenet_fp16.npz"
_WIDTHS = (64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0)  # 0: pooling
_RELU4_2, _RELU5_1, _LAST = 9, 11, 13  # which of the 13 ReLUs
_MEAN, _DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of ImageNet's channels


class VGG16(nn.Module):
    """The convolutions of VGG16, cut after relu4_2, relu5_1 and the last ReLU.

    Args:
        features: the convolutions, ReLUs and poolings, with batch normalisation or without, such as
            ``torchvision.models.vgg16_bn(weights="DEFAULT").features``. None: those of VGG16 without batch
            normalisation, at random; `load_vgg16` gives them trained weights.
    """

    mean: Tensor
    deviation: Tensor

    def __init__(self, features: nn.Sequential | None = None) -> None:
        super().__init__()
        layers = list(_plain_layers() if features is None else features)
        ends = [i + 1 for i, layer in enumerate(layers) if isinstance(layer, nn.ReLU)]
        if len(ends) != _LAST:
            raise ValueError(f"features must be those of VGG16, with {_LAST} ReLUs, got {len(ends)}")
        first, second, third = (ends[number - 1] for number in (_RELU4_2, _RELU5_1, _LAST))
        self.to_relu4_2 = nn.Sequential(*layers[:first])
        self._started = _starts(layers[:first])
        self.to_relu5_1 = nn.Sequential(*layers[first:second])
        self.to_end = nn.Sequential(*layers[second:third])
        self.register_buffer("mean", torch.tensor(_MEAN).view(3, 1, 1), persistent=False)
        self.register_buffer("deviation", torch.tensor(_DEVIATION).view(3, 1, 1), persistent=False)

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """``[B, 3, H, W]``, uint8 or floats in [0, 1] → relu4_2, relu5_1 and the global feature.

        Shapes are ``[B, 512, H/8, W/8]``, ``[B, 512, H/16, W/16]`` and ``[B, 512]``. The global feature is
        the largest value of each channel of relu5_3 over the image. What `first_blocks` made of images, which
        is told by its number of channels, is taken up from there.
        """
        start = self._started.get(images.shape[1]) if images.dim() == 4 else None
        if start is None:
            raise ValueError(f"images must have shape [B, 3, H, W], got {list(images.shape)}")
        x = images if start else self._normalised(images)
        if not torch.is_autocast_enabled(x.device.type):
            x = x.to(self.mean.dtype)  # the first blocks may have worked in bfloat16
        relu4_2 = self.to_relu4_2[start:](x.contiguous(memory_format=torch.channels_last))
        relu5_1 = self.to_relu5_1(relu4_2)
        return relu4_2, relu5_1, self.to_end(relu5_1).amax((2, 3))

    @torch.no_grad()
    def first_blocks(self, images: Tensor, count: int) -> Tensor:
        """What the first ``count`` of the five blocks, each with its pooling, make of images."""
        return self._begin(count)(self._normalised(images)) if count else images

    def freeze_blocks(self, count: int) -> None:
        """Leave the first ``count`` blocks out of training; see `first_blocks`."""
        self._begin(count).requires_grad_(False)

    def _begin(self, count: int) -> nn.Module:
        ends = list(self._started.values())
        if not 0 <= count < len(ends):
            raise ValueError(f"count must be from 0 to {len(ends) - 1}, got {count}")
        return self.to_relu4_2[: ends[count]]

    def _normalised(self, images: Tensor) -> Tensor:
        if images.dtype == torch.uint8:
            images = images.to(self.mean.dtype) / 255
        return (images - self.mean) / self.deviation


def load_vgg16(path: str | os.PathLike[str] | None = None, data_dir: DataDir = None) -> VGG16:
    """VGG16 with the weights ``conv{i}.weight`` and ``conv{i}.bias``, i from 0 to 12, of an npz file.

    Without ``path`` it is ``vision/vgg16_imagenet_fp16.npz`` in the data folder. Float16 is read as float32.
    """
    path = vision_files("vgg16", [WEIGHTS], data_dir)[0] if path is None else Path(path)
    model = VGG16()
    convolutions = [layer for layer in model.modules() if isinstance(layer, nn.Conv2d)]
    wanted = {f"conv{i}.{n}": p for i, c in enumerate(convolutions) for n, p in c.named_parameters()}
    arrays = read_arrays(path, "weights")
    if set(arrays) != set(wanted):
        odd = sorted(set(arrays) ^ set(wanted))[0]
        raise ValueError(
            f"{path} must hold conv0 to conv12, .weight and .bias; {short(odd)} is missing or unknown"
        )
    with torch.no_grad():
        for name, parameter in wanted.items():
            parameter.copy_(_checked(path, name, arrays[name], tuple(parameter.shape)))
    return model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]


def _starts(layers: list[nn.Module]) -> dict[int, int]:
    """Where blocks begin among the layers, by the channels that they read."""
    starts, channels = {3: 0}, 3
    for i, layer in enumerate(layers):
        channels = layer.out_channels if isinstance(layer, nn.Conv2d) else channels
        if isinstance(layer, nn.MaxPool2d):
            starts[channels] = i + 1
    return starts


def _plain_layers() -> list[nn.Module]:
    layers: list[nn.Module] = []
    channels = 3
    for width in _WIDTHS:
        if width:
            layers += [nn.Conv2d(channels, width, 3, padding=1), nn.ReLU(inplace=True)]
            channels = width
        else:
            layers.append(nn.MaxPool2d(2))
    return layers


def _checked(path: Path, name: str, array: np.ndarray, shape: tuple[int, ...]) -> Tensor:
    if array.shape != shape or array.dtype.kind != "f":
        raise ValueError(f"{path}: {name} must be floats of shape {shape}, got {array.dtype} {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{path}: {name} must be finite, it holds NaN or infinity")
    return torch.from_numpy(array.astype(np.float32))
