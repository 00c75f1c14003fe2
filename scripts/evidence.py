#!/usr/bin/env python3
"""What ties results/<gpu>/*.json to the code that made them.

    python3 scripts/evidence.py        says whether every results file was measured on the device code as it is now

Exits with 1 if evidence is missing or malformed; stale evidence is shown loudly and is no error, since a machine without a GPU
cannot renew it.
"""

import hashlib
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DEVICE_CODE = ("kernels", "src/cuda", "src/solver")
REQUIRED = ("date", "gpu", "driver", "versions", "commit", "device_code_sha256", "script")


def device_code_hash(root: Path = ROOT) -> str:
    """SHA-256 over paths and contents of everything that decides what runs on a GPU."""
    digest = hashlib.sha256()
    for folder in DEVICE_CODE:
        for path in sorted((root / folder).rglob("*")):
            if path.is_file():
                content = path.read_bytes()
                digest.update(f"{path.relative_to(root).as_posix()}\0{len(content)}\0".encode())
                digest.update(content)
    return digest.hexdigest()


def problems_of(header: dict) -> list[str]:
    """What a results file lacks to be evidence."""
    problems = [f"has no {field}" for field in REQUIRED if not header.get(field)]
    if not re.fullmatch(r"[0-9a-f]{7,40}", str(header.get("commit", ""))):
        problems.append(f"commit = {header.get('commit')!r}; valid: 7 to 40 hexadecimal digits")
    return problems


def main() -> int:
    files = [path for path in sorted((ROOT / "results").glob("*/*.json")) if path.parent.name != "cpu"]
    if not files:
        print("evidence: no results of a GPU are committed")
        return 1
    current, status, stale = device_code_hash(), 0, []
    for path in files:
        header = json.loads(path.read_text())
        for problem in problems_of(header):
            print(f"evidence: {path.relative_to(ROOT)} {problem}")
            status = 1
        if header.get("device_code_sha256") != current:
            stale.append(path)
    if stale:
        line = "!" * 78
        print(f"{line}\nSTALE EVIDENCE: kernels/, src/cuda or src/solver have changed since these were measured:")
        for path in stale:
            print(f"  {path.relative_to(ROOT)}")
        print(f"Run scripts/gpu_suite.py on a GPU and commit what it writes.\n{line}")
    else:
        print(f"evidence: {len(files)} results files were measured on the device code as it is")
    return status


if __name__ == "__main__":
    sys.exit(main())
