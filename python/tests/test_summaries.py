"""Ridge and non-negative weights of summaries and chunks, beside the same of all rows."""

import pickle

import numpy as np
import pytest

from spanwise import errors, linear

random = np.random.default_rng(5)
X = random.normal(size=(300, 4)) + [0.0, 10.0, 1e5, -3.0]
Y = X @ np.array([[1.0, 0.2], [2.0, -1.0], [0.3, 0.0], [-0.5, 4.0]]) + random.normal(size=(300, 2))
WEIGHTS = random.integers(0, 4, size=300) * 1.0


def summary(y, weights=None):
    """Of parts that were merged."""
    parts = []
    for rows in (slice(0, 50), slice(50, 51), slice(51, 300)):
        part = linear.Summary(4, 1 if y.ndim == 1 else y.shape[1])
        part.update(X[rows], y[rows], None if weights is None else weights[rows])
        parts.append(part)
    first, *others = parts
    for other in others:
        first.merge(other)
    return first


@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("y", "alpha"), [(Y[:, 0], 2.5), (Y, 2.5), (Y, [0.5, 50.0])])
def test_ridge_of_a_summary_is_ridge_of_its_rows(y, alpha, intercept, weights):
    expected = linear.ridge(X, y, alpha=alpha, intercept=intercept, weights=weights)
    found = summary(y, weights).ridge(alpha=alpha, intercept=intercept)
    np.testing.assert_allclose(found.coefficients, expected.coefficients, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(found.intercept, expected.intercept, rtol=1e-8)
    # Without an intercept the far column makes squares of which little is left.
    np.testing.assert_allclose(found.residual_norm, expected.residual_norm, rtol=1e-5)
    np.testing.assert_allclose(found.degrees_of_freedom, expected.degrees_of_freedom, rtol=1e-6)
    assert np.shape(found.alpha) == np.shape(expected.alpha)
    np.testing.assert_allclose(found.predict(X[:5]), expected.predict(X[:5]), rtol=1e-8)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("asked", [{}, {"intercept": True}, {"unit_sum": True}])
@pytest.mark.parametrize("y", [Y[:, 0], Y])
def test_weights_of_a_summary_are_those_of_its_rows(y, asked, weights):
    expected = linear.nonnegative(X, y, weights=weights, **asked)
    found = summary(y, weights).nonnegative(**asked)
    assert found.support == expected.support
    np.testing.assert_allclose(found.coefficients, expected.coefficients, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(found.intercept, expected.intercept, rtol=1e-7, atol=1e-9)
    assert np.all(found.coefficients >= 0) and np.all(np.asarray(found.improvement) <= 1e-9)
    np.testing.assert_allclose(found.predict(X[:5]), expected.predict(X[:5]), rtol=1e-7)


def test_weights_agree_with_scipy():
    from scipy.optimize import nnls

    expected, norm = nnls(X, Y[:, 1])
    found = linear.nonnegative(X, Y[:, 1])
    np.testing.assert_allclose(found.coefficients, expected, rtol=1e-9, atol=1e-12)
    assert found.residual_norm == pytest.approx(norm)
    mixed = linear.nonnegative(X, Y[:, 0], unit_sum=True)
    assert mixed.coefficients.sum() == pytest.approx(1.0, abs=1e-14)
    assert repr(found).startswith("NonNegativeFit: weights for ")
    assert pickle.loads(pickle.dumps(found)).support == found.support


def test_chunks_give_the_fits_of_all_rows():
    def chunks():
        return ((X[i : i + 70], Y[i : i + 70, 0], WEIGHTS[i : i + 70]) for i in range(0, 300, 70))

    expected = linear.ridge(X, Y[:, 0], alpha=3.0, weights=WEIGHTS)
    np.testing.assert_allclose(linear.ridge(chunks(), alpha=3.0).coefficients, expected.coefficients, rtol=1e-9)
    expected = linear.nonnegative(X, Y[:, 0], weights=WEIGHTS)
    np.testing.assert_allclose(linear.nonnegative(chunks()).coefficients, expected.coefficients, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize(
    ("error", "words", "call"),
    [
        (errors.DtypeError, "ridge: `y` was not given", lambda: linear.ridge(X)),
        (errors.DtypeError, "ridge: `y` was given beside chunks", lambda: linear.ridge(iter([(X, Y)]), Y)),
        (errors.DtypeError, "non-negative least squares: a chunk is a int", lambda: linear.nonnegative(iter([3]))),
        (errors.ShapeError, "ridge: there are no chunks", lambda: linear.ridge(iter(()))),
        (errors.ShapeError, "`alpha` has 2 entries", lambda: summary(Y[:, 0]).ridge(alpha=[1.0, 2.0])),
        (errors.NumberError, "`alpha` is -1", lambda: summary(Y[:, 0]).ridge(alpha=-1.0)),
        (errors.ShapeError, "ridge: `X` has shape \\(0, 2\\)", lambda: linear.Summary(2).ridge()),
        (errors.ShapeError, "non-negative least squares: `X`", lambda: linear.Summary(2).nonnegative()),
    ],
)
def test_what_determines_nothing_is_named(error, words, call):
    with pytest.raises(error, match=words):
        call()


def test_logistic_regression_says_where_columns_depend_on_each_other():
    x = np.column_stack([X[:, 0], X[:, 0], X[:, 1]])
    y = X[:, 0] + random.normal(size=300) > 0
    fit = linear.logistic(x, y, penalty=0.0)
    assert fit.dependent and fit.standard_errors is None
    assert "columns depend on each other" in repr(fit)
    # A penalty decides between them.
    assert not linear.logistic(x, y, penalty=1.0).dependent
    assert not linear.logistic(x[:, 1:], y, penalty=0.0).dependent
