#!/usr/bin/env python3
"""Results that a user brings, and the tensors that they were computed from."""

import json
import math
import tempfile
import unittest
from pathlib import Path

from harness import main, read_npy, tapconv, write_npy

PROBLEM = "Conv2d(8, 6, 3, padding=1, math={}) @ 2x8x12x10"


class GivenOutput(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def file(self, name: str) -> str:
        return str(self.folder / name)

    def run_problem(self, problem: str, *arguments: str) -> None:
        done = tapconv("run", problem, "--device", "cpu", *arguments)
        self.assertEqual(0, done.returncode, done.stderr)

    def check(self, exit_code: int, problem: str, *arguments: str) -> dict:
        done = tapconv("check", problem, "--json", *arguments)
        self.assertEqual(exit_code, done.returncode, done.stdout + done.stderr)
        return json.loads(done.stdout)

    def test_a_right_result_of_saved_tensors(self) -> None:
        files = [self.file(name) for name in ("x.npy", "w.safetensors:weight", "b.npy", "y.npy")]
        problem = PROBLEM.format("fp32")
        self.run_problem(problem, "--save-input", files[0], "--save-weight", files[1], "--save-bias", files[2], "--out", files[3])
        report = self.check(0, problem, "--input", files[0], "--weight", files[1], "--bias", files[2], "--output", files[3], "--samples", "all")
        self.assertEqual("given output", report["solver"])
        self.assertEqual("cpu", report["device"])
        self.assertEqual(["given"], [case["tensors"] for case in report["cases"]])
        self.assertEqual(2 * 6 * 12 * 10, report["cases"][0]["outputs"])
        self.assertIsNone(report["cases"][0]["unwritten"])
        self.assertEqual("fp32", report["arithmetic"])
        self.assertIn("computed in true fp32", report["sentence"])

    def test_the_seed_names_the_tensors(self) -> None:
        y = self.file("y.npy")
        self.run_problem(PROBLEM.format("fp32"), "--seed", "7", "--out", y)
        report = self.check(0, PROBLEM.format("fp32"), "--seed", "7", "--output", y)
        self.assertEqual(["uniform"], [case["tensors"] for case in report["cases"]])
        self.assertEqual(7, report["seed"])
        self.check(5, PROBLEM.format("fp32"), "--seed", "8", "--output", y)

    def test_an_inaccurate_result_is_wrong_on_given_tensors_too(self) -> None:
        names = ("x.npy", "w.npy", "b.npy", "y.npy")
        x, w, b, y = (self.file(name) for name in names)
        problem = "Conv2d(16, 24, 3) @ 2x16x33x33"
        self.run_problem(problem, "--save-input", x, "--save-weight", w, "--save-bias", b, "--out", y)
        write_npy(Path(y), (2, 24, 31, 31), [value + 5e-6 for value in read_npy(Path(y))])
        for files in ([], ["--input", x, "--weight", w, "--bias", b]):
            report = self.check(5, problem, "--output", y, *files)
            self.assertIn("more than twice that of a chain", report["sentence"])

    def test_what_is_drawn_is_said(self) -> None:
        x = self.file("x.npy")
        write_npy(Path(x), (1, 1, 4), [1.0, 2.0, 3.0, 4.0])
        problem = "Conv1d(1, 1, 1, residual=True) @ 1x1x4"
        for command in ("run", "check"):
            self.assertIn("drawn from seed 0: weight, bias, residual", tapconv(command, problem, "--device", "cpu", "--input", x).stdout)
            self.assertNotIn("drawn", tapconv(command, problem, "--device", "cpu").stdout)

    def test_dynamic_sizes_are_those_of_the_input(self) -> None:
        x, y = self.file("x.npy"), self.file("y.npy")
        write_npy(Path(x), (2, 1, 5), [float(i) for i in range(10)])
        problem = "Conv1d(1, 3, 2) @ 8?x1x100?"
        self.run_problem(problem, "--input", x, "--out", y)
        self.assertEqual(2 * 3 * 4, len(read_npy(Path(y))))
        self.check(0, problem, "--input", x, "--output", y)
        done = tapconv("run", "Conv1d(1, 3, 2) @ 8?x1x100", "--device", "cpu", "--input", x)
        self.assertEqual(2, done.returncode)

    def test_float64_is_called_so(self) -> None:
        report = self.check(0, "Conv1d(4, 4, 3, dtype=float64) @ 1x4x50", "--device", "cpu")
        self.assertEqual("fp64", report["arithmetic"])
        self.assertIn("computed in true fp64", report["sentence"])

    def test_the_arithmetic_of_another_contract_is_named(self) -> None:
        y = self.file("y.npy")
        self.run_problem(PROBLEM.format("tf32"), "--out", y)
        report = self.check(5, PROBLEM.format("fp32"), "--output", y)
        self.assertIn("TF32, operands rounded to nearest", report["sentence"])
        self.assertIn("math=tf32", report["sentence"])
        report = self.check(0, PROBLEM.format("tf32"), "--output", y)
        self.assertIn("tf32-rna", report["indistinguishable"] or [report["arithmetic"]])

    def test_a_wrong_value_is_found_and_shown(self) -> None:
        y = self.folder / "y.npy"
        problem = PROBLEM.format("fp32")
        self.run_problem(problem, "--out", str(y))
        values = read_npy(y)
        place = ((1 * 6 + 4) * 12 + 3) * 10 + 7
        write_npy(y, (2, 6, 12, 10), values[:place] + [values[place] + 1] + values[place + 1 :])
        report = self.check(5, problem, "--output", str(y), "--samples", "all")
        case = report["cases"][0]
        self.assertEqual([1, 4, 3, 7], case["worst_place"])
        self.assertEqual(["full"], [stage["name"] for stage in report["stages"] if stage["result"] == "failed"])
        self.assertEqual(2 * 6 * 12 * 10, report["diagnosis"]["outputs"])
        self.assertEqual(1, case["violations"])
        self.assertAlmostEqual(values[place], case["worst_expected"], 5)
        self.assertAlmostEqual(1, case["worst_actual"] - case["worst_expected"], 5)
        self.assertRegex(report["sentence"], r"^Wrong: 0\.0694 % of the outputs .* the worst, output \(1, 4, 3, 7\), is ")

        write_npy(y, (2, 6, 12, 10), [math.nan] * 360 + values[360:])
        report = self.check(5, problem, "--output", str(y), "--samples", "all")
        self.assertEqual(360, report["cases"][0]["nans"])
        self.assertIn("25 % are NaN", report["sentence"])

    def test_bits_that_run_would_call_unwritten_are_a_nan(self) -> None:
        y = self.folder / "y.npy"
        write_npy(y, (1, 1, 4), [0] * 4)
        y.write_bytes(y.read_bytes()[:-16] + b"\xff" * 16)
        report = self.check(5, "Conv1d(1, 1, 1) @ 1x1x4", "--output", str(y))
        self.assertEqual(4, report["cases"][0]["nans"])
        self.assertNotIn("never written", report["sentence"])

    def test_tensors_that_cannot_show_the_arithmetic(self) -> None:
        write_npy(self.folder / "x.npy", (1, 1, 4), [1, 2, 3, 4])
        write_npy(self.folder / "w.npy", (1, 1, 2), [1, -2])
        write_npy(self.folder / "y.npy", (1, 1, 3), [-3, -4, -5])
        report = self.check(
            0, "Conv1d(1, 1, 2, bias=False) @ 1x1x4", "--input", self.file("x.npy"), "--weight", self.file("w.npy"), "--output", self.file("y.npy")
        )
        self.assertEqual("undecided", report["arithmetic"])
        self.assertEqual(["fp32", "tf32-rna", "tf32-rn", "tf32-rz", "bf16", "fp16"], report["indistinguishable"])
        self.assertIn("do not show in which arithmetic", report["sentence"])
        self.assertTrue(report["passed"])

    def test_every_operand_can_be_saved_and_given(self) -> None:
        problem = "DepthwiseSeparable2d(4, 6, 3, residual=True) @ 1x4x8x8"
        names = ("input", "weight", "bias", "pointwise-weight", "pointwise-bias", "residual")
        saved = [part for name in names for part in (f"--save-{name}", self.file(f"{name}.npy"))]
        given = [part for name in names for part in (f"--{name}", self.file(f"{name}.npy"))]
        self.run_problem(problem, "--seed", "3", "--out", self.file("y.npy"), *saved)
        self.run_problem(problem, "--out", self.file("z.npy"), *given)
        self.assertEqual(read_npy(self.folder / "y.npy"), read_npy(self.folder / "z.npy"))
        self.check(0, problem, "--output", self.file("z.npy"), *given)
        # A tensor that was not the one of the computation makes the result wrong.
        self.check(5, problem, "--output", self.file("z.npy"), *given[:-2])

    def test_sixteen_bits(self) -> None:
        problem = "Conv1d(8, 8, 3, dtype=bfloat16) @ 1x8x40"
        y = self.file("y.safetensors:y")
        self.run_problem(problem, "--out", y)
        self.assertEqual("fp32", self.check(0, problem, "--output", y)["expected_arithmetic"])

    def test_against_a_library(self) -> None:
        y = self.file("y.npy")
        self.run_problem(PROBLEM.format("tf32"), "--out", y)
        report = self.check(0, PROBLEM.format("tf32"), "--output", y, "--against", "onednn")
        self.assertEqual("fp32", report["reference"]["arithmetic"])

    def test_files_that_do_not_fit(self) -> None:
        y = self.folder / "y.npy"
        write_npy(y, (1, 1, 3), [0] * 3)
        done = tapconv("check", "Conv1d(1, 1, 1) @ 1x1x4", "--output", str(y))
        self.assertEqual(2, done.returncode)
        self.assertIn("output has shape (1, 1, 3); the problem needs (1, 1, 4)", done.stderr)
        done = tapconv("check", "Conv1d(1, 1, 1, dtype=float64) @ 1x1x3", "--output", str(y))
        self.assertEqual(2, done.returncode)
        self.assertIn("output is of float32; the problem needs float64", done.stderr)
        self.assertEqual(10, tapconv("check", "Conv1d(1, 1, 1) @ 1x1x4", "--output", self.file("none.npy")).returncode)

    def test_targets_that_cannot_be_kept(self) -> None:
        problem = "Conv1d(1, 1, 1, bias=False) @ 1x1x4"
        for exit_code, message, arguments in (
            (2, "named twice", ["--save-input", self.file("a.safetensors:x"), "--save-weight", self.file("a.safetensors:w")]),
            (2, "named twice", ["--save-input", self.file("a.npy"), "--out", self.file("./a.npy")]),
            (2, "the problem has no bias", ["--save-bias", self.file("b.npy")]),
            (10, "its folder does not exist", ["--save-input", self.file("none/x.npy")]),
        ):
            done = tapconv("run", problem, "--device", "cpu", *arguments)
            self.assertEqual(exit_code, done.returncode, arguments)
            self.assertIn(message, done.stderr)
        self.assertEqual([], list(self.folder.iterdir()))


if __name__ == "__main__":
    main()
