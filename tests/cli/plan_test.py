#!/usr/bin/env python3
"""Plans for devices that are not there, sources, and the plan database."""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import jsonschema

from harness import ROOT, main, program, tapconv

MODELS = ("h200", "h100", "a100", "l40s", "rtx4090", "b200", "rtx5090")
PROBLEM = "Conv2d(8, 16, 3) @ 4x8x40x40"
SEPARABLE = "DepthwiseSeparable2d(8, 16, 3) @ 1x8x9x9"


def plan(*arguments: str) -> dict:
    return json.loads(tapconv("plan", *arguments, "--json").stdout)


class Plan(unittest.TestCase):
    def test_models_are_planned_for_without_a_gpu(self) -> None:
        for model in MODELS:
            done = tapconv("plan", "kb56", "--device", model)
            self.assertEqual((0, ""), (done.returncode, done.stderr))
            for part in ("limit", "reach", "chosen", "expected", "waves", "sums", "kernel", "blocks of"):
                self.assertIn(part, done.stdout, model)
            self.assertEqual(model != "h200", "(derived)" in done.stdout)

    def test_devices_differ(self) -> None:
        slow, fast = (plan("kb56", "--device", model)["stages"][0] for model in ("a100", "h200"))
        self.assertGreater(slow["predicted_ms"], fast["predicted_ms"])
        self.assertGreater(slow["floor"]["limit_ms"], fast["floor"]["limit_ms"])
        self.assertAlmostEqual(fast["floor"]["reach_ms"] / fast["predicted_ms"], fast["reach_share"])

    def test_a_model_computes_nothing(self) -> None:
        for command in ("run", "check", "bench", "tune"):
            done = tapconv(command, PROBLEM, "--device", "h200")
            self.assertEqual(2, done.returncode, command)
            self.assertIn("device = h200 is a model", done.stderr)
        self.assertEqual(2, tapconv("specs", "--device", "h200").returncode)
        self.assertEqual(2, tapconv("plan", PROBLEM, "--device", "h200", "--threads", "2").returncode)
        self.assertIn("rtx5090", tapconv("plan", PROBLEM, "--device", "h2000").stderr)

    def test_source_is_the_unit_alone(self) -> None:
        done = tapconv("plan", PROBLEM, "--device", "h200", "--source")
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        self.assertTrue(done.stdout.startswith('#include "tapconv/warpgroup.cuh"\n'))
        self.assertEqual(1, done.stdout.count('extern "C"'))
        inlined = tapconv("plan", PROBLEM, "--device", "h200", "--source", "--inline").stdout
        self.assertNotIn("#include", inlined)
        self.assertIn(done.stdout.split("\n", 1)[1], inlined)
        separate = tapconv("plan", SEPARABLE, "--device", "h200", "--source").stdout
        stages = [f"{stage['solver']} of {stage['problem']}" for stage in plan(SEPARABLE, "--device", "h200")["stages"]]
        headings = [line for line in separate.splitlines() if line.startswith("// tapconv_")]
        self.assertEqual([f"// tapconv_{stage}" for stage in stages], headings)
        for wrong in (["--device", "cpu", "--source"], ["--device", "h200", "--inline"], ["--device", "h200", "--source", "--json"]):
            self.assertEqual(2, tapconv("plan", PROBLEM, *wrong).returncode, wrong)

    def test_tune_needs_a_gpu(self) -> None:
        done = tapconv("tune", PROBLEM, "--device", "cpu")
        self.assertEqual(2, done.returncode)
        self.assertIn("valid: cuda, cuda:N", done.stderr)
        self.assertIn("is a model, on which nothing is measured; valid: cuda, cuda:N\n", tapconv("tune", PROBLEM, "--device", "h200").stderr)
        for wrong in (["--time", "0"], ["--time", "x"], ["--seed", "-1"], []):
            self.assertEqual(2, tapconv("tune", *wrong, *([PROBLEM] if wrong else [])).returncode, wrong)
        for option, value in (("--top", "0"), ("--top", "1001"), ("--idle-ms", "-1"), ("--idle-ms", "nan")):
            done = tapconv("tune", PROBLEM, option, value)
            self.assertEqual(2, done.returncode)
            self.assertIn(f"{option[2:].replace('-', '_')} = {value}; valid: ", done.stderr)

    def test_without_a_gpu_it_is_the_device_that_is_missing(self) -> None:
        planned = tapconv("plan", PROBLEM, "--device", "cuda")
        if planned.returncode == 0:
            self.skipTest("there is a GPU")
        self.assertEqual(10, planned.returncode)
        self.assertIn("valid: cpu, and to plan for without a GPU: ", planned.stderr)
        self.assertIn("rtx5090", planned.stderr)
        for device in ([], ["--device", "cuda"]):
            done = tapconv("tune", PROBLEM, *device)
            self.assertEqual(10, done.returncode)
            self.assertIn("there is no CUDA device, which tune needs: ", done.stderr)
            self.assertNotIn("valid: cpu", done.stderr)

    def test_a_model_fills_the_cache(self) -> None:
        if plan(PROBLEM, "--device", "h200")["not_compiled"]:
            self.skipTest("there is no NVRTC")
        with tempfile.TemporaryDirectory() as folder:
            environment = os.environ | {"TAPCONV_CACHE_DIR": folder, "TAPCONV_LOG": "debug"}

            def run(*arguments: str) -> subprocess.CompletedProcess:
                return subprocess.run([program(), *arguments], capture_output=True, text=True, check=True, env=environment, timeout=120)

            first, second = (run("plan", PROBLEM, "--device", "h200", "--json") for _ in range(2))
            self.assertEqual(first.stdout, second.stdout)
            self.assertIn("compiled for sm_90a", first.stderr)
            self.assertNotIn("compiled for sm_90a", second.stderr)
            kernels = json.loads(run("cache", "list", "--json").stdout)["folders"][0]["kernels"]
            self.assertEqual([("sm_90a", "tapconv_warpgroup")], [(kernel["architecture"], kernel["entry"]) for kernel in kernels])


class Database(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.file = self.folder / "plans.json"

    def tapconv(self, *arguments: str, files: str | None = None) -> subprocess.CompletedProcess:
        environment = os.environ | {"TAPCONV_PLAN_DB": str(self.file) if files is None else files}
        return subprocess.run([program(), *arguments], capture_output=True, text=True, check=False, env=environment, timeout=120)

    def entry(self, configuration: str, date: str = "2026-01-01T00:00:00Z", **more: object) -> dict:
        return {
            "problem": plan(PROBLEM, "--device", "cpu")["problem"], "input_dtype": "float32", "strided": False, "packed": False,
            "device_name": "NVIDIA H200", "multiprocessors": 132, "version": tapconv("--version").stdout.strip(), "solver": "direct",
            "configuration": configuration, "measured_ms": 0.5, "alone": True, "date": date,
        } | more  # fmt: skip

    def write(self, path: Path, *entries: dict) -> str:
        path.write_text(json.dumps({"format": "tapconv plans 1", "plans": entries}))
        return str(path)

    def planned(self, files: str | None = None) -> tuple[str, bool]:
        stage = json.loads(self.tapconv("plan", PROBLEM, "--device", "h200", "--json", files=files).stdout)["stages"][0]
        return stage["configuration"], stage["tuned"]

    def another(self, chosen: str) -> str:
        """A configuration that the solver offers for PROBLEM, other than the chosen one: one that it chooses elsewhere."""
        file = self.folder / "another.json"
        for problem in (f"Conv2d(8, {channels}, 3) @ {batch}x8x40x40" for batch in (1, 64) for channels in (1, 2, 4, 8, 64)):
            other = plan(problem, "--device", "h200")["stages"][0]["configuration"]
            if other != chosen and self.planned(files=self.write(file, self.entry(other))) == (other, True):
                return other
        self.fail("no other configuration is known")

    def test_plan_takes_what_was_measured(self) -> None:
        by_model, tuned = self.planned()
        self.assertFalse(tuned)
        other = self.another(by_model)
        self.assertEqual(0, self.tapconv("plans", "merge", self.write(self.folder / "a.json", self.entry(other))).returncode)
        self.assertEqual((other, True), self.planned())
        self.assertIn("from the plan database", self.tapconv("plan", PROBLEM, "--device", "h200").stdout)
        self.assertEqual((by_model, False), self.planned(files=str(self.folder / "none.json")))
        self.assertEqual((other, True), self.planned(files=f"{self.folder}/none.json:{self.file}"))
        done = self.tapconv("plans", "forget", PROBLEM)
        self.assertIn("1 plans removed", done.stdout)
        self.assertEqual((by_model, False), self.planned())

    def test_an_illegal_configuration_is_passed_over(self) -> None:
        self.write(self.file, self.entry("threads=1 pixels=1 channels=1"))
        self.assertFalse(self.planned()[1])

    def test_merge_keeps_the_newer(self) -> None:
        old = self.write(self.folder / "old.json", self.entry("old", "2025-01-01T00:00:00Z"))
        new = self.write(self.folder / "new.json", self.entry("new", "2026-01-01T00:00:00Z"))
        last = self.write(self.folder / "last.json", self.entry("last", "2026-01-01T00:00:00Z"))
        for files, expected in (([new, old], "new"), ([old, new], "new"), ([last, new], "new"), ([new, last], "last")):
            self.file.unlink(missing_ok=True)
            self.assertEqual(0, self.tapconv("plans", "merge", *files).returncode)
            listed = json.loads(self.tapconv("plans", "list", "--json").stdout)
            jsonschema.validate(listed, json.loads((ROOT / "docs/schemas/plans.schema.json").read_text()))
            self.assertEqual([expected], [item["configuration"] for item in listed["plans"]], files)

    def test_export_writes_every_layer(self) -> None:
        below = self.write(self.folder / "below.json", self.entry("b"), self.entry("c", device_name="NVIDIA A100"))
        self.write(self.file, self.entry("a"))
        target = self.folder / "all.json"
        self.assertEqual(0, self.tapconv("plans", "export", str(target), files=f"{self.file}:{below}").returncode)
        self.assertEqual({"a", "c"}, {item["configuration"] for item in json.loads(target.read_text())["plans"]})
        text = self.tapconv("plans", "list", files=str(target)).stdout
        self.assertEqual(2, text.count("NVIDIA"))

    def test_export_writes_over_nothing(self) -> None:
        self.write(self.file, self.entry("a"))
        target, link = self.folder / "notes.txt", self.folder / "link"
        target.write_text("mine")
        link.symlink_to("nowhere")
        for there in (target, self.file, link, self.folder):
            done = self.tapconv("plans", "export", str(there))
            self.assertEqual(2, done.returncode, there)
            self.assertIn(f"{there} exists", done.stderr)
        self.assertEqual("mine", target.read_text())
        self.assertTrue(link.is_symlink())

    def test_counts_in_json(self) -> None:
        schema = json.loads((ROOT / "docs/schemas/plans.schema.json").read_text())
        given, target = self.write(self.folder / "a.json", self.entry("a")), str(self.folder / "b.json")
        for arguments, expected in (
            (("merge", given), {"file": str(self.file), "merged": 1}),
            (("export", target), {"file": target, "exported": 1}),
            (("forget", PROBLEM), {"file": str(self.file), "removed": 1}),
            (("forget", PROBLEM), {"file": str(self.file), "removed": 0}),
        ):
            counts = json.loads(self.tapconv("plans", *arguments, "--json").stdout)
            self.assertEqual(expected, counts)
            jsonschema.validate(counts, schema)

    def test_an_empty_variable_turns_the_database_off(self) -> None:
        home = self.folder / "tapconv"
        home.mkdir()
        self.write(home / "plans.json", self.entry(self.another(self.planned()[0])))
        environment = os.environ | {"XDG_DATA_HOME": str(self.folder)}

        def run(*arguments: str, **more: str) -> subprocess.CompletedProcess:
            return subprocess.run([program(), *arguments], capture_output=True, text=True, check=False, env=environment | more, timeout=120)

        self.assertEqual([], json.loads(run("plans", "list", "--json", TAPCONV_PLAN_DB="").stdout)["plans"])
        self.assertIn("the plan database is off", run("plans", "list", TAPCONV_PLAN_DB="").stderr)
        self.assertEqual(10, run("plans", "merge", str(home / "plans.json"), TAPCONV_PLAN_DB="").returncode)
        del environment["TAPCONV_PLAN_DB"]
        self.assertEqual(1, len(json.loads(run("plans", "list", "--json").stdout)["plans"]))

    def test_a_corrupt_file_is_one_warning_and_stays(self) -> None:
        self.file.write_text("{")
        done = self.tapconv("plan", PROBLEM, "--device", "h200")
        self.assertEqual(0, done.returncode)
        self.assertEqual(1, done.stderr.count("is no plan database"), done.stderr)
        good = self.write(self.folder / "good.json", self.entry("a"))
        self.assertEqual(2, self.tapconv("plans", "merge", good).returncode)
        self.assertEqual(2, self.tapconv("plans", "merge", str(self.file), files=good).returncode)
        self.assertEqual("{", self.file.read_text())

    def test_usage(self) -> None:
        for wrong in ([], ["frob"], ["list", "more"], ["merge"], ["export"], ["export", "a", "b"], ["forget"], ["forget", "kb99"]):
            self.assertEqual(2, self.tapconv("plans", *wrong).returncode, wrong)
        self.assertIn("list, merge, export or forget (see tapconv plans --help)", self.tapconv("plans").stderr)
        self.assertEqual(10, self.tapconv("plans", "merge", f"{self.folder}/none.json").returncode)


if __name__ == "__main__":
    main()
