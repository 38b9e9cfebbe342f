"""Logistic and softmax regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .. import _spanwise
from .._arrays import Names, vector
from .._numbers import whole
from .._progress import fitting
from .._tables import Design, features, predicted
from ..errors import DtypeError, NotFiniteError, NumberError, ShapeError
from ._text import coefficients, counted, numbers, said

F64 = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Separation:
    """A direction along which the classes separate: without a penalty the likelihood has no maximum.

    Attributes
    ----------
    kind : {"complete", "quasi-complete"}
    columns : tuple of int
        The columns that take part in it.
    separated_rows, boundary_rows : int
        Rows strictly on their own side, and rows on the boundary.
    """

    kind: str
    columns: tuple[int, ...]
    separated_rows: int
    boundary_rows: int


@dataclass(frozen=True, slots=True, eq=False)
class LogisticFit:
    """A fitted logistic (two classes) or softmax (more) regression.

    Attributes
    ----------
    classes : ndarray, (K,)
        The labels, rising.
    coefficients : ndarray, (1, d) or (K, d)
        The log-odds of the second class, or the score of each class.
    intercept : ndarray, (1,) or (K,)
    standard_errors, intercept_standard_errors : ndarray or None
        None where the Hessian was not formed, where columns are dependent, or where the classes separate.
    deviance, null_deviance, r_squared : float
    converged : bool
    iterations : int
    gradient_norm : float
    dependent : bool
        Whether columns depend on each other and no penalty decides between them: coefficients are then not unique and have no
        standard errors; :func:`rank` gives the formulas.
    separation : Separation or None
        Found only without a penalty; predictions are then usable, sizes mean nothing.
    """

    classes: npt.NDArray[Any]
    coefficients: F64
    intercept: F64
    standard_errors: F64 | None
    intercept_standard_errors: F64 | None
    deviance: float
    null_deviance: float
    r_squared: float
    converged: bool
    iterations: int
    gradient_norm: float
    dependent: bool
    separation: Separation | None
    names: Names
    design: Design | None = None

    def decision(self, X: Any) -> F64:
        """Log-odds of the second class, (n,), or scores of each class, (n, K), for the rows of ``X`` (n, d)."""
        values = predicted("predict", X, self.design, self.names)
        scores = _spanwise.predict(values, self.coefficients, self.intercept)
        return scores[0] if len(self.classes) == 2 else scores.T

    def predict_proba(self, X: Any) -> F64:
        """Probabilities of the classes, (n, K), for the rows of ``X`` (n, d)."""
        return probabilities(self.decision(X))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The most probable label of each row of ``X`` (n, d): (n,)."""
        scores = self.decision(X)
        best = (scores > 0).astype(np.intp) if scores.ndim == 1 else np.argmax(scores, axis=1)
        labels: npt.NDArray[Any] = self.classes[best]
        return labels

    def __repr__(self) -> str:
        steps = f"converged in {counted(self.iterations, 'step')}"
        if not self.converged:
            steps = f"not {steps}, gradient {self.gradient_norm:.3g}"
        facts = [counted(len(self.classes), "class", "classes"), *numbers("R²", self.r_squared), steps]
        if len(self.classes) > 2:
            lines = [counted(self.coefficients.shape[1], "coefficient") + " for each class"]
        else:
            lines = coefficients(self.names, self.coefficients[0], float(self.intercept[0]))
        if self.dependent:
            facts.append("columns depend on each other")
        if self.separation is not None:
            facts.append(f"{self.separation.kind} separation")
        return said("LogisticFit", facts, lines)


def probabilities(scores: F64) -> F64:
    """Scores as probabilities, (n, K): the softmax with its largest score subtracted."""
    if scores.ndim == 1:
        scores = np.stack([np.zeros_like(scores), scores], axis=1)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: F64 = weights / weights.sum(axis=1, keepdims=True)
    return shares


def _refuse_unordered(labels: npt.NDArray[Any]) -> None:
    """Objects that are missing, or of types that cannot be put in order."""
    for row, label in enumerate(labels):
        # Not a number and not a time are not even themselves; pandas' NA does not say.
        if label is None or type(label).__name__ == "NAType" or label != label:
            raise NotFiniteError(f"logistic regression: `y` holds {label} at row {row}; expected labels of classes")
    kinds = sorted({type(label).__name__ for label in labels})
    try:
        sorted(set(labels))
    except TypeError as error:
        raise DtypeError(
            f"logistic regression: `y` holds labels of the types {', '.join(kinds)}; expected some that have an order"
        ) from error


def coded(labels: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """The different labels, rising, and each row's index among them."""
    if labels.dtype.kind in "iu" and labels.size:
        low, high = int(labels.min()), int(labels.max())
        if high - low < 1 << 16:  # few enough to count, which needs no sorting
            # Signed labels widen first: 100 − (−100) is no int8. Unsigned ones may be too large for that, and fall below themselves.
            wide = labels if labels.dtype.kind == "u" else labels.astype(np.intp, copy=False)
            places = (wide - wide.dtype.type(low) if low else wide).astype(np.intp, copy=False)
            present = np.bincount(places, minlength=high - low + 1) > 0
            if low == 0 and present.all():  # they are indices already
                return np.arange(high + 1).astype(labels.dtype), np.array(places, dtype=np.int64)
            index = np.cumsum(present, dtype=np.int64) - 1
            # Sums of one type wrap around, and so come out at labels that are there.
            return np.flatnonzero(present).astype(labels.dtype) + labels.dtype.type(low), index[places]
    classes, codes = np.unique(labels, return_inverse=True)
    return classes, np.ascontiguousarray(codes, dtype=np.int64)


def logistic(
    X: Any,
    y: Any,
    *,
    penalty: float = 1.0,
    intercept: bool = True,
    weights: Any = None,
    optimiser: Literal["auto", "newton", "lbfgs"] = "auto",
    tolerance: float = 1e-8,
    iterations: int = 100,
    progress: bool | None = None,
) -> LogisticFit:
    """Logistic regression for two classes, softmax regression for more.

    Minimises ``Σ loss + penalty/2·‖W‖²``; the intercepts are not penalised.

    Parameters
    ----------
    X : array or table, (n, d)
    y : array, (n,)
        Labels of any type that NumPy can sort.
    penalty : float
        ``1/C`` of scikit-learn; 0 for plain maximum likelihood.
    intercept : bool
    weights : array, (n,), optional
        One weight ≥ 0 per row.
    optimiser : {"auto", "newton", "lbfgs"}
        Newton's method up to a thousand parameters, L-BFGS beyond.
    tolerance : float
    iterations : int
        At most so many; ten times as many for L-BFGS.
    progress : bool, optional
        As for :func:`lstsq`.

    Returns
    -------
    LogisticFit

    Examples
    --------
    >>> import numpy as np, spanwise
    >>> X = np.repeat([0.0, 1.0], 10)[:, None]
    >>> y = np.array(["no"] * 6 + ["yes"] * 4 + ["no"] * 2 + ["yes"] * 8)
    >>> fit = spanwise.linear.logistic(X, y, penalty=0.0)
    >>> round(float(fit.coefficients[0, 0]), 8), round(float(np.log(6)), 8)
    (1.79175947, 1.79175947)
    >>> np.round(fit.predict_proba([[1.0]]), 10)
    array([[0.2, 0.8]])
    """
    table = features("logistic regression", "X", X)
    labels = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    if labels.ndim != 1:
        raise ShapeError(
            f"logistic regression: `y` has shape {tuple(labels.shape)}; expected 1 dimension"
        )
    if labels.dtype.kind == "f" and (wrong := np.flatnonzero(~np.isfinite(labels))).size:
        value = "NaN" if np.isnan(labels[wrong[0]]) else f"{labels[wrong[0]]:g}"
        raise NotFiniteError(f"logistic regression: `y` holds {value} at row {wrong[0]}; expected labels of classes")
    if labels.dtype.kind == "O":
        _refuse_unordered(labels)
    classes, codes = coded(labels)
    if labels.dtype.kind == "f" and not np.array_equal(classes, np.round(classes)):
        raise NumberError(
            f"logistic regression: `y` holds {len(classes)} different numbers with fractions; expected labels of classes\n"
            "hint: `lstsq` and `ridge` fit numbers"
        )
    weights = None if weights is None else vector("logistic regression", "weights", weights)
    limits = (float(tolerance), whole("logistic regression", "iterations", iterations))
    with fitting("logistic regression", progress, table.values.shape):
        parts = _spanwise.logistic(
            table.values, codes, weights, float(penalty), intercept, optimiser, limits
        )
    parts["classes"] = classes[parts["classes"]]
    parts["intercept"] = parts.pop("intercepts")
    if parts["separation"] is not None:
        kind, columns, separated, boundary = parts["separation"]
        parts["separation"] = Separation(kind, tuple(columns), separated, boundary)
    return LogisticFit(names=table.names, design=table.design, **parts)
