"""Linear models through the Python package, beside NumPy, scikit-learn and statsmodels, interleaved, two threads.

    RAYON_NUM_THREADS=2 OPENBLAS_NUM_THREADS=2 python bench/python/linear.py [--seconds S] [--case N]

Best and median of each, ours first, theirs in brackets, then the ratio: above 1 Spanwise is faster. Ours always says rank,
standard errors and digits as well; the others give coefficients, and statsmodels standard errors.
"""

from __future__ import annotations

import argparse
import os
from typing import Any

for name in ("RAYON_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(name, "2")

import numpy as np
from beside import compare, installed

import spanwise

# What is fitted, rows, columns
CASES = [
    ("least squares", 100_000, 50),
    ("least squares", 1_000_000, 20),
    ("least squares", 2_000, 500),
    ("ridge", 100_000, 50),
    ("logistic", 50_000, 20),
    ("PCA", 20_000, 200),
]


def peers(what: str, n: int, d: int, libraries: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Our call and theirs on the same numbers."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((n, d))
    y = X @ rng.standard_normal(d) + rng.standard_normal(n)
    labels = (y > 0).astype(np.int64)
    skl, sm = libraries["sklearn"], libraries["statsmodels.api"]
    linear = libraries["sklearn.linear_model"]
    if what == "least squares":
        return lambda: spanwise.linear.lstsq(X, y), {
            "NumPy": lambda: np.linalg.lstsq(np.column_stack([np.ones(n), X]), y, rcond=None),
            "scikit-learn": (lambda: linear.LinearRegression().fit(X, y)) if skl else None,
            "statsmodels": (lambda: sm.OLS(y, sm.add_constant(X)).fit().bse) if sm else None,
        }
    if what == "ridge":
        return lambda: spanwise.linear.ridge(X, y), {
            "scikit-learn": (lambda: linear.Ridge().fit(X, y)) if skl else None
        }
    if what == "logistic":
        ours = spanwise.linear.logistic
        return lambda: ours(X, labels, penalty=1.0), {
            "scikit-learn": (lambda: linear.LogisticRegression(tol=1e-8, max_iter=1000).fit(X, labels)) if skl else None,
            "statsmodels": (lambda: sm.Logit(labels, sm.add_constant(X)).fit(disp=0)) if sm else None,
        }
    decomposition = libraries["sklearn.decomposition"]
    return lambda: spanwise.linear.pca(X, 10), {
        "scikit-learn": (lambda: decomposition.PCA(10).fit(X)) if skl else None
    }


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seconds", type=float, default=3.0, help="per case")
    options.add_argument("--case", type=int, help="one line of the table")
    asked_for = options.parse_args()
    names = ("sklearn", "sklearn.linear_model", "sklearn.decomposition", "statsmodels.api")
    libraries = {name: installed(name) for name in names}
    for what, n, d in CASES if asked_for.case is None else [CASES[asked_for.case]]:
        ours, theirs = peers(what, n, d, libraries)
        compare(f"{what} {n:,} × {d}", ours, theirs, asked_for.seconds)


if __name__ == "__main__":
    main()
