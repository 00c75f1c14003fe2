#!/usr/bin/env python3
"""Completion scripts: they parse, and bash's offers what fits."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from harness import main, program, tapconv

# Completes the last word as an interactive bash would.
DRIVER = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
definition=$(complete -p tapconv)
[[ $definition =~ -F\\ ([^ ]+) ]] && "${BASH_REMATCH[1]}" tapconv "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
((${#COMPREPLY[@]} == 0)) || printf '%s\\n' "${COMPREPLY[@]}"
"""


class Completion(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def script(self, shell: str) -> Path:
        done = tapconv("completion", shell)
        self.assertEqual(0, done.returncode, done.stderr)
        path = self.folder / f"completion.{shell}"
        path.write_text(done.stdout)
        return path

    def test_scripts_parse(self) -> None:
        for shell in ("bash", "zsh", "fish"):
            script = self.script(shell)
            if shutil.which(shell):
                done = subprocess.run([shell, "-n", str(script)], capture_output=True, text=True, check=False)
                self.assertEqual((0, ""), (done.returncode, done.stderr))

    def test_usage(self) -> None:
        self.assertEqual(2, tapconv("completion").returncode)
        self.assertEqual(2, tapconv("completion", "tcsh").returncode)

    def test_bash_offers_what_fits(self) -> None:
        script = self.script("bash")
        (self.folder / "tensor.npy").touch()
        environment = os.environ | {"PATH": f"{Path(program()).resolve().parent}:{os.environ['PATH']}"}

        def offered(*words: str) -> list[str]:
            done = subprocess.run(
                ["bash", "-c", DRIVER, "bash", str(script), "tapconv", *words], cwd=self.folder, env=environment, capture_output=True,
                text=True, check=False,
            )  # fmt: skip
            self.assertEqual("", done.stderr)
            return done.stdout.splitlines()

        self.assertEqual(["plan", "plans", "problems"], sorted(offered("p")))
        self.assertIn("--version", offered("--"))
        self.assertEqual(["--device"], offered("plan", "kb56", "--d"))
        self.assertEqual(["cpu", "cuda"], offered("plan", "kb56", "--device", "c"))
        self.assertIn("rtx4090", offered("plan", "kb56", "--device", ""))
        self.assertEqual(["cuda"], offered("tune", "kb56", "--device", ""))
        self.assertEqual(["merge"], offered("plans", "m"))
        self.assertEqual(["onednn"], offered("check", "kb56", "--against", "o"))
        self.assertEqual(["kb56"], offered("run", "kb56"))
        self.assertIn("kb76", offered("problems", "k"))
        self.assertEqual(["tensor.npy"], offered("run", "kb56", "--input", "te"))
        self.assertEqual(["--pointwise-bias", "--pointwise-weight"], sorted(offered("check", "kb56", "--poi")))
        self.assertEqual([], offered("run", "kb56", "--batch", ""))
        self.assertEqual(["transposed"], offered("problems", "--kind", "t"))
        self.assertEqual(["zsh"], offered("completion", "z"))
        self.assertEqual([], offered("specs", "k"))
        self.assertEqual(["verify"], offered("cache", "v"))
        self.assertEqual(["tensor.npy"], offered("cache", "export", "te"))


if __name__ == "__main__":
    main()
