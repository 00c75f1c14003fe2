#!/usr/bin/env python3
"""`tapconv bench --compare`: of files that bench wrote."""

import json
import tempfile
import unittest
from pathlib import Path

import jsonschema

from harness import ROOT, main, tapconv

SCHEMA = json.loads((ROOT / "docs/schemas/compare.schema.json").read_text())
PROBLEM = "Conv2d(4, 6, 3, bias=False) @ 1x4x9x9"
QUICK = ("--device", "cpu", "--rounds", "8", "--idle-ms", "0", "--sustained-s", "0")


class Compare(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        done = tapconv("bench", PROBLEM, *QUICK, "--json")
        self.assertEqual(0, done.returncode, done.stderr)
        self.result = json.loads(done.stdout)
        self.a = self.write("a.json", self.result)

    def write(self, name: str, document: dict) -> str:
        path = self.folder / name
        path.write_text(json.dumps(document))
        return str(path)

    def compared(self, a: str, b: str, *arguments: str, code: int = 0) -> dict:
        done = tapconv("bench", "--compare", a, b, "--json", *arguments)
        self.assertEqual(code, done.returncode, done.stderr)
        comparison = json.loads(done.stdout)
        jsonschema.validate(comparison, SCHEMA, jsonschema.Draft202012Validator)
        return comparison

    def times(self, factor: float) -> dict:
        """The result with other times."""
        document = json.loads(json.dumps(self.result))
        engine = document["engine"]
        for field in ("spaced_ms", "spaced_min_ms", "spaced_max_ms"):
            engine[field] *= factor
        engine["spaced_rounds_ms"] = [ms * factor for ms in engine["spaced_rounds_ms"]]
        return document

    def test_one_problem(self) -> None:
        self.assertEqual(8, len(self.result["engine"]["spaced_rounds_ms"]))
        same = self.compared(self.a, self.a)
        self.assertEqual((0, 0, 1), (same["faster"], same["slower"], same["unclear"]))
        slower = self.write("b.json", self.times(1000))
        (row,) = self.compared(self.a, slower, code=11)["rows"]
        self.assertEqual("slower", row["change"])
        self.assertAlmostEqual(1000, row["ratio"], delta=700)
        (row,) = self.compared(slower, self.a)["rows"]
        self.assertEqual("faster", row["change"])
        text = tapconv("bench", "--compare", self.a, slower).stdout
        self.assertIn(f"slower          {PROBLEM}\n", text)
        self.assertIn("0 faster, 1 slower, 0 unclear, 0 not comparable; geometric mean of B / A: ", text)

    def test_a_suite_and_one_of_its_problems(self) -> None:
        problems, out = self.folder / "problems.txt", self.folder / "suite.json"
        problems.write_text(f"{PROBLEM}\nConv1d(4, 6, 3) @ 2x4x20\n")
        done = tapconv("bench", "--suite", f"@{problems}", *QUICK, "--out", str(out))
        self.assertEqual(0, done.returncode, done.stderr)
        both = self.compared(str(out), str(out))
        self.assertEqual(2, both["unclear"])
        done = tapconv("bench", "--compare", str(out), self.a, "--json")
        self.assertIn(done.returncode, (0, 11), done.stderr)
        mixed = json.loads(done.stdout)
        self.assertEqual((1, 1, 0), (len(mixed["rows"]), len(mixed["only_in_a"]), len(mixed["only_in_b"])))

    def test_wrong_outputs(self) -> None:
        wrong = self.times(0.001)
        wrong["engine"]["max_bound_ratio"] = 2
        comparison = self.compared(self.a, self.write("b.json", wrong), code=5)
        self.assertEqual((0, 1), (comparison["faster"], comparison["not_comparable"]))

    def test_other_devices_are_compared_only_if_told(self) -> None:
        other = self.write("b.json", self.result | {"device_name": "another"})
        done = tapconv("bench", "--compare", self.a, other)
        self.assertEqual(2, done.returncode)
        self.assertIn("--force compares them all the same", done.stderr)
        self.assertEqual(1, len(self.compared(self.a, other, "--force")["differences"]))

    def test_misuse(self) -> None:
        for arguments, code in (
            (("--compare", self.a), 2),
            (("--compare", self.a, str(self.folder / "none.json")), 10),
            (("--compare", self.a, str(self.folder)), 10),
            (("--compare", self.a, str(ROOT / "README.md")), 2),
            (("--compare", self.a, str(ROOT / "docs/schemas/bench.schema.json")), 2),
            ((PROBLEM, "--compare", self.a, self.a), 2),
            ((PROBLEM, "--device", "cpu", "--force"), 2),
        ):
            done = tapconv("bench", *arguments)
            self.assertEqual(code, done.returncode, (arguments, done.stderr))

    def test_measured_results_beside_themselves(self) -> None:
        file = str(ROOT / "results/h200/kernelbench.json")
        comparison = self.compared(file, file)
        self.assertEqual(35, comparison["unclear"])
        for row in comparison["rows"]:
            self.assertAlmostEqual(1, row["ratio"])


if __name__ == "__main__":
    main()
