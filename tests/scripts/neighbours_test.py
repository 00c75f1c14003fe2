#!/usr/bin/env python3
"""Tests of bench/neighbours.py, with a program that stands in for tapconv."""

import contextlib
import io
import json
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
import neighbours  # noqa: E402
import suite_runs  # noqa: E402

# Answers "specs", and a suite of which every layer takes twice its limit of `limit` ms, but those that SLOW names take `slow` times as long.
TAPCONV = """#!{python}
import json, sys
if sys.argv[1] == "specs":
    print(json.dumps({{"device_name": "NVIDIA H200", "versions": {{"display driver": "580"}}}}))
    sys.exit()
suite = open(sys.argv[sys.argv.index("--suite") + 1][1:]).read().splitlines()
def report(problem, contract):
    ms = 2 * {limit} * ({slow} if "(63, 128, (5" in problem and contract == "fp32" else 1)
    return {{"engine": {{"name": "warpgroup", "spaced_ms": ms}}, "configuration": "any", "floor": {{"limit_ms": {limit}}}}}
rows = [{{"problem": one, "contract": math, "reason": "", "report": report(one, math)}} for one in suite for math in ("tf32", "fp32")]
open(sys.argv[sys.argv.index("--out") + 1], "w").write(json.dumps({{"rows": rows}}))
"""


class Neighbours(unittest.TestCase):
    def test_differ_from_their_base_in_one_number(self) -> None:
        for base in neighbours.BASES:
            around = [layer for _, layer in neighbours.neighbours(base)]
            self.assertEqual(len(around), len(set(around)))
            self.assertNotIn(base, around)
            self.assertIn(1, [layer.batch for layer in around])
            for layer in around:
                flat = [[x for field in vars(one).values() for x in (field if isinstance(field, tuple) else (field,))] for one in (base, layer)]
                self.assertEqual(1, sum(a != b for a, b in zip(*flat, strict=True)), str(layer))

    def test_spelling(self) -> None:
        layer = neighbours.Layer((3, 4), (5,), 2, (60,), stride=2, padding=1, dilation=3)
        self.assertEqual("Conv1d(3, 4, 5, stride=2, padding=1, dilation=3) @ 2x3x60", str(layer))

    def measured(self, limit: float, slow: float) -> tuple[int, dict, str]:
        """The exit code, the file, and what was printed."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            program = folder / "tapconv"
            program.write_text(TAPCONV.format(python=sys.executable, limit=limit, slow=slow))
            program.chmod(0o755)
            printed = io.StringIO()
            with mock.patch.object(neighbours, "TAPCONV", program), contextlib.redirect_stdout(printed):
                code = neighbours.main(["--commit", "0123abc", "--out", name])
            drawn = xml.etree.ElementTree.parse(folder / "neighbours.svg").getroot()
            dots = [element for element in drawn.iter() if element.tag.endswith("circle")]
            self.assertEqual(2 * len(neighbours.grid()), len(dots))
            return code, json.loads((folder / "neighbours.json").read_text()), printed.getvalue()

    def test_alike(self) -> None:
        code, written, _ = self.measured(limit=0.1, slow=1.4)
        self.assertEqual(0, code)
        self.assertEqual(2 * (len(neighbours.grid()) - len(neighbours.BASES)), written["summary"]["pairs"])
        self.assertAlmostEqual(1.4, written["summary"]["largest_factor"])
        star = written["grid"][len(neighbours.BASES)]
        self.assertEqual(("fp32", 2, "in_channels 63"), (star["contract"], star["base"]["multiple"], star["neighbours"][0]["differs"]))

    def test_apart(self) -> None:
        for slow in (1.6, 0.6):
            code, written, printed = self.measured(limit=0.1, slow=slow)
            self.assertEqual(1, code)
            self.assertEqual(1, written["summary"]["apart"])
            self.assertIn("Conv2d(63, 128, (5, 7))", printed)

    def test_short_ones_do_not_count(self) -> None:
        code, written, _ = self.measured(limit=0.04, slow=3)
        self.assertEqual((0, 0, None), (code, written["summary"]["pairs"], written["summary"]["largest_factor"]))

    def test_what_cannot_be_believed_ends_it(self) -> None:
        wrong = "sys.exit(5)"
        absent = """open(sys.argv[sys.argv.index("--out") + 1], "w").write('{"rows": [{"problem": "p", "report": null, "reason": "no memory"}]}')"""
        for program, sentence in ((wrong, "outputs of the engine are beyond the bound"), (absent, "p: no memory")):
            with tempfile.TemporaryDirectory() as name:
                tapconv = Path(name) / "tapconv"
                tapconv.write_text(f"#!{sys.executable}\nimport sys\n{program}\n")
                tapconv.chmod(0o755)
                with self.assertRaises(SystemExit) as raised:
                    suite_runs.rows(tapconv, Path(name), "any", ["p"], "0123abc")
                self.assertIn(sentence, str(raised.exception))


if __name__ == "__main__":
    unittest.main()
