#!/usr/bin/env python3
"""Tests of bench/agreement.py, with programs that stand in for tapconv and ncu."""

import contextlib
import io
import json
import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
import agreement  # noqa: E402

HEADER = ('"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","Section Name",'
          '"Metric Name","Metric Unit","Metric Value"')  # fmt: skip


def launch(unit: str, value: str, metric: str = "gpu__time_duration.sum") -> str:
    return (f'"0","573","tapconv","127.0.0.1","tapconv_warpgroup","1","13","(384, 1, 1)","(132, 1, 1)","0","9.0","Command line profiler metrics",'
            f'"{metric}","{unit}","{value}"')  # fmt: skip


def run(low: float, high: float) -> dict:
    return {"ratio": (low + high) / 2, "ratio_low": low, "ratio_high": high}


# Answers "specs", and a suite of which every problem takes so many ms for each round and has the next interval of INTERVALS, by run.
TAPCONV = """#!{python}
import json, sys
if sys.argv[1] == "specs":
    print(json.dumps({{"device_name": "NVIDIA H200", "versions": {{"display driver": "580"}}}}))
    sys.exit()
suite = open(sys.argv[sys.argv.index("--suite") + 1][1:]).read().splitlines()
second = sys.argv[sys.argv.index("--seed") + 1] == "1"
def report(i):
    low = 1.0 if not second or i >= {apart} else 1.2
    return {{"engine": {{"name": "warpgroup", "spaced_ms": 0.4 + 0.1 * i, "spaced_rounds_ms": [0.4 + 0.1 * i] * 7}}, "ratio_reference": "cuDNN",
            "ratio": low + 0.05, "ratio_low": low, "ratio_high": low + 0.1, "converged": True, "refusal": "", "clocks": {{}}}}
problems = [f"{{one}} {{math}}" for one in suite for math in ("fp32", "tf32")]
assert "--resume" in sys.argv
rows = [{{"problem": one, "reason": "", "report": report(i)}} for i, one in enumerate(problems)]
open(sys.argv[sys.argv.index("--out") + 1], "w").write(json.dumps({{"commit": sys.argv[sys.argv.index("--commit") + 1], "rows": rows}}))
"""
# The n-th call sees the n-th kernel above 0.5 ms, some of them slower than bench.
NCU = """#!{python}
from pathlib import Path
calls = Path(__file__).with_suffix(".calls")
n = int(calls.read_text()) if calls.exists() else 0
calls.write_text(str(n + 1))
print("==PROF== Connected to process 573 (tapconv)")
print("  spaced ms  sustained")
print('''{header}''')
for _ in range({launches}):
    print('''{launch}'''.replace("NS", f"{{1e6 * (0.6 + 0.1 * n) * (1.03 if n < {slow} else 0.99):,.0f}}"))
"""


class Agreement(unittest.TestCase):
    def test_durations(self) -> None:
        lines = ["==PROF== Profiling", "spaced ms", HEADER, launch("ns", "1,439,072"), launch("nsecond", "2000000"), launch("us", "1,500.5"),
                 launch("usecond", "12.25"), launch("ms", "3.25"), launch("msecond", "1"), launch("second", "0.5"),
                 launch("hz", "7", "sm__cycles_elapsed.avg.per_second"), "==PROF== Disconnected"]  # fmt: skip
        self.assertEqual([1439.072, 2000, 1500.5, 12.25, 3250, 1000, 500000], [round(1e3 * ms, 6) for ms in agreement.launches_ms("\n".join(lines))])
        self.assertEqual([], agreement.launches_ms("==ERROR== ERR_NVGPUCTRPERM"))

    def test_a_unit_that_is_none(self) -> None:
        with self.assertRaises(KeyError):
            agreement.launches_ms(f"{HEADER}\n{launch('cycle', '5')}")

    def test_overlap(self) -> None:
        none = {"ratio": None, "ratio_low": None, "ratio_high": None}
        for first, second, expected in (
            (run(1, 1.1), run(1.05, 1.2), True),
            (run(1, 1.1), run(1.1, 1.2), True),
            (run(1, 1.1), run(1.11, 1.2), False),
            (run(1, 1.3), run(1.1, 1.2), True),
            (run(1, 1.1), none, False),
            (none, none, False),
        ):
            self.assertEqual(expected, agreement.overlap(first, second), (first, second))
            self.assertEqual(expected, agreement.overlap(second, first), (second, first))

    def test_the_shortest_kernels_are_profiled(self) -> None:
        pairs = [{"problem": str(ms), "runs": [{"rounds_ms": [ms] * 3}, {"rounds_ms": [ms + 0.02] * 3}]} for ms in (3, 0.4, 1, 0.5, 2, 0.6, 5, 4, 6)]
        self.assertEqual(["0.5", "0.6", "1", "2", "3", "4"], [pair["problem"] for pair in agreement.worth_profiling(pairs)])

    def measured(self, apart: int, slow: int, launches: int = agreement.ROUNDS) -> tuple[int, dict, str]:
        """The exit code, the file, and what was printed."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            text = {"tapconv": TAPCONV.format(python=sys.executable, apart=apart),
                    "ncu": NCU.format(python=sys.executable, header=HEADER, launch=launch("ns", "NS"), launches=launches, slow=slow)}  # fmt: skip
            for program, content in text.items():
                (folder / program).write_text(content)
                (folder / program).chmod(0o755)
            path = {"PATH": f"{folder}:{os.environ['PATH']}"}
            printed = io.StringIO()
            with mock.patch.object(agreement, "TAPCONV", folder / "tapconv"), mock.patch.dict(os.environ, path), contextlib.redirect_stdout(printed):
                code = agreement.main(["--commit", "0123abc", "--out", name, "--runs", f"{name}/runs"])
            for seed in (0, 1):
                self.assertEqual("0123abc", json.loads((folder / f"runs/run_{seed}.json").read_text())["commit"])
            return code, json.loads((folder / "agreement.json").read_text()), printed.getvalue()

    def test_everything_agrees(self) -> None:
        code, written, printed = self.measured(apart=2, slow=0)
        self.assertEqual(0, code, printed)
        self.assertEqual({"pairs": 40, "overlaps": 38, "kernels": 6, "agreeing": 6, "missed": []}, written["summary"])
        self.assertEqual("0123abc", written["commit"])
        self.assertAlmostEqual(1 / 0.99 - 1, written["kernels"][0]["difference"], places=5)
        self.assertEqual([1.0, 1.2], [run["ratio_low"] for run in written["pairs"][0]["runs"]])

    def test_misses(self) -> None:
        for arguments, sentence in (
            ({"apart": 3, "slow": 0}, "37 of 40 pairs overlap; wanted: 38"),
            ({"apart": 0, "slow": 1}, "5 of 6 kernels agree with the profiler within 2%; wanted: 6"),
            ({"apart": 0, "slow": 0, "launches": 8}, "0 of 6 kernels agree with the profiler within 2%; wanted: 6"),
        ):
            code, written, printed = self.measured(**arguments)
            self.assertEqual(1, code, arguments)
            self.assertEqual([sentence], written["summary"]["missed"])
            self.assertIn(f"MISSED: {sentence}", printed)


if __name__ == "__main__":
    unittest.main()
