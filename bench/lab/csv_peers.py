"""Makes the files of the CSV comparison and reads them with polars.

    python csv_peers.py make DIRECTORY        writes full.csv, six.csv and mixed.csv
    python csv_peers.py read FILE [TIMES]     prints the seconds of each reading
"""

import os
import sys
import time

os.environ.setdefault("POLARS_MAX_THREADS", "2")
import numpy as np
import polars as pl


def make(directory):
    rng = np.random.default_rng(1)
    x = rng.standard_normal((1_000_000, 20))
    names = [f"c{j}" for j in range(20)]
    pl.DataFrame(x, schema=names).write_csv(f"{directory}/full.csv")
    pl.DataFrame(x, schema=names).write_csv(f"{directory}/six.csv", float_precision=6)
    rows = 1_000_000
    words = np.array([f"street {i % 97}, {i}" for i in range(5000)])
    mixed = pl.DataFrame(
        {
            "id": np.arange(rows),
            "a": rng.standard_normal(rows),
            "b": rng.standard_normal(rows),
            "address": words[rng.integers(0, 5000, rows)],
            "city": np.array(["Oslo", "Bergen", "Trondheim", "Stavanger"])[rng.integers(0, 4, rows)],
            "note": np.array(['says ""hi""', "plain", "two, parts", ""])[rng.integers(0, 4, rows)],
            "c": rng.integers(0, 100, rows),
            "d": rng.standard_normal(rows),
        }
    )
    mixed.write_csv(f"{directory}/mixed.csv")


def read(path, times):
    for _ in range(times):
        start = time.perf_counter()
        frame = pl.read_csv(path)
        print(f"{time.perf_counter() - start:.3f} s, {frame.height} rows, polars {pl.__version__}")
        del frame


if sys.argv[1] == "make":
    make(sys.argv[2])
else:
    read(sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 1)
