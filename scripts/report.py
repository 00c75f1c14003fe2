#!/usr/bin/env python3
"""Writes the README's tables, docs/times.svg and the tables in the other documents from results/.

    python3 scripts/report.py            writes them
    python3 scripts/report.py --check    exits with 1 if they are not what the results say
"""

import json
import math
import statistics
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "results" / "h200"
README = ROOT / "README.md"
KERNELS = ROOT / "docs" / "kernels.md"
MEASURING = ROOT / "docs" / "measuring.md"
NUMERICS = ROOT / "docs" / "numerics.md"
DEPENDENCIES = ROOT / "docs" / "dependencies.md"
PICTURE = ROOT / "docs" / "times.svg"
NAMES = {"Conv2d(64, 128, (5, 7)": "kb56", "Conv1d(64, 128, 3, stride=3": "kb76"}
PROBLEMS = (
    "kb56 is `Conv2d(64, 128, (5,7), bias=False) @ 8x64x512x256`.",
    "kb76 is `Conv1d(64, 128, 3, stride=3, dilation=4, bias=False) @ 64x64x524280`.",
)
TIME_COLUMNS = (
    "ours and cuDNN's best: spaced medians in ms, each with the share of the reach time in parentheses; cuDNN's is the fastest of its engines "
    "for tensors in that layout whose outputs were right under the contract. Ours has its weights packed beforehand.",
    "reach: the ms that good libraries would take by the fastest arithmetic that the contract admits, and what bounds it: for `fp32` that arithmetic is "
    "3xTF32 on tensor cores (three TF32 products for one of fp32), so a kernel of binary32 fused multiply-adds cannot come near 100 %.",
    "best cuDNN / ours: the median ratio of times over rounds, with its 95 % interval; above 1, ours is the faster.",
)
CHECK_COLUMNS = (
    "outputs judged, beyond the bound: how many of the outputs the oracle examined, over dense, sparse and tie-laden data, and how many broke the contract.",
    "worst / bound: the largest error as a share of what the contract allows; above 1 is wrong.",
    "RMS error: on dense data, over that of a chain of binary32 fused multiply-adds on the same operands; up to 2 is accepted under `ieee` and `fp32`; `tf32` rounds its operands, and has errors of that.",
)


def load(name: str) -> dict:
    return json.loads((RESULTS / name).read_text())


def short_name(problem: str) -> str:
    return next(name for start, name in NAMES.items() if problem.startswith(start))


def contract(problem: str) -> str:
    return next((math for math in ("ieee", "tf32") if f"math={math}" in problem), "fp32")


def best_of(bench: dict, layout: str) -> dict | None:
    """The fastest reference of a layout whose outputs were within the bound."""
    right = (e for e in bench["references"] if e["layout"] == layout and e["max_bound_ratio"] <= 1)
    return min(right, key=lambda e: e["spaced_ms"], default=None)


def cell(entry: dict | None) -> str:
    if entry is None:
        return "-"
    share = entry.get("reach_share")
    return f"{entry['spaced_ms']:.2f}" if share is None else f"{entry['spaced_ms']:.2f} ({100 * share:.0f} %)"


def ratio(bench: dict) -> str:
    if bench.get("ratio") is None:
        return "-"
    if bench.get("ratio_low") is None or bench.get("ratio_high") is None:
        return f"{bench['ratio']:.2f}"
    return f"{bench['ratio']:.2f} ({bench['ratio_low']:.2f} to {bench['ratio_high']:.2f})"


def row_name(bench: dict) -> str:
    mark = "" if bench["converged"] or bench.get("ratio") is None else " \\*"
    return f"{short_name(bench['problem'])}{mark}"


def caption(results: dict) -> str:
    tests = load("tests.json")
    failed = f" and {tests['not_passed']} did not" if tests["not_passed"] else ""
    reasons = sorted({test["reason"] for test in tests["tests"] if test["status"] == "skipped"})
    skipped = f", {tests['skipped']} could not run ({'; '.join(reasons)})" if reasons else ""
    on = "on it" if tests["commit"] == results["commit"] else f"at commit `{tests['commit'][:12]}`"
    return (
        f"One {results['gpu']}, driver {results['driver']}, cuDNN {results['versions']['cuDNN']}, {results['date'][:10]}, commit "
        f"`{results['commit'][:12]}`; {tests['passed']} tests passed{failed} {on}{skipped}."
    )


def protocol(results: dict) -> str:
    """How a bench or a suite was measured."""
    used = results["protocol"]
    return f"{used['rounds']} rounds, {used['idle_ms']:g} ms idle before each call, {used['finalists']} configurations of cuDNN by the full protocol"


def bullets(lines: list[str]) -> list[str]:
    return [f"- {line}" for line in lines]


def table() -> str:
    benches, checks = load("bench.json")["benches"], load("check.json")["checks"]
    lines = [
        caption(load("bench.json")),
        "",
        *bullets(PROBLEMS),
        "",
        f"Times ({protocol(benches[0])}):",
        "",
        "| problem | contract | ours, contiguous | cuDNN's best, contiguous | cuDNN's best, channels-last | reach | best cuDNN / ours (95 %) |",
        "|---|---|---|---|---|---|---|",
    ]
    for bench in benches:
        lines.append(
            f"| {row_name(bench)} | {contract(bench['problem'])} | {cell(bench['engine'])} | {cell(best_of(bench, 'contiguous'))} | "
            f"{cell(best_of(bench, 'channels-last'))} | {bench['floor']['reach_ms']:.2f} ({bench['floor']['bound_by']}) | {ratio(bench)} |"
        )
    lines += ["", *bullets(TIME_COLUMNS)]
    if any(row_name(bench).endswith("*") for bench in benches):
        lines.append("- \\* not converged: the interval is wider than 2 % of the median on a side.")
    lines += [
        "",
        "Exactness:",
        "",
        "| problem | contract | outputs judged | beyond the bound | worst / bound | RMS error / that of a chain of FMAs |",
        "|---|---|---|---|---|---|",
    ]
    for check in checks:
        cases = check["cases"]
        lines.append(
            f"| {short_name(check['problem'])} | {contract(check['problem'])} | {sum(c['outputs'] for c in cases):,} | "
            f"{sum(c['violations'] for c in cases)} | {max(c['worst_ratio'] for c in cases):.2f} | "
            f"{cases[0]['rms_error'] / cases[0]['sequential_rms_error']:.2f} |"
        )
    return "\n".join([*lines, "", *bullets(CHECK_COLUMNS)])


def picture() -> str:
    results, rows = load("bench.json"), []
    for bench in results["benches"]:
        group = f"{short_name(bench['problem'])}, {contract(bench['problem'])}"
        rows.append((group, "reach", bench["floor"]["reach_ms"], "#b8b8b8"))
        rows.append(("", "cuDNN, channels-last", (best_of(bench, "channels-last") or {}).get("spaced_ms"), "#e0a458"))
        rows.append(("", "cuDNN, contiguous", (best_of(bench, "contiguous") or {}).get("spaced_ms"), "#c8553d"))
        rows.append(("", "Tapconv, contiguous", bench["engine"]["spaced_ms"], "#2a6f97"))
    scale = 460 / max(ms for _, _, ms, _ in rows if ms)
    title = f"Time of one call in ms (spaced median): lower is better. {results['gpu']}, {results['date'][:10]}"
    parts, y = [f'<text x="8" y="20" font-size="14" font-weight="bold">{title}</text>'], 28
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
    checks = load("check.json")
    check = next(c for c in checks["checks"] if short_name(c["problem"]) == "kb56" and contract(c["problem"]) == "fp32")
    samples = " --samples all" if checks["script"].endswith("--tier full") else ""
    lines = textwrap.wrap(check["sentence"], 110)
    return "\n".join([f"    $ tapconv check 'kb56(math=fp32)' --against cudnn{samples}", *(f"    {line}" for line in lines)])


def fastest(row: dict) -> dict | None:
    """The fastest right configuration of the library, of any layout."""
    return min(row["best"], key=lambda best: best["spaced_ms"], default=None)


def suite_summary() -> str:
    """What `tapconv bench --suite kernelbench` found: how the engine stands, and where it stands worst."""
    if not (RESULTS / "kernelbench.json").exists():
        return "Not measured yet."
    results = load("kernelbench.json")
    measured = [row for row in results["rows"] if row["report"]]
    compared = sorted((row for row in measured if fastest(row)), key=lambda row: fastest(row)["ratio"])
    shares = [row["report"]["engine"]["reach_share"] for row in measured if "reach_share" in row["report"]["engine"]]
    torch = [
        framework["entry"]["spaced_ms"] / row["report"]["engine"]["spaced_ms"]
        for row in measured
        for framework in row["report"]["frameworks"]
        if framework["name"] == "torch" and framework["entry"]
    ]
    means = [
        f"{label}, geometric mean over {len(values)}: {statistics.geometric_mean(values):.2f}."
        for label, values in (
            ("cuDNN's best / ours", [fastest(row)["ratio"] for row in compared]),
            ("PyTorch's default / ours", torch),
            ("Share of the reach", shares),
        )
        if values
    ]
    lines = [
        f"{origin(results)}: {len(measured)} of {len(results['rows'])} problems measured, each under its own contract ({protocol(results)}). Spaced medians; above 1, Tapconv is the faster.",
        "",
        *bullets(means),
        "",
        "The five that stand worst against cuDNN, and the five that stand best:",
        "",
        "| problem | contract | solver | ours, ms | cuDNN's best, ms | cuDNN's best / ours |",
        "|---|---|---|---|---|---|",
    ]
    for row in compared if len(compared) <= 10 else compared[:5] + compared[-5:]:
        engine, best = row["report"]["engine"], fastest(row)
        lines.append(
            f"| {row['name']} | {row['contract']} | `{engine['name']}` | {cell(engine)} | {best['spaced_ms']:.2f} ({best['layout']}) | {best['ratio']:.2f} |"
        )
    return "\n".join(lines)


def candidates(solver: str) -> str:
    """The table of bench/candidates.py."""
    results = load(f"{solver}_candidates.json")
    lines = ["| problem | predicted ms | measured ms | fastest tile's ms | chosen | fastest |", "|---|---|---|---|---|---|"]
    for problem in results["problems"]:
        if not problem["candidates"]:
            continue  # the solver does not take it
        chosen, best = problem["candidates"][0], min(problem["candidates"], key=lambda row: row["ms"])
        lines.append(f"| `{problem['problem']}` | {chosen['predicted_ms']:.3f} | {chosen['ms']:.3f} | {best['ms']:.3f} | "
                     f"{tile(chosen)} | {tile(best)} |")  # fmt: skip
    summary = results["summary"]
    lines += ["", f"Chosen over fastest: geometric mean {summary['geometric_mean_loss']:.2f}, worst {summary['worst_loss']:.2f}. The prediction of all "
                  f"{sum(len(problem['candidates']) for problem in results['problems'])} is off by a factor of "
                  f"{math.exp(summary['rms_log_error']):.2f} (root mean square)."]  # fmt: skip
    return "\n".join(lines)


def tile(candidate: dict) -> str:
    """"threads=128 pixels=4 channels=16" -> "16 x 4"; of warpgroup: channels x positions, and which are the rows."""
    sizes = dict(part.split("=") for part in candidate["configuration"].split())
    if "rows" not in sizes:
        return f"{sizes['channels']} x {sizes['pixels']}"
    channels = int(sizes["blocks"]) * (64 if sizes["rows"] == "channels" else int(sizes["columns"])) * (2 if sizes["split"] == "channels" else 1)
    return f"{channels} x {sizes['tile']}, {sizes['rows']} {sizes['groups']}"


def overhead() -> str:
    """The table of bench/cpu_overhead.py, and how long starting takes."""
    results = json.loads((ROOT / "results" / "cpu" / "overhead.json").read_text())
    lines = [f"{results['cpu']}, {results['date']}, load {results['load']:.1f} on {results['cores']} cores, commit `{results['commit'][:12]}`:", "",
             "| problem | by hand | ms | engine / by hand | 95 % interval |", "| --- | --- | --- | --- | --- |"]  # fmt: skip
    for row in results["problems"]:
        low, high = row["ratio_processor_time"]["interval"]
        lines.append(f"| {row['problem']} | {row['by_hand']} | {row['by_hand_ms']:.3g} | {row['ratio_processor_time']['median']:.2f} | {low:.2f} to {high:.2f} |")
    start = results["start"]
    lines += ["", f"Starting `{start['command']}` to its end took {start['wall_ms']['median']:.0f} ms (median; least "
                  f"{start['wall_ms']['least']:.0f}), {start['processor_ms']['median']:.0f} ms of processor time."]  # fmt: skip
    return "\n".join(lines)


def origin(results: dict) -> str:
    return f"`{results['script']}` on one {results['gpu']}, {results['date'][:10]}, commit `{results['commit'][:12]}`"


def agreement() -> str:
    """What bench/agreement.py found."""
    if not (RESULTS / "agreement.json").exists():
        return "Not measured yet."
    results = load("agreement.json")
    summary = results["summary"]
    lines = [
        f"{origin(results)}: the intervals of two runs overlap in {summary['overlaps']} of {summary['pairs']} pairs; {summary['agreeing']} of "
        f"{summary['kernels']} kernels agree with the profiler.",
        "",
        "| problem | solver | bench, ms | profiler, ms | difference |",
        "|---|---|--:|--:|--:|",
    ]
    for kernel in results["kernels"]:
        seen = f"{kernel['profiler_ms']:.4f} | {100 * kernel['difference']:+.2f} %" if "profiler_ms" in kernel else "- | -"
        lines.append(f"| `{kernel['problem']}` | `{kernel['solver']}` | {kernel['bench_ms']:.4f} | {seen} |")
    return "\n".join(lines)


def networks() -> list[tuple[str, int, dict]]:
    """List, batch and results of each `tapconv bench --suite LIST --batch N --out results/h200/LIST_batch_N.json`."""
    found = []
    for path in sorted(RESULTS.glob("*_batch_*.json")):
        name, batch = path.stem.split("_batch_")
        found.append((name, int(batch), load(path.name)))
    return sorted(found, key=lambda one: one[:2])


def ratio_to(row: dict, layout: str) -> float | None:
    """cuDNN's best right time for tensors in that layout over ours."""
    return min((best["ratio"] for best in row["best"] if best["layout"] == layout), default=None)


def network_table() -> str:
    """How the layers of networks stand against cuDNN."""
    measured = networks()
    if not measured:
        return "Not measured yet."
    lines = [f"{origin(measured[0][2])}; cuDNN's best / ours, spaced medians: above 1, Tapconv is the faster.", "",
             "| network | batch | contract | layers | contiguous, geometric mean | least, layer | channels-last, geometric mean |",
             "|---|--:|---|--:|--:|---|--:|"]  # fmt: skip
    for name, batch, results in measured:
        for math in sorted({row["contract"] for row in results["rows"]}):
            rows = [row for row in results["rows"] if row["contract"] == math and row["report"]]
            same = [(ratio, row["name"].split("/")[-1]) for row in rows if (ratio := ratio_to(row, "contiguous"))]
            other = [ratio for row in rows if (ratio := ratio_to(row, "channels-last"))]
            if not same or not other:
                continue
            least = min(same)
            lines.append(f"| {name} | {batch} | {math} | {len(same)} | {statistics.geometric_mean(ratio for ratio, _ in same):.2f} | "
                         f"{least[0]:.2f}, {least[1]} | {statistics.geometric_mean(other):.2f} |")  # fmt: skip
    return "\n".join(lines)


def error_table() -> str:
    """How far results are from exact sums of the operands as they are."""
    entries: dict[tuple[str, str], list[float]] = {}
    measured = networks()
    for _, _, results in measured:
        for row in results["rows"]:
            if not row["report"]:
                continue
            named = [(f"ours, {row['contract']}", row["report"]["engine"])] + [("cuDNN", entry) for entry in row["report"]["references"]]
            for who, entry in named:
                right = entry["max_bound_ratio"] is not None and entry["max_bound_ratio"] <= 1
                if right and entry.get("rms_error") is not None:
                    entries.setdefault((entry["arithmetic"], who), []).append(entry["rms_error"])
    if not entries:
        return "Not measured yet."
    lines = [f"{origin(measured[0][2])}, and the other networks measured there:", "",
             "| arithmetic | whose | results | RMS error, median | largest |", "|---|---|--:|--:|--:|"]  # fmt: skip
    for (arithmetic, who), errors in sorted(entries.items()):
        lines.append(f"| {arithmetic} | {who} | {len(errors)} | {statistics.median(errors):.1e} | {max(errors):.1e} |")
    return "\n".join(lines)


def fingerprints() -> str:
    """What PyTorch was found to compute the published problems in."""
    if not (RESULTS / "fingerprint.json").exists():
        return "Not asked yet."
    results = load("fingerprint.json")
    answered = [row for row in results["rows"] if row["report"] and row["report"]["entries"]]
    agreeing = sum(row["report"]["agrees"] is True for row in answered)
    lines = [
        f"{origin(results)}: {agreeing} of {len(results['rows'])} problems agree with what was found before; the slowest answer took "
        f"{max((row['seconds'] for row in answered), default=0):.1f} s, the first one with the start of PyTorch.",
        "",
        "| problem | PyTorch computes in | products are added | found before | agrees | seconds |",
        "|---|---|---|---|---|--:|",
    ]
    for row in answered:
        report = row["report"]
        entry = report["entries"][0]
        lines.append(
            f"| {row['name']} | {entry['arithmetic']} | {entry['summation']} | {report['reference_arithmetic']} | "
            f"{'yes' if report['agrees'] else 'no'} | {row['seconds']:.2f} |"
        )
    return "\n".join(lines)


def with_block(text: str, name: str, content: str) -> str:
    """`text` with what lies between the two marks of a block replaced."""
    begin, end = f"<!-- begin {name}: written by scripts/report.py -->", f"<!-- end {name} -->"
    before, rest = text.split(begin)
    _, after = rest.split(end)
    return f"{before}{begin}\n{content}\n{end}{after}"


def main() -> int:
    if sys.argv[1:] not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    text = with_block(README.read_text(), "sentence", sentence())
    wanted = {
        README: with_block(with_block(text, "suite", suite_summary()), "tables", table()),
        KERNELS: with_block(
            with_block(with_block(KERNELS.read_text(), "candidates", candidates("direct")), "warpgroup", candidates("warpgroup")), "networks", network_table()
        ),
        MEASURING: with_block(MEASURING.read_text(), "agreement", agreement()),
        NUMERICS: with_block(with_block(NUMERICS.read_text(), "fingerprints", fingerprints()), "errors", error_table()),
        DEPENDENCIES: with_block(DEPENDENCIES.read_text(), "overhead", overhead()),
        PICTURE: picture(),
    }
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
