#!/usr/bin/env python3
"""Checks who includes whom, and that files stay short.

    check_includes.py [ROOT]     checks the tree at ROOT (default: the repository of this script)
    check_includes.py --self-test

Prints one line per violation, `file:line: reason`, and exits with 1 if there is any. The rules:

- include/ uses the standard library and other public headers, nothing else.
- A layer of src/ includes itself, the layers below it (LAYERS), public headers, and of kernels/ only
  tapconv/shared.cuh.
- kernels/ includes kernels/ only; tapconv/shared.cuh and the headers of tapconv/shared/ include each other only.
- tools/, python/ and examples/ include public headers and files of their own folder.
- No file includes a header of the CUDA toolkit; oneDNN's headers are for src/cpu.
- Every include is quoted or in angle brackets, these without a `..`; no macros.
- C++ files end in .cpp or .hpp (.h where C must read it), device code in .cuh.
- A file has at most 400 lines; up to 450 it is only warned of.
"""

import re
import sys
import tempfile
from pathlib import Path

LAYERS = {
    "problem": set(),
    "spelling": {"problem"},
    "cuda": {"problem", "io"},
    "solver": {"cuda", "problem"},
    "plan": {"solver", "cuda", "problem", "io"},
    "engine": {"plan", "solver", "cuda", "problem", "oracle", "cpu"},
    "workbench": {"engine", "plan", "solver", "cuda", "problem", "oracle", "cpu", "io"},
    "oracle": {"problem"},
    "cpu": {"problem"},
    "io": {"problem"},
}
CODE_FOLDERS = ("include", "src", "kernels", "tools", "python", "examples", "tests", "bench")
CODE_SUFFIXES = {".c", ".cpp", ".h", ".hpp", ".cuh"}
OTHER_SUFFIXES = {".C", ".cc", ".cxx", ".c++", ".cu", ".H", ".hh", ".hxx", ".h++", ".inl", ".inc", ".ipp", ".tpp", ".ixx", ".cppm"}
LENGTH_FOLDERS = CODE_FOLDERS + ("scripts", "cmake")
LENGTH_SUFFIXES = CODE_SUFFIXES | {".py", ".sh", ".cmake", ".txt"}
WARN_LINES, MOST_LINES = 400, 450

SHARED = "tapconv/shared.cuh"
C_HEADERS = {"stdbool.h", "stddef.h", "stdint.h"}
TOOLKIT = re.compile(r"(cuda|nvrtc|cudnn|cublas|cufft|cutlass|cute|nccl|nvtx|nvml)")
DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(?:include(?:_next)?|import)\b[ \t]*([^\n]*)", re.MULTILINE)
TARGET = re.compile(r'([<"])([^<>"]+)[>"][ \t]*')
# Comments and raw strings do not include anything; ordinary strings are matched so that a `//` inside is left alone.
NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"', re.DOTALL)


def includes(text):
    """Yields (line, bracket, name) for each include of a C++ text; the bracket is empty where there is none."""

    def blank(match):
        ordinary = match.group().startswith('"')
        # A comment counts as a blank, as in the language.
        return match.group() if ordinary else " " + "\n" * match.group().count("\n")

    code = NOT_CODE.sub(blank, text)
    for match in DIRECTIVE.finditer(code):
        target = TARGET.fullmatch(match[1])
        yield code.count("\n", 0, match.start()) + 1, *(target.groups() if target else ("", match[1].strip()))


def public(name):
    return re.fullmatch(r"tapconv/\w+\.h(pp)?", name) is not None


def refuse_public(path, bracket, name):
    if bracket == '"':
        return None if public(name) else "a public header includes only the standard library and tapconv/*.hpp"
    if re.fullmatch(r"\w+", name) or (path.suffix == ".h" and name in C_HEADERS):
        return None
    return "a public header includes only the standard library"


def refuse_kernel(path, bracket, name):
    shared = path.as_posix() == "kernels/" + SHARED or path.as_posix().startswith("kernels/tapconv/shared/")
    if shared and not name.startswith("tapconv/shared/"):
        return "kernels/tapconv/shared.cuh and shared/ include only tapconv/shared/*.cuh"
    if bracket == '"' and re.fullmatch(r"tapconv/[\w/]+\.cuh", name):
        return None
    return "a kernel includes only tapconv/*.cuh"


def refuse_source(path, bracket, name):
    layer = path.parts[1]
    if bracket == "<":
        if name.startswith(("dnnl", "oneapi/")) and layer != "cpu":
            return "only src/cpu includes oneDNN's headers"
        return None
    if public(name) or name == SHARED:
        return None
    if name.endswith(".cuh"):
        return f"host code includes of kernels/ only {SHARED}"
    target = name.split("/")[0]
    if target == layer or target in LAYERS[layer]:
        return None
    if target not in LAYERS or "/" not in name:
        return "an internal header is included as \"layer/name.hpp\""
    return f"src/{layer} may not include src/{target}, only {', '.join(sorted(LAYERS[layer] | {layer}))}"


def refuse_client(root, path, bracket, name):
    if bracket == "<" or public(name):
        return None
    folder = (root / path).parent
    if "/" not in name and (folder / name).is_file():
        return None
    return f"{path.parts[0]}/ includes only public headers and files of its own folder"


def refuse(root, path, bracket, name):
    """Why the file `path` (relative to `root`) may not include `name`, or None."""
    if not bracket:
        return "an include is quoted or in angle brackets"
    if bracket == "<" and ".." in name.split("/"):
        return "an include in angle brackets has no '..'"
    if bracket == "<" and name.split("/")[0] in (*LAYERS, "tapconv"):
        return "the project's own headers are included in quotes"
    if bracket == "<" and TOOLKIT.match(name):
        return "headers of the CUDA toolkit are not used: the libraries are opened at run time"
    if path.parts[0] == "include":
        return refuse_public(path, bracket, name)
    if path.parts[0] == "kernels":
        return refuse_kernel(path, bracket, name)
    if path.parts[0] == "src":
        return refuse_source(path, bracket, name)
    if path.parts[0] in ("tools", "python", "examples"):
        return refuse_client(root, path, bracket, name)
    return None


def files(root, folders, suffixes):
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            hidden = any(part.startswith(".") or part == "build" for part in path.relative_to(root).parts)
            if path.is_file() and not hidden and path.suffix in suffixes:
                yield path


def check(root):
    """Returns (violations, warnings) of the tree at `root`."""
    violations, warnings = [], []
    for path in files(root, CODE_FOLDERS, CODE_SUFFIXES):
        relative = path.relative_to(root)
        if relative.parts[0] == "src" and (len(relative.parts) < 3 or relative.parts[1] not in LAYERS):
            violations.append(f"{relative}:1: belongs to no layer of src/ ({', '.join(LAYERS)})")
            continue
        for line, bracket, name in includes(path.read_text(encoding="utf-8")):
            reason = refuse(root, relative, bracket, name)
            if reason:
                violations.append(f'{relative}:{line}: includes {name}: {reason}')
    for path in files(root, CODE_FOLDERS, OTHER_SUFFIXES):
        violations.append(f"{path.relative_to(root)}:1: ends in {path.suffix}; the suffixes used are {', '.join(sorted(CODE_SUFFIXES))}")
    for path in files(root, LENGTH_FOLDERS, LENGTH_SUFFIXES):
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines > WARN_LINES:
            place = violations if lines > MOST_LINES else warnings
            place.append(f"{path.relative_to(root)}:{lines}: has {lines} lines; at most {WARN_LINES} are wanted")
    return violations, warnings


GOOD = {
    "include/tapconv/a.hpp": "#include <vector>\n#include \"tapconv/b.hpp\"\n",
    "include/tapconv/tapconv.h": "#include <stdint.h>\n",
    "src/problem/a.cpp": "#include <fmt/format.h>\n#include \"problem/a.hpp\"\n#include \"tapconv/a.hpp\"\n",
    "src/workbench/a.cpp": "#include \"plan/a.hpp\"\n#include \"oracle/a.hpp\"\n#include \"io/a.hpp\"\n",
    "src/solver/a.cpp": "#include \"cuda/a.hpp\"\n#include \"tapconv/shared.cuh\"\n"
                        "// #include \"plan/a.hpp\"\n/*\n#include \"plan/a.hpp\"\n*/\n"
                        "auto s = R\"(\n#include \"tapconv/direct.cuh\"\n)\";\n",
    "src/cuda/a.cpp": "#include \"io/a.hpp\"\n",
    "src/cpu/a.cpp": "#include <dnnl.hpp>\n",
    "kernels/tapconv/a.cuh": "#include \"tapconv/shared.cuh\"\n",
    "kernels/tapconv/shared.cuh": "#pragma once\n",
    "tools/tapconv/a.cpp": "#include <CLI/CLI.hpp>\n#include \"b.hpp\"\n#include \"tapconv/a.hpp\"\n",
    "tools/tapconv/b.hpp": "",
    "src/CMakeLists.txt": "",
    "tests/unit/a_test.cpp": "#include \"plan/a.hpp\"\n",
}
PLANTED = [
    ("include/tapconv/x.hpp", "#include <fmt/format.h>\n", 1),
    ("include/tapconv/x.hpp", "#include <stdint.h>\n", 1),
    ("include/tapconv/x.hpp", "\n#include \"problem/text.hpp\"\n", 2),
    ("src/problem/x.cpp", "\n\n#include \"cuda/driver.hpp\"\n", 3),
    ("src/cuda/x.hpp", "#include \"solver/a.hpp\"\n", 1),
    ("src/plan/x.cpp", "#include \"workbench/a.hpp\"\n", 1),
    ("src/oracle/x.cpp", "#include \"io/a.hpp\"\n", 1),
    ("src/io/x.cpp", "  #  include   \"oracle/a.hpp\"\n", 1),
    ("src/io/x.cpp", "/* a\nb */ int x; // c\nauto s = \"// \"; \n#include \"cpu/a.hpp\"\n", 4),
    ("src/io/x.cpp", "#include \"../cuda/a.hpp\"\n", 1),
    ("src/io/x.cpp", "#include \"x.hpp\"\n", 1),
    ("src/io/x.cpp", "#include \"tools/tapconv/b.hpp\"\n", 1),
    ("src/solver/x.cpp", "#include \"tapconv/a.cuh\"\n", 1),
    ("src/solver/x.cpp", "#include <dnnl.hpp>\n", 1),
    ("src/problem/x.cpp", "#include <cuda/driver.hpp>\n", 1),
    ("src/cuda/x.cpp", "#include <cuda.h>\n", 1),
    ("src/x.cpp", "#include <vector>\n", 1),
    ("src/new/x.cpp", "#include <vector>\n#include \"problem/a.hpp\"\n", 1),
    ("src/engine/x.cpp", "#include \"workbench/a.hpp\"\n", 1),
    ("kernels/tapconv/x.cuh", "#include <cstdint>\n", 1),
    ("kernels/tapconv/x.cuh", "#include \"problem/a.hpp\"\n", 1),
    ("kernels/tapconv/shared.cuh", "#include \"tapconv/a.cuh\"\n", 1),
    ("tools/tapconv/x.cpp", "#include \"problem/a.hpp\"\n", 1),
    ("python/x.cpp", "#include \"plan/a.hpp\"\n", 1),
    ("tests/unit/x_test.cpp", "#include <cuda_runtime.h>\n", 1),
    ("src/io/x.cpp", "#include <../src/cuda/a.hpp>\n", 1),
    ("src/io/x.cpp", "#include <sys/../cuda.h>\n", 1),
    ("include/tapconv/x.hpp", "#include \"tapconv/../b.hpp\"\n", 1),
    ("src/io/x.cpp", "#define HEADER \"plan/a.hpp\"\n#include HEADER\n", 2),
    ("src/io/x.cpp", "#include/**/\"plan/a.hpp\"\n", 1),
    ("src/io/x.cpp", "#include_next <cuda.h>\n", 1),
    ("tools/tapconv/x.cpp", "#include\n", 1),
    *((f"src/io/x{suffix}", "", 1) for suffix in sorted(OTHER_SUFFIXES)),
    ("kernels/tapconv/x.cu", "#include <cstdint>\n", 1),
    ("src/io/x.cpp", "\n" * 451, 451),
]


def self_test():
    """Every planted violation is found where it is, and nothing else is."""

    def check_tree(tree):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in tree.items():
                path = Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            return check(Path(folder))

    wrong = [f"the clean tree gives: {line}" for line in check_tree(GOOD)[0]]
    for name, text, line in PLANTED:
        found = check_tree({**GOOD, name: text})[0]
        if len(found) != 1 or not found[0].startswith(f"{name}:{line}: "):
            wrong.append(f"{name} with {text[:60]!r} gives: {found}")
    violations, warnings = check_tree({**GOOD, "src/io/x.cpp": "\n" * 401})
    if violations or len(warnings) != 1:
        wrong.append(f"401 lines give: {violations} {warnings}")
    return wrong


def main(arguments):
    if arguments == ["--self-test"]:
        violations, warnings = self_test(), []
    elif len(arguments) <= 1 and not any(a.startswith("-") for a in arguments):
        root = Path(arguments[0] if arguments else Path(__file__).parent.parent).resolve()
        if not (root / "include").is_dir():
            print(f"{root} has no folder include/", file=sys.stderr)
            return 2
        violations, warnings = check(root)
    else:
        print(__doc__, file=sys.stderr)
        return 2
    for line in warnings:
        print(f"warning: {line}")
    for line in violations:
        print(line)
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
