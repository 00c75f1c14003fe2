#!/usr/bin/env python3
"""The manual is what --help prints, and it and the program have the same commands, options and exit codes."""

import re
import unittest

from harness import ROOT, main, tapconv

PAGES = {path.stem.removeprefix("tapconv").lstrip("-"): path.read_text() for path in (ROOT / "docs/man").glob("*.md")}


def options_of_program() -> dict[str, dict[str, bool]]:
    """From the definitions that the program runs on, by way of a completion script: option -> whether it has a value."""
    options: dict[str, dict[str, bool]] = {}
    for line in tapconv("completion", "fish").stdout.splitlines():
        command = re.search(r"__fish_seen_subcommand_from ([a-z]+)'", line)
        option = re.search(r" -l ([a-z-]+)( -r)?", line)
        if option:
            options.setdefault(command[1] if command else "", {})["--" + option[1]] = option[2] is not None
        elif added := re.search(r"__fish_use_subcommand -a ([a-z]+) ", line):
            options.setdefault(added[1], {})
    return options


def options_of_page(page: str) -> dict[str, bool]:
    section = page.split("## Options\n")[1].split("\n## ")[0]
    return {name: value is not None for name, value in re.findall(r"(?m)^- `(?:-h, )?(--[a-z-]+)( [^`]+)?`: ", section) for value in [value or None]}


class Manual(unittest.TestCase):
    def test_every_command_has_a_page_and_every_page_a_command(self) -> None:
        self.assertEqual(set(PAGES), set(options_of_program()))
        self.assertGreater(len(PAGES), 7)

    def test_options_are_those_of_the_program(self) -> None:
        for command, options in options_of_program().items():
            self.assertEqual(options, options_of_page(PAGES[command]), command)

    def test_help_is_the_page(self) -> None:
        for command, page in PAGES.items():
            for flag in ("--help", "-h"):
                done = tapconv(*([command] if command else []), flag)
                self.assertEqual((0, page, ""), (done.returncode, done.stdout, done.stderr), command)

    def test_usage_names_every_option(self) -> None:
        for command, page in PAGES.items():
            usage = page.split("## Usage\n")[1].split("\n## ")[0]
            self.assertIn(f"    tapconv {command}".rstrip(), usage)
            if command:
                self.assertEqual(set(options_of_page(page)) - {"--help"}, set(re.findall(r"--[a-z-]+", usage)), command)

    def test_summaries_agree(self) -> None:
        for command, page in PAGES.items():
            if command:
                self.assertIn(f"- `{command}`: {page.splitlines()[2]}\n", PAGES[""])

    def test_lines_fit_a_terminal(self) -> None:
        for command, page in PAGES.items():
            self.assertLessEqual(max(map(len, page.splitlines())), 80, command)

    def test_exit_codes(self) -> None:
        source = (ROOT / "tools/tapconv/commands.hpp").read_text()
        section = PAGES[""].split("## Exit codes\n")[1]
        self.assertEqual(re.findall(r"exit_[a-z]+ = (\d+)", source), re.findall(r"(?m)^- (\d+): ", section))


if __name__ == "__main__":
    main()
