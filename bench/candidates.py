#!/usr/bin/env python3
"""Times candidates of the CUDA solvers on problems of many kinds, and compares the cost models with what is measured.

    python3 bench/candidates.py --commit HASH --out results/h200 [--solver warpgroup] [--most 12] [--random]

Needs a GPU and the build of scripts/gpu_suite.py. Writes SOLVER_candidates.json. Exits with 1
if a candidate's outputs are beyond the bound; the file is written all the same.
"""

import argparse
import json
import math
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
from gpu_suite import evidence_header  # noqa: E402

# None is of the published list: its neighbours are.
PROBLEMS = (
    "Conv2d(64, 128, (5,7), bias=False) @ 2x64x300x200",
    "Conv2d(64, 128, (5,7), bias=False, math=tf32) @ 2x64x300x200",
    "Conv1d(64, 96, 3, stride=3, dilation=4) @ 16x64x65000",
    "Conv1d(48, 80, 9, padding=4) @ 16x48x4001",
    "Conv1d(1, 32, 31, stride=2) @ 8x1x100000",
    "Conv2d(3, 48, 11, stride=4, padding=2) @ 32x3x227x227",
    "Conv2d(96, 96, 3, padding=1) @ 16x96x57x57",
    "Conv2d(96, 96, 3, padding=1, layout=channels_last) @ 16x96x57x57",
    "Conv2d(96, 96, 3, padding=1, dtype=bfloat16) @ 16x96x57x57",
    "Conv2d(96, 96, 3, padding=1, dtype=float16, layout=channels_last) @ 16x96x57x57",
    "Conv2d(96, 96, 3, padding=1, math=tf32) @ 1x96x57x57",
    "Conv2d(96, 96, 3, padding=1, padding_mode='reflect') @ 16x96x57x57",
    "Conv2d(512, 512, 3, padding=1) @ 1x512x7x7",
    "Conv2d(512, 2048, 1) @ 1x512x7x7",
    "Conv2d(512, 2048, 1) @ 32x512x7x7",
    "Conv2d(256, 64, 1, stride=2) @ 16x256x55x55",
    "Conv2d(144, 144, 3, padding=1, groups=144) @ 16x144x56x56",
    "Conv2d(144, 144, 7, padding=3, groups=144, layout=channels_last) @ 16x144x28x28",
    "Conv2d(128, 128, 3, padding=1, groups=32) @ 16x128x56x56",
    "ConvTranspose1d(64, 32, 8, stride=4, padding=2) @ 8x64x20000",
    "ConvTranspose2d(64, 48, 4, stride=2, padding=1) @ 8x64x65x65",
    "ConvTranspose2d(128, 64, 3, stride=2, padding=1, output_padding=1) @ 8x128x33x33",
    "ConvTranspose3d(32, 32, 3, padding=1) @ 2x32x24x24x24",
    "Conv3d(16, 32, 3, padding=1) @ 2x16x33x40x40",
    "Conv3d(3, 24, 5, stride=2) @ 2x3x33x65x65",
    "Conv2d(20, 30, 3, dtype=float64) @ 4x20x64x64",
    "Conv2d(64, 128, 3, padding=1, math=tf32) @ 4x64x255x1001",
    "Conv2d(192, 320, (3,5), math=tf32) @ 4x192x61x83",
    "Conv2d(256, 64, 1, math=tf32) @ 64x256x56x56",
    "Conv2d(128, 128, 3, stride=2, padding=1, math=tf32) @ 8x128x56x56",
    "Conv2d(256, 256, 3, padding=1, math=tf32) @ 64x256x14x14",
    "Conv3d(64, 128, 3, padding=1, math=tf32) @ 1x64x32x32x32",
    "Conv2d(128, 64, 3, padding=1) @ 1x128x256x256",
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--commit", required=True, help="the commit that this tree is")
    parser.add_argument("--out", required=True, type=Path, help="folder of SOLVER_candidates.json")
    parser.add_argument("--solver", default="direct", help="a solver's name, or all")
    parser.add_argument("--most", type=int, default=64, help="so many candidates, the first ones")
    parser.add_argument("--random", action="store_true", help="random tiles of warpgroup, for fit_warpgroup: warpgroup_tiles.json")
    parser.add_argument("problems", nargs="*", default=PROBLEMS)
    arguments = parser.parse_args()
    build = ROOT / "build" / "gpu"
    solver = "random" if arguments.random else arguments.solver
    done = subprocess.run([build / "bench" / "candidates", "cuda:0", solver, str(arguments.most), *arguments.problems], check=True, capture_output=True, text=True)
    problems = [json.loads(line) for line in done.stdout.splitlines()]
    specs = json.loads(subprocess.run([build / "tapconv", "specs", "--json"], check=True, capture_output=True, text=True).stdout)
    losses, errors, wrong = [], [], False
    for problem in problems:
        rows = problem["candidates"]
        if not rows:
            continue  # the solver does not take it
        for row in rows:
            if not row["max_bound_ratio"] <= 1:
                wrong = True
                print(f"WRONG: {row['max_bound_ratio']} of the bound: {problem['problem']}: {row['configuration']}")
        best = min(rows, key=lambda row: row["ms"])
        losses.append(rows[0]["ms"] / best["ms"])  # the first is what the model chooses
        errors += [math.log(row["predicted_ms"] / row["ms"]) for row in rows]
        print(f"{rows[0]['ms']:9.4f} chosen {best['ms']:9.4f} best, predicted {rows[0]['predicted_ms']:9.4f}  {problem['problem']}: "
              f"{rows[0]['configuration']} / {best['configuration']}, {rows[0]['registers']} registers, worst local {max(row['local_bytes'] for row in rows)}")
    summary = {"rms_log_error": math.sqrt(sum(error * error for error in errors) / len(errors))}
    if not arguments.random:
        summary |= {"geometric_mean_loss": math.exp(sum(map(math.log, losses)) / len(losses)), "worst_loss": max(losses)}
    print(summary)
    header = evidence_header("bench/candidates.py", arguments.commit, specs)
    name = "warpgroup_tiles" if arguments.random else f"{arguments.solver}_candidates"
    (arguments.out / f"{name}.json").write_text(json.dumps(header | {"summary": summary, "problems": problems}, indent=1) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
