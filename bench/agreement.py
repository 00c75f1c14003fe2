#!/usr/bin/env python3
"""Measures whether `tapconv bench` agrees with itself, and with a profiler.

    python3 bench/agreement.py --commit HASH --out results/h200

Needs a GPU, cuDNN, ncu (Nsight Compute) and the build of scripts/gpu_suite.py. Writes agreement.json. With --runs FOLDER a run that was killed goes on
with the rows that are there. Exits with 1 if one of these is missed; the file is written all the same:

- Each of 40 pairs, a problem's engine and the best of cuDNN under a contract, is measured twice, in two processes that measure all pairs one
  after the other. The intervals of the ratio overlap in at least 38.
- The six shortest kernels above 0.5 ms: the median that ncu sees is within 2 % of bench's.
"""

import csv
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "bench")]
import suite_runs  # noqa: E402
from gpu_suite import TAPCONV, evidence_header, find_cuda_tool, library_environment, without_root  # noqa: E402

# None is of the published list.
PROBLEMS = (
    "Conv1d(64, 96, 3, stride=3, dilation=4) @ 16x64x65000",
    "Conv1d(48, 80, 9, padding=4) @ 64x48x16000",
    "Conv1d(256, 256, 3, padding=2, dilation=2) @ 1x256x40000",
    "Conv1d(1, 32, 31, stride=2) @ 32x1x100000",
    "Conv2d(64, 128, (5,7), bias=False) @ 4x64x300x200",
    "Conv2d(3, 48, 11, stride=4, padding=2) @ 128x3x227x227",
    "Conv2d(96, 96, 3, padding=1) @ 64x96x57x57",
    "Conv2d(512, 1024, 1) @ 32x512x28x28",
    "Conv2d(256, 64, 1, stride=2) @ 64x256x56x56",
    "Conv2d(128, 64, 3, padding=1) @ 1x128x512x512",
    "Conv2d(192, 320, (3,5)) @ 4x192x61x83",
    "Conv2d(64, 128, 3, padding=1) @ 4x64x255x1001",
    "Conv2d(144, 144, 3, padding=1, groups=144) @ 64x144x56x56",
    "Conv2d(128, 128, 3, padding=1, groups=32) @ 64x128x56x56",
    "Conv3d(16, 32, 3, padding=1) @ 4x16x48x64x64",
    "Conv3d(3, 24, 5, stride=2) @ 8x3x33x65x65",
    "Conv3d(64, 128, 3, padding=1) @ 1x64x64x64x64",
    "ConvTranspose1d(64, 32, 8, stride=4, padding=2) @ 16x64x40000",
    "ConvTranspose2d(64, 48, 4, stride=2, padding=1) @ 16x64x65x65",
    "ConvTranspose3d(32, 32, 3, padding=1) @ 4x32x32x48x48",
)
CONTRACTS = "fp32,tf32"
# How results/h200/kernelbench.json is measured, without sustained calls.
ROUNDS = 7
PROTOCOL = ("--device", "cuda", "--rounds", str(ROUNDS), "--idle-ms", "20", "--sustained-s", "0", "--finalists", "3")
LEAST_OVERLAPS = 38
LEAST_MS = 0.5
PROFILED = 6
MOST_DIFFERENCE = 0.02
# The engine's calls of bench before the timed rounds: one that is fingerprinted, one to warm up.
UNTIMED_CALLS = 2
MS = {"ns": 1e-6, "nsecond": 1e-6, "us": 1e-3, "usecond": 1e-3, "ms": 1.0, "msecond": 1.0, "s": 1e3, "second": 1e3}


def measure(folder: Path, commit: str, seed: int) -> dict[str, dict]:
    """The reports of all pairs by problem, from a process of its own. The seed decides the numbers and the order of the contenders."""
    begin = time.monotonic()
    rows = suite_runs.rows(TAPCONV, folder, f"run_{seed}", list(PROBLEMS), commit, "--math", CONTRACTS, "--against", "cudnn", *PROTOCOL, "--seed", str(seed))
    print(f"{len(rows)} pairs in {time.monotonic() - begin:.0f} s", flush=True)
    return {row["problem"]: row["report"] for row in rows}


def run_of(report: dict) -> dict:
    """What one run found of a pair."""
    fields = ("ratio_reference", "ratio", "ratio_low", "ratio_high", "converged", "refusal", "clocks")
    return {"ms": report["engine"]["spaced_ms"], "rounds_ms": report["engine"]["spaced_rounds_ms"]} | {field: report[field] for field in fields}


def overlap(first: dict, second: dict) -> bool:
    """Whether both runs have an interval and these have a number in common."""
    runs = (first, second)
    if any(run["ratio"] is None for run in runs):
        return False
    return max(run["ratio_low"] for run in runs) <= min(run["ratio_high"] for run in runs)


def pairs_of(first: dict[str, dict], second: dict[str, dict]) -> list[dict]:
    pairs = []
    for problem, report in first.items():
        runs = [run_of(report), run_of(second[problem])]
        pairs.append({"problem": problem, "solver": report["engine"]["name"], "runs": runs, "overlap": overlap(*runs)})
    return pairs


def bench_ms(pair: dict) -> float:
    """The median of both runs' rounds."""
    return statistics.median(ms for run in pair["runs"] for ms in run["rounds_ms"])


def worth_profiling(pairs: list[dict]) -> list[dict]:
    """The shortest kernels that the criterion is about: what bench measures beside the kernel is the largest share of these."""
    return sorted((pair for pair in pairs if bench_ms(pair) > LEAST_MS), key=bench_ms)[:PROFILED]


def launches_ms(output: str) -> list[float]:
    """The durations in what `ncu --csv` printed, among lines of its own and of the program."""
    rows = csv.DictReader(line for line in output.splitlines() if line.startswith('"'))
    return [
        float(row["Metric Value"].replace(",", "")) * MS[row["Metric Unit"]] for row in rows if row["Metric Name"] == "gpu__time_duration.sum"
    ]


def profile(ncu: str, pair: dict) -> dict:
    """The engine's kernel in the timed rounds of bench, as ncu sees it. Bench itself flushes the caches and idles before each; ncu must not hold
    the clocks down."""
    # Not scaled: scaled durations have two decimals.
    command = [ncu, "--csv", "--print-units", "base", "--metrics", "gpu__time_duration.sum", "--clock-control", "none", "--cache-control", "none",
               "--kernel-name", f"tapconv_{pair['solver']}", "--launch-skip", str(UNTIMED_CALLS),
               TAPCONV, "bench", pair["problem"], *PROTOCOL]  # fmt: skip
    done = subprocess.run(command, env=library_environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    launches = launches_ms(done.stdout)
    row = {"problem": pair["problem"], "solver": pair["solver"], "bench_ms": bench_ms(pair), "launches_ms": launches}
    if len(launches) != ROUNDS:
        return row | {"agrees": False, "reason": f"ncu saw {len(launches)} launches, not {ROUNDS}: {without_root(done.stdout[-2000:])}"}
    profiler_ms = statistics.median(launches)
    difference = row["bench_ms"] / profiler_ms - 1
    return row | {"profiler_ms": profiler_ms, "difference": difference, "agrees": abs(difference) <= MOST_DIFFERENCE}


def missed(pairs: list[dict], kernels: list[dict]) -> list[str]:
    """Which criteria are not met."""
    overlaps, agreeing = sum(pair["overlap"] for pair in pairs), sum(kernel["agrees"] for kernel in kernels)
    found = []
    if overlaps < LEAST_OVERLAPS:
        found.append(f"{overlaps} of {len(pairs)} pairs overlap; wanted: {LEAST_OVERLAPS}")
    if agreeing < PROFILED:
        found.append(f"{agreeing} of {len(kernels)} kernels agree with the profiler within {MOST_DIFFERENCE:.0%}; wanted: {PROFILED}")
    return found


def interval(run: dict) -> str:
    return f"{run['ratio_low']:.3f} to {run['ratio_high']:.3f}" if run["ratio"] else f"none ({run['refusal']})"


def main(arguments: list[str]) -> int:
    options = suite_runs.parse(arguments, __doc__.splitlines()[0], "agreement.json")
    ncu = find_cuda_tool("ncu")
    if ncu is None:
        sys.exit("ncu is not installed; valid: Nsight Compute in PATH or in CUDA_HOME")
    specs = suite_runs.specs(TAPCONV)
    with suite_runs.folder_of(options) as folder:
        first, second = measure(folder, options.commit, 0), measure(folder, options.commit, 1)
    pairs = pairs_of(first, second)
    kernels = [profile(ncu, pair) for pair in worth_profiling(pairs)]
    failures = missed(pairs, kernels)
    summary = {"pairs": len(pairs), "overlaps": sum(pair["overlap"] for pair in pairs), "kernels": len(kernels),
               "agreeing": sum(kernel["agrees"] for kernel in kernels), "missed": failures}  # fmt: skip
    body = evidence_header("bench/agreement.py", options.commit, specs) | {"protocol": PROTOCOL, "summary": summary, "pairs": pairs, "kernels": kernels}
    (options.out / "agreement.json").write_text(json.dumps(body, indent=1) + "\n")
    for pair in pairs:
        if not pair["overlap"]:
            print(f"apart: {' and '.join(map(interval, pair['runs']))}  {pair['problem']}")
    print("  bench ms    ncu ms  difference")
    for kernel in kernels:
        seen = f"{kernel['profiler_ms']:10.4f}{kernel['difference']:+12.2%}" if "reason" not in kernel else kernel["reason"]
        print(f"{kernel['bench_ms']:10.4f}{seen}  {kernel['solver']}, {kernel['problem']}")
    print(f"intervals overlap in {summary['overlaps']} of {summary['pairs']} pairs; {summary['agreeing']} of {summary['kernels']} kernels agree with ncu")
    for failure in failures:
        print(f"MISSED: {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
