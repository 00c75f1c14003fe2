#!/usr/bin/env python3
"""What the commands print as JSON is what docs/schemas says."""

import json
import tempfile
import unittest
from pathlib import Path

import jsonschema

from harness import ROOT, main, tapconv

SCHEMAS = {path.name.removesuffix(".schema.json"): json.loads(path.read_text()) for path in (ROOT / "docs/schemas").glob("*.json")}
PROBLEM = "Conv2d(4, 6, 3, bias=False) @ 1x4x9x9"


def fits(value: object, schema: str) -> bool:
    return jsonschema.Draft202012Validator(SCHEMAS[schema]).is_valid(value)


class Schemas(unittest.TestCase):
    def expect(self, schema: str, exit_codes: tuple[int, ...], *arguments: str) -> dict:
        done = tapconv(*arguments, "--json")
        self.assertIn(done.returncode, exit_codes, done.stderr)
        value = json.loads(done.stdout)
        jsonschema.validate(value, SCHEMAS[schema], jsonschema.Draft202012Validator)
        return value

    def test_schemas_are_schemas_and_documented(self) -> None:
        document = (ROOT / "docs/json.md").read_text()
        for name, schema in SCHEMAS.items():
            jsonschema.Draft202012Validator.check_schema(schema)
            self.assertIn(f"(schemas/{name}.schema.json)", document)

    def test_outputs(self) -> None:
        self.expect("plan", (0,), "plan", PROBLEM, "--device", "cpu")
        self.expect("plan", (0,), "plan", PROBLEM, "--device", "h200")
        self.expect("plan", (0,), "plan", "DepthwiseSeparable2d(4, 6, 3) @ 1x4x8x8", "--device", "rtx5090")
        self.expect("explain", (0,), "explain", PROBLEM, "--device", "h200")
        self.expect("explain", (0,), "explain", "--access", "float at lane")
        self.expect("plans", (0,), "plans", "list")
        self.expect("error", (2,), "tune", PROBLEM, "--device", "cpu")
        self.expect("run", (0,), "run", PROBLEM, "--device", "cpu")
        self.expect("check", (0,), "check", PROBLEM, "--device", "cpu", "--against", "onednn")
        self.expect("specs", (0,), "specs", "--device", "cpu")
        self.expect("problems", (0,), "problems")
        self.expect("problems", (0,), "problems", "kernelbench", "DepthwiseSeparable2d(4, 6, 3) @ 1x4x8x8")
        self.expect("cache", (0,), "cache", "list")
        self.expect("error", (2,), "plan", "kb99")
        quick = ["--device", "cpu", "--rounds", "2", "--idle-ms", "0", "--sustained-s", "0"]
        self.expect("bench", (0, 9), "bench", PROBLEM, *quick, "--against", "onednn")
        self.expect("bench", (0,), "bench", PROBLEM, *quick)

    def test_wrong_results(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            target = str(Path(name) / "y.npy")
            self.assertEqual(0, tapconv("run", PROBLEM, "--device", "cpu", "--out", target).returncode)
            self.expect("check", (0,), "check", PROBLEM, "--output", target)
            self.expect("check", (5,), "check", PROBLEM, "--output", target, "--seed", "1")

    def test_schemas_refuse_what_is_not_described(self) -> None:
        plan = self.expect("plan", (0,), "plan", PROBLEM, "--device", "cpu")
        self.assertFalse(fits(plan | {"more": 1}, "plan"))
        self.assertFalse(fits({key: value for key, value in plan.items() if key != "flop"}, "plan"))
        self.assertFalse(fits(plan | {"output_shape": [1, 0]}, "plan"))

    def test_problem_lists(self) -> None:
        for good in ([PROBLEM, {"name": "a", "problem": PROBLEM}], {"name": "n", "about": "a", "problems": ["kb56"]}):
            self.assertTrue(fits(good, "problem-list"))
        for bad in ({"name": "n"}, [1], [{"name": "a"}], {"problems": [], "more": 1}, "kb56"):
            self.assertFalse(fits(bad, "problem-list"))


if __name__ == "__main__":
    main()
