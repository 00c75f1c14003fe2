#!/usr/bin/env python3
"""Writes the README's table and docs/times.svg from results/h200/.

    python3 scripts/report.py            writes them
    python3 scripts/report.py --check    exits with 1 if they are not what the results say
"""

import json
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "results" / "h200"
README = ROOT / "README.md"
PICTURE = ROOT / "docs" / "times.svg"
NAMES = {"Conv2d(64, 128, (5, 7)": "kb56", "Conv1d(64, 128, 3, stride=3": "kb76"}


def load(name: str) -> dict:
    return json.loads((RESULTS / name).read_text())


def short_name(problem: str) -> str:
    return next(name for start, name in NAMES.items() if problem.startswith(start))


def contract(problem: str) -> str:
    return next((math for math in ("ieee", "tf32") if f"math={math}" in problem), "fp32")


def best_of(bench: dict, layout: str) -> dict | None:
    return min((e for e in bench["references"] if e["layout"] == layout), key=lambda e: e["spaced_ms"], default=None)


def cell(entry: dict | None) -> str:
    return "-" if entry is None else f"{entry['spaced_ms']:.2f} ({100 * entry['reach_share']:.0f} %)"


def table() -> str:
    benches, checks = load("bench.json"), load("check.json")
    lines = [
        f"One {benches['gpu']}, cuDNN {benches['versions']['cuDNN']}, {benches['date'][:10]}. Spaced medians in ms; in parentheses the share of "
        "`reach`, what good libraries sustain, at the arithmetic used.",
        "",
        "| problem | contract | `direct`, contiguous | cuDNN's best, contiguous | cuDNN's best, channels-last | reach | best cuDNN / ours (95 %) |",
        "|---|---|---|---|---|---|---|",
    ]
    for bench in benches["benches"]:
        lines.append(
            f"| {short_name(bench['problem'])} | {contract(bench['problem'])} | {cell(bench['engine'])} | {cell(best_of(bench, 'contiguous'))} | "
            f"{cell(best_of(bench, 'channels-last'))} | {bench['floor']['reach_ms']:.2f} | "
            f"{bench['ratio']:.2f} ({bench['ratio_low']:.2f} to {bench['ratio_high']:.2f}) |"
        )
    lines += [
        "",
        "| problem | contract | outputs judged | beyond the bound | worst / bound | RMS error / that of a chain of FMAs |",
        "|---|---|---|---|---|---|",
    ]
    for check in checks["checks"]:
        cases = check["cases"]
        lines.append(
            f"| {short_name(check['problem'])} | {contract(check['problem'])} | {sum(c['outputs'] for c in cases):,} | "
            f"{sum(c['violations'] for c in cases)} | {max(c['worst_ratio'] for c in cases):.2f} | "
            f"{cases[0]['rms_error'] / cases[0]['sequential_rms_error']:.2f} |"
        )
    return "\n".join(lines)


def picture() -> str:
    rows = []
    for bench in load("bench.json")["benches"]:
        group = f"{short_name(bench['problem'])}, {contract(bench['problem'])}"
        rows.append((group, "reach", bench["floor"]["reach_ms"], "#b8b8b8"))
        rows.append(("", "cuDNN, channels-last", (best_of(bench, "channels-last") or {}).get("spaced_ms"), "#e0a458"))
        rows.append(("", "cuDNN, contiguous", (best_of(bench, "contiguous") or {}).get("spaced_ms"), "#c8553d"))
        rows.append(("", "Tapconv direct, contiguous", bench["engine"]["spaced_ms"], "#2a6f97"))
    scale = 460 / max(ms for _, _, ms, _ in rows if ms)
    parts, y = [], 14
    for group, label, ms, colour in rows:
        if group:
            y += 16
            parts.append(f'<text x="8" y="{y + 12}" font-weight="bold">{group}</text>')
        if ms is None:
            continue
        parts.append(f'<text x="272" y="{y + 12}" text-anchor="end">{label}</text>')
        parts.append(f'<rect x="280" y="{y}" width="{ms * scale:.1f}" height="15" fill="{colour}"/>')
        parts.append(f'<text x="{286 + ms * scale:.1f}" y="{y + 12}">{ms:.2f} ms</text>')
        y += 19
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="820" height="{y + 16}" font-family="sans-serif" font-size="12">'
        f'<rect width="100%" height="100%" fill="white"/>{"".join(parts)}</svg>\n'
    )


def sentence() -> str:
    """What `check` said of kb56 under fp32, beside cuDNN's default."""
    check = next(c for c in load("check.json")["checks"] if short_name(c["problem"]) == "kb56" and contract(c["problem"]) == "fp32")
    lines = textwrap.wrap(check["sentence"], 110)
    return "\n".join(["    $ tapconv check 'kb56(math=fp32)' --against cudnn --samples all", *(f"    {line}" for line in lines)])


def with_block(text: str, name: str, content: str) -> str:
    """`text` with what lies between the two marks of a block replaced."""
    begin, end = f"<!-- begin {name}: written by scripts/report.py -->", f"<!-- end {name} -->"
    before, rest = text.split(begin)
    _, after = rest.split(end)
    return f"{before}{begin}\n{content}\n{end}{after}"


def main() -> int:
    text = with_block(README.read_text(), "sentence", sentence())
    wanted = {README: with_block(text, "tables", table()), PICTURE: picture()}
    if sys.argv[1:] == ["--check"]:
        stale = [path for path, content in wanted.items() if not path.exists() or path.read_text() != content]
        for path in stale:
            print(f"report: {path.relative_to(ROOT)} is not what results/ says; run scripts/report.py")
        return 1 if stale else 0
    for path, content in wanted.items():
        path.write_text(content)
    return 0


if __name__ == "__main__":
    sys.exit(main())
