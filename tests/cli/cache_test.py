#!/usr/bin/env python3
"""The cache command, on entries that are written here from the description of their format."""

import hashlib
import json
import os
import struct
import subprocess
import tempfile
import unittest
from pathlib import Path

import jsonschema

from harness import ROOT, main, program

SCHEMA = json.loads((ROOT / "docs/schemas/cache.schema.json").read_text())


def entry_bytes(key: str, name: str, image: bytes) -> bytes:
    log = b"log"
    body = b"tapcubin" + bytes.fromhex(key) + struct.pack("<3Q", len(name), len(log), len(image)) + name.encode() + log + image
    return body + hashlib.sha256(body).digest()


class Cache(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.top, self.layer = self.folder / "top", self.folder / "layer"
        self.environment = {"TAPCONV_CACHE_DIR": f"{self.top}:{self.layer}"}

    def put(self, root: Path, number: int, *, age_s: int = 0, size: int = 1000, architecture: str = "sm_90a") -> Path:
        key = hashlib.sha256(str(number).encode()).hexdigest()
        path = root / "v1" / architecture / f"{key}.cubin"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(entry_bytes(key, f"kernel{number}", bytes(size)))
        used = path.stat().st_mtime - age_s
        os.utime(path, (used, used))
        return path

    def cache(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [program(), "cache", *arguments], env=self.environment | environment, capture_output=True, text=True, timeout=60, check=False
        )

    def read(self, *arguments: str, exit_code: int = 0) -> dict:
        done = self.cache(*arguments, "--json")
        self.assertEqual(exit_code, done.returncode, done.stderr)
        value = json.loads(done.stdout)
        jsonschema.validate(value, SCHEMA, jsonschema.Draft202012Validator)
        return value

    def test_list(self) -> None:
        self.assertEqual({"folders": [{"path": str(self.top), "written": True, "kernels": []},
                                      {"path": str(self.layer), "written": False, "kernels": []}],
                          "max_byte": 1 << 30}, self.read("list"))  # fmt: skip
        old = self.put(self.top, 1, age_s=7200)
        new = self.put(self.top, 2, architecture="sm_80")
        below = self.put(self.layer, 3)
        top, layer = self.read("list")["folders"]
        self.assertEqual([str(new), str(old)], [kernel["path"] for kernel in top["kernels"]])
        self.assertEqual([str(below)], [kernel["path"] for kernel in layer["kernels"]])
        kernel = top["kernels"][1]
        self.assertEqual((old.stem, "sm_90a", "kernel1", old.stat().st_size, None),
                         tuple(kernel[field] for field in ("key", "architecture", "entry", "byte", "fault")))  # fmt: skip
        self.assertAlmostEqual(7200, kernel["unused_s"], delta=60)
        text = self.cache("list").stdout.splitlines()
        self.assertEqual(f"{self.top} (at most {1 << 30} bytes)", text[0])
        self.assertEqual(f"{self.layer} (read-only)", text[3])
        self.assertRegex(text[2], rf"^  {old.stem[:12]}  sm_90a +{old.stat().st_size} bytes  used +2 h ago  kernel1$")

    def test_where(self) -> None:
        self.assertEqual("off: no folder\n", self.cache("list", TAPCONV_CACHE_DIR="").stdout)
        self.assertEqual([], json.loads(self.cache("list", "--json", TAPCONV_CACHE_DIR="").stdout)["folders"])
        self.environment = {"HOME": "/home/me", "TAPCONV_CACHE_MAX_BYTES": "5"}
        self.assertEqual("/home/me/.cache/tapconv (at most 5 bytes)\n", self.cache("list").stdout)
        self.environment = {"HOME": "/home/me", "XDG_CACHE_HOME": "/xdg"}
        self.assertTrue(self.cache("list").stdout.startswith("/xdg/tapconv ("))
        done = self.cache("list", TAPCONV_CACHE_MAX_BYTES="1G")
        self.assertEqual((0, 1), (done.returncode, done.stderr.count("TAPCONV_CACHE_MAX_BYTES = 1G")))
        self.assertEqual("", self.cache("list", TAPCONV_CACHE_MAX_BYTES="1G", TAPCONV_LOG="off").stderr)

    def test_verify_names_what_is_bad(self) -> None:
        self.put(self.top, 1)
        self.assertEqual((0, "1 good, 0 bad\n", ""), (lambda done: (done.returncode, done.stdout, done.stderr))(self.cache("verify")))
        bad = self.put(self.layer, 2)
        content = bytearray(bad.read_bytes())
        content[-40] ^= 1
        bad.write_bytes(content)
        done = self.cache("verify")
        self.assertEqual((5, "1 good, 1 bad\n"), (done.returncode, done.stdout))
        self.assertEqual(f"tapconv: {bad}: its checksum is wrong\n", done.stderr)
        verified = self.read("verify", exit_code=5)
        self.assertEqual((1, 1), (verified["good"], verified["bad"]))
        self.assertIn("its checksum is wrong", verified["folders"][1]["kernels"][0]["fault"])
        self.assertIsNone(self.read("list")["folders"][1]["kernels"][0]["fault"])
        bad.write_bytes(b"")
        self.assertIn("it is cut off", self.read("list")["folders"][1]["kernels"][0]["fault"])
        self.assertIn("  bad\n", self.cache("list").stdout)

    def test_prune(self) -> None:
        paths = [self.put(self.top, number, age_s=1000 * number) for number in range(5)]
        below = self.put(self.layer, 9)
        size = paths[0].stat().st_size
        kept = {"removed": 0, "removed_byte": 0, "kept": 5, "kept_byte": 5 * size}
        self.assertEqual(kept, self.read("prune"))
        done = self.cache("prune", "--max-bytes", str(3 * size))
        self.assertEqual(f"removed 2 ({2 * size} bytes), kept 3 ({3 * size} bytes)\n", done.stdout)
        self.assertEqual([True, True, True, False, False], [path.exists() for path in paths])
        paths[0].write_bytes(b"bad")
        self.assertEqual(1, self.read("prune")["removed"])
        self.assertEqual(2, self.read("prune", "--all")["removed"])
        self.assertTrue(below.exists())
        self.assertEqual(0, json.loads(self.cache("prune", "--all", "--json", TAPCONV_CACHE_DIR="").stdout)["removed"])

    def test_export_makes_a_layer(self) -> None:
        first, second, bad = self.put(self.top, 1), self.put(self.layer, 2, architecture="sm_80"), self.put(self.layer, 3)
        self.put(self.layer, 1)
        bad.write_bytes(b"bad")
        target = self.folder / "new" / "layer"
        result = self.read("export", str(target), exit_code=5)
        self.assertEqual((2, 1), (result["copied"], result["present"]))
        self.assertEqual([str(bad)], [kernel["path"] for kernel in result["bad"]])
        for path, root in ((first, self.top), (second, self.layer)):
            self.assertEqual(path.read_bytes(), (target / path.relative_to(root)).read_bytes())
        bad.unlink()
        self.assertEqual("copied 0 (0 bytes), 3 were there\n", self.cache("export", str(target)).stdout)
        self.environment = {"TAPCONV_CACHE_DIR": f":{target}"}
        self.assertEqual([(str(target), False, 2)], [(f["path"], f["written"], len(f["kernels"])) for f in self.read("verify")["folders"]])
        self.environment = {"TAPCONV_CACHE_DIR": f"{self.top}"}
        done = self.cache("export", "/proc/tapconv")
        self.assertEqual(10, done.returncode)
        self.assertIn("/proc/tapconv", done.stderr)

    def test_export_to_what_is_no_folder(self) -> None:
        file = self.folder / "file"
        file.write_text("mine")
        for full in (False, True):
            if full:
                self.put(self.top, 1)
            for target in (file, file / "below", Path("/proc/tapconv")):
                done = self.cache("export", str(target))
                self.assertEqual(10, done.returncode, target)
                self.assertIn(f"cannot make {target}: ", done.stderr)
        self.assertEqual("mine", file.read_text())

    def test_a_folder_that_is_a_file_is_told_of(self) -> None:
        file = self.folder / "file"
        file.touch()
        for action in ("list", "verify"):
            done = self.cache(action, "--json", TAPCONV_CACHE_DIR=str(file))
            self.assertEqual((0, f"tapconv: {file} is not a folder: no kernels are kept in it\n"), (done.returncode, done.stderr))
            self.assertEqual([], json.loads(done.stdout)["folders"][0]["kernels"])

    def test_usage(self) -> None:
        for arguments in (
            [], ["frobnicate"], ["list", "x"], ["export"], ["export", ""], ["export", "a", "b"], ["list", "--all"], ["prune", "--max-bytes", "-1"],
            ["prune", "--max-bytes", "1G"], ["prune", "--max-bytes", ""], ["prune", "--all", "--max-bytes", "1"], ["verify", "--max-bytes", "1"],
        ):  # fmt: skip
            self.assertEqual(2, self.cache(*arguments).returncode, arguments)
        self.assertIn("list, verify, prune or export FOLDER (see tapconv cache --help)", self.cache().stderr)

    def test_a_hostile_name_is_printed(self) -> None:
        key = hashlib.sha256(b"1").hexdigest()
        path = self.top / "v1" / "sm_90a" / f"{key}.cubin"
        path.parent.mkdir(parents=True)
        body = b"tapcubin" + bytes.fromhex(key) + struct.pack("<3Q", 2, 0, 0) + b"\xff\n"
        path.write_bytes(body + hashlib.sha256(body).digest())
        self.assertEqual(1, len(self.read("list")["folders"][0]["kernels"]))


if __name__ == "__main__":
    main()
