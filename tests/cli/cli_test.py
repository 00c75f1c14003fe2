#!/usr/bin/env python3
"""The command line as a person or a program meets it: outputs, errors, exit codes, files. Runs on the CPU.

    python3 tests/cli/cli_test.py PATH_TO_TAPCONV
"""

import json
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

from harness import main, program, read_npy, tapconv, write_npy


class CommandLine(unittest.TestCase):
    def test_plan_shows_shapes_work_and_floors(self) -> None:
        done = tapconv("plan", "kb56", "--device", "cpu")
        self.assertEqual(0, done.returncode, done.stderr)
        for line in (
            "Conv2d(64, 128, (5, 7), bias=False, math=tf32) @ 8x64x512x256",
            "  output  8 x 128 x 508 x 250",
            "  work    582.6 GFLOP, 0.7898 GB at least",
            "  floor   for comparison, on an NVIDIA H200: limit 1.09 ms, reach 1.58 ms, bound by TF32",
            "  error   expected on drawn tensors: fp32 RMS 2.8e-07, max 4.5e-06; tf32 RMS 9.5e-05, max 0.00056",
            "  pass    fp32 against a tf32 reference: 19 % of the outputs beyond 0.0001 + 0.0001 |reference| expected",
        ):
            self.assertIn(line, done.stdout.splitlines())

    def test_texts(self) -> None:
        problem = "Conv1d(1, 2, 3, padding=1) @ 1x1x5"
        done = tapconv("run", problem, "--device", "cpu")
        text = re.sub(r" on cpu \(.*\): ", " on cpu (MODEL): ", re.sub(r"\d+\.\d+ ms", "T ms", done.stdout))
        text = re.sub(r"(?m)^  \S.* on cpu", "  SOLVER on cpu", text)
        self.assertEqual(
            f"{problem}\n  output  1 x 2 x 5\n"
            "  SOLVER on cpu (MODEL): planned in T ms, computed in T ms (one call, not a benchmark)\n",
            text,
        )
        done = tapconv("plan", problem, "--device", "cpu")
        self.assertEqual(
            [
                problem, "  input   1 x 1 x 5", "  weight  2 x 1 x 3", "  bias    2", "  output  1 x 2 x 5",
                "  work    6e-08 GFLOP, 9.2e-08 GB at least",
            ],  # fmt: skip
            done.stdout.splitlines()[:6],
        )
        done = tapconv("plan", "DepthwiseSeparable1d(2, 3, 3, residual=True) @ 1x2x9", "--device", "cpu")
        for line in ("  pointwise weight 3 x 2 x 1", "  pointwise bias 3", "  residual 1 x 3 x 7"):
            self.assertIn(line, done.stdout.splitlines())

    def test_plan_json(self) -> None:
        plan = json.loads(tapconv("plan", "kb76", "--batch", "1", "--device", "cpu", "--json").stdout)
        self.assertEqual([1, 128, 174758], plan["output_shape"])
        self.assertEqual("Conv1d(64, 128, 3, stride=3, dilation=4, bias=False, math=tf32) @ 1x64x524280", plan["problem"])
        self.assertEqual(2 * 128 * 174758 * 64 * 3, plan["flop"])
        self.assertEqual(["fp32", "tf32"], [item["arithmetic"] for item in plan["expected"]["errors"]])
        self.assertAlmostEqual(0.19, plan["expected"]["fp32_against_tf32"]["failing_share"], delta=0.01)

    def test_a_wrong_spelling_has_a_caret_and_exit_code_2(self) -> None:
        done = tapconv("plan", "Conv2d(64, 128, (5,7), strid=2) @ 8x64x512x256")
        self.assertEqual(2, done.returncode)
        lines = done.stderr.splitlines()
        self.assertIn("stride", lines[0])
        self.assertEqual(lines[-2].index("strid"), lines[-1].index("^"))
        self.assertEqual("", done.stdout)

    def test_errors_in_json(self) -> None:
        done = tapconv("plan", "kb99", "--json")
        self.assertEqual(2, done.returncode)
        self.assertEqual(2, json.loads(done.stdout)["error"]["exit_code"])
        for arguments in (["plan", "--json"], ["plan", "kb56", "--nope", "--json"]):
            self.assertEqual(2, json.loads(tapconv(*arguments).stdout)["error"]["exit_code"])
        command = [program(), "run", "Conv1d(1, 1, 1) @ 1x1x1", "--json", "--input", b"\xff.npy"]
        done = subprocess.run(command, capture_output=True, check=False)
        self.assertEqual(10, done.returncode)
        self.assertEqual(10, json.loads(done.stdout)["error"]["exit_code"])

    def test_usage(self) -> None:
        self.assertEqual(0, tapconv("--help").returncode)
        self.assertIn("(see tapconv --help)", tapconv("frobnicate").stderr)
        self.assertIn("(see tapconv plan --help; put a problem in quotes)", tapconv("plan", "Conv1d(1,", "1)").stderr)
        self.assertEqual(0, tapconv("check", "--help").returncode)
        self.assertRegex(tapconv("--version").stdout, r"^\d+\.\d+\.\d+$")
        for arguments in ([], ["frobnicate"], ["plan"], ["plan", "kb56", "--nope"], ["run", "kb56", "--seed", "x"]):
            self.assertEqual(2, tapconv(*arguments).returncode, arguments)
        for arguments in (["--samples", "0"], ["--samples", "-3"], ["--samples", "many"], ["--against", "cudnn"]):
            done = tapconv("check", "Conv1d(1, 1, 1) @ 1x1x4", "--device", "cpu", *arguments)
            self.assertEqual(2, done.returncode, (arguments, done.stderr))
        self.assertEqual(2, tapconv("plan", "kb56", "--device", "tpu").returncode)
        for batch in ("-1", "0", "010x", "99999999999999999999", ""):
            self.assertEqual(2, tapconv("plan", "kb56", "--batch", batch).returncode, batch)
        self.assertEqual(2, tapconv("run", "Conv1d(1, 1, 1) @ 1x1x4", "--seed", "-1").returncode)
        self.assertEqual(2, tapconv("run", "Conv1d(1, 1, 1) @ 1x1x4", "--input", "").returncode)
        self.assertEqual(2, tapconv("run", "Conv1d(1, 1, 1) @ 1x1x4", "--out", "").returncode)
        for threads in ("0", "-1", "4097", "two", ""):
            self.assertEqual(2, tapconv("run", "Conv1d(1, 1, 1) @ 1x1x4", "--device", "cpu", "--threads", threads).returncode, threads)
        self.assertEqual(2, tapconv("run", "Conv1d(1, 1, 1) @ 1x1x4", "--device", "cuda", "--threads", "1").returncode)
        done = tapconv("run", "Conv1d(1, 1, 1) @ 1x1x4", "--device", "cpu", "--threads", "1", "--json")
        self.assertEqual(1, json.loads(done.stdout)["threads"])
        done = tapconv("run", "Conv1d(1, 1, 1) @ 1x1x4", "--output", "y.npy")
        self.assertEqual(2, done.returncode)
        self.assertIn("run writes its output with --out", done.stderr)
        done = tapconv("check", "Conv1d(1, 1, 1) @ 1x1x4", "--out", "y.npy")
        self.assertEqual(2, done.returncode)
        self.assertIn("--output names a result to judge", done.stderr)

    def test_bench_options(self) -> None:
        for arguments in (["--rounds", "0"], ["--rounds", "1001"], ["--idle-ms", "nan"], ["--idle-ms", "inf"], ["--sustained-s", "-1"]):
            done = tapconv("bench", "Conv1d(1, 1, 1) @ 1x1x4", "--device", "cpu", *arguments)
            self.assertEqual(2, done.returncode, (arguments, done.stderr))
        done = tapconv("bench", "Conv1d(1, 1, 1, math=tf32) @ 1x1x1", "--device", "cpu", "--rounds", "1", "--idle-ms", "0", "--seed", "13", "--json")
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIsNone(json.loads(done.stdout)["ratio"])

    def test_a_result_that_nobody_gets_is_no_success(self) -> None:
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([program(), "plan", "kb56", "--device", "cpu"], stdout=full, stderr=subprocess.PIPE, check=False)
        self.assertEqual(10, done.returncode)

    def test_a_link_that_leads_nowhere_is_kept(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            link = Path(name) / "y.npy"
            link.symlink_to("nowhere")
            self.assertEqual(10, tapconv("run", "Conv1d(1, 1, 1) @ 1x1x4", "--device", "cpu", "--out", str(link)).returncode)
            self.assertTrue(link.is_symlink())

    def test_special_values_in_files(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)

            def check(math: str, x: list[float], w: list[float]) -> int:
                write_npy(folder / "x.npy", (1, len(x), 1), x)
                write_npy(folder / "w.npy", (1, len(w), 1), w)
                problem = f"Conv1d({len(x)}, 1, 1, bias=False, math={math}) @ 1x{len(x)}x1"
                return tapconv(
                    "check", problem, "--device", "cpu", "--input", f"{folder}/x.npy", "--weight", f"{folder}/w.npy", "--against", "onednn"
                ).returncode

            nan, infinity = float("nan"), float("inf")
            for math in ("ieee", "fp32", "tf32"):
                self.assertEqual(0, check(math, [1e-30], [1e-15]), "a product that underflows")
                self.assertEqual(0, check(math, [3e38, 3e38, infinity], [-1, -1, 1]), "a sum that overflows on its way")
                self.assertEqual(0, check(math, [nan, 1], [1, 1]))
                self.assertEqual(0, check(math, [infinity], [1]))
            self.assertEqual(0, check("fp32", [1 + 2.0**-12], [1]), "an error of exactly zero")
            (folder / "x.npy").write_bytes((folder / "x.npy").read_bytes()[:-4] + b"\xff" * 4)
            done = tapconv("check", "Conv1d(1, 1, 1, bias=False) @ 1x1x1", "--device", "cpu", "--input", f"{folder}/x.npy")
            self.assertEqual(0, done.returncode, done.stdout)

    def test_a_device_that_is_not_there(self) -> None:
        done = tapconv("plan", "kb56", "--device", "cuda:77")
        self.assertEqual(10, done.returncode)
        self.assertIn("cuda:77", done.stderr)

    def test_run_computes_files(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write_npy(folder / "x.npy", (1, 1, 5), [1, 2, 3, 4, 5])
            write_npy(folder / "w.npy", (2, 1, 3), [1, 0, -1, 0.5, 0.5, 0.5])
            write_npy(folder / "b.npy", (2,), [10, -1])
            done = tapconv(
                "run", "Conv1d(1, 2, 3, padding=1) @ 1x1x5", "--device", "cpu", "--input", f"{folder}/x.npy", "--weight",
                f"{folder}/w.npy", "--bias", f"{folder}/b.npy", "--out", f"{folder}/y.npy",
            )  # fmt: skip
            self.assertEqual(0, done.returncode, done.stderr)
            self.assertEqual([8, 8, 8, 8, 14, 0.5, 2, 3.5, 5, 3.5], read_npy(folder / "y.npy"))

    def test_files_that_do_not_fit(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            path = Path(name) / "x.npy"
            write_npy(path, (1, 1, 4), [1, 2, 3, 4])
            done = tapconv("run", "Conv1d(1, 2, 3) @ 1x1x5", "--device", "cpu", "--input", str(path))
            self.assertEqual(2, done.returncode)
            self.assertIn("input has shape (1, 1, 4); the problem needs (1, 1, 5)", done.stderr)
            done = tapconv("run", "Conv1d(1, 2, 3, bias=False) @ 1x1x4", "--device", "cpu", "--bias", str(path))
            self.assertEqual(2, done.returncode)
            self.assertIn("bias", done.stderr)
            path.write_bytes(path.read_bytes()[:-1])
            self.assertEqual(2, tapconv("run", "Conv1d(1, 2, 3) @ 1x1x4", "--device", "cpu", "--input", str(path)).returncode)
            self.assertEqual(
                10, tapconv("run", "Conv1d(1, 2, 3) @ 1x1x4", "--device", "cpu", "--input", name + "/none.npy").returncode
            )
            done = tapconv("run", "Conv1d(1, 2, 3) @ 1x1x4", "--device", "cpu", "--out", name + "/none/y.npy")
            self.assertEqual(10, done.returncode)
            self.assertIn("its folder does not exist", done.stderr)

    def test_check_proves_every_contract(self) -> None:
        for math in ("ieee", "fp32", "tf32", "tf32, rounding=rn"):
            done = tapconv("check", f"Conv2d(16, 24, 3, padding=1, math={math}) @ 2x16x20x20", "--device", "cpu", "--json")
            self.assertEqual(0, done.returncode, done.stdout + done.stderr)
            report = json.loads(done.stdout)
            self.assertTrue(report["passed"])
            self.assertEqual(["uniform", "sparse", "ties"], [case["tensors"] for case in report["cases"]])
            self.assertEqual(report["expected_arithmetic"], report["arithmetic"])

    def test_check_runs_its_stages(self) -> None:
        problem = "Conv2d(6, 8, 3, padding=1) @ 2x6x9x11"
        stages = ["integers", "impulses", "full", "fingerprint", "distributions", "neighbours", "special", "integrity"]
        report = json.loads(tapconv("check", problem, "--device", "cpu", "--json").stdout)
        self.assertEqual(stages, [stage["name"] for stage in report["stages"]])
        self.assertEqual({"passed"}, {stage["result"] for stage in report["stages"]})
        self.assertIsNone(report["diagnosis"])

        seeded = [json.loads(tapconv("check", problem, "--device", "cpu", "--seed", "7", "--json").stdout) for _ in range(2)]
        self.assertEqual(seeded[0], seeded[1])
        self.assertEqual(7, seeded[0]["secret_seed"])

        quick = json.loads(tapconv("check", problem, "--device", "cpu", "--quick", "--json").stdout)
        self.assertEqual(["full", "fingerprint"], [stage["name"] for stage in quick["stages"]])
        some = tapconv("check", problem, "--device", "cpu", "--stages", "integers,special")
        self.assertEqual(0, some.returncode, some.stderr)
        self.assertIn("Right: every stage that was asked for is passed.", some.stdout)
        self.assertRegex(some.stdout, r"(?m)^  integers +passed +2 sets of tensors")
        for arguments in (["--stages", "nothing"], ["--stages", ""], ["--stages", "full", "--quick"], ["--solver", "direct"]):
            self.assertEqual(2, tapconv("check", problem, "--device", "cpu", *arguments).returncode, arguments)

    def test_check_against_onednn(self) -> None:
        report = json.loads(
            tapconv("check", "Conv2d(16, 24, 3, math=tf32) @ 2x16x20x20", "--device", "cpu", "--against", "onednn", "--json").stdout
        )
        self.assertEqual("fp32", report["reference"]["arithmetic"])
        self.assertEqual("tf32-rna", report["arithmetic"])

    def test_bench(self) -> None:
        done = tapconv(
            "bench", "Conv2d(16, 24, 3) @ 2x16x40x40", "--device", "cpu", "--against", "onednn", "--rounds", "7", "--idle-ms", "1",
            "--sustained-s", "0.05", "--json",
        )  # fmt: skip
        self.assertIn(done.returncode, (0, 9), done.stderr)
        report = json.loads(done.stdout)
        self.assertGreater(report["ratio"], 0)
        self.assertTrue(report["as_declared"])
        self.assertEqual(0, report["seed"])
        self.assertLessEqual(report["engine"]["max_bound_ratio"], 1)
        self.assertGreater(report["engine"]["sustained_ms"], 0)
        self.assertEqual("fp32", report["engine"]["arithmetic"])

    def test_specs(self) -> None:
        report = json.loads(tapconv("specs", "--device", "cpu", "--json").stdout)
        self.assertGreater(report["measured"]["copy_GB_per_s"], 0)
        self.assertGreater(report["measured"]["convolution_GFLOP_per_s"], 0)


if __name__ == "__main__":
    main()
