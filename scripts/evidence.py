#!/usr/bin/env python3
"""Checks what results/<gpu>/*.json says, and what ties it to the code that made it.

    evidence.py [ROOT]        checks the tree at ROOT (default: the repository of this script)
    evidence.py --self-test

Exits with 1 if a GPU's evidence is missing, malformed, of several commits or trees, or tells of a failure. Stale evidence is shown
loudly and is no error, since a machine without a GPU cannot renew it. results/cpu has no device code and is not looked at.
"""

import hashlib
import json
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DEVICE_CODE = ("kernels", "src/cuda", "src/solver")
PUBLISHED = 35
AGREEMENT = (40, 6)  # pairs and kernels of bench/agreement.py
HEADER = ("date", "gpu", "driver", "versions", "commit", "device_code_sha256", "script")
REQUIRED = ("tests.json", "check.json", "bench.json", "specs.json")


def device_code_hash(root: Path = ROOT) -> str:
    """SHA-256 over what sha256sum prints of all files in kernels/, src/cuda and src/solver, by name: the kernels, what compiles and
    launches them, and what chooses their parameters. Not covered: how they are driven and measured (src/engine, src/workbench).
    cmake/hash_files.cmake computes the same."""
    paths = [path for folder in DEVICE_CODE for path in (root / folder).rglob("*") if path.is_file()]
    names = sorted(path.relative_to(root).as_posix() for path in paths)
    lines = [f"{hashlib.sha256((root / name).read_bytes()).hexdigest()}  {name}\n" for name in names]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def problems_of_header(header: dict) -> Iterator[str]:
    """What a results file lacks to be evidence."""
    yield from (f"has no {field}" for field in HEADER if not header.get(field))
    if not re.fullmatch(r"[0-9a-f]{7,40}", str(header.get("commit", ""))):
        yield f"commit = {header.get('commit')!r}; valid: 7 to 40 hexadecimal digits"


def problems_of_body(name: str, body: dict) -> Iterator[str]:
    """Which failures a results file tells of, or what it does not tell."""
    if name == "tests.json":
        if not body.get("passed"):
            yield "says that no test passed"
        if body.get("not_passed") != 0:
            yield f"not_passed = {body.get('not_passed')!r}; valid: 0"
    if name == "check.json":
        checks = body.get("checks") or []
        if not checks:
            yield "has no checks"
        for index, check in enumerate(checks):
            if check.get("passed") is not True or check.get("exit_code") != 0:
                yield f"checks[{index}] ({check.get('problem')}) did not pass, exit code {check.get('exit_code')!r}"
    if name == "bench.json":
        benches = body.get("benches") or []
        if not benches:
            yield "has no benches"
        for index, bench in enumerate(benches):
            if bench.get("exit_code") not in (0, 9):
                yield f"benches[{index}] ({bench.get('problem')}) failed, exit code {bench.get('exit_code')!r}"
            yield from (f"benches[{index}] ({bench.get('problem')}): {doubt}" for doubt in bench.get("doubts", []))
    if name == "specs.json" and not body.get("specs"):
        yield "has no specs"
    if name == "fingerprint.json":
        rows = body.get("rows") or []
        if len(rows) != PUBLISHED:
            yield f"has {len(rows)} rows; the published problems are {PUBLISHED}"
        for row in rows:
            if (row.get("report") or {}).get("agrees") is not True:
                yield f"{row.get('name')}: {row.get('reason') or 'PyTorch does not compute as published'}"
    if name == "agreement.json":
        summary = body.get("summary") or {}
        counts = len(body.get("pairs") or []), len(body.get("kernels") or [])
        if "missed" not in summary or any(count < wanted for count, wanted in zip(counts, AGREEMENT)):
            yield f"has {counts[0]} pairs and {counts[1]} kernels and {'a' if summary else 'no'} summary; wanted: {AGREEMENT[0]}, {AGREEMENT[1]} and one"
        yield from (f"missed: {one}" for one in summary.get("missed", []))


def check_folder(folder: Path, current: str) -> tuple[list[str], dict[str, dict]]:
    """(problems, the readable files by name) of one GPU's results; `current` is the hash of the device code."""
    problems = [f"{folder.name}/{name} is missing" for name in REQUIRED if not (folder / name).is_file()]
    files = {}
    for path in sorted(folder.glob("*.json")):
        try:
            body = json.loads(path.read_text())
        except ValueError as error:
            problems.append(f"{folder.name}/{path.name} is not JSON: {error}")
            continue
        if not isinstance(body, dict):
            problems.append(f"{folder.name}/{path.name} is not a JSON object")
            continue
        files[path.name] = body
        problems += [f"{folder.name}/{path.name} {problem}" for problem in problems_of_header(body)]
        problems += [f"{folder.name}/{path.name} {problem}" for problem in problems_of_body(path.name, body)]
    # Files of the suite that are of other code are stale, which is told anyway: a run may have been cut short. What other scripts measure may be
    # of another commit.
    commits = {str(files[name].get("commit")) for name in REQUIRED if name in files and files[name].get("device_code_sha256") == current}
    if len(commits) > 1:
        problems.append(f"{folder.name}: the suite's files disagree in commit: {', '.join(sorted(commits))}")
    return problems, files


def check(root: Path) -> tuple[list[str], list[str], int]:
    """(problems, stale files, files) of the tree at `root`."""
    problems, stale, count = [], [], 0
    current = device_code_hash(root)
    folders = [path for path in sorted((root / "results").glob("*")) if path.is_dir() and path.name != "cpu"]
    if not folders:
        problems.append("no results of a GPU are there")
    for folder in folders:
        found, files = check_folder(folder, current)
        problems += found
        count += len(files)
        stale += [f"results/{folder.name}/{name}" for name, body in files.items() if body.get("device_code_sha256") != current]
    return problems, stale, count


def self_test() -> list[str]:
    """Every planted violation is found, once, and a clean tree has none."""

    def check_tree(change=None) -> tuple[list[str], list[str], int]:
        with tempfile.TemporaryDirectory() as name:
            root = Path(name)
            (root / "kernels").mkdir()
            (root / "kernels" / "a.cuh").write_text("a")
            header = dict.fromkeys(HEADER, "x") | {"commit": "0123abc", "device_code_sha256": device_code_hash(root)}
            files = {
                "tests.json": header | {"passed": 3, "not_passed": 0},
                "check.json": header | {"checks": [{"problem": "p", "passed": True, "exit_code": 0}]},
                "bench.json": header | {"benches": [{"problem": "p", "exit_code": 0}, {"problem": "q", "exit_code": 9}]},
                "specs.json": header | {"specs": {"device": "cuda:0"}},
            }
            if change:
                change(files)
            (root / "results" / "gpu").mkdir(parents=True)
            (root / "results" / "cpu").mkdir()
            (root / "results" / "cpu" / "other.json").write_text("{}")
            for file, body in files.items():
                (root / "results" / "gpu" / file).write_text(body if isinstance(body, str) else json.dumps(body))
            return check(root)

    agreeing = [{"report": {"agrees": True}}] * PUBLISHED
    measured = {"pairs": [{}] * AGREEMENT[0], "kernels": [{}] * AGREEMENT[1]}
    wrong = []
    if check_tree() != ([], [], 4):
        wrong.append(f"a clean tree gives {check_tree()}")
    planted = {
        **{f"no {name}": lambda files, name=name: files.pop(name) for name in REQUIRED},
        **{f"no {field}": lambda files, field=field: files.update({"variants.json": files["specs.json"] | {field: None}})
           for field in HEADER if field != "commit"},
        "commit that is none": lambda files: files.update({"variants.json": files["specs.json"] | {"commit": "main"}}),
        "broken JSON": lambda files: files.update({"variants.json": "{"}),
        "a list": lambda files: files.update({"variants.json": "[]"}),
        "a failed test": lambda files: files["tests.json"].update(not_passed=1),
        "no test": lambda files: files["tests.json"].update(passed=0),
        "a check that did not pass": lambda files: files["check.json"]["checks"][0].update(passed=False),
        "a check's exit code": lambda files: files["check.json"]["checks"][0].update(exit_code=5),
        "no check": lambda files: files["check.json"].update(checks=[]),
        "a bench's exit code": lambda files: files["bench.json"]["benches"][1].update(exit_code=10),
        "a bench in doubt": lambda files: files["bench.json"]["benches"][0].update(doubts=["direct is implausible"]),
        "no bench": lambda files: files["bench.json"].update(benches=[]),
        "no specs": lambda files: files["specs.json"].update(specs={}),
        "no fingerprint": lambda files: files.update({"fingerprint.json": files["specs.json"] | {"rows": []}}),
        "a fingerprint that disagrees": lambda files: files.update(
            {"fingerprint.json": files["specs.json"] | {"rows": agreeing[1:] + [{"report": {"agrees": False}}]}}),
        "a fingerprint without an answer": lambda files: files.update(
            {"fingerprint.json": files["specs.json"] | {"rows": agreeing[1:] + [{"name": "p", "reason": "no PyTorch", "report": None}]}}),
        "a fingerprint of too few": lambda files: files.update({"fingerprint.json": files["specs.json"] | {"rows": agreeing[1:]}}),
        "no agreement": lambda files: files.update({"agreement.json": files["specs.json"]}),
        "an agreement that was missed": lambda files: files.update(
            {"agreement.json": files["specs.json"] | measured | {"summary": {"missed": ["37 of 40 pairs overlap"]}}}),
        "an agreement of too few": lambda files: files.update(
            {"agreement.json": files["specs.json"] | measured | {"pairs": [{}] * 39, "summary": {"missed": []}}}),
        "another commit": lambda files: files["specs.json"].update(commit="4567def"),
    }
    for name, change in planted.items():
        problems, _, _ = check_tree(change)
        if len(problems) != 1:
            wrong.append(f"{name}: gives {problems}")
    problems, stale, _ = check_tree(lambda files: [body.update(device_code_sha256="y") for body in files.values()])
    if problems or len(stale) != len(REQUIRED):
        wrong.append(f"stale evidence gives {problems}, {stale}")
    return wrong


def main(arguments: list[str]) -> int:
    if arguments == ["--self-test"]:
        wrong = self_test()
        for line in wrong:
            print(line)
        return 1 if wrong else 0
    if len(arguments) > 1 or any(argument.startswith("-") for argument in arguments):
        print(__doc__, file=sys.stderr)
        return 2
    problems, stale, count = check(Path(arguments[0]).resolve() if arguments else ROOT)
    for problem in problems:
        print(f"evidence: {problem}")
    if stale:
        line = "!" * 78
        print(f"{line}\nSTALE EVIDENCE: kernels/, src/cuda or src/solver have changed since these were measured:")
        for path in stale:
            print(f"  {path}")
        print(f"Run the scripts that they name on a GPU and commit what these write.\n{line}")
    elif not problems:
        print(f"evidence: {count} results files were measured on the device code as it is, and tell of no failure")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
