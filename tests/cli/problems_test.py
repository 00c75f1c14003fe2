#!/usr/bin/env python3
"""The problems command: lists, filters, changes, translations."""

import json
import tempfile
import unittest
from pathlib import Path

from harness import main, tapconv

DENSE = "Conv2d(64, 128, (5, 7), bias=False) @ 8x64x512x256"
DEPTHWISE = "Conv2d(32, 32, 3, groups=32) @ 1x32x16x16"
GROUPED = "Conv2d(32, 32, 3, groups=4) @ 1x32x16x16"
TRANSPOSED = "ConvTranspose1d(4, 4, 3) @ 1x4x8"
SEPARABLE = "DepthwiseSeparable2d(4, 6, 3) @ 1x4x8x8"
ALL = [DENSE, DEPTHWISE, GROUPED, TRANSPOSED, SEPARABLE]


def lines(*arguments: str) -> list[str]:
    return tapconv("problems", *arguments).stdout.splitlines()


class Problems(unittest.TestCase):
    def test_lists(self) -> None:
        lists = json.loads(tapconv("problems", "--json").stdout)["lists"]
        self.assertIn("kernelbench", [entry["name"] for entry in lists])
        text = tapconv("problems").stdout
        for entry in lists:
            problems = json.loads(tapconv("problems", entry["name"], "--json").stdout)["problems"]
            self.assertEqual(entry["count"], len(problems))
            self.assertRegex(text, rf"(?m)^{entry['name']} +{entry['count']}  \S")
        self.assertLessEqual(max(map(len, text.splitlines())), 80)

    def test_text(self) -> None:
        self.assertEqual(
            [
                "kb56  Conv2d(64, 128, (5, 7), bias=False, math=tf32) @ 8x64x512x256",
                "kb76  Conv1d(64, 128, 3, stride=3, dilation=4, bias=False, math=tf32) @ 64x64x524280",
            ],
            lines("kb56", "kb76"),
        )
        self.assertEqual(["Conv1d(1, 1, 3) @ 1x1x4"], lines("nn.Conv1d(1,1,kernel_size=3) @ 1x1x4", "--as", "tapconv"))

    def test_filters(self) -> None:
        for kept, arguments in (
            ([DENSE], ["--groups", "dense", "--kind", "conv"]),
            ([DEPTHWISE, SEPARABLE], ["--groups", "depthwise"]),
            ([GROUPED], ["--groups", "grouped"]),
            ([TRANSPOSED], ["--rank", "1"]),
            ([TRANSPOSED], ["--kind", "transposed"]),
            ([SEPARABLE], ["--kind", "depthwise_separable"]),
            ([DENSE], ["--min-gflop", "1"]),
            ([DEPTHWISE, GROUPED, TRANSPOSED, SEPARABLE], ["--max-gflop", "1"]),
            ([TRANSPOSED], ["--filter", "convtranspose"]),
            (ALL, ["--dtype", "float32"]),
            ([], ["--dtype", "bfloat16"]),
        ):
            self.assertEqual(kept, lines(*ALL, *arguments, "--as", "tapconv"), arguments)
        done = tapconv("problems", DENSE, "--rank", "3")
        self.assertEqual((0, ""), (done.returncode, done.stdout))
        self.assertIn("no problem passes", done.stderr)

    def test_a_filter_alone_looks_through_all_lists(self) -> None:
        found = lines("--rank", "1", "--names")
        self.assertIn("kb76", found)
        self.assertNotIn("kb56", found)
        self.assertEqual(found, [line.split()[0] for line in lines("--rank", "1")])

    def test_names(self) -> None:
        names = lines("--names")
        self.assertIn("kernelbench", names)
        self.assertIn("kb56", names)
        self.assertEqual(len(names), len(set(names)))
        lists = {entry["name"] for entry in json.loads(tapconv("problems", "--json").stdout)["lists"]}
        for name in names:
            if name not in lists:
                self.assertEqual([name], lines(name, "--names"))

    def test_batch_and_reduced(self) -> None:
        self.assertEqual([DENSE.replace("8x64", "3x64")], lines(DENSE, "--batch", "3", "--as", "tapconv"))
        small = json.loads(tapconv("problems", "kernelbench", "--reduced", "--min-gflop", "100", "--json").stdout)["problems"]
        self.assertGreater(len(small), 10)
        for problem in small:
            self.assertLess(problem["flop"], 1e9, problem["problem"])

    def test_json(self) -> None:
        problem, separable = json.loads(tapconv("problems", "kb56", SEPARABLE, "--json").stdout)["problems"]
        self.assertEqual("kb56", problem["name"])
        self.assertEqual([8, 128, 508, 250], problem["output_shape"])
        self.assertEqual(2 * 8 * 128 * 508 * 250 * 64 * 35, problem["flop"])
        self.assertEqual([6, 4, 1, 1], separable["pointwise_weight_shape"])
        for entry in (problem, separable):
            for language in ("pytorch", "benchdnn", "miopen"):
                done = tapconv("problems", entry["problem"], "--as", language)
                if entry[language] is None:
                    self.assertEqual(2, done.returncode)
                    self.assertEqual("", done.stdout)
                    self.assertTrue(entry["reasons"][language])
                    self.assertIn(entry["reasons"][language], done.stderr)
                else:
                    self.assertEqual(0, done.returncode, done.stderr)
                    self.assertEqual(entry[language] + "\n", done.stdout)
                    self.assertNotIn(language, entry["reasons"])
        self.assertIsNone(separable["miopen"])

    def test_a_translation_that_many_lack(self) -> None:
        done = tapconv("problems", DENSE, SEPARABLE, DEPTHWISE, "--as", "miopen")
        self.assertEqual(0, done.returncode)
        self.assertEqual(2, len(done.stdout.splitlines()))
        self.assertIn(SEPARABLE, done.stderr)

    def test_what_is_printed_can_be_read(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            path = Path(name) / "problems.txt"
            text = tapconv("problems", *ALL, "--as", "tapconv").stdout
            path.write_text(text)
            self.assertEqual(text, tapconv("problems", f"@{path}", "--as", "tapconv").stdout)
            self.assertEqual(10, tapconv("problems", f"@{path}.none").returncode)

    def test_usage(self) -> None:
        for arguments in (
            ["--rank", "4"], ["--kind", "dense"], ["--groups", "2"], ["--as", "keras"], ["--min-gflop", "nan"], ["--max-gflop", "-1"],
            ["--max-gflop", "x"], ["--batch", "0"], ["--filter", ""], ["--json", "--as", "pytorch"], ["--names", "--json"],
            ["Conv9d(1, 1, 1) @ 1x1x1"],
        ):  # fmt: skip
            self.assertEqual(2, tapconv("problems", *arguments).returncode, arguments)


if __name__ == "__main__":
    main()
