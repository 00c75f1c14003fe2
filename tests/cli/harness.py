"""What the tests of the command line share. Each is run as `python3 tests/cli/X_test.py PATH_TO_TAPCONV`."""

import array
import os
import struct
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# What was tuned or compiled on this machine is no part of a test: no plan database, no cache.
os.environ["TAPCONV_PLAN_DB"] = ""
os.environ["TAPCONV_CACHE_DIR"] = ""


def program() -> str:
    return sys.argv[1]


def tapconv(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([program(), *arguments], capture_output=True, text=True, timeout=120, check=False)


def write_npy(path: Path, shape: tuple, values: list[float]) -> None:
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + array.array("f", values).tobytes())


def read_npy(path: Path) -> list[float]:
    """The values of a float32 file."""
    content = path.read_bytes()
    values = array.array("f")
    values.frombytes(content[10 + struct.unpack("<H", content[8:10])[0] :])
    return list(values)


def main() -> None:
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
