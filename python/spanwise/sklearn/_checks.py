"""Parameters and data, checked as scikit-learn checks them."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from .._numbers import MOST_SEED
from ..errors import NumberError

Array = npt.NDArray[Any]
F64 = npt.NDArray[np.float64]
TYPES = [np.float64, np.float32]


def number(estimator: Any, name: str, holds: Any, expected: str, kind: Any = Real) -> None:
    """A parameter of the right type and in its range."""
    value = getattr(estimator, name)
    number = isinstance(value, kind) and not isinstance(value, bool)
    if not number or not holds(value):
        message = f"{type(estimator).__name__}: `{name}` is {value!r}; expected {expected}"
        raise NumberError(message)


def seed(random_state: Any) -> int:
    """A seed from what scikit-learn takes: a whole number, a generator, or None for NumPy's own."""
    if isinstance(random_state, (int, np.integer)) and 0 <= random_state <= MOST_SEED:
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def regression(
    estimator: Any, X: Any, y: Any, sample_weight: Any, *, multi_output: bool = True, least: int = 1
) -> tuple[Array, Array, F64 | None]:
    """Checked data of ``least`` rows or more. Whether numbers are finite is left to the fit, which says where one is not."""
    X, y = validate_data(
        estimator,
        X,
        y,
        dtype=TYPES,
        y_numeric=True,
        multi_output=multi_output,
        ensure_all_finite=False,
        ensure_min_samples=least,
    )
    weights = None if sample_weight is None else _check_sample_weight(sample_weight, X, dtype=np.float64)
    if weights is not None:
        weights = np.ascontiguousarray(weights, dtype=np.float64)
    return X, np.asarray(y, dtype=np.float64), weights


def rows(estimator: Any, X: Any) -> Array:
    check_is_fitted(estimator)
    values: Array = validate_data(estimator, X, dtype=TYPES, reset=False, ensure_all_finite=False)
    return values
