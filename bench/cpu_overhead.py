#!/usr/bin/env python3
"""Times the CPU engine against the same oneDNN primitive driven by hand, and starting `tapconv run` on a small problem.

    python3 bench/cpu_overhead.py --commit HASH [--output results/cpu/overhead.json]

Builds the preset "release" first. Ratios are engine / by hand, on one thread.
"""

import argparse
import datetime
import json
import os
import resource
import statistics
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "release"
SMALL = "Conv2d(8, 8, 3) @ 1x8x16x16"


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def start_times(runs=60):
    """Milliseconds from starting the process to its end."""
    wall, processor = [], []
    for _ in range(runs):
        before, start = processor_seconds(), time.perf_counter()
        subprocess.run([BUILD / "tapconv", "run", SMALL, "--device", "cpu"], check=True, capture_output=True)
        wall.append(1e3 * (time.perf_counter() - start))
        processor.append(1e3 * (processor_seconds() - before))
    return {"command": f"tapconv run '{SMALL}' --device cpu", "runs": runs,
            "wall_ms": {"least": round(min(wall), 1), "median": round(statistics.median(wall), 1)},
            "processor_ms": {"least": round(min(processor), 1), "median": round(statistics.median(processor), 1)}}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--commit", required=True, help="what was measured")
    parser.add_argument("--output", type=Path, default=ROOT / "results" / "cpu" / "overhead.json")
    arguments = parser.parse_args()
    subprocess.run(["cmake", "--preset", "release"], cwd=ROOT, check=True, capture_output=True)
    subprocess.run(["cmake", "--build", "--preset", "release", "--target", "cpu_overhead", "tapconv_cli"],
                   cwd=ROOT, check=True,
                   capture_output=True)
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    program = next(BUILD.rglob("cpu_overhead"))
    measured = json.loads(subprocess.run([program], env=environment, check=True, stdout=subprocess.PIPE).stdout)
    cpu = next(line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name"))
    compiler = subprocess.run(["c++", "--version"], check=True, capture_output=True, text=True).stdout.splitlines()[0]
    report = {"date": datetime.date.today().isoformat(), "script": "bench/cpu_overhead.py", "commit": arguments.commit,
              "cpu": cpu, "cores": os.cpu_count(), "load": round(os.getloadavg()[0], 1), "compiler": compiler,
              "ratios": "engine / oneDNN by hand in its fastest way: medians over rounds, both set up anew in each, of pairs "
                        "in random order, with intervals of at least 95 %; times are the processor's, a call", **measured, "start": start_times()}
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
