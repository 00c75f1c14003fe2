"""Times PyTorch beside Tapconv, in a process of its own.

Tapconv starts it (`python3 -c ... [--benchmark]`) and writes one request a line to its standard input; for each it answers with one
line on its standard output: the times, sampled outputs, and versions, or {"error": ...}. Both are JSON; tapconv's
src/workbench/torch_reference.cpp is the other side and judges the outputs. PyTorch's settings stay at their defaults;
`--benchmark` alone turns torch.backends.cudnn.benchmark on, from the start.
"""

import json
import math
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.functional as F

WORD = 1 << 64
CHUNK = 1 << 23  # elements that are drawn at a time
# The finaliser of SplitMix64 and its increment, as in kernels/tapconv/shared.cuh.
FACTORS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
INCREMENT = 0x9E3779B97F4A7C15


def signed(word: int) -> int:
    """A 64-bit word as PyTorch's int64 holds it; products of int64 wrap around."""
    word %= WORD
    return word - WORD if word >= WORD // 2 else word


def shifted(words: torch.Tensor, bits: int) -> torch.Tensor:
    """Logical shift to the right."""
    return (words >> bits) & ((1 << (64 - bits)) - 1)


def mix(words: torch.Tensor) -> torch.Tensor:
    words = (words ^ shifted(words, 30)) * signed(FACTORS[0])
    words = (words ^ shifted(words, 27)) * signed(FACTORS[1])
    return words ^ shifted(words, 31)


def seeded_values(recipe: dict[str, Any], begin: int, end: int, device: torch.device) -> torch.Tensor:
    """Elements `begin` to `end` of a seeded tensor, float32: seeded_value() of kernels/tapconv/shared.cuh."""
    seed = mix(torch.tensor([signed(recipe["seed"])], device=device))
    bits = mix(seed + torch.arange(begin + 1, end + 1, device=device) * signed(INCREMENT))
    value = shifted(bits, 40)
    if recipe["values"] == "unit":
        result = value.float() * 2.0**-24
    elif recipe["values"] == "signed":
        result = (value.float() * 2.0**-23 - 1.0) * recipe["scale"]
    else:
        magnitude = (2048 + (value >> 13)).float() * 2.0**-12 * recipe["scale"]
        result = torch.where((value & 1).bool(), -magnitude, magnitude)
    if recipe["keep"] < 1:
        result = torch.where((bits & 0xFFFFFF).float() * 2.0**-24 >= recipe["keep"], 0.0, result)
    return result


def fill(tensor: torch.Tensor, recipe: dict[str, Any]) -> None:
    """Draws a tensor in place, in the order of its logical indices."""
    dense = tensor if tensor.is_contiguous() else torch.empty(tensor.shape, dtype=tensor.dtype, device=tensor.device)
    flat = dense.view(-1)
    for begin in range(0, flat.numel(), CHUNK):
        end = min(begin + CHUNK, flat.numel())
        flat[begin:end] = seeded_values(recipe, begin, end, tensor.device)
    if dense is not tensor:
        tensor.copy_(dense)


def empty(operand: dict[str, Any], channels_last: bool, device: torch.device) -> torch.Tensor:
    shape = operand["shape"]
    dtype = getattr(torch, operand["dtype"])
    if not channels_last or len(shape) < 3:
        return torch.empty(shape, dtype=dtype, device=device)
    return torch.empty([shape[0], *shape[2:], shape[1]], dtype=dtype, device=device).movedim(-1, 1)


def elements(tensor: torch.Tensor, indices: list[int]) -> list[float | str]:
    """The elements with these logical indices. JSON has no numbers that are not finite: those are spelled."""
    rest, places = torch.tensor(indices, device=tensor.device), []
    for size in reversed(tensor.shape):
        places.insert(0, rest % size)
        rest = rest // size
    return [value if math.isfinite(value) else str(value) for value in tensor[tuple(places)].double().tolist()]


class Timer:
    """Times calls by the rules of docs/measuring.md."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.cuda = device.type == "cuda"
        flushed = 3 * torch.cuda.get_device_properties(device).L2_cache_size if self.cuda else 512 << 20
        self.scratch = torch.empty(flushed, dtype=torch.uint8, device=device)

    def wait(self) -> None:
        if self.cuda:
            torch.cuda.synchronize(self.device)

    def chill(self, idle_ms: float) -> None:
        """Cold caches, an idle device, and a stream that waits until the call is there (some 200 us)."""
        self.scratch.zero_()
        self.wait()
        time.sleep(idle_ms / 1000)
        if self.cuda:
            torch.cuda._sleep(400_000)

    def time(self, call: Callable[[], torch.Tensor]) -> tuple[float, torch.Tensor]:
        """Milliseconds of one call, and its result."""
        if not self.cuda:
            begin = time.perf_counter()
            result = call()
            return 1000 * (time.perf_counter() - begin), result
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        result = call()
        stop.record()
        stop.synchronize()
        return start.elapsed_time(stop), result

    def sustained(self, call: Callable[[], torch.Tensor], seconds: float) -> float:
        """Median of the second half of back-to-back calls; 0 if none are wanted."""
        times: list[float] = []
        begin = time.perf_counter()
        while seconds > 0 and (len(times) < 3 or time.perf_counter() - begin < seconds):
            times.append(self.time(call)[0])
        return statistics.median(times[len(times) // 2 :]) if times else 0.0


def versions(device: torch.device) -> dict[str, str]:
    found = {"PyTorch": torch.__version__}
    if device.type == "cuda":
        cudnn = torch.backends.cudnn.version() or 0
        found["cuDNN"] = f"{cudnn // 10000}.{cudnn // 100 % 100}.{cudnn % 100}"
        found["CUDA"] = str(torch.version.cuda)
    return found


def measure(request: dict[str, Any]) -> dict[str, Any]:
    device = torch.device(request["device"])
    if device.type == "cuda":
        torch.cuda.set_device(device)
    if request["threads"] > 0:
        torch.set_num_threads(request["threads"])
    operands = {name: empty(operand, request["channels_last"], device) for name, operand in request["operands"].items()}
    expression = compile(request["expression"], "expression", "eval")
    scope = {"F": F, "torch": torch, **operands}

    def draw(recipes: dict[str, Any]) -> None:
        for name, operand in operands.items():
            fill(operand, recipes[name])

    def call() -> torch.Tensor:
        return eval(expression, scope)

    timer = Timer(device)
    draw(request["ties"])
    ties = elements(call(), request["tie_outputs"])  # the first call also chooses an engine
    spaced: list[float] = []
    outputs: list[list[float | str]] = []
    for round_number, recipes in enumerate([*request["rounds"][:1], *request["rounds"]]):
        draw(recipes)
        timer.chill(request["idle_ms"])
        milliseconds, result = timer.time(call)
        if round_number == 0:
            continue  # a warm-up
        spaced.append(milliseconds)
        outputs.append(elements(result, request["outputs"]))
        del result
    return {
        "spaced_ms": spaced,
        "sustained_ms": timer.sustained(call, request["sustained_s"]),
        "outputs": outputs,
        "tie_outputs": ties,
        "benchmark": torch.backends.cudnn.benchmark,
        "allow_tf32": torch.backends.cudnn.allow_tf32,
        "versions": versions(device),
    }


def requests() -> Iterator[dict[str, Any]]:
    for line in sys.stdin:
        yield json.loads(line)


def main() -> None:
    # What libraries print must not come between the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    torch.backends.cudnn.benchmark = "--benchmark" in sys.argv[1:]
    for request in requests():
        try:
            with torch.no_grad():
                answer = measure(request)
        except Exception as error:  # the parent tells of whatever it is
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()  # other processes measure on the same device


if __name__ == "__main__":
    main()
