#!/usr/bin/env python3
"""Runs every fuzzer for a long time and writes what came of it.

    python3 scripts/fuzz.py --commit HASH [--seconds 600] [--output results/cpu/fuzzing.json]

Needs the preset "asan" to be built (scripts/test.sh does). Exits with 1 if a fuzzer found anything.
"""

import argparse
import datetime
import json
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FUZZERS = sorted(path.name.removesuffix("_fuzz.cpp") for path in (ROOT / "tests" / "fuzz").glob("*_fuzz.cpp"))


def fuzz(subject: str, seconds: int) -> dict:
    """From the seeds alone, in a corpus that is thrown away."""
    with tempfile.TemporaryDirectory() as corpus:
        command = [
            ROOT / "build" / "asan" / "tests" / f"{subject}_fuzz", f"-max_total_time={seconds}", "-timeout=20", "-rss_limit_mb=2048",
            "-print_final_stats=1", f"-artifact_prefix={ROOT}/build/fuzz-{subject}-", f"-dict={ROOT}/tests/fuzz/{subject}.dict",
            corpus, ROOT / "tests" / "fuzz" / "seeds" / subject,
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    runs = re.search(r"stat::number_of_executed_units:\s*(\d+)", done.stderr)
    edges = re.findall(r"cov: (\d+)", done.stderr)
    found = re.findall(r"(?m)^(?:SUMMARY|==\d+==).*$", done.stderr) if done.returncode else []
    return {"fuzzer": subject, "exit_code": done.returncode, "runs": int(runs[1]) if runs else None,
            "edges": int(edges[-1]) if edges else None, "findings": found}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--commit", required=True)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--output", type=Path, default=ROOT / "results" / "cpu" / "fuzzing.json")
    arguments = parser.parse_args()
    (ROOT / "build").mkdir(exist_ok=True)
    with ThreadPoolExecutor(len(FUZZERS)) as pool:
        results = list(pool.map(lambda subject: fuzz(subject, arguments.seconds), FUZZERS))
    report = {"date": datetime.date.today().isoformat(), "script": "scripts/fuzz.py", "commit": arguments.commit,
              "sanitizers": "address, undefined", "seconds_each": arguments.seconds, "fuzzers": results}  # fmt: skip
    arguments.output.write_text(json.dumps(report, indent=2) + "\n")
    print(json.dumps(results, indent=2))
    sys.exit(any(result["exit_code"] for result in results))


if __name__ == "__main__":
    main()
