#!/usr/bin/env python3
"""Times variants of the direct kernel that differ in how far the innermost loop is unrolled and how many blocks share a multiprocessor.

    python3 bench/direct_variants.py --commit HASH --out results/h200

Needs a GPU. Builds each variant from a copy of the tree and writes direct_variants.json.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
from gpu_suite import evidence_header  # noqa: E402

UNROLL_AND_BLOCKS = ((8, 3), (4, 3), (2, 4), (8, 4), (16, 3))
PROBLEMS = ("kb56(math=fp32)", "kb56(math=tf32)", "kb76(math=fp32)", "kb50", "kb60", "kb82", "kb84")


def substitute(path: Path, pattern: str, replacement: str) -> None:
    text, count = re.subn(pattern, replacement, path.read_text())
    if count != 1:
        sys.exit(f"{path}: {pattern!r} was found {count} times; this script no longer fits the kernel")
    path.write_text(text)


def build(tree: Path, unroll: int, blocks: int) -> Path:
    substitute(tree / "kernels/tapconv/direct.cuh", r"#pragma unroll\(\d+\)", f"#pragma unroll({unroll})")
    substitute(tree / "src/solver/direct.cpp", r"blocks_per_multiprocessor = \d", f"blocks_per_multiprocessor = {blocks}")
    subprocess.run(["cmake", "--preset", "gpu", "-DTAPCONV_TESTS=OFF"], cwd=tree, check=True, capture_output=True)
    subprocess.run(["cmake", "--build", "--preset", "gpu"], cwd=tree, check=True, capture_output=True)
    return tree / "build" / "gpu" / "tapconv"


def spaced_ms(tapconv: Path, problem: str) -> float:
    command = [tapconv, "bench", problem, "--rounds", "7", "--idle-ms", "20", "--sustained-s", "0", "--json"]
    return json.loads(subprocess.run(command, check=False, capture_output=True, text=True).stdout)["engine"]["spaced_ms"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--commit", required=True, help="the commit that this tree is")
    parser.add_argument("--out", required=True, type=Path, help="folder of direct_variants.json")
    arguments = parser.parse_args()
    variants = []
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tapconv"
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns("build", ".git", ".deps"))
        for unroll, blocks in UNROLL_AND_BLOCKS:
            tapconv = build(tree, unroll, blocks)
            times = {problem: spaced_ms(tapconv, problem) for problem in PROBLEMS}
            variants.append({"unroll": unroll, "blocks_per_multiprocessor": blocks, "spaced_ms": times})
            print(unroll, blocks, {problem: round(ms, 3) for problem, ms in times.items()})
        specs = json.loads(subprocess.run([tapconv, "specs", "--json"], check=True, capture_output=True, text=True).stdout)
    header = evidence_header("bench/direct_variants.py", arguments.commit, specs)
    (arguments.out / "direct_variants.json").write_text(json.dumps(header | {"variants": variants}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
