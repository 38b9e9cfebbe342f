"""Spanwise's attention beside torch's `scaled_dot_product_attention`, interleaved, two threads.

    python bench/attention.py [--dtype f32,bf16,…] [--case N]

Each case runs both in turn until neither gets faster, and prints best and median of each, the ratio (torch's time over
Spanwise's: above 1 Spanwise is faster) and the share of the machine's FMA peak measured in the same run. Causal cases count
useful work only. Arrays travel as .npy files in /dev/shm. Build first: cargo build --release -p spanwise-bench-attention
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

import numpy as np
import torch
import torch.nn.functional as F

ROOT = pathlib.Path(__file__).resolve().parent.parent
DTYPES = {"f32": torch.float32, "f64": torch.float64, "bf16": torch.bfloat16, "f16": torch.float16}

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
    ours, theirs = [spanwise.run()], []
    start = time.perf_counter()
    while time.perf_counter() - start < seconds or len(theirs) < 5:
        t = time.perf_counter()
        call()
        theirs.append(time.perf_counter() - t)
        ours.append(spanwise.run())
    exact = F.scaled_dot_product_attention(
        q.double(), k.double(), v.double(), attn_mask=mask, is_causal="causal" in asked
    ) if n * m * h <= 1 << 26 else None
    error = ""
    if exact is not None:
        scale = exact.pow(2).mean().sqrt()
        rms = [((x.double() - exact).pow(2).mean().sqrt() / scale).item() for x in (spanwise.output(dtype), call())]
        error = f"error {rms[0]:.1e} ({rms[1]:.1e})"
    return ours, theirs, error


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--dtype", default="f32,bf16,f16,f64")
    options.add_argument("--case", type=int, help="one line of the table")
    options.add_argument("--seconds", type=float, default=3.0, help="per case and type")
    asked_for = options.parse_args()
    torch.set_num_threads(2)
    cases = CASES if asked_for.case is None else [CASES[asked_for.case]]
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        spanwise = Spanwise(folder)
        peaks = {name: float(spanwise.ask(f"peak {name}")) for name in ("f32", "f64")}
        print(f"torch {torch.__version__}, FMA peak f32 {peaks['f32']:.0f}, f64 {peaks['f64']:.0f} GFLOP/s", flush=True)
        for shape, asked in cases:
            for name in asked_for.dtype.split(","):
                ours, theirs, error = measure(spanwise, shape, asked, name, asked_for.seconds)
                rate = useful(shape, asked) / min(ours) / 1e9
                peak = peaks["f64" if name == "f64" else "f32"]
                print(
                    f"{','.join(map(str, shape)):22} {asked:15} {name:4} "
                    f"best {min(ours) * 1e3:9.3f} ms ({min(theirs) * 1e3:9.3f})  "
                    f"median {statistics.median(ours) * 1e3:9.3f} ({statistics.median(theirs) * 1e3:9.3f})  "
                    f"ratio {min(theirs) / min(ours):5.2f} / {statistics.median(theirs) / statistics.median(ours):5.2f}  "
                    f"{rate:6.1f} GFLOP/s = {100 * rate / peak:3.0f} % of peak  {error}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
