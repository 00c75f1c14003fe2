#!/usr/bin/env python3
"""Compares oneDNN builds: size, loading time, time to the first primitive, and two convolutions on one core.

    measure_onednn.py --output results/cpu/onednn_builds.json NAME=ROOT...

ROOT is an installation with include/ and lib/ (or Debian's folder for libraries); "NAME=ROOT,KEY=VALUE" sets an
environment variable for that build. A build that cannot run is recorded with its error.
"""
import argparse
import datetime
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).with_suffix(".cpp")
LOAD = "import ctypes, sys, time; t = time.perf_counter(); ctypes.CDLL(sys.argv[1]); print(1e3 * (time.perf_counter() - t))"


def library_of(root):
    for folder in ("lib", "lib/x86_64-linux-gnu"):
        if (root / folder / "libdnnl.so").exists():
            return root / folder / "libdnnl.so"
    sys.exit(f"{root}: no libdnnl.so in it")


def run(command, environment):
    """The standard output of a command run on one core."""
    done = subprocess.run(command, env=environment, capture_output=True, text=True,
                          preexec_fn=lambda: os.sched_setaffinity(0, {0}))
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines() or [f"exit status {done.returncode}"]
        raise RuntimeError(lines[-1])
    return done.stdout


def shared_library_bytes(library, environment):
    """Sizes of libdnnl and of what it loads beyond the C and C++ runtimes."""
    loaded = run(["ldd", str(library)], environment)
    if missing := re.findall(r"(\S+) => not found", loaded):
        raise RuntimeError("its packages lack " + ", ".join(missing))
    listed = re.findall(r"=> (/\S+)", loaded)
    system = re.compile(r"/lib(c|m|dl|pthread|stdc\+\+|gcc_s)\.so")
    return sum(os.path.getsize(path) for path in [library] + [p for p in listed if not system.search(p)])


def measure(root, extra, folder):
    library = library_of(root)
    environment = dict(os.environ, LD_LIBRARY_PATH=str(library.parent), **extra)
    program = folder / "measure_onednn"
    subprocess.run(["g++", "-std=c++20", "-O2", f"-I{root / 'include'}", str(SOURCE), "-o", str(program),
                    f"-L{library.parent}", "-ldnnl", "-Wl,--allow-shlib-undefined"], check=True)
    result = {}
    if root != pathlib.Path("/usr"):
        result["installed_bytes"] = sum(f.stat().st_size for f in root.rglob("*") if f.is_file() and not f.is_symlink())
    try:
        result["shared_library_bytes"] = shared_library_bytes(library, environment)
        loads = [float(run([sys.executable, "-c", LOAD, str(library)], environment)) for _ in range(9)]
        result["load_ms"] = round(statistics.median(loads), 2)
        runs = [json.loads(run([str(program)], environment).splitlines()[-1]) for _ in range(3)]
        result.update(runs[0])
        result["first_primitive_ms"] = min(r["first_primitive_ms"] for r in runs)
        for key in [k for k, v in runs[0].items() if isinstance(v, dict)]:
            result[key]["least_ms"] = min(r[key]["least_ms"] for r in runs)
    except (RuntimeError, ValueError) as error:
        result["error"] = str(error)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("builds", nargs="+", metavar="NAME=ROOT[,KEY=VALUE...]")
    arguments = parser.parse_args()
    cpu = next(line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name"))
    builds = {}
    for build in arguments.builds:
        name, _, rest = build.partition("=")
        root, *settings = rest.split(",")
        with tempfile.TemporaryDirectory() as folder:
            builds[name] = measure(pathlib.Path(root).resolve(), dict(s.split("=", 1) for s in settings),
                                   pathlib.Path(folder))
        print(name, json.dumps(builds[name]))
    report = {"date": datetime.date.today().isoformat(), "script": "scripts/measure_onednn.py", "cpu": cpu,
              "cores_used": 1, "times": "processor time in ms; load_ms is wall time; contiguous tensors in and out: "
              "plain = oneDNN works on them, any = oneDNN chooses the layouts and both reorders are included",
              "layers": {"kb56": "Conv2d(64, 128, (5, 7)) @ 1x64x512x256",
                         "kb76": "Conv1d(64, 128, 3, stride=3, dilation=4) @ 1x64x524280"},
              "builds": builds}
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
