#!/usr/bin/env python3
"""Builds Tapconv, runs its GPU tests and benchmarks, and writes results/<gpu>/.

    python3 scripts/gpu_suite.py --commit $(git rev-parse HEAD) [--tier quick|full] [--seed 1] [--out results/h200]

Needs no network and no git: the caller says which commit this tree is. docs/testing.md says what the tests are.

- `quick` (meant to take two minutes with the build; last seen to take more): every test but the published problems at full size, 300 fuzzed problems; judges about
  a million of kb56's and kb76's outputs.
- `full` (meant to take eight minutes): 3,000 fuzzed problems, the published problems at full size, the tools of compute-sanitizer on a few problems;
  judges many more outputs and times more rounds. Both sweep every cuDNN engine and measure the three fastest.

Exits with 1 if a test, a tool, a check or a bench failed or a time is implausible; the results are written all the same.
"""

import argparse
import datetime
import json
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from evidence import ROOT, device_code_hash

BUILD = ROOT / "build" / "gpu"
TAPCONV = BUILD / "tapconv"
# With the outputs that the full tier judges: all 130 million, and 4 of 1432 million.
PROBLEMS = {"kb56": "all", "kb76": "4194304"}
CONTRACTS = ("ieee", "fp32", "tf32")
TEST_PROGRAM = BUILD / "tests" / "tapconv_gpu_tests"
FUZZ_PROBLEMS = {"quick": 300, "full": 3000}
# Tests that need much of the device's memory run in few processes, after all others.
LARGE_SHARDS = 3
# racecheck does not follow barriers that other blocks of a cluster arrive at.
SANITIZED = {"memcheck": "*Sanitized*", "racecheck": "*Sanitized*:-*Clusters*", "initcheck": "*Sanitized*", "synccheck": "*Sanitized*"}
SANITIZER_SECONDS = 180
NEED_TWO_GPUS = {"Runtime.SeveralDevices"}
SLOWEST = 10


def gpu_count() -> int:
    listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False).stdout
    return sum(line.startswith("GPU ") for line in listed.splitlines())


def library_environment() -> dict[str, str]:
    """The environment with PyTorch's own cuDNN first, if there is one: the newest that is installed."""
    environment = dict(os.environ)
    find = "import nvidia.cudnn, os; print(os.path.join(list(nvidia.cudnn.__path__)[0], 'lib'))"
    found = subprocess.run([sys.executable, "-c", find], capture_output=True, text=True, check=False)
    if found.returncode == 0:
        folder = found.stdout.strip()
        environment["TAPCONV_LIBRARY_PATH"] = folder
        # cuDNN opens its own parts by name.
        environment["LD_LIBRARY_PATH"] = ":".join(filter(None, [folder, environment.get("LD_LIBRARY_PATH")]))
    return environment


def evidence_header(script: str, commit: str, specs: dict) -> dict:
    """What every results file begins with; `specs` is what `tapconv specs --json` says."""
    return {
        "script": script,
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "gpu": specs["device_name"],
        "driver": specs["versions"]["display driver"],
        "versions": specs["versions"],
        "commit": commit,
        "device_code_sha256": device_code_hash(),
    }


def without_root(text: str) -> str:
    """`text` with the paths of this tree relative to it."""
    return text.replace(f"{ROOT}/", "")


def find_cuda_tool(name: str) -> str | None:
    """The path of a tool like compute-sanitizer, if it is installed."""
    cuda_home = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    return shutil.which(name, path=":".join([os.environ.get("PATH", ""), f"{cuda_home}/bin", "/usr/local/cuda/bin"]))


def doubts_of(bench: dict) -> list[str]:
    """Why a bench that ran cannot be believed."""
    doubts = [
        f"{entry['name']} ({entry['layout']}) is implausible: {entry['spaced_min_ms']:.4f} ms is below the physical limit"
        for entry in [bench["engine"], *bench["references"]]
        if entry["implausible"]
    ]
    if bench.get("as_declared") is False:
        doubts.append(f"{bench['engine']['name']} was not computed as declared")
    return doubts


class Suite:
    def __init__(self, arguments: argparse.Namespace) -> None:
        self.full = arguments.tier == "full"
        self.environment = library_environment()
        self.failures: list[str] = []
        self.fuzz = {"problems": FUZZ_PROBLEMS[arguments.tier], "seed": arguments.seed}
        if arguments.build:
            self.build()
        self.specs = self.tapconv("specs")
        self.out = Path(arguments.out) if arguments.out else ROOT / "results" / self.short_name()
        self.out.mkdir(parents=True, exist_ok=True)
        script = f"scripts/gpu_suite.py --tier {arguments.tier} --seed {arguments.seed}"
        self.header = evidence_header(script, arguments.commit, self.specs)

    def short_name(self) -> str:
        """"NVIDIA H200" -> "h200"."""
        return re.sub(r"[^a-z0-9]+", "-", self.specs["device_name"].lower().removeprefix("nvidia ")).strip("-")

    def build(self) -> None:
        targets = ["tapconv_cli", "tapconv_gpu_tests", "candidates", "jit_times"]
        for command in (["cmake", "--preset", "gpu"], ["cmake", "--build", "--preset", "gpu", "--target", *targets]):
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                sys.exit(f"{' '.join(command)} failed:\n{done.stdout[-4000:]}\n{done.stderr[-2000:]}")

    def tapconv(self, *arguments: str) -> dict:
        """One command's JSON, with its exit code."""
        done = subprocess.run(
            [TAPCONV, *arguments, "--json"], env=self.environment, capture_output=True, text=True, check=False
        )
        try:
            result = json.loads(done.stdout)
        except json.JSONDecodeError:
            result = {"error": {"message": without_root(done.stderr[-2000:])}}
        result["exit_code"] = done.returncode
        return result

    def write(self, name: str, body: dict) -> None:
        (self.out / name).write_text(json.dumps(self.header | body, indent=1) + "\n")

    def run_shard(self, name: str, test_filter: str, shard: int, shards: int) -> tuple[list[dict], list[dict]]:
        """The tests of one process, and what that process died of."""
        report = BUILD / f"gpu-tests-{name}-{shard}.json"
        report.unlink(missing_ok=True)
        sharding = {"GTEST_TOTAL_SHARDS": str(shards), "GTEST_SHARD_INDEX": str(shard)}
        fuzz = {"TAPCONV_FUZZ_PROBLEMS": str(self.fuzz["problems"]), "TAPCONV_FUZZ_SEED": str(self.fuzz["seed"])}
        command = [TEST_PROGRAM, f"--gtest_filter={test_filter}", f"--gtest_output=json:{report}"]
        begin = time.monotonic()
        done = subprocess.run(
            command, env=self.environment | sharding | fuzz, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
        suites = json.loads(report.read_text())["testsuites"] if report.exists() else []
        cases = [case for suite in suites for case in suite["testsuite"]]
        failed = sum(bool(case.get("failures")) for case in cases)
        print(f"tests, {name} {shard + 1} of {shards}: {len(cases)} in {time.monotonic() - begin:.0f} s, {failed} failed", flush=True)
        # A failed test makes the program end with 1 and is told of with the tests; anything else is the program's own failure.
        if report.exists() and (done.returncode == 0 or (done.returncode == 1 and failed)):
            return cases, []
        end = {"name": f"{name} {shard}", "status": f"ended with {done.returncode}", "failures": [without_root(done.stdout[-3000:])]}
        return cases, [end]

    def run_shards(self, name: str, test_filter: str, shards: int) -> tuple[list[dict], list[dict]]:
        """Tests spread over processes, which compile their kernels beside each other."""
        tests, ends = [], []
        with ThreadPoolExecutor(shards) as pool:
            for done in as_completed([pool.submit(self.run_shard, name, test_filter, shard, shards) for shard in range(shards)]):
                more_tests, more_ends = done.result()
                tests += more_tests
                ends += more_ends
        return tests, ends

    def tests(self) -> None:
        shards = max((os.cpu_count() or 2) // 2, 1)
        tests, ends = self.run_shards("tests", "-*/Large*", shards)
        large_tests, large_ends = self.run_shards("large", "*/Large*" if self.full else "*/LargeTensors*", LARGE_SHARDS)
        rows = []
        for case in sorted(tests + large_tests, key=lambda case: (case["classname"], case["name"])):
            name = f"{case['classname']}.{case['name']}"
            failures = [without_root(failure["failure"]) for failure in case.get("failures", [])]
            status = "failed" if failures else {"COMPLETED": "passed"}.get(case["result"], case["result"].lower())
            row = {"name": name, "status": status, "seconds": float(case["time"].rstrip("s"))}
            measured = {key: float(value) for key, value in case.items() if key.endswith("_us")}
            rows.append(row | measured | ({"failures": failures} if failures else {}))
            if status == "skipped" and name in NEED_TWO_GPUS and gpu_count() < 2:
                rows[-1]["reason"] = "needs two GPUs"
                print(f"test {name}: skipped, needs two GPUs")
            elif status != "passed":
                self.failures.append("\n".join([f"test {name}: {status}", *failures]))
        for row in sorted(rows, key=lambda row: -row["seconds"])[:SLOWEST]:
            print(f"  {row['seconds']:7.1f} s  {row['name']}")
        for end in ends + large_ends:
            self.failures.append(f"the process {end['name']} of the tests {end['status']}:\n{end['failures'][0]}")
            rows.append(end)
        passed = sum(row["status"] == "passed" for row in rows)
        skipped = sum("reason" in row for row in rows)
        not_passed = len(rows) - passed - skipped
        self.write("tests.json", {"fuzz": self.fuzz, "passed": passed, "skipped": skipped, "not_passed": not_passed, "tests": rows})
        print(f"tests: {passed} passed, {skipped} skipped, {not_passed} failed; {self.fuzz['problems']} fuzzed problems from seed {self.fuzz['seed']}")
        if not rows:
            self.failures.append("no test ran")

    def sanitize(self, program: str, tool: str) -> dict:
        """The sanitized tests under one tool."""
        command = [program, "--tool", tool, "--error-exitcode", "86", TEST_PROGRAM, f"--gtest_filter={SANITIZED[tool]}"]
        begin = time.monotonic()
        try:
            done = subprocess.run(
                command,
                env=self.environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
                timeout=SANITIZER_SECONDS,
            )
        except subprocess.TimeoutExpired:
            return {"tool": tool, "status": "timed out", "seconds": SANITIZER_SECONDS}
        # All of them ran, none was skipped.
        ran = re.search(r"\[  PASSED  \] [1-9]\d* tests?\.", done.stdout) and "[  SKIPPED ]" not in done.stdout
        summary = [line.strip("= ") for line in done.stdout.splitlines() if line.startswith("=========") and "SUMMARY" in line]
        passed = done.returncode == 0 and ran and summary
        result = {"tool": tool, "status": "passed" if passed else "failed", "seconds": round(time.monotonic() - begin, 1), "summary": summary}
        return result if passed else result | {"exit_code": done.returncode, "output": without_root(done.stdout[-4000:])}

    def sanitizers(self) -> None:
        if not self.full:
            return
        program = find_cuda_tool("compute-sanitizer")
        if program is None:
            # Told, but no failure of the code.
            tools = [{"tool": tool, "status": "not run", "reason": "compute-sanitizer is not installed"} for tool in SANITIZED]
        else:
            with ThreadPoolExecutor(len(SANITIZED)) as pool:
                tools = list(pool.map(lambda tool: self.sanitize(program, tool), SANITIZED))
        for tool in tools:
            print(f"{tool['tool']}: {tool['status']}", *tool.get("summary", []), tool.get("reason", ""))
            if tool["status"] in ("failed", "timed out"):
                self.failures.append("\n".join(filter(None, [f"{tool['tool']}: {tool['status']}", tool.get("output")])))
        self.write("sanitizer.json", {"tools": tools})

    def checks(self) -> None:
        checks = []
        for problem, samples in PROBLEMS.items():
            samples = ["--samples", samples] if self.full else []
            for contract in CONTRACTS:
                result = self.tapconv("check", f"{problem}(math={contract})", "--against", "cudnn", *samples)
                checks.append(result)
                print(f"check {problem} {contract}: exit code {result['exit_code']}. {result.get('sentence', result.get('error'))}")
                if result["exit_code"] != 0:
                    self.failures.append(f"check {problem} {contract}")
        self.write("check.json", {"checks": checks})

    def benchmarks(self) -> None:
        benches = []
        protocol = ["--finalists", "3", *(["--rounds", "9", "--sustained-s", "0.2"] if self.full else ["--rounds", "7", "--sustained-s", "0.1"])]
        for problem in PROBLEMS:
            for contract in ("tf32", "fp32"):
                result = self.tapconv("bench", f"{problem}(math={contract})", "--against", "cudnn", *protocol)
                benches.append(result)
                if result["exit_code"] not in (0, 9):
                    self.failures.append(f"bench {problem} {contract}: {result.get('error')}")
                    continue
                result["doubts"] = doubts_of(result)
                self.failures += [f"bench {problem} {contract}: {doubt}" for doubt in result["doubts"]]
                line = f"bench {problem} {contract}: {result['engine']['name']} {result['engine']['spaced_ms']:.3f} ms"
                if result["references"]:
                    best = result["references"][0]
                    line += f", best reference {best['spaced_ms']:.3f} ms ({best['layout']}, {best['name']})"
                print("; ".join([f"{line}, reach {result['floor']['reach_ms']:.3f} ms", *result["doubts"]]))
        self.write("bench.json", {"benches": benches})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--commit", required=True, help="the commit that this tree is")
    parser.add_argument("--tier", choices=("quick", "full"), default="quick")
    parser.add_argument("--seed", type=int, default=1, help="of the first fuzzed problem (default: 1)")
    parser.add_argument("--no-build", dest="build", action="store_false", help="build/gpu is of this tree already")
    parser.add_argument("--out", help="where to write (default: results/ and the GPU's name)")
    arguments = parser.parse_args()
    if not re.fullmatch(r"[0-9a-f]{7,40}", arguments.commit):
        parser.error(f"--commit {arguments.commit}: valid: 7 to 40 hexadecimal digits")
    if arguments.seed < 0:
        parser.error(f"--seed {arguments.seed}: valid: 0 or more")
    start = time.monotonic()
    suite = Suite(arguments)
    print(f"built in {time.monotonic() - start:.0f} s")
    # Nothing is timed in the first three, so that they can share the machine.
    for steps in ((suite.tests, suite.sanitizers, suite.checks), (suite.benchmarks,)):
        begin = time.monotonic()
        with ThreadPoolExecutor(len(steps)) as pool:
            for done in [pool.submit(step) for step in steps]:
                done.result()
        print(f"{', '.join(step.__name__ for step in steps)}: {time.monotonic() - begin:.0f} s")
    suite.write("specs.json", {"specs": suite.specs})
    for failure in suite.failures:
        print(f"FAILED: {failure}")
    print(f"gpu suite: {'FAILED' if suite.failures else 'passed'} in {time.monotonic() - start:.0f} s, results in {suite.out}")
    return 1 if suite.failures else 0


if __name__ == "__main__":
    sys.exit(main())
