#!/usr/bin/env python3
"""Writes a small image-filtering problem as .npy files, with nothing but the standard library.

    python3 examples/gabor.py FOLDER

FOLDER/input.npy   1 x 1 x 240 x 320: a zone plate, the test chart whose local frequency grows with the distance from the centre
FOLDER/weight.npy  8 x 1 x 11 x 11:   Gabor filters, which answer to one frequency in one of eight directions
FOLDER/bias.npy    8
FOLDER/filters.pgm, written by `python3 examples/gabor.py FOLDER --show`, once FOLDER/output.npy is there: the input and what
                   the eight filters find in it, as a picture

The convolution is Conv2d(1, 8, 11, padding=5) @ 1x1x240x320.
"""

import array
import math
import struct
import sys
from pathlib import Path

HEIGHT, WIDTH, FILTERS, SIZE = 240, 320, 8, 11


def write_npy(path: Path, shape: tuple[int, ...], values: list[float]) -> None:
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (63 - (len(header) + 10) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + array.array("f", values).tobytes())


def read_npy_values(path: Path) -> array.array:
    content = path.read_bytes()
    (length,) = struct.unpack_from("<H", content, 8)
    values = array.array("f")
    values.frombytes(content[10 + length :])
    return values


def zone_plate() -> list[float]:
    scale = math.pi / WIDTH
    return [
        0.5 + 0.5 * math.cos(scale * ((x - WIDTH / 2) ** 2 + (y - HEIGHT / 2) ** 2) / 2)
        for y in range(HEIGHT)
        for x in range(WIDTH)
    ]


def gabor(direction: float, wavelength: float = 5.0, width: float = 2.5) -> list[float]:
    values = []
    half = SIZE // 2
    for y in range(-half, half + 1):
        for x in range(-half, half + 1):
            along = x * math.cos(direction) + y * math.sin(direction)
            values.append(math.exp(-(x * x + y * y) / (2 * width**2)) * math.cos(2 * math.pi * along / wavelength))
    mean = sum(values) / len(values)
    return [value - mean for value in values]  # no answer to an even grey


def write_problem(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    write_npy(folder / "input.npy", (1, 1, HEIGHT, WIDTH), zone_plate())
    weights = [value for i in range(FILTERS) for value in gabor(math.pi * i / FILTERS)]
    write_npy(folder / "weight.npy", (FILTERS, 1, SIZE, SIZE), weights)
    write_npy(folder / "bias.npy", (FILTERS,), [0.0] * FILTERS)


def write_picture(folder: Path) -> None:
    tiles = [read_npy_values(folder / "input.npy")]
    output = read_npy_values(folder / "output.npy")
    plane = HEIGHT * WIDTH
    peak = max(abs(value) for value in output)
    tiles += [[abs(value) / peak for value in output[i * plane : (i + 1) * plane]] for i in range(FILTERS)]
    pixels = bytearray()
    for row in range(3):
        for y in range(HEIGHT):
            for column in range(3):
                tile = tiles[3 * row + column]
                pixels += bytes(min(255, int(255 * value)) for value in tile[y * WIDTH : (y + 1) * WIDTH])
    (folder / "filters.pgm").write_bytes(f"P5 {3 * WIDTH} {3 * HEIGHT} 255\n".encode() + bytes(pixels))


def main() -> int:
    if len(sys.argv) not in (2, 3) or (len(sys.argv) == 3 and sys.argv[2] != "--show"):
        print(__doc__, file=sys.stderr)
        return 2
    (write_picture if len(sys.argv) == 3 else write_problem)(Path(sys.argv[1]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
