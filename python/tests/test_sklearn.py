"""The estimators keep scikit-learn's promises and agree with scikit-learn."""

import pickle

import numpy as np
import pytest
from sklearn import decomposition, kernel_ridge, linear_model
from sklearn.datasets import make_classification, make_regression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from spanwise import sklearn as ours

ESTIMATORS = [
    ours.LinearRegression(),
    ours.Ridge(),
    ours.RidgeCV(),
    ours.LogisticRegression(),
    ours.PCA(),
    ours.KernelRidge(),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learns_own_checks_hold(estimator, check):
    check(estimator)


def regression(targets=1):
    return make_regression(200, 7, n_targets=targets, noise=3.0, random_state=0)


@pytest.mark.parametrize("targets", [1, 3])
@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        (ours.LinearRegression(), linear_model.LinearRegression()),
        (ours.LinearRegression(fit_intercept=False), linear_model.LinearRegression(fit_intercept=False)),
        (ours.Ridge(2.5), linear_model.Ridge(2.5)),
        (ours.RidgeCV((0.01, 1.0, 100.0)), linear_model.RidgeCV((0.01, 1.0, 100.0))),
        (ours.RidgeCV((1.0, 100.0), cv=4), linear_model.RidgeCV((1.0, 100.0), cv=4)),
        (ours.KernelRidge(0.7), kernel_ridge.KernelRidge(alpha=0.7)),
        (ours.KernelRidge(0.7, kernel="rbf"), kernel_ridge.KernelRidge(alpha=0.7, kernel="rbf")),
        (
            ours.KernelRidge(0.7, kernel="poly", degree=2),
            kernel_ridge.KernelRidge(alpha=0.7, kernel="poly", degree=2),
        ),
    ],
)
def test_regressors_predict_what_scikit_learns_do(mine, theirs, targets):
    X, y = regression(targets)
    expected = theirs.fit(X, y).predict(X)
    np.testing.assert_allclose(mine.fit(X, y).predict(X), expected, rtol=1e-7, atol=1e-7)
    if hasattr(theirs, "coef_"):
        np.testing.assert_allclose(mine.coef_, theirs.coef_, rtol=1e-8)


@pytest.mark.parametrize("classes", [2, 4])
def test_logistic_regression_finds_scikit_learns_minimum(classes):
    X, y = make_classification(300, 6, n_informative=5, n_redundant=0, n_classes=classes, random_state=1)
    weight = np.random.default_rng(0).uniform(0.5, 2, 300)
    mine = ours.LogisticRegression(C=0.5).fit(X, y, sample_weight=weight)
    theirs = linear_model.LogisticRegression(C=0.5, tol=1e-10, max_iter=10_000)
    theirs.fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(mine.coef_, theirs.coef_, atol=1e-5)
    np.testing.assert_allclose(mine.predict_proba(X), theirs.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("components", [None, 2, 0.7])
@pytest.mark.parametrize("whiten", [False, True])
def test_principal_components_are_scikit_learns(components, whiten):
    X, _ = regression()
    X = X * np.arange(1, 8)
    mine = ours.PCA(components, whiten=whiten).fit(X)
    theirs = decomposition.PCA(components, whiten=whiten).fit(X)
    assert mine.n_components_ == theirs.n_components_
    np.testing.assert_allclose(mine.explained_variance_, theirs.explained_variance_)
    np.testing.assert_allclose(mine.transform(X), theirs.transform(X), atol=1e-8)
    np.testing.assert_allclose(mine.noise_variance_, theirs.noise_variance_)
    np.testing.assert_allclose(mine.inverse_transform(mine.transform(X)), theirs.inverse_transform(theirs.transform(X)))


@pytest.mark.parametrize("estimator", ESTIMATORS[:4] + ESTIMATORS[5:], ids=lambda e: type(e).__name__)
def test_a_pickled_pipeline_predicts_the_same(estimator):
    X, y = regression()
    y = (y > 0).astype(int) if isinstance(estimator, ours.LogisticRegression) else y
    model = make_pipeline(StandardScaler(), ours.PCA(4), estimator).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_dependent_columns_are_named():
    X, y = regression()
    X = np.column_stack([X, X[:, 0] + 2 * X[:, 1]])
    model = ours.LinearRegression().fit(X, y)
    assert model.rank_ == 7
    assert model.dependencies_[0].column == 7
    np.testing.assert_allclose([a for _, a in model.dependencies_[0].terms], [1, 2], rtol=1e-10)


def test_seeds_are_what_scikit_learn_takes() -> None:
    X = np.random.default_rng(5).normal(size=(40, 6))
    for state in (None, 3, np.int64(3), np.random.RandomState(3)):
        fitted = ours.PCA(2, method="randomized", random_state=state).fit(X)
        exact = ours.PCA(2, method="exact").fit(X)
        np.testing.assert_allclose(np.abs(fitted.components_), np.abs(exact.components_), atol=0.2)
        assert ours.KernelRidge(landmarks=7, random_state=state).fit(X, X[:, 0]).X_fit_.shape == (7, 6)
    with pytest.raises(ValueError, match="seed"):
        ours.PCA(2, random_state="x").fit(X)
    with pytest.raises(ValueError, match="(?i)seed"):
        ours.PCA(2, random_state=1 << 70).fit(X)


def test_counts_of_kernel_ridge_out_of_range_are_refused_by_their_name() -> None:
    X = np.random.default_rng(5).normal(size=(20, 3))
    for name, more in (("landmarks", {}), ("degree", {"kernel": "poly"})):
        for number in (-1, 1 << 70):
            with pytest.raises(ValueError, match=f"^KernelRidge: `{name}` is {number}; expected a whole number"):
                ours.KernelRidge(**more, **{name: number}).fit(X, X[:, 0])
    whole, fraction = (ours.KernelRidge(kernel="poly", degree=degree).fit(X, X[:, 0]) for degree in (2, 2.0))
    np.testing.assert_array_equal(whole.dual_coef_, fraction.dual_coef_)
