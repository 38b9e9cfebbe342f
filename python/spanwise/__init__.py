"""A model's output is a weighted sum, and Spanwise computes both kinds.

A linear prediction ``X @ w`` lies in the *span* of the feature columns: :mod:`spanwise.linear`. An attention output
``softmax(q @ k.T / sqrt(D)) @ v`` lies in the *convex hull* of the value rows: :func:`spanwise.attention`.
"""

from __future__ import annotations

import os

from . import _spanwise, errors, linear
from ._attention import AttentionStats, attention, scores, weights
from ._cache import KVCache
from ._explain import Explanation, Finding, explain
from ._lens import lens

__version__ = _spanwise.__version__
__all__ = [
    "AttentionStats",
    "Explanation",
    "Finding",
    "KVCache",
    "attention",
    "errors",
    "explain",
    "lens",
    "linear",
    "scores",
    "weights",
]

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_spanwise.after_fork)
