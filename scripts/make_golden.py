#!/usr/bin/env python3
"""Writes golden vectors of small random convolutions, computed by PyTorch on the CPU in float64.

    python3 scripts/make_golden.py > tests/golden/convolutions.jsonl

One JSON object a line. Operands are integers over 2^22 (24 significant bits: exact in float32); outputs are the
shortest decimals that read back as the same float64.
"""

import json
import random
import sys

import torch
import torch.nn.functional as F

SEED = 20261129
COUNT = 200
SCALE = 2.0**-22
FUNCTIONS = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}


def random_layer(rng: random.Random) -> dict | None:
    """A small valid layer, or None if the draw does not fit."""
    rank = rng.choice([1, 1, 2, 2, 2, 3])
    axes = range(rank)
    groups = rng.choice([1, 1, 1, 2, 3])
    layer = {
        "batch": rng.randint(1, 2),
        "in_channels": groups * rng.randint(1, 3),
        "out_channels": groups * rng.randint(1, 3),
        "groups": groups,
        "input": [rng.randint(1, 30 if rank == 1 else 8 if rank == 2 else 5) for _ in axes],
        "kernel": [rng.randint(1, 5 if rank < 3 else 3) for _ in axes],
        "stride": [rng.randint(1, 4) for _ in axes],
        "padding": [rng.randint(0, 3) for _ in axes],
        "dilation": [rng.randint(1, 3) for _ in axes],
        "bias": rng.random() < 0.5,
    }
    output = [
        (i + 2 * p - d * (k - 1) - 1) // s + 1
        for i, k, s, p, d in zip(*(layer[n] for n in ("input", "kernel", "stride", "padding", "dilation")))
    ]
    if min(output) < 1:
        return None
    size = layer["batch"] * layer["out_channels"]
    for o in output:
        size *= o
    return layer if size <= 80 else None


def integers(rng: random.Random, shape: list[int]) -> torch.Tensor:
    count = 1
    for n in shape:
        count *= n
    # A wide spread of exponents, so that a float32 sum could not pass the comparison.
    values = [rng.randint(-(1 << 23), 1 << 23) >> rng.choice([0, 0, 0, 8, 16]) for _ in range(count)]
    return torch.tensor(values, dtype=torch.float64).reshape(shape)


def main() -> None:
    rng = random.Random(SEED)
    print(json.dumps({"about": f"{sys.argv[0].split('/')[-1]}, PyTorch {torch.__version__}, float64, CPU", "scale": SCALE}))
    written = 0
    while written < COUNT:
        layer = random_layer(rng)
        if layer is None:
            continue
        x = integers(rng, [layer["batch"], layer["in_channels"], *layer["input"]])
        w = integers(rng, [layer["out_channels"], layer["in_channels"] // layer["groups"], *layer["kernel"]])
        b = integers(rng, [layer["out_channels"]]) if layer["bias"] else None
        y = FUNCTIONS[len(layer["input"])](
            x * SCALE, w * SCALE, None if b is None else b * SCALE, layer["stride"], layer["padding"], layer["dilation"],
            layer["groups"],
        )
        layer["x"], layer["w"] = ([int(v) for v in t.flatten()] for t in (x, w))
        layer["b"] = [int(v) for v in b] if b is not None else []
        layer["output"], layer["y"] = list(y.shape[2:]), y.flatten().tolist()
        print(json.dumps(layer, separators=(",", ":")))
        written += 1


if __name__ == "__main__":
    main()
