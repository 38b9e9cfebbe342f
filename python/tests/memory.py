"""How much memory a call of attention needs beside its inputs, measured in a process of its own.

The process holds its inputs, forgets its peak (``/proc/self/clear_refs``), calls, and says by how much its peak exceeds what it
held before. Where the system has no such file, the largest memory ever used stands for the peak.
"""

import subprocess
import sys

# 64 MB each of keys and values, of which a layout may use a part.
LAYOUTS = {
    "contiguous": "x",
    "transposed": "swap(ascontiguous(swap(x)))",
    "sliced": "x[:, :, ::2]",
    "backwards": "x[:, :, ::2, 1:] if of_torch else x[:, :, ::-1]",
    "tokens before heads": "as_heads(x)",
}

_SCRIPT = """
import resource, sys
import numpy as np
import spanwise
library, layout, copies = sys.argv[1], sys.argv[2], sys.argv[3] == "True"
of_torch = library != "numpy"
if of_torch:
    import torch
    torch.set_num_threads(2)

def make(*shape):
    x = np.zeros(shape, np.float32)
    x[..., ::7] = 1
    return torch.from_numpy(x).to(getattr(torch, library)) if of_torch else x

swap = lambda x: x.transpose(-1, -2) if of_torch else np.swapaxes(x, -1, -2)
ascontiguous = lambda x: x.contiguous() if of_torch else np.ascontiguousarray(x)
# (B, N, H, D) memory seen as (B, H, N, D).
as_heads = lambda x: x.reshape(1, x.shape[2] // 2, 2, x.shape[3]).swapaxes(1, 2)

def status(name):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))

def peak(reset):
    try:
        if reset:
            with open("/proc/self/clear_refs", "w") as file:
                file.write("5")
            return status("VmRSS:")
        return status("VmHWM:")
    except OSError:
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit

x = make(1, 1, 1 << 17, 128)
k = {expression}
q = make(1, k.shape[1], 2, k.shape[3])
call = lambda k: spanwise.attention(q, k, k, causal="bottom-right", stats="lse")
call(k[:, :, :512])
size = k.nbytes
before = peak(True)
call(k.copy() if copies else k)
print(peak(False) - before, size)
"""


def check_no_copy(library, layout, copies=False):
    """Runs the call in ``library`` (numpy, or a type of torch) and fails where a quarter of the inputs more was needed."""
    script = _SCRIPT.replace("{expression}", LAYOUTS[layout])
    run = subprocess.run(
        [sys.executable, "-c", script, library, layout, str(copies)], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    added, size = map(int, run.stdout.split())
    assert added < size / 4, f"{layout}: {added} bytes more memory for inputs of {size}"
