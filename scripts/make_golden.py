#!/usr/bin/env python3
"""Writes golden vectors over the whole argument space, computed by PyTorch on the CPU in float64.

    python3 scripts/make_golden.py > tests/golden/convolutions.jsonl

The first line says what made the file; every other one is a problem (the fields of tapconv::Problem), its operands and
its output `y`. Operands are integers times the first line's `scale` (24 significant bits: exact in float32); outputs
are the shortest decimals that read back as the same float64. What nn.ConvNd has no argument for (asymmetric and
negative padding) is computed with F.pad.
"""

import json
import random
from pathlib import Path

import torch
import torch.nn.functional as F

SEED = 20261129
COUNTS = {"convolution": 280, "transposed": 160, "depthwise_separable": 60}
SCALE = 2.0**-22
MOST = {"input": 160, "weight": 128, "output": 64}  # elements
CONVOLUTIONS = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
TRANSPOSED = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}
TORCH_MODES = {"zeros": "constant", "reflect": "reflect", "replicate": "replicate", "circular": "circular"}
ACTIVATIONS = {
    "none": lambda v, slope: v,
    "relu": lambda v, slope: F.relu(v),
    "leaky_relu": F.leaky_relu,
    "silu": lambda v, slope: F.silu(v),
    "gelu": lambda v, slope: F.gelu(v),
    "gelu_tanh": lambda v, slope: F.gelu(v, approximate="tanh"),
}


def product(sizes) -> int:
    result = 1
    for size in sizes:
        result *= size
    return result


def draw_channels(rng: random.Random, problem: dict) -> None:
    groups = problem["groups"] = rng.choice([1, 1, 2, 3, 4])
    depthwise = rng.random() < 0.4
    problem["in_channels"] = groups * (1 if depthwise else rng.randint(1, 4))
    problem["out_channels"] = groups * rng.randint(1, 3)
    problem["depth_multiplier"] = 1
    if problem["kind"] == "depthwise_separable":
        problem["groups"] = 1
        problem["depth_multiplier"] = rng.randint(1, 3)


def draw_padding(rng: random.Random, problem: dict) -> None:
    """One of the ways a person pads; `same` marks those that PyTorch is asked for by that word."""
    axes = range(len(problem["input"]))
    way = rng.choice(["none", "equal", "equal", "same", "causal", "sides", "crop", "crop"])
    lo, hi = [0 for _ in axes], [0 for _ in axes]
    if way == "equal":
        lo = hi = [rng.randint(0, 3) for _ in axes]
    elif way == "causal":
        lo = [d * (k - 1) for d, k in zip(problem["dilation"], problem["kernel"])]
    elif way == "sides":
        lo, hi = ([rng.randint(0, 4) for _ in axes] for _ in range(2))
    elif way == "crop":
        lo, hi = ([rng.randint(-2, 2) for _ in axes] for _ in range(2))
    elif way == "same" and problem["kind"] != "transposed":
        problem["stride"] = [1 for _ in axes]
        total = [d * (k - 1) for d, k in zip(problem["dilation"], problem["kernel"])]
        lo = [t // 2 for t in total]
        hi = [t - low for t, low in zip(total, lo)]
    problem["same"] = way == "same" and problem["kind"] != "transposed"
    problem["padding_lo"], problem["padding_hi"] = lo, hi


def draw(rng: random.Random, kind: str) -> dict:
    """A small problem, not always a valid one."""
    rank = rng.choice([1, 2, 2, 3, 3, 3])
    axes = range(rank)
    problem = {
        "kind": kind,
        "batch": rng.randint(1, 2),
        "input": [rng.randint(1, (24, 7, 5)[rank - 1]) for _ in axes],
        "kernel": [rng.randint(1, (6, 4, 3)[rank - 1]) for _ in axes],
        "stride": [rng.choice([1, 1, 2, 3, 4]) for _ in axes],
        "dilation": [rng.choice([1, 1, 2, 3]) for _ in axes],
        "bias": rng.random() < 0.5,
        "padding_mode": "zeros",
        "residual": rng.random() < 0.25,
        "activation": rng.choice(["none", "none", *ACTIVATIONS]),
        "negative_slope": 0.01,
    }
    draw_channels(rng, problem)
    draw_padding(rng, problem)
    most = [max(s, d) for s, d in zip(problem["stride"], problem["dilation"])]
    problem["output_padding"] = [rng.randint(0, m - 1) if kind == "transposed" else 0 for m in most]
    if kind != "transposed":
        problem["padding_mode"] = rng.choice(["zeros", "zeros", "reflect", "replicate", "circular"])
    if problem["activation"] == "leaky_relu":
        problem["negative_slope"] = rng.choice([0.01, 0.25, -0.5, 1.5])
    return problem


def output_sizes(problem: dict) -> list[int]:
    names = ("input", "kernel", "stride", "dilation", "padding_lo", "padding_hi", "output_padding")
    if problem["kind"] == "transposed":
        return [(i - 1) * s - lo - hi + d * (k - 1) + op + 1
                for i, k, s, d, lo, hi, op in zip(*(problem[n] for n in names))]
    return [(i + lo + hi - d * (k - 1) - 1) // s + 1 for i, k, s, d, lo, hi, _ in zip(*(problem[n] for n in names))]


def fits(problem: dict) -> bool:
    """Whether the problem is valid and small."""
    for i, lo, hi in zip(problem["input"], problem["padding_lo"], problem["padding_hi"]):
        if problem["kind"] != "transposed" and i + min(lo, 0) + min(hi, 0) < 1:
            return False
        most = {"reflect": i - 1, "circular": i}.get(problem["padding_mode"], 99)
        if max(lo, hi) > most:
            return False
        # F.pad crops before it wraps around; tapconv wraps around the whole input.
        if problem["padding_mode"] == "circular" and min(lo, hi) < 0 < max(lo, hi):
            return False
    sizes = output_sizes(problem)
    shapes = {
        "input": [problem["batch"], problem["in_channels"], *problem["input"]],
        "weight": weight_shape(problem),
        "output": [problem["batch"], problem["out_channels"], *sizes],
    }
    return min(sizes) >= 1 and all(product(shapes[n]) <= MOST[n] for n in MOST)


def weight_shape(problem: dict) -> list[int]:
    c, k, groups = problem["in_channels"], problem["out_channels"], problem["groups"]
    if problem["kind"] == "depthwise_separable":
        return [c * problem["depth_multiplier"], 1, *problem["kernel"]]
    first, second = (c, k) if problem["kind"] == "transposed" else (k, c)
    return [first, second // groups, *problem["kernel"]]


def pads(problem: dict, sign: int) -> list[int]:
    """F.pad's argument: the last axis first."""
    pairs = zip(reversed(problem["padding_lo"]), reversed(problem["padding_hi"]))
    return [sign * value for pair in pairs for value in pair]


def channel_bias(b: torch.Tensor | None, rank: int) -> torch.Tensor | float:
    return 0.0 if b is None else b.reshape(1, -1, *[1] * rank)


def convolve(p: dict, x: torch.Tensor, w: torch.Tensor, b: torch.Tensor | None, groups: int) -> torch.Tensor:
    layer = CONVOLUTIONS[len(p["input"])]
    if p["padding_mode"] == "zeros" and p["same"]:
        return layer(x, w, b, p["stride"], "same", p["dilation"], groups)
    if p["padding_mode"] == "zeros" and p["padding_lo"] == p["padding_hi"] and min(p["padding_lo"]) >= 0:
        return layer(x, w, b, p["stride"], p["padding_lo"], p["dilation"], groups)
    return layer(F.pad(x, pads(p, 1), mode=TORCH_MODES[p["padding_mode"]]), w, b, p["stride"], 0, p["dilation"], groups)


def transpose(p: dict, x: torch.Tensor, w: torch.Tensor, b: torch.Tensor | None) -> torch.Tensor:
    rank = len(p["input"])
    layer = TRANSPOSED[rank]
    if p["padding_lo"] == p["padding_hi"] and min(p["padding_lo"]) >= 0:
        return layer(x, w, b, p["stride"], p["padding_lo"], p["output_padding"], p["groups"], p["dilation"])
    whole = layer(x, w, None, p["stride"], 0, p["output_padding"], p["groups"], p["dilation"])
    return F.pad(whole, pads(p, -1)) + channel_bias(b, rank)


def integers(rng: random.Random, shape: list[int]) -> torch.Tensor:
    # A wide spread of exponents, so that a float32 sum could not pass the comparison.
    values = [rng.randint(-(1 << 23), 1 << 23) >> rng.choice([0, 0, 0, 8, 16]) for _ in range(product(shape))]
    return torch.tensor(values, dtype=torch.float64).reshape(shape)


def compute(rng: random.Random, problem: dict) -> dict:
    """The problem's operands, as integers, and its output."""
    rank, k = len(problem["input"]), problem["out_channels"]
    middle = problem["in_channels"] * problem["depth_multiplier"]
    separable = problem["kind"] == "depthwise_separable"
    operands = {"x": integers(rng, [problem["batch"], problem["in_channels"], *problem["input"]]),
                "w": integers(rng, weight_shape(problem))}
    if problem["bias"]:
        operands["b"] = integers(rng, [middle if separable else k])
    if separable:
        operands["w2"] = integers(rng, [k, middle, *[1] * rank])
    if separable and problem["bias"]:
        operands["b2"] = integers(rng, [k])
    if problem["residual"]:
        operands["r"] = integers(rng, [problem["batch"], k, *output_sizes(problem)])
    scaled = {name: tensor * SCALE for name, tensor in operands.items()}
    x, w, b = scaled["x"], scaled["w"], scaled.get("b")
    if problem["kind"] == "transposed":
        y = transpose(problem, x, w, b)
    elif separable:
        between = convolve(problem, x, w, b, problem["in_channels"])
        y = CONVOLUTIONS[rank](between, scaled["w2"], scaled.get("b2"))
    else:
        y = convolve(problem, x, w, b, problem["groups"])
    y = ACTIVATIONS[problem["activation"]](y + scaled.get("r", 0.0), problem["negative_slope"])
    assert list(y.shape[2:]) == output_sizes(problem), problem
    line = {name: [int(v) for v in operands[name].flatten()] if name in operands else []
            for name in ("x", "w", "b", "w2", "b2", "r")}
    return {**line, "output": list(y.shape), "y": y.flatten().tolist()}


def main() -> None:
    rng = random.Random(SEED)
    about = f"{Path(__file__).name}, PyTorch {torch.__version__}, float64, CPU"
    print(json.dumps({"about": about, "scale": SCALE, "count": sum(COUNTS.values())}))
    for kind, count in COUNTS.items():
        while count > 0:
            problem = draw(rng, kind)
            if fits(problem):
                print(json.dumps({**problem, **compute(rng, problem)}, separators=(",", ":")))
                count -= 1


if __name__ == "__main__":
    main()
