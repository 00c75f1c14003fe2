#!/usr/bin/env python3
"""What `tapconv explain` says of problems, occupancy, tiles and accesses."""

import json
import unittest

import jsonschema

from harness import ROOT, main, tapconv

SCHEMA = json.loads((ROOT / "docs/schemas/explain.schema.json").read_text())
PROBLEM = "Conv2d(8, 16, 3, padding=1) @ 2x8x20x20"


class Explain(unittest.TestCase):
    def explain(self, *arguments: str) -> dict:
        done = tapconv("explain", *arguments, "--json")
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        value = json.loads(done.stdout)
        jsonschema.validate(value, SCHEMA, jsonschema.Draft202012Validator)
        return value

    def refused(self, message: str, *arguments: str, code: int = 2) -> None:
        done = tapconv("explain", *arguments)
        self.assertEqual(code, done.returncode, done.stdout)
        self.assertIn(message, done.stderr)

    def test_a_problem_on_a_model(self) -> None:
        report = self.explain("kb56", "--device", "h200")
        self.assertEqual(["ieee", "fp32", "tf32-rna", "tf32-rn"], [contract["contract"] for contract in report["contracts"]])
        self.assertEqual(520192000, report["tensors"][-1]["bytes"])
        self.assertEqual((2240, 2240), (report["sums"][0]["least"], report["sums"][0]["most"]))
        fp32 = {item["reference"]: item for item in report["contracts"][1]["against"]}
        self.assertAlmostEqual(0.19, fp32["tf32-rna"]["failing_share"], delta=0.01)
        self.assertGreater(fp32["fp32"]["pass_probability"], 0.99)
        self.assertIn("direct", [verdict["solver"] for verdict in report["stages"][0]["verdicts"]])
        kernel = report["stages"][0]["kernels"][0]
        self.assertGreater(kernel["blocks"], 0)
        if not report["not_compiled"]:
            self.assertGreater(kernel["occupancy"]["blocks"], 0)
        text = tapconv("explain", "kb56", "--device", "h200").stdout
        for part in ("2240 products an output", "520.2 MB", "582.6 GFLOP", "ridge", "3xTF32", "whatever its order of summation", "ms expected"):
            self.assertIn(part, text)

    def test_every_kind_on_every_kind_of_device(self) -> None:
        for problem in (
            PROBLEM,
            "ConvTranspose1d(4, 8, 2, stride=3) @ 1x4x30",
            "DepthwiseSeparable2d(8, 16, 3) @ 1x8x9x9",
            "Conv3d(4, 4, 3, dtype=bfloat16, residual=True) @ 1x4x6x6x6",
            "Conv1d(4, 4, 3, dtype=float64) @ 1x4x20",
        ):
            for device in ("cpu", "rtx5090"):
                report = self.explain(problem, "--device", device)
                self.assertEqual("cpu" if device == "cpu" else "rtx5090", report["device"])
                self.assertEqual(device == "cpu", report["contracts"][0]["floor"]["device_name"] != report["device_name"])

    def test_tolerance_and_batch(self) -> None:
        loose, tight = (self.explain(PROBLEM, "--device", "cpu", "--atol", atol, "--rtol", "0") for atol in ("0.1", "0"))
        self.assertTrue(all(item["pass_probability"] > 0.99 for item in loose["contracts"][0]["against"]))
        self.assertTrue(all(item["failing_share"] > 0.1 for item in tight["contracts"][0]["against"]))
        self.assertEqual([7, 16, 20, 20], self.explain(PROBLEM, "--batch", "7", "--device", "cpu")["tensors"][-1]["shape"])
        self.refused("atol = -1; valid: a finite number", PROBLEM, "--device", "cpu", "--atol", "-1")

    def test_occupancy(self) -> None:
        held = self.explain("--device", "h200", "--occupancy", "threads=128,registers=96,shared=49152")
        self.assertEqual("NVIDIA H200", held["device_name"])
        self.assertEqual((4, 16, ["shared memory"]), tuple(held["occupancy"][key] for key in ("blocks", "warps", "limited_by")))
        text = tapconv("explain", "--device", "h200", "--occupancy", "shared=49152,threads=128,registers=96").stdout
        self.assertIn("4 blocks, 16 of 64 warps (25 %), limited by shared memory", text)
        self.assertEqual(0, self.explain("--device", "h200", "--occupancy", "threads=1024,registers=80")["occupancy"]["blocks"])
        for wrong in ("threads=128", "registers=96", "threads", "threads=128,registers=96,smem=1", "threads=1,threads=2,registers=3", "=1"):
            self.refused(f"occupancy = {wrong}; ", "--device", "h200", "--occupancy", wrong)
        self.refused("threads = x; valid: a whole number", "--device", "h200", "--occupancy", "threads=x,registers=1")
        self.refused("registers = 256; valid on NVIDIA H200: 1 to 255", "--device", "h200", "--occupancy", "threads=1,registers=256")
        self.refused("device = cpu; occupancy is of CUDA devices", "--device", "cpu", "--occupancy", "threads=1,registers=1")

    def test_tiles(self) -> None:
        tile = ["--device", "a100", "--tile", "channels=16,height=8,width=8"]
        answer = self.explain(PROBLEM, *tile)
        # 20 x 20 outputs in 3 x 3 tiles of 8 x 8, two images.
        self.assertEqual((108, 18), (answer["resident_blocks"], answer["tiles"][0]["blocks"]))
        self.assertAlmostEqual(1 - 400 / 576, answer["tiles"][0]["edge_waste"])
        held = self.explain(PROBLEM, *tile, "--occupancy", "threads=256,registers=128")
        self.assertEqual(216, held["resident_blocks"])
        self.assertAlmostEqual(18 / 216, held["tiles"][0]["waves"])
        self.assertEqual(2, len(self.explain("DepthwiseSeparable2d(8, 16, 3) @ 1x8x9x9", *tile)["tiles"]))
        rows = self.explain(PROBLEM, "--device", "a100", "--tile", "channels=8,pixels=100")["tiles"][0]
        self.assertEqual((16, 0), (rows["blocks"], rows["edge_waste"]))
        for wrong in ("pixels=4,width=2", "depth=1", "channels=2,channels=2", "rows=1"):
            self.refused(f"tile = {wrong}; ", PROBLEM, "--device", "a100", "--tile", wrong)
        self.refused("width = -1; valid", PROBLEM, "--device", "a100", "--tile", "width=-1")
        self.refused("channels = 0; valid: at least 1", PROBLEM, "--device", "a100", "--tile", "channels=0")
        self.refused("of no problem; valid: with PROBLEM", *tile)
        self.refused("does not fit a multiprocessor", PROBLEM, *tile, "--occupancy", "threads=1024,registers=80")

    def test_accesses(self) -> None:
        found = self.explain("--access", "float at 32*lane", "--access", "float4 at (lane%8)*132 + lane/8*4")["accesses"]
        self.assertEqual([(32, 1), (4, 4)], [(item["wavefronts"], item["ideal_wavefronts"]) for item in found])
        self.assertEqual([(32, 4), (20, 16)], [(item["sectors"], item["least_sectors"]) for item in found])
        block = self.explain("--access", "float4 at 4*thread", "--block", "256")["accesses"][0]
        self.assertEqual((32, 128, 1), (block["wavefronts"], block["sectors"], block["efficiency"]))
        text = tapconv("explain", "--access", "float at 3, 35").stdout
        self.assertIn("2 wavefronts, without conflicts 1: bank 3 gives 2 different words", text)
        self.refused("'lan' is no variable; valid: thread, warp, lane\n  float at 2*lan\n             ^", "--access", "float at 2*lan")
        self.refused("block = 2000; valid: a whole number from 1 to 1024", "--access", "float at lane", "--block", "2000")
        self.refused("--block requires --access", "--block", "32")

    def test_usage(self) -> None:
        self.refused("PROBLEM is missing")
        self.refused("beside --occupancy or --access; valid: alone, or with --tile", PROBLEM, "--access", "float at lane")
        self.refused("--access excludes --atol", "--access", "float at lane", "--atol", "1")
        self.refused("--batch requires problem", "--access", "float at lane", "--batch", "1")
        self.refused("valid: cpu, cuda", PROBLEM, "--device", "h300")


if __name__ == "__main__":
    main()
