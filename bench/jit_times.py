#!/usr/bin/env python3
"""Times the compilation of kernels, one at a time, and their way back from the cache on the disk.

    python3 bench/jit_times.py --commit HASH --out results/h200

Needs a GPU and the build of scripts/gpu_suite.py. Compiles the published problems and those of every list, and writes jit_times.json.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
from gpu_suite import evidence_header  # noqa: E402

ARCHITECTURE = "90a"
PROCESSES = 4  # fewer than cores, so that they do not slow each other down


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--commit", required=True, help="the commit that this tree is")
    parser.add_argument("--out", required=True, type=Path, help="folder of jit_times.json")
    arguments = parser.parse_args()
    build = ROOT / "build" / "gpu"

    def tapconv(*words: str) -> dict:
        return json.loads(subprocess.run([build / "tapconv", *words, "--json"], check=True, capture_output=True, text=True).stdout)

    lists = tapconv("problems")["lists"]
    problems = sorted({entry["problem"] for one in lists for entry in tapconv("problems", one["name"])["problems"]})
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"TAPCONV_CACHE_DIR": folder}

        def times(part: list[str]) -> list[dict]:
            command = [build / "bench" / "jit_times", ARCHITECTURE, *part]
            done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
            return [json.loads(line) for line in done.stdout.splitlines()]

        with ThreadPoolExecutor(PROCESSES) as pool:
            kernels = [row for rows in pool.map(times, [problems[i::PROCESSES] for i in range(PROCESSES)]) for row in rows]
    compile_ms, cache_ms = [row["compile_ms"] for row in kernels], [row["cache_ms"] for row in kernels]
    summary = {
        "kernels": len(kernels),
        "compile_ms": {"median": statistics.median(compile_ms), "most": max(compile_ms)},
        "cache_ms": {"median": statistics.median(cache_ms), "most": max(cache_ms)},
        "all_from_cache": all(row["from_cache"] for row in kernels),
    }
    print(summary)
    header = evidence_header("bench/jit_times.py", arguments.commit, tapconv("specs"))
    (arguments.out / "jit_times.json").write_text(json.dumps(header | {"summary": summary, "kernels": kernels}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
