"""The tests of arrays hold the plain reference, the random calls and the measure of memory that tensors are tested with too."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tests"))
