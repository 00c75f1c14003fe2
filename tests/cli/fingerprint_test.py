#!/usr/bin/env python3
"""`tapconv fingerprint`: of the engine, of a library, of PyTorch's process, of files, and of suites."""

import json
import os
import stat
import subprocess
import tempfile
import unittest
from pathlib import Path

import jsonschema

from harness import ROOT, main, program

SCHEMAS = {
    name: json.loads((ROOT / f"docs/schemas/{name}.schema.json").read_text())
    for name in ("fingerprint", "fingerprint-suite")
}
TF32, EXACT = "Conv2d(16, 8, 3, math=tf32) @ 1x16x20x20", "Conv1d(16, 8, 3, bias=False) @ 2x16x60"


class Fingerprint(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.list = self.folder / "problems.txt"
        self.list.write_text(f"{TF32}\n{EXACT}\n")
        self.out = self.folder / "out.json"

    def run_tapconv(self, *arguments: str, python: str | None = None) -> subprocess.CompletedProcess:
        environment = os.environ | ({"TAPCONV_PYTHON": python} if python else {})
        return subprocess.run(
            [program(), *arguments], env=environment, capture_output=True, text=True, timeout=120, check=False
        )

    def report(self, *arguments: str, code: int = 0, python: str | None = None) -> dict:
        done = self.run_tapconv("fingerprint", *arguments, "--json", python=python)
        self.assertEqual(code, done.returncode, done.stderr)
        report = json.loads(done.stdout)
        jsonschema.validate(report, SCHEMAS["fingerprint"], jsonschema.Draft202012Validator)
        return report

    def suite(self, *arguments: str, code: int = 0) -> dict:
        """The file that a run wrote, which is what --json printed."""
        command = ("fingerprint", "--suite", f"@{self.list}", "--device", "cpu", "--out", str(self.out), "--json")
        done = self.run_tapconv(*command, *arguments)
        self.assertEqual(code, done.returncode, done.stderr)
        document = json.loads(done.stdout)
        self.assertEqual(document, json.loads(self.out.read_text()))
        validator = jsonschema.Draft202012Validator
        jsonschema.validate(document, SCHEMAS["fingerprint-suite"], validator)
        for row in document["rows"]:
            if row["report"]:
                jsonschema.validate(row["report"], SCHEMAS["fingerprint"], validator)
        return document

    def interpreter(self, text: str) -> str:
        """A program that stands in for Python with PyTorch."""
        path = self.folder / "python"
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    def test_engine_and_library(self) -> None:
        report = self.report(TF32, "--device", "cpu", "--of", "engine,onednn")
        self.assertEqual("tf32-rna", report["entries"][0]["arithmetic"])
        self.assertEqual({"fp32"}, {entry["arithmetic"] for entry in report["entries"][1:]})
        self.assertTrue(report["as_declared"])
        self.assertEqual(("", None), (report["reference_arithmetic"], report["agrees"]))
        text = self.run_tapconv("fingerprint", TF32, "--device", "cpu").stdout
        self.assertIn("oneDNN (contiguous): tf32-rna\n", text)
        self.assertEqual(1, sum(line.endswith("*") for line in text.splitlines()), text)

    def test_a_file(self) -> None:
        files = {name: str(self.folder / f"{name}.npy") for name in ("x", "w", "y")}
        saved = ("--save-input", files["x"], "--save-weight", files["w"], "--out", files["y"])
        self.assertEqual(0, self.run_tapconv("run", EXACT, "--device", "cpu", "--seed", "3", *saved).returncode)
        for of_these in (("--seed", "3"), ("--input", files["x"], "--weight", files["w"])):
            (entry,) = self.report(EXACT, "--of", files["y"], *of_these)["entries"]
            self.assertEqual(("file", "fp32"), (entry["source"], entry["arithmetic"]))
        (entry,) = self.report(EXACT, "--of", files["y"])["entries"]
        self.assertEqual("unknown", entry["arithmetic"], "of another seed")
        both = self.report(EXACT, "--of", f"{files['y']},engine", "--seed", "3", "--device", "cpu")
        self.assertEqual(["engine", "file"], [entry["source"] for entry in both["entries"]])

    def test_pytorch(self) -> None:
        script = self.folder / "answer.py"
        script.write_text(
            "import json, sys\n"
            "for line in sys.stdin:\n"
            "    request = json.loads(line)\n"
            "    assert request['rounds'] == [] and request['sustained_s'] == 0\n"
            "    print(json.dumps({'versions': {'PyTorch': '0'}, 'tie_outputs': [0] * len(request['tie_outputs'])}), flush=True)\n"
        )
        python = self.interpreter(f"exec python3 {script}")
        report = self.report(EXACT, "--device", "cpu", "--of", "torch", python=python)
        (entry,) = report["entries"]
        self.assertEqual(("PyTorch 0", "unknown"), (entry["name"], entry["arithmetic"]))
        self.assertEqual({"PyTorch": "0"}, report["versions"])
        failed = self.report(EXACT, "--device", "cpu", "--of", "torch", code=10, python=self.interpreter("exit 3"))
        self.assertIn("exit code 3", failed["refusals"][0]["reason"])

    def test_pytorch_as_it_is(self) -> None:
        python = os.environ.get("TAPCONV_PYTHON", "python3")
        if subprocess.run([python, "-c", "import torch"], capture_output=True, check=False).returncode != 0:
            self.skipTest(f"{python} has no PyTorch")
        (entry,) = self.report(EXACT, "--device", "cpu", "--of", "torch", python=python)["entries"]
        self.assertEqual("fp32", entry["arithmetic"])

    def test_a_suite(self) -> None:
        whole = self.suite("--commit", "0123abc")
        self.assertEqual(["engine"], whole["of"])
        self.assertEqual(
            ["tf32-rna", "fp32"], [row["report"]["entries"][0]["arithmetic"] for row in whole["rows"]]
        )
        self.assertEqual(whole, self.suite("--commit", "0123abc", "--resume"))
        first = self.suite("--shard", "1/2")
        self.assertEqual([TF32], [row["problem"] for row in first["rows"]])
        self.assertEqual(first["rows"][0], self.suite("--shard", "2/2", "--resume")["rows"][0])

    def test_disagreement_is_no_success(self) -> None:
        whole = self.suite()
        for changed in ({"agrees": False, "reference_arithmetic": "tf32-rn"}, {"as_declared": False}):
            document = json.loads(json.dumps(whole))
            document["rows"][1]["report"] |= changed
            self.out.write_text(json.dumps(document))
            self.suite("--resume", code=5)

    def test_a_problem_without_an_answer_is_no_success(self) -> None:
        self.list.write_text(f"{EXACT}\nConv1d(4, 6, 3, dtype=float16) @ 2x4x20\n")
        document = self.suite("--math", "tf32", code=10)
        self.assertIsNone(document["rows"][1]["report"])
        self.assertIn("tf32", document["rows"][1]["reason"])

    def test_misuse(self) -> None:
        suite = ("--suite", f"@{self.list}", "--device", "cpu")
        (self.folder / "x.npy").write_text("")
        for arguments, word in (
            ((), "--suite"),
            ((EXACT, *suite), "--suite"),
            ((EXACT, "--out", str(self.out)), "--out needs --suite"),
            ((EXACT, "--device", "cpu", "--of", "cudnn"), "valid on cpu: engine, onednn, torch, torch-benchmark"),
            ((EXACT, "--device", "cpu", "--of", "engine,engine"), "twice"),
            ((EXACT, "--device", "cpu", "--of", "a.npy,b.npy"), "a.npy"),
            ((EXACT, "--device", "cpu", "--of", str(self.folder / "x.npy")), "x.npy"),
            ((EXACT, "--device", "cpu", "--worker-timeout-s", "0"), "worker_timeout_s"),
            ((*suite, "--resume"), "--out"),
        ):
            done = self.run_tapconv("fingerprint", *arguments)
            self.assertIn(done.returncode, (2, 10), (arguments, done.stderr))
            self.assertIn(word, done.stderr)


if __name__ == "__main__":
    main()
