"""What the scripts share that measure suites of their own with `tapconv bench`."""

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scripts"))
from gpu_suite import library_environment  # noqa: E402

WRONG_OUTPUTS = 5  # exit code of `tapconv bench`


def parse(arguments: list[str], description: str, files: str) -> argparse.Namespace:
    """The options that each has: commit, out, runs."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--commit", required=True, help="the commit that this tree is")
    parser.add_argument("--out", required=True, type=Path, help=f"folder of {files}")
    parser.add_argument("--runs", type=Path, help="folder that keeps the rows, so that a run that was killed goes on; without it they are gone in the end")
    return parser.parse_args(arguments)


@contextlib.contextmanager
def folder_of(options: argparse.Namespace) -> Iterator[Path]:
    """Where rows are kept."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.runs or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        yield folder


def specs(tapconv: Path) -> dict:
    done = subprocess.run([tapconv, "specs", "--json"], env=library_environment(), check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def rows(tapconv: Path, folder: Path, name: str, problems: list[str], commit: str, *options: str) -> list[dict]:
    """Measures the problems and returns the suite's rows, each with a report; they are kept in `folder` under the name. Exits if outputs are wrong
    or a problem could not be measured."""
    texts, out = folder / f"{name}.txt", folder / f"{name}.json"
    texts.write_text("".join(f"{problem}\n" for problem in problems))
    command = [tapconv, "bench", "--suite", f"@{texts}", *options, "--out", out, "--resume", "--commit", commit]
    done = subprocess.run(command, env=library_environment(), stdout=subprocess.DEVNULL)
    if done.returncode == WRONG_OUTPUTS:
        sys.exit("outputs of the engine are beyond the bound: their times say nothing")
    done.check_returncode()
    measured = json.loads(out.read_text())["rows"]
    for row in measured:
        if not row["report"]:
            sys.exit(f"{row['problem']}: {row['reason']}")
    return measured
