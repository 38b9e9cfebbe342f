"""Estimators with scikit-learn's conventions: fit, predict, transform, learned attributes with a trailing underscore.

They go where scikit-learn's own go: pipelines, searches, pickles. What they compute is :mod:`spanwise.linear`.
"""

from __future__ import annotations

from ._classes import LogisticRegression
from ._components import PCA
from ._kernel import KernelRidge
from ._regression import LinearRegression, Ridge, RidgeCV

__all__ = ["KernelRidge", "LinearRegression", "LogisticRegression", "PCA", "Ridge", "RidgeCV"]
