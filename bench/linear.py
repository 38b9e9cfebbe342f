"""Linear models side by side: Spanwise (through the runner) and scikit-learn, interleaved in one run.

    cargo build --release -p spanwise-bench
    python bench/linear.py [--rounds 7] [--parts] [--only 1000000x20] [--models fit,ridge,pca,logistic]

Times are in milliseconds, the best of all rounds; two threads each.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "2")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "2")
os.environ.setdefault("RAYON_NUM_THREADS", "2")

import numpy as np  # noqa: E402
from sklearn.decomposition import PCA  # noqa: E402
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge  # noqa: E402

SHAPES = [
    # rows, columns, column-major, at least this many times faster
    (1_000_000, 20, False, 20),
    (200_000, 100, False, 14),
    (20_000, 500, False, 5),
    (2_000, 2_000, False, 6),
    (500, 5_000, False, 7),
    (1_000_000, 20, True, 8),
    (200_000, 100, True, 12),
    (20_000, 500, True, 5),
]

# At least this many times faster, for the row-major shapes in their order.
RIDGE_BARS = [8, 5, 1.8, 1.6, 1.6]
PCA_BARS = [4, 2.5, 1.3, 1, 4]
# A path of 50 penalties takes at most twice the time of one, up to this many columns.
PATH_UP_TO = 500
LOGISTIC = (200_000, 50, 5)


class Runner:
    """The Rust program that loads arrays and times its own calls."""

    def __init__(self, path):
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, *words):
        self.process.stdin.write(" ".join(words) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().split()
        if not answer:
            sys.exit(f"the runner stopped at: {' '.join(words)}")
        return answer


def table(rows, cols, by_columns):
    rng = np.random.default_rng(rows + cols)
    x = rng.standard_normal((rows, cols))
    y = x @ rng.standard_normal(cols) + 3.0 + rng.standard_normal(rows)
    return (np.asfortranarray(x) if by_columns else x), y


def load(runner, **arrays):
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        for key, array in arrays.items():
            np.save(f"{folder}/{key}.npy", array)
            runner.ask("load", key, f"{folder}/{key}.npy")


def side_by_side(runner, rounds, words, theirs):
    """The best time of each, turn by turn, and the runner's last answer."""
    ours, other, answer = [], [], None
    for _ in range(rounds):
        answer = runner.ask(*words)
        ours.append(float(answer[0]))
        start = time.perf_counter()
        theirs()
        other.append((time.perf_counter() - start) * 1e3)
    return min(ours), min(other), answer


def report(name, ours, theirs, bar, note=""):
    print(f"{name:>25} {ours:8.2f}  scikit-learn {theirs:8.2f}  {theirs / ours:5.1f}x (bar {bar}x)  {note}", flush=True)


def others(runner, options, models, x, y, at):
    """Ridge, a path of penalties and principal components of one row-major table."""
    if "ridge" in models:
        model = Ridge(alpha=1.0)
        ours, theirs, answer = side_by_side(runner, options.rounds, ("ridge", "X", "y"), lambda: model.fit(x, y))
        off = abs(float(answer[1]) - model.coef_.sum()) / max(1e-300, np.abs(model.coef_).sum())
        report("ridge", ours, theirs, RIDGE_BARS[at], f"differ {off:.0e}")
        if x.shape[1] <= PATH_UP_TO:
            path = min(float(runner.ask("path", "X", "y")[0]) for _ in range(options.rounds))
            print(f"{'path of 50':>25} {path:8.2f}  {path / ours:.1f}x one (bar 2x)", flush=True)
    if "pca" in models:
        model = PCA(10)
        ours, theirs, answer = side_by_side(runner, options.rounds, ("pca", "X"), lambda: model.fit(x))
        off = abs(float(answer[2]) / model.explained_variance_.sum() - 1)
        report("pca(10)", ours, theirs, PCA_BARS[at], f"{answer[1]} differ {off:.0e}")


def logistic(runner, options):
    rows, cols, bar = LOGISTIC
    x, y = table(rows, cols, False)
    rng = np.random.default_rng(0)
    y = (y - y.mean()) / y.std() + rng.logistic(size=rows)
    load(runner, X=x, y=y)
    labels, model = y > 0, LogisticRegression()
    ours, theirs, answer = side_by_side(runner, options.rounds, ("logistic", "X", "y"), lambda: model.fit(x, labels))
    p = 1 / (1 + np.exp(-model.decision_function(x))) - labels
    norm = np.hypot(np.linalg.norm(x.T @ p + model.coef_[0]), p.sum())
    report(f"logistic {rows}x{cols}", ours, theirs, bar, f"gradient {answer[2]}, scikit-learn {norm:.1e}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--parts", action="store_true", help="time the passes as well")
    parser.add_argument("--only", help="one shape, such as 1000000x20")
    parser.add_argument("--models", default="fit", help="some of fit, ridge, pca, logistic; or all")
    parser.add_argument("--alone", action="store_true", help="without scikit-learn")
    root = Path(__file__).resolve().parent.parent
    parser.add_argument("--runner", default=str(root / "target/release/spanwise-bench"))
    options = parser.parse_args()

    runner = Runner(options.runner)
    print(f"multiply-add peak of two threads: {runner.ask('peak')[0]} GFLOP/s")
    models = "fit,ridge,pca,logistic" if options.models == "all" else options.models
    models = models.split(",")
    for at, (rows, cols, by_columns, bar) in enumerate(SHAPES):
        name = f"{rows}x{cols}"
        if options.only and options.only != name:
            continue
        if by_columns and "fit" not in models or models == ["logistic"]:
            continue
        x, y = table(rows, cols, by_columns)
        load(runner, X=x, y=y)
        if not by_columns:
            others(runner, options, models, x, y, at)
        if "fit" not in models:
            continue
        ours, theirs, answer = [], [], None
        model = LinearRegression()
        for _ in range(options.rounds):
            answer = runner.ask("fit", "X", "y")
            ours.append(float(answer[0]))
            if not options.alone:
                start = time.perf_counter()
                model.fit(x, y)
                theirs.append((time.perf_counter() - start) * 1e3)
        layout = "column-major" if by_columns else "row-major"
        line = f"{name:>12} {layout:<12} ours {min(ours):8.2f}  {answer[1]} {answer[2]} steps, condition {answer[3]}"
        if theirs:
            ratio = min(theirs) / min(ours)
            off = abs(float(answer[4]) - model.coef_.sum()) / max(1e-300, np.abs(model.coef_).sum())
            line += f"  scikit-learn {min(theirs):8.2f}  {ratio:5.1f}x (bar {bar}x)  differ {off:.0e}"
        print(line, flush=True)
        # Turn by turn, so that both meet the same memory; what scikit-learn left spinning has stopped after the first.
        products = [[float(runner.ask(call, "X")[0]) for call in ("multiply", "bandwidth")] for _ in range(5 * options.rounds)]
        multiply, bandwidth = (min(times) for times in zip(*products))
        print(f"{'multiply':>25} {multiply:8.2f}  {bandwidth / multiply:6.0%} of reading, {bandwidth:.2f} (bar 90%)", flush=True)
        for call in ("gram", "triangle", "gradient") if options.parts else ():
            if call == "triangle" and cols > 1000:
                continue
            best = min(float(runner.ask(call, "X", "y")[0]) for _ in range(options.rounds))
            note = f"{x.nbytes / best / 1e6:6.1f} GB/s"
            if call == "gram":
                note += f"  {rows * (cols + 2) * (cols + 3) / best / 1e6:6.1f} GFLOP/s"
            print(f"{call:>25} {best:8.2f}  {note}", flush=True)
    if "logistic" in models:
        logistic(runner, options)


if __name__ == "__main__":
    main()
