"""Small files for the readers."""

from pathlib import Path


def write(folder: Path, **texts: str) -> list[Path]:
    paths = []
    for name, text in texts.items():
        paths.append(folder / name)
        paths[-1].write_bytes(text.encode())
    return paths
