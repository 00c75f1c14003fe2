#!/usr/bin/env python3
"""`tapconv bench --suite`, and PyTorch's process beside it: what it says is judged, and however it fails a sentence tells of it."""

import json
import os
import stat
import subprocess
import tempfile
import unittest
from pathlib import Path

import jsonschema

from harness import ROOT, main, program

SCHEMAS = {name: json.loads((ROOT / f"docs/schemas/{name}.schema.json").read_text()) for name in ("bench", "suite")}
PROBLEMS = ("Conv2d(4, 6, 3, bias=False) @ 1x4x9x9", "Conv1d(4, 6, 3, math=tf32) @ 2x4x20", "DepthwiseSeparable2d(4, 6, 3) @ 1x4x8x8")
QUICK = ("--device", "cpu", "--rounds", "1", "--idle-ms", "0", "--sustained-s", "0")


class Suite(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.list = self.folder / "problems.txt"
        self.list.write_text("\n".join(PROBLEMS) + "\n")
        self.out = self.folder / "out.json"

    def bench(self, *arguments: str, python: str | None = None) -> subprocess.CompletedProcess:
        environment = os.environ | ({"TAPCONV_PYTHON": python} if python else {})
        command = [program(), "bench", *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)

    def suite(self, *arguments: str, codes: tuple[int, ...] = (0,), python: str | None = None) -> dict:
        """The file that a run wrote, which is what --json printed."""
        done = self.bench("--suite", f"@{self.list}", *QUICK, "--out", str(self.out), "--json", *arguments, python=python)
        self.assertIn(done.returncode, codes, done.stderr)
        printed, written = json.loads(done.stdout), json.loads(self.out.read_text())
        self.assertEqual(printed, written)
        self.check_schema(written)
        self.stderr = done.stderr
        return written

    def check_schema(self, document: dict) -> None:
        validator = jsonschema.Draft202012Validator
        jsonschema.validate(document, SCHEMAS["suite"], validator)
        for row in document["rows"]:
            if row["report"]:
                jsonschema.validate(row["report"] | {"seed": document["protocol"]["seed"]}, SCHEMAS["bench"], validator)

    def interpreter(self, text: str) -> str:
        """A program that stands in for Python with PyTorch."""
        path = self.folder / "python"
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    def test_rows(self) -> None:
        document = self.suite("--against", "onednn", "--markdown", str(self.folder / "out.md"), "--commit", "0123abc")
        self.assertEqual("0123abc", document["commit"])
        self.assertEqual(["onednn"], document["against"])
        plain, tf32, separable = document["rows"]
        self.assertEqual(("fp32", "tf32", "fp32"), tuple(row["contract"] for row in document["rows"]))
        for row in document["rows"]:
            self.assertEqual("", row["reason"])
            self.assertLessEqual(row["report"]["engine"]["max_bound_ratio"], 1)
        for row in (plain, tf32):
            report = row["report"]
            self.assertEqual(report["considered"] + report["refused"], len(report["trials"]))
            self.assertGreater(report["considered"], 0)
            best = row["best"][0]
            self.assertEqual(("contiguous", False), (best["layout"], best["transforms"]))
            self.assertEqual(report["references"][0]["spaced_ms"], best["spaced_ms"])
            self.assertAlmostEqual(best["spaced_ms"] / report["engine"]["spaced_ms"], best["ratio"])
        self.assertIn("depthwise separable", separable["report"]["refusal"])
        self.assertEqual([], separable["best"])
        table = (self.folder / "out.md").read_text()
        self.assertIn(", commit 0123abc. Spaced medians", table)
        self.assertEqual(3, table.count("| oneDNN |"))
        self.assertIn("Geometric mean of onednn's best / ours over 2 rows:", table)
        self.assertIn(f"- {separable['name']}, onednn: {separable['report']['refusal']}", table)

    def test_shards_add_up(self) -> None:
        first = self.suite("--shard", "1/2", "--markdown", str(self.folder / "out.md"))
        self.assertNotIn("commit", (self.folder / "out.md").read_text())
        self.assertEqual([0, 2], [PROBLEMS.index(row["problem"]) for row in first["rows"]])
        both = self.suite("--shard", "2/2", "--resume")
        self.assertEqual(list(PROBLEMS), [row["problem"] for row in both["rows"]])
        self.assertEqual([row for row in both["rows"] if row in first["rows"]], first["rows"])
        again = self.suite("--resume")
        self.assertEqual(both, again)

    def test_a_killed_run_is_resumed(self) -> None:
        whole = self.suite()
        partial = whole | {"rows": whole["rows"][:2]}
        partial["rows"][1] = partial["rows"][1] | {"reason": "not enough memory", "report": None, "best": []}
        self.out.write_text(json.dumps(partial))
        resumed = self.suite("--resume")
        self.assertEqual(whole["rows"][0], resumed["rows"][0])
        self.assertEqual(3, len([row for row in resumed["rows"] if row["report"]]))
        self.assertEqual([self.out, self.list], sorted(self.folder.iterdir()))

    def test_rows_of_another_run_are_measured_again(self) -> None:
        whole = self.suite("--commit", "0123abc")
        self.suite("--commit", "0123abd", "--resume")
        self.assertIn("of another run (commit differ)", self.stderr)
        self.out.write_text(json.dumps(whole | {"device_code_sha256": "0" * 64, "rows": [whole["rows"][0] | {"date": "never"}]}))
        again = self.suite("--commit", "0123abc", "--resume")
        self.assertIn("device_code_sha256", self.stderr)
        self.assertNotIn("never", json.dumps(again))
        for broken in ("", "[]", "{", '{"rows": []}'):
            self.out.write_text(broken)
            done = self.bench("--suite", f"@{self.list}", *QUICK, "--out", str(self.out), "--resume")
            self.assertEqual(10, done.returncode)
            self.assertIn("is not a file of results", done.stderr)
            self.assertEqual(broken, self.out.read_text())

    def test_contracts(self) -> None:
        self.list.write_text(f"{PROBLEMS[0]}\nConv1d(4, 6, 3, dtype=float16) @ 2x4x20\n")
        rows = self.suite("--math", "fp32,tf32")["rows"]
        self.assertEqual(["fp32", "tf32", "fp32", "tf32"], [row["contract"] for row in rows])
        self.assertEqual(["fp32", "tf32-rna"], [row["report"]["engine"]["arithmetic"] for row in rows[:2]])
        self.assertIn("tf32", rows[3]["reason"])
        self.assertIsNone(rows[3]["report"])

    def test_nothing_measured_is_no_success(self) -> None:
        self.list.write_text("Conv1d(4, 6, 3, dtype=float16) @ 2x4x20\n")
        self.suite("--math", "tf32", codes=(10,))

    def test_misuse(self) -> None:
        suite = ("--suite", f"@{self.list}", "--device", "cpu")
        for arguments, word in (
            ((), "--suite"),
            ((PROBLEMS[0], *suite), "--suite"),
            ((PROBLEMS[0], "--out", str(self.out)), "--out needs --suite"),
            ((PROBLEMS[0], "--math", "fp32"), "--math needs --suite"),
            ((*suite, "--resume"), "--out"),
            ((*suite, "--shard", "0/2"), "shard"),
            ((*suite, "--shard", "3/2"), "shard"),
            ((*suite, "--shard", "1"), "shard"),
            ((*suite, "--math", "fp33"), "fp33"),
            ((*suite, "--commit", "main"), "commit"),
            ((*suite, "--finalists", "0"), "finalists"),
            ((*suite, "--worker-timeout-s", "nan"), "worker_timeout_s"),
            ((*suite, "--against", "cudnn"), "onednn, torch, torch-benchmark"),
            ((*suite, "--against", "torch,torch"), "twice"),
            (("--suite", "nosuch"), "a list (kernelbench, "),
        ):
            done = self.bench(*arguments)
            self.assertEqual(2, done.returncode, (arguments, done.stderr))
            self.assertIn(word, done.stderr)
        done = self.bench(*suite, "--out", str(self.folder / "none" / "out.json"))
        self.assertEqual(10, done.returncode)
        self.assertIn("its folder does not exist", done.stderr)

    def test_a_failing_worker_is_a_sentence(self) -> None:
        self.list.write_text("\n".join(PROBLEMS[:2]))
        for text, word in (
            ("echo 'No module named torch' >&2; exit 3", "exit code 3; its last words: No module named torch"),
            ("kill -9 $$", "signal 9"),
            ("exec 1>&- 0<&-; sleep 60", "ended with signal 9"),
            ("read line; echo nonsense", "what is not a result"),
            ("read line; echo '[1]'", "what is not a result"),
            ("while read line; do echo '{\"error\": \"out of memory\"}'; done", "PyTorch: out of memory"),
        ):
            document = self.suite("--against", "torch", python=self.interpreter(text))
            for row in document["rows"]:
                (framework,) = row["report"]["frameworks"]
                self.assertIsNone(framework["entry"])
                self.assertIn(word, framework["reason"] if row is document["rows"][0] else word)
                self.assertNotEqual("", framework["reason"])
        document = self.suite("--against", "torch", python=str(self.folder / "missing"))
        self.assertIn("cannot start", document["rows"][1]["report"]["frameworks"][0]["reason"])

    def test_a_silent_worker_is_given_up_once(self) -> None:
        document = self.suite("--against", "torch", "--worker-timeout-s", "1", python=self.interpreter("sleep 60"))
        for row in document["rows"]:
            self.assertIn("has not answered after 1 s", row["report"]["frameworks"][0]["reason"])

    def answering(self, change: str) -> str:
        """A worker that answers zeros and times of 1 us, after `change`."""
        script = self.folder / "answer.py"
        script.write_text(
            "import json, sys\n"
            "for line in sys.stdin:\n"
            "    request = json.loads(line)\n"
            "    rounds = len(request['rounds'])\n"
            "    answer = {'spaced_ms': [1e-3] * rounds, 'sustained_ms': 0, 'benchmark': False, 'allow_tf32': True,\n"
            "              'versions': {'PyTorch': '0'}, 'tie_outputs': [0] * len(request['tie_outputs']),\n"
            "              'outputs': [[0] * len(request['outputs'])] * rounds}\n"
            f"    {change}\n"
            "    print(json.dumps(answer), flush=True)\n"
        )
        return self.interpreter(f"exec python3 {script}")

    def test_what_a_worker_says_is_judged(self) -> None:
        self.list.write_text(PROBLEMS[0])
        document = self.suite("--against", "torch", python=self.answering("pass"))
        for row in document["rows"]:
            entry = row["report"]["frameworks"][0]["entry"]
            self.assertGreater(entry["max_bound_ratio"], 1)
            self.assertEqual("unknown", entry["arithmetic"])
        for change, word in (
            ("answer['outputs'][0][0] = 'nought'", "nought"),
            ("answer['outputs'][0].pop()", "asked for"),
            ("answer['outputs'].pop()", "asked for"),
            ("answer['tie_outputs'].append(0)", "asked for"),
            ("answer['spaced_ms'][0] = 0", "impossible times"),
            ("answer['spaced_ms'][0] = 1e9", "impossible times"),
            ("answer['spaced_ms'] = []", "asked for"),
            ("answer['versions'] = {}", "version"),
            ("del answer['sustained_ms']", "what is not a result"),
        ):
            document = self.suite("--against", "torch", python=self.answering(change))
            framework = document["rows"][0]["report"]["frameworks"][0]
            self.assertIn(word, framework["reason"], change)
            self.assertIsNone(framework["entry"])
        infinite = self.suite("--against", "torch", python=self.answering("answer['outputs'][0][0] = 'nan'"))
        self.assertIsNone(infinite["rows"][0]["report"]["frameworks"][0]["entry"]["max_bound_ratio"])

    def test_pytorch_computes_on_the_same_tensors(self) -> None:
        python = os.environ.get("TAPCONV_PYTHON", "python3")
        if subprocess.run([python, "-c", "import torch"], capture_output=True, check=False).returncode != 0:
            self.skipTest(f"{python} has no PyTorch")
        self.list.write_text(
            "\n".join(
                (
                    *PROBLEMS,
                    "ConvTranspose2d(4, 6, 3, stride=2, output_padding=1) @ 1x4x5x5",
                    "Conv2d(4, 6, 3, dtype=bfloat16, layout=channels_last) @ 1x4x9x9",
                    "Conv2d(4, 6, 3, padding=1, dtype=float16) @ 1x4x9x9",
                    "Conv3d(2, 3, 3, dtype=float64) @ 1x2x4x5x6",
                    "Conv1d(4, 6, 3, padding=2, padding_mode='reflect', layout=channels_last, residual=True, activation=relu) @ 2x4x20",
                )
            )
        )
        for row in self.suite("--against", "torch,torch-benchmark", python=python)["rows"]:
            for framework, note in zip(row["report"]["frameworks"], ("cudnn.benchmark off", "cudnn.benchmark on")):
                self.assertEqual("", framework["reason"])
                self.assertLessEqual(framework["entry"]["max_bound_ratio"], 1, row["problem"])
                self.assertIn(note, framework["entry"]["notes"])


if __name__ == "__main__":
    main()
