"""Spanwise's attention beside torch's `scaled_dot_product_attention`, interleaved, two threads.

    python bench/attention.py [--dtype f32,bf16,…] [--case N]
    python bench/attention.py --grid [--sample K] [--worst K]     # many small shapes, in f32 and bf16 unless told

Each case runs both in turn until neither gets faster, and prints best and median of each, the ratio (torch's time over
Spanwise's: above 1 Spanwise is faster) and the share of the machine's FMA peak measured in the same run. Causal cases count
useful work only. Where there is one query, what counts is the share of the speed of reading keys and values, measured in turn. Arrays travel as .npy files in /dev/shm. Build first: cargo build --release -p spanwise-bench-attention

The grid is B {1,2} × H {1,3,8} × N, M {1,7,32,128,500,2048} × D {8,40,64,80,128,256}. Where the Python package is installed the grid
calls it, on torch's tensors, as its users do; otherwise the program. It prints the shapes with the lowest ratios, and how many of each
size of call lie below the bar.
"""

import argparse
import itertools
import os
import pathlib
import random
import statistics
import subprocess
import tempfile
import time

import numpy as np
import torch
import torch.nn.functional as F

ROOT = pathlib.Path(__file__).resolve().parent.parent
DTYPES = {"f32": torch.float32, "f64": torch.float64, "bf16": torch.bfloat16, "f16": torch.float16}

# The lowest ratio the grid may have.
BAR = 0.95

# (B, H, N, M, D), what is asked
CASES = [
    ((1, 12, 512, 512, 64), ""),
    ((1, 12, 512, 512, 64), "causal"),
    ((1, 8, 2048, 2048, 64), ""),
    ((1, 8, 2048, 2048, 64), "causal"),
    ((1, 8, 2048, 2048, 64), "statistics"),
    ((1, 8, 2048, 2048, 64), "window=256"),
    ((1, 8, 2048, 2048, 64), "mask"),
    ((1, 8, 4096, 4096, 128), "causal"),
    ((1, 1, 16384, 16384, 64), "causal"),
    ((8, 12, 128, 128, 64), ""),
    ((1, 32, 1, 4096, 128), ""),
    ((1, 3, 7, 7, 40), ""),
    ((2, 8, 32, 500, 80), ""),
    ((1, 8, 2048, 2048, 64), "backward"),
    ((1, 8, 2048, 2048, 64), "backward causal"),
    ((1, 12, 512, 512, 64), "backward"),
    ((1, 12, 512, 512, 64), "backward causal"),
]


class Spanwise:
    """The Rust program beside this script, spoken to over its standard input and output."""

    def __init__(self, folder):
        env = dict(os.environ, RAYON_NUM_THREADS="2")
        program = ROOT / "target" / "release" / "spanwise-bench-attention"
        self.process = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env
        )
        self.folder = folder

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if not answer:
            raise RuntimeError(f"no answer to `{line}`")
        return answer

    def load(self, arrays, asked):
        paths = []
        for name, tensor in zip("qkv", arrays):
            path = f"{self.folder}/{name}.npy"
            raw = tensor.view(torch.uint16) if tensor.dtype == torch.bfloat16 else tensor
            np.save(path, raw.numpy())
            paths.append(path)
        self.ask(" ".join(["load", *paths, f"{self.folder}/out.npy", *asked]))

    def run(self):
        return float(self.ask("run"))

    def output(self, dtype):
        self.ask("save")
        array = torch.from_numpy(np.load(f"{self.folder}/out.npy"))
        return array.view(torch.bfloat16) if dtype == torch.bfloat16 else array


def torch_call(q, k, v, asked, mask, grad):
    if asked.startswith("backward"):
        q, k, v = (x.clone().requires_grad_() for x in (q, k, v))

        def both():
            out = F.scaled_dot_product_attention(q, k, v, is_causal="causal" in asked)
            torch.autograd.grad(out, (q, k, v), grad)
            return out.detach()

        return both
    if asked == "causal":
        return lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return lambda: F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def useful(shape, asked):
    """Floating-point operations that count."""
    b, h, n, m, d = shape
    pairs = n * m
    if "causal" in asked:
        pairs = n * (n + 1) // 2
    elif asked.startswith("window"):
        reach = int(asked.split("=")[1])
        pairs = sum(min(i, reach) + 1 for i in range(n))
    # Two products forward, five backward.
    return (14 if asked.startswith("backward") else 4) * b * h * pairs * d


def measure(spanwise, shape, asked, name, seconds):
    dtype = DTYPES[name]
    b, h, n, m, d = shape
    torch.manual_seed(1)
    q, k, v = (torch.randn(b, h, rows, d).to(dtype) for rows in (n, m, m))
    words, mask, grad = asked.split(), None, None
    if asked.startswith("backward"):
        grad = torch.randn(b, h, n, d).to(dtype)
        path = f"{spanwise.folder}/grad.npy"
        np.save(path, (grad.view(torch.uint16) if dtype == torch.bfloat16 else grad).numpy())
        words = [f"grad={path}", *words[1:]]
    if asked.startswith("window"):
        reach = int(asked.split("=")[1])
        i, j = torch.arange(n)[:, None], torch.arange(m)[None, :]
        mask, words = (j <= i) & (j >= i - reach), [asked, "causal"]
    elif asked == "mask":
        mask = torch.rand(n, m) > 0.2
        np.save(f"{spanwise.folder}/mask.npy", mask.numpy())
        words = [f"mask={spanwise.folder}/mask.npy"]
    spanwise.load((q, k, v), words)
    call = torch_call(q, k, v, asked, mask, grad)
    ours, theirs, reading = [spanwise.run()], [], []
    start = time.perf_counter()
    while time.perf_counter() - start < seconds or len(theirs) < 5:
        t = time.perf_counter()
        call()
        theirs.append(time.perf_counter() - t)
        ours.append(spanwise.run())
        if n == 1:
            reading.append(float(spanwise.ask("read")))
    exact = F.scaled_dot_product_attention(
        q.double(), k.double(), v.double(), attn_mask=mask, is_causal="causal" in asked
    ) if n * m * h <= 1 << 26 else None
    error = ""
    if exact is not None:
        scale = exact.pow(2).mean().sqrt()
        rms = [((x.double() - exact).pow(2).mean().sqrt() / scale).item() for x in (spanwise.output(dtype), call())]
        error = f"error {rms[0]:.1e} ({rms[1]:.1e})"
    return ours, theirs, reading, error


def grid_shapes(sample):
    lengths, widths = (1, 7, 32, 128, 500, 2048), (8, 40, 64, 80, 128, 256)
    shapes = list(itertools.product((1, 2), (1, 3, 8), lengths, lengths, widths))
    return random.Random(1).sample(shapes, min(sample, len(shapes)))


def side_by_side(ours, theirs, seconds):
    """Seconds of each, called in turn: the best of many."""
    best, rounds, end = [float("inf")] * 2, 0, time.perf_counter() + seconds
    ours(), theirs()
    while rounds < 5 or time.perf_counter() < end:
        for i, call in enumerate((ours, theirs)):
            t = time.perf_counter()
            told = call()
            best[i] = min(best[i], told if isinstance(told, float) else time.perf_counter() - t)
        rounds += 1
    return best


def grid(folder, names, asked_for):
    try:
        from spanwise import attention
    except ImportError:
        attention = None
    print("the Python package" if attention else "the program", "beside torch", torch.__version__, flush=True)
    program = None if attention else Spanwise(folder)
    found = []
    for shape, name in itertools.product(grid_shapes(asked_for.sample), names):
        b, h, n, m, d = shape
        torch.manual_seed(1)
        q, k, v = (torch.randn(b, h, rows, d).to(DTYPES[name]) for rows in (n, m, m))
        if not attention:
            program.load((q, k, v), [])
        ours = (lambda: attention(q, k, v)) if attention else program.run
        with torch.no_grad():
            found.append((*side_by_side(ours, torch_call(q, k, v, "", None, None), asked_for.seconds), shape, name))
    found.sort(key=lambda one: one[1] / one[0])
    for ours, theirs, shape, name in found[: asked_for.worst]:
        text = ",".join(map(str, shape))
        print(f"{text:20} {name:4} {ours * 1e6:9.1f} µs ({theirs * 1e6:9.1f})  ratio {theirs / ours:5.2f}")
    for low, high in itertools.pairwise((0, 2e-5, 1e-4, 1e-3, float("inf"))):
        ratios = [theirs / ours for ours, theirs, *_ in found if low <= theirs < high]
        if ratios:
            below = sum(ratio < BAR for ratio in ratios)
            print(
                f"torch takes {low * 1e6:.0f} to {high * 1e6:.0f} µs: {len(ratios)} cases, {below} below {BAR}, "
                f"lowest {min(ratios):.2f}, median {statistics.median(ratios):.2f}"
            )


def share_of(reading, ours):
    if not reading:
        return ""
    best, median = min(reading) / min(ours), statistics.median(reading) / statistics.median(ours)
    return f"{100 * best:.0f} and {100 * median:.0f} % of reading  "


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--dtype", help="f32,bf16,f16,f64 unless told")
    options.add_argument("--case", type=int, help="one line of the table")
    options.add_argument("--seconds", type=float, help="per case and type: 3, in the grid 0.1")
    options.add_argument("--grid", action="store_true", help="many shapes instead of the table")
    options.add_argument("--sample", type=int, default=1296, help="so many shapes of the grid, the same ones each time")
    options.add_argument("--worst", type=int, default=30, help="so many lines of the grid")
    asked_for = options.parse_args()
    asked_for.seconds = asked_for.seconds or (0.1 if asked_for.grid else 3.0)
    names = (asked_for.dtype or ("f32,bf16" if asked_for.grid else "f32,bf16,f16,f64")).split(",")
    torch.set_num_threads(2)
    cases = CASES if asked_for.case is None else [CASES[asked_for.case]]
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        if asked_for.grid:
            return grid(folder, names, asked_for)
        spanwise = Spanwise(folder)
        peaks = {name: float(spanwise.ask(f"peak {name}")) for name in ("f32", "f64", "bf16")}
        print(f"torch {torch.__version__}, peak GFLOP/s {peaks}", flush=True)
        for shape, asked in cases:
            for name in names:
                ours, theirs, reading, error = measure(spanwise, shape, asked, name, asked_for.seconds)
                rate = useful(shape, asked) / min(ours) / 1e9
                peak = peaks.get(name, peaks["f32"])  # f16 is multiplied in f32
                print(
                    f"{','.join(map(str, shape)):22} {asked:15} {name:4} "
                    f"best {min(ours) * 1e3:9.3f} ms ({min(theirs) * 1e3:9.3f})  "
                    f"median {statistics.median(ours) * 1e3:9.3f} ({statistics.median(theirs) * 1e3:9.3f})  "
                    f"ratio {min(theirs) / min(ours):5.2f} / {statistics.median(theirs) / statistics.median(ours):5.2f}  "
                    f"{rate:6.1f} GFLOP/s = {100 * rate / peak:3.0f} % of peak  {share_of(reading, ours)}{error}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
