"""Writes the files beside it with the packages that own the formats.

Run from this directory with numpy, ml_dtypes, pandas, pyarrow and safetensors installed: python make.py
"""

import ml_dtypes
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
from safetensors.numpy import save_file

grid = np.arange(6, dtype=np.float32).reshape(2, 3) / 4
np.save("f32.npy", grid)
np.save("fortran.npy", np.asfortranarray(grid.astype(np.float64)))
np.save("f16.npy", grid.astype(np.float16))
np.save("bf16.npy", grid.astype(ml_dtypes.bfloat16))
np.save("big_endian.npy", grid.astype(">f8"))
np.save("int.npy", np.array([-3, 0, 2**53], dtype=np.int64))
np.save("mask.npy", np.array([[True, False], [True, True]]))
np.save("scalar.npy", np.float64(2.5))
np.savez("stored.npz", q=grid, mask=np.array([True, False]))
np.savez_compressed("deflated.npz", q=np.zeros((64, 64)), k=grid)
save_file({"layer.0.q": grid, "mask": np.array([1, 0, 1], dtype=bool), "h": grid.astype(np.float16)}, "model.safetensors")

table = pd.DataFrame(
    {
        "x": [1.5, None, -2.0, 1e300],
        "n": [1, 2, 3, 4],
        "city": ["Oslo, NO", "Bergen", None, "Oslo, NO"],
        "ok": [True, False, True, True],
    }
)
table.to_csv("pandas.csv", index=False)
arrow = pa.Table.from_pandas(table, preserve_index=False).replace_schema_metadata(None)
arrow = arrow.append_column("level", arrow["city"].dictionary_encode())
for codec in ["snappy", "gzip", "zstd", "lz4", "none"]:
    pq.write_table(arrow, f"{codec}.parquet", compression=codec, row_group_size=3)
for codec in ["uncompressed", "lz4", "zstd"]:
    feather.write_feather(arrow, f"{codec}.feather", compression=codec, chunksize=3)
with pa.ipc.new_stream("stream.arrow", arrow.schema) as writer:
    writer.write_table(arrow, max_chunksize=3)
pq.write_table(pa.table({"day": pa.array([0, 1], pa.date32())}), "date.parquet")
