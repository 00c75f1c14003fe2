#!/usr/bin/env python3
"""Times problems and their neighbours: whether the engine is as good on an odd size as on an even one.

    python3 bench/neighbours.py --commit HASH --out results/h200 [--runs FOLDER]

Needs a GPU and the build of scripts/gpu_suite.py. Writes neighbours.json and neighbours.svg. A neighbour differs from its base in one number: a size
or a number of channels by one, the filter, the stride, the dilation, or the batch, which is 1. Exits with 1 if the time as a multiple of the physical
limit differs by a factor of more than 1.5 between a base and a neighbour whose limits are 50 us or more; the files are written all the same. With --runs
a run that was killed goes on with the rows that are there.
"""

import dataclasses
import json
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "bench")]
import suite_runs  # noqa: E402
from gpu_suite import TAPCONV, evidence_header  # noqa: E402

CONTRACTS = "tf32,fp32"
PROTOCOL = ("--device", "cuda", "--rounds", "6", "--idle-ms", "10", "--sustained-s", "0")
LEAST_LIMIT_MS = 0.05
MOST_FACTOR = 1.5


@dataclasses.dataclass(frozen=True)
class Layer:
    """A convolution of the grid; every axis has the same stride, dilation and padding."""

    channels: tuple[int, int]
    kernel: tuple[int, ...]
    batch: int
    size: tuple[int, ...]
    stride: int = 1
    dilation: int = 1
    padding: int = 0

    def __str__(self) -> str:
        kernel = f"({', '.join(map(str, self.kernel))})" if len(self.kernel) > 1 else self.kernel[0]
        options = "".join(f", {name}={value}" for name, value, default in
                          (("stride", self.stride, 1), ("padding", self.padding, 0), ("dilation", self.dilation, 1)) if value != default)  # fmt: skip
        shape = "x".join(map(str, (self.batch, self.channels[0], *self.size)))
        return f"Conv{len(self.size)}d({self.channels[0]}, {self.channels[1]}, {kernel}{options}) @ {shape}"


# None is of the published list.
BASES = (
    Layer((64, 128), (5, 7), 4, (256, 256)),
    Layer((128, 128), (3, 3), 32, (56, 56), padding=1),
    Layer((256, 512), (1, 1), 32, (56, 56)),
    Layer((64, 64), (3, 3, 3), 2, (64, 64, 64), padding=1),
    Layer((64, 128), (3,), 16, (65536,), stride=3, dilation=4),
    Layer((48, 96), (9,), 32, (16384,), padding=4),
)


def replaced(numbers: tuple[int, ...], index: int, value: int) -> tuple[int, ...]:
    return (*numbers[:index], value, *numbers[index + 1 :])


def neighbours(base: Layer) -> Iterator[tuple[str, Layer]]:
    """With what differs."""
    for index, name in enumerate(("in_channels", "out_channels")):
        for step in (-1, 1):
            value = base.channels[index] + step
            yield f"{name} {value}", dataclasses.replace(base, channels=replaced(base.channels, index, value))
    for axis, size in enumerate(base.size):
        for step in (-1, 1):
            yield f"size[{axis}] {size + step}", dataclasses.replace(base, size=replaced(base.size, axis, size + step))
    for axis, taps in enumerate(base.kernel):
        for step in (-1, 1):
            if taps + step > 0:
                yield f"kernel[{axis}] {taps + step}", dataclasses.replace(base, kernel=replaced(base.kernel, axis, taps + step))
    for name in ("stride", "dilation"):
        for step in (-1, 1):
            value = getattr(base, name) + step
            if value > 0 and (name == "stride" or max(base.kernel) > 1):
                yield f"{name} {value}", dataclasses.replace(base, **{name: value})
    yield "batch 1", dataclasses.replace(base, batch=1)


def grid() -> list[Layer]:
    return [layer for base in BASES for layer in (base, *(neighbour for _, neighbour in neighbours(base)))]


def point(row: dict) -> dict:
    """What is kept of a row."""
    engine, floor = row["report"]["engine"], row["report"]["floor"]
    return {"problem": row["problem"], "solver": engine["name"], "configuration": row["report"]["configuration"], "ms": engine["spaced_ms"],
            "limit_ms": floor["limit_ms"], "multiple": engine["spaced_ms"] / floor["limit_ms"]}  # fmt: skip


def stars(rows: list[dict]) -> list[dict]:
    """Of each contract each base with its neighbours and the factors between."""
    points, contracts = iter([point(row) for row in rows]), CONTRACTS.split(",")
    found: dict[str, list[dict]] = {contract: [] for contract in contracts}
    for base in BASES:
        names = ["", *(name for name, _ in neighbours(base))]
        for name in names:
            for contract in contracts:
                seen = next(points)
                if not name:
                    found[contract].append({"contract": contract, "base": seen, "neighbours": []})
                    continue
                centre = found[contract][-1]["base"]
                ratio = seen["multiple"] / centre["multiple"]
                counts = min(seen["limit_ms"], centre["limit_ms"]) >= LEAST_LIMIT_MS
                found[contract][-1]["neighbours"].append({"differs": name, **seen, "factor": max(ratio, 1 / ratio), "counts": counts})
    return [star for contract in contracts for star in found[contract]]


def picture(measured: list[dict], title: str) -> str:
    """A line of dots for each base: the neighbours' multiples of the limit, the base's in another colour."""
    left, scale, height = 400, 60, 22
    parts = [f'<text x="8" y="20" font-size="14" font-weight="bold">{title}</text>']
    most = max(one["multiple"] for star in measured for one in (star["base"], *star["neighbours"]))
    for tick in range(1, int(most) + 2):
        x = left + scale * (tick - 1)
        parts.append(f'<text x="{x}" y="44" text-anchor="middle">{tick}</text>')
        parts.append(f'<line x1="{x}" y1="50" x2="{x}" y2="{54 + height * len(measured)}" stroke="#dddddd"/>')
    for number, star in enumerate(measured):
        y = 66 + height * number
        parts.append(f'<text x="{left - 20}" y="{y + 4}" text-anchor="end">{star["base"]["problem"].replace(", math=tf32", "")}, {star["contract"]}</text>')
        dots = [(one, "#2a6f97" if one["counts"] else "#b8b8b8", 4) for one in star["neighbours"]] + [(star["base"], "#c8553d", 5)]
        parts += [f'<circle cx="{left + scale * (one["multiple"] - 1):.1f}" cy="{y}" r="{radius}" fill="{colour}" fill-opacity="0.7"/>' for one, colour, radius in dots]
    width = left + int(scale * (most + 1))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{70 + height * len(measured)}" font-family="sans-serif" font-size="12">'
            f'<rect width="100%" height="100%" fill="white"/>{"".join(parts)}</svg>\n')  # fmt: skip


def main(arguments: list[str]) -> int:
    options = suite_runs.parse(arguments, __doc__.splitlines()[0], "neighbours.json and neighbours.svg")
    specs = suite_runs.specs(TAPCONV)
    with suite_runs.folder_of(options) as folder:
        problems = [str(layer) for layer in grid()]
        measured = stars(suite_runs.rows(TAPCONV, folder, "neighbours", problems, options.commit, "--math", CONTRACTS, *PROTOCOL))
    counted = [(star, one) for star in measured for one in star["neighbours"] if one["counts"]]
    apart = [(star, one) for star, one in counted if one["factor"] > MOST_FACTOR]
    summary = {"pairs": len(counted), "apart": len(apart), "largest_factor": max((one["factor"] for _, one in counted), default=None)}
    header = evidence_header("bench/neighbours.py", options.commit, specs)
    (options.out / "neighbours.json").write_text(json.dumps(header | {"protocol": PROTOCOL, "summary": summary, "grid": measured}, indent=1) + "\n")
    title = f"Time as a multiple of the physical limit: bases red, neighbours blue (grey: limits below 50 us). {header['gpu']}, {header['date'][:10]}"
    (options.out / "neighbours.svg").write_text(picture(measured, title))
    for star, one in sorted(apart, key=lambda pair: -pair[1]["factor"]):
        print(f"{one['factor']:.2f}: {one['multiple']:.2f} of {one['problem']} ({one['configuration']}), {star['base']['multiple']:.2f} of its base")
    print(summary)
    return 1 if apart else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
