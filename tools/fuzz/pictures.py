"""Mutations of images: sizes and kinds of pixels that a header claims, chunks, orientation, bombs."""

from __future__ import annotations

import io
import struct
import zlib

import numpy as np

from .plain import Random

_SIZES = (0, 1, 2, 3, 255, 65_500, 2**16, 100_000, 2**31 - 1, 2**32 - 1)


def mutate_image(data: bytes, rng: Random) -> bytes:
    """One change: of a chunk of a PNG file with its sum made right, or another kind of image altogether."""
    if data[:8] == b"\x89PNG\r\n\x1a\n" and rng.random() < 0.6:
        return _png(data, rng)
    return _another(rng)


def _png(data: bytes, rng: Random) -> bytes:
    chunks, at = [], 8
    while at + 8 <= len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        chunks.append([data[at + 4 : at + 8], data[at + 8 : at + 8 + length]])
        at += 12 + length
    action = rng.randrange(6)
    i = rng.randrange(len(chunks)) if chunks else 0
    if not chunks:
        return data
    if action <= 1 and len(chunks[0][1]) == 13:
        fields = list(struct.unpack(">IIBBBBB", chunks[0][1]))
        k = rng.randrange(7)
        fields[k] = (
            rng.choice(_SIZES) if k < 2 else rng.randrange(256) if rng.random() < 0.3 else rng.randrange(17)
        )
        chunks[0][1] = struct.pack(">IIBBBBB", *fields)
    elif action == 2:
        chunks[i][0] = rng.choice(
            (b"tEXt", b"zTXt", b"iCCP", b"tRNS", b"PLTE", b"eXIf", b"acTL", b"fcTL", b"IEND", b"IDAT")
        )
    elif action == 3:
        del chunks[i]
    elif action == 4:
        bomb = zlib.compress(b"a" * rng.choice((100, 3_000_000)))
        body = rng.choice((b"k\0\0" + bomb, b"Exif\0\0MM\0*" + rng.randbytes(40), rng.randbytes(30), b""))
        chunks.insert(i, [rng.choice((b"zTXt", b"iTXt", b"iCCP", b"eXIf", b"tRNS", b"gAMA", b"acTL")), body])
    else:
        body = bytearray(chunks[i][1])
        for _ in range(min(3, len(body))):
            body[rng.randrange(len(body))] = rng.randrange(256)
        chunks[i][1] = bytes(body)
    parts = [struct.pack(">I", len(b)) + k + b + struct.pack(">I", zlib.crc32(k + b)) for k, b in chunks]
    return data[:8] + b"".join(parts)


def _another(rng: Random) -> bytes:
    from PIL import Image

    mode = rng.choice(
        ("1", "L", "LA", "P", "PA", "RGB", "RGBA", "CMYK", "YCbCr", "LAB", "HSV", "I", "I;16", "F")
    )
    kind = rng.choice(("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "PPM", "ICO", "TGA", "PCX", "SGI"))
    size = (rng.choice((1, 2, 9, 16)), rng.choice((1, 3, 16)))
    found = io.BytesIO()
    try:
        image = Image.new(mode, size)
        if mode == "RGB":
            image = Image.fromarray(np.full((size[1], size[0], 3), 7, np.uint8))
        more = {}
        if rng.random() < 0.3:
            exif = Image.Exif()
            exif[0x0112] = rng.choice((0, 1, 3, 6, 8, 9, 255, "x"))
            more = {"exif": exif.tobytes()}
        image.save(found, kind, **more)
    except (OSError, ValueError, KeyError, TypeError, struct.error, SystemError):
        return rng.randbytes(30)
    return found.getvalue()
