#!/usr/bin/env python3
"""Installs a build of Tapconv and builds and runs programs against the installation.

    consumer_test.py --build FOLDER --examples FOLDER --generator NAME --cc COMPILER --cxx COMPILER --version NUMBER

The example programs are built twice: by a CMake project with find_package(tapconv), and by the compilers with the options
that pkg-config gives. The prefix has a space in its name, and the installation is moved after it was made.
"""

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
# The programs' arguments, and what they print.
PROGRAMS = {
    "cpp": ([], "4 6 6 4\n6 9 9 6\n4 6 6 4\n"),
    "c": (["Conv2d(2, 3, 3) @ 1x2x5x6"], "output: 1 x 3 x 3 x 4\nfirst value: 19\n"),
}


def run(*command, **options):
    """The standard output of a command that succeeds; ends the test with all that it printed if it does not."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"failed: {shlex.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def expect_output(expected, *command, **options):
    output = run(*command, **options)
    if expected not in output:
        sys.exit(f"{shlex.join(map(str, command))} printed:\n{output}\nexpected in it:\n{expected}")


def test_cmake(options, prefix, folder):
    run("cmake", "-S", HERE, "-B", folder, "-G", options.generator, f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_BUILD_TYPE=Release",
        f"-DEXAMPLES={options.examples}", f"-DCMAKE_C_COMPILER={options.cc}", f"-DCMAKE_CXX_COMPILER={options.cxx}")  # fmt: skip
    run("cmake", "--build", folder)
    for language, (arguments, expected) in PROGRAMS.items():
        expect_output(expected, folder / f"consumer_{language}", *arguments)


def test_pkg_config(options, prefix, library_folder, folder):
    environment = {**os.environ, "PKG_CONFIG_PATH": str(library_folder / "pkgconfig")}
    flags = shlex.split(run("pkg-config", "--cflags", "--libs", f"tapconv = {options.version}", env=environment))
    folder.mkdir()
    # pkg-config does not say where the loader finds a shared library.
    environment = {**os.environ, "LD_LIBRARY_PATH": str(library_folder)}
    for language, compiler in (("cpp", [options.cxx, "-std=c++20"]), ("c", [options.cc, "-std=c99"])):
        program = folder / language
        run(*compiler, options.examples / f"convolve.{language}", "-o", program, *flags)
        arguments, expected = PROGRAMS[language]
        expect_output(expected, program, *arguments, env=environment)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("--build", "--examples"):
        parser.add_argument(option, type=lambda text: Path(text).resolve(), required=True)
    for option in ("--generator", "--cc", "--cxx", "--version"):
        parser.add_argument(option, required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tapconv ") as name:
        folder = Path(name)
        run("cmake", "--install", options.build, "--prefix", folder / "first")
        prefix = folder / "moved here"
        (folder / "first").rename(prefix)
        (package,) = prefix.rglob("tapconvConfig.cmake")
        library_folder = package.parents[2]

        test_cmake(options, prefix, folder / "cmake")
        test_pkg_config(options, prefix, library_folder, folder / "pkg-config")

        expect_output(options.version, prefix / "bin" / "tapconv", "--version")
    return 0


if __name__ == "__main__":
    sys.exit(main())
