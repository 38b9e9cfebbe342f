"""Fits, decompositions, systems and measures on arrays and tables."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import spanwise
from spanwise import errors, linear

RNG = np.random.default_rng(0)
X = RNG.standard_normal((120, 4))
Y = X @ [1.0, -2.0, 0.5, 3.0] + 4 + 0.1 * RNG.standard_normal(120)


def numpy_fit(X, y):
    return np.linalg.lstsq(np.column_stack([np.ones(len(X)), X]), y, rcond=None)[0]


def layouts(x):
    wide = np.zeros((2 * x.shape[0], 3 * x.shape[1]), x.dtype)
    wide[::2, ::3] = x
    padded = np.zeros(x.size * x.itemsize + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
    padded[...] = x
    return {
        "rows": x,
        "columns": np.asfortranarray(x),
        "strided": wide[::2, ::3],
        "backwards": x[::-1, ::-1].copy()[::-1, ::-1],
        "read-only": np.frombuffer(x.tobytes(), x.dtype).reshape(x.shape),
        "misaligned": padded,
        "foreign order": x.astype(x.dtype.newbyteorder()),
    }


def test_no_more_digits_are_claimed_than_were_stored():
    x = np.sin(np.arange(120.0).reshape(60, 2) ** 2)
    y = x @ [1.0, -2.0] + 0.1 * np.cos(np.arange(60.0))
    most = [linear.lstsq(x.astype(dtype), y.astype(dtype)).digits.max() for dtype in (np.float64, np.float32, np.float16)]
    assert most[0] > 12 and 4 < most[1] < 7.3 and most[2] < 3.4


@pytest.mark.parametrize("layout", layouts(X))
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_least_squares_is_numpys_in_any_layout(layout, dtype):
    x = layouts(X.astype(dtype))[layout]
    fit = linear.lstsq(x, Y)
    expected = numpy_fit(X.astype(dtype).astype(np.float64), Y)
    np.testing.assert_allclose([fit.intercept, *fit.coefficients], expected, rtol=1e-10)
    np.testing.assert_allclose(fit.predict(x), fit.intercept + x.astype(np.float64) @ fit.coefficients)
    assert (fit.digits > (4 if dtype == np.float32 else 12)).all()


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame(X, columns=list("abcd")),
        pd.DataFrame(X, columns=list("abcd")).convert_dtypes(),
        pl.DataFrame(X, schema=list("abcd")),
        pa.table({name: X[:, j] for j, name in enumerate("abcd")}),
        pl.concat([pl.DataFrame(X[:50], schema=list("abcd")), pl.DataFrame(X[50:], schema=list("abcd"))], rechunk=False),
    ],
    ids=["pandas", "pandas nullable", "polars", "pyarrow", "polars chunks"],
)
def test_tables_give_the_same_fit_with_names(table):
    fit = linear.lstsq(table, Y)
    np.testing.assert_allclose(fit.coefficients, linear.lstsq(X, Y).coefficients, rtol=1e-12)
    assert fit.names == ("a", "b", "c", "d")
    np.testing.assert_allclose(fit.predict(table), fit.predict(X))


def test_series_are_targets():
    expected = linear.lstsq(X, Y).coefficients
    for y in (pd.Series(Y), pl.Series(Y), pa.chunked_array([Y[:7], Y[7:]]), list(Y)):
        np.testing.assert_array_equal(linear.lstsq(X, y).coefficients, expected)


def test_missing_values_are_refused_with_their_place():
    table = pl.DataFrame({"a": [1.0, None, 3.0], "b": [1, 2, 4]})
    with pytest.raises(errors.NotFiniteError, match="row 1, column 0"):
        linear.lstsq(table, [1.0, 2.0, 3.0])


def test_several_targets_and_weights():
    y = np.column_stack([Y, X[:, 0]])
    w = RNG.uniform(0, 2, 120) * (RNG.random(120) > 0.2)
    fit = linear.lstsq(X, y, weights=w)
    kept = w > 0
    root = np.sqrt(w[kept])[:, None]
    design = np.column_stack([np.ones(kept.sum()), X[kept]]) * root
    expected = np.linalg.lstsq(design, y[kept] * root, rcond=None)[0]
    np.testing.assert_allclose(fit.coefficients, expected[1:], atol=1e-10)
    np.testing.assert_allclose(fit.intercept, expected[0], atol=1e-10)
    assert fit.predict(X).shape == (120, 2)


def test_standard_errors_and_intervals_follow_the_formula():
    fit = linear.lstsq(X, Y)
    design = np.column_stack([np.ones(120), X])
    residuals = Y - design @ numpy_fit(X, Y)
    covariance = np.linalg.inv(design.T @ design) * (residuals @ residuals) / 115
    np.testing.assert_allclose(fit.standard_errors, np.sqrt(np.diag(covariance))[1:], rtol=1e-9)
    np.testing.assert_allclose(fit.residual_norm, np.linalg.norm(residuals), rtol=1e-10)
    lower, upper = fit.confidence_intervals(0.95)
    assert fit.degrees_of_freedom == 115
    np.testing.assert_allclose((upper - lower) / fit.standard_errors, 2 * 1.980807, rtol=1e-6)
    with pytest.raises(errors.NumberError, match="confidence"):
        fit.confidence_intervals(1.5)


def test_dependent_columns_become_formulas():
    table = pd.DataFrame({"price": X[:, 0], "tax": X[:, 1], "total": 2 * X[:, 0] + X[:, 1] - 3})
    fit = linear.lstsq(table, Y)
    assert (fit.rank, fit.terms) == (3, 4)
    found = fit.dependencies[0]
    assert (found.column, [j for j, _ in found.terms]) == (2, [0, 1])
    np.testing.assert_allclose([found.constant, *(a for _, a in found.terms)], [-3, 2, 1], rtol=1e-10)
    assert str(found).startswith("total = ") and str(found) in repr(fit)
    dropped = linear.lstsq(table, Y, deficiency="drop")
    assert dropped.coefficients[2] == 0
    np.testing.assert_allclose(dropped.predict(table), fit.predict(table), rtol=1e-9)


def test_chunks_give_the_fit_of_all_rows():
    chunks = ((X[i : i + 30], Y[i : i + 30]) for i in range(0, 120, 30))
    np.testing.assert_allclose(linear.lstsq(chunks).coefficients, linear.lstsq(X, Y).coefficients, rtol=1e-12)
    with pytest.raises(errors.ShapeError, match="no chunks"):
        linear.lstsq(iter([]))


def test_summaries_merge_pickle_and_travel_as_bytes():
    left, right = linear.Summary(4), linear.Summary(4)
    left.update(pd.DataFrame(X[:70], columns=list("abcd")), Y[:70])
    right.update(X[70:], Y[70:])
    left.merge(pickle.loads(pickle.dumps(right)))
    assert (left.rows, left.columns, left.targets, left.weight_sum) == (120, 4, 1, 120.0)
    np.testing.assert_allclose(left.means[:4], X.mean(axis=0), atol=1e-15)
    again = linear.Summary.from_bytes(left.to_bytes())
    for summary in (left, again, pickle.loads(pickle.dumps(left))):
        np.testing.assert_allclose(summary.finish().coefficients, linear.lstsq(X, Y).coefficients, rtol=1e-12)
    assert pickle.loads(pickle.dumps(left)).finish().names == ("a", "b", "c", "d")
    with pytest.raises(errors.SummaryBytesError, match="do not begin"):
        linear.Summary.from_bytes(b"nothing")
    with pytest.raises(errors.ShapeError, match="merge"):
        left.merge(linear.Summary(3))


def test_fits_pickle():
    for fit in (linear.lstsq(X, Y), linear.ridge(X, Y), linear.logistic(X, Y > 4)):
        again = pickle.loads(pickle.dumps(fit))
        np.testing.assert_array_equal(again.predict(X), fit.predict(X))


def test_ridge_is_the_normal_equations():
    fit = linear.ridge(X, Y, alpha=3.0)
    centred, target = X - X.mean(axis=0), Y - Y.mean()
    expected = np.linalg.solve(centred.T @ centred + 3 * np.eye(4), centred.T @ target)
    np.testing.assert_allclose(fit.coefficients, expected, rtol=1e-10)
    several = linear.ridge(X, np.column_stack([Y, Y]), alpha=[3.0, 30.0])
    np.testing.assert_allclose(several.coefficients[:, 0], expected, rtol=1e-10)
    assert np.linalg.norm(several.coefficients[:, 1]) < np.linalg.norm(expected)


@pytest.mark.parametrize(
    "labels",
    [
        [3, -5, 3, 9],
        [2, 0, 1, 1],
        np.array([250, 0, 7, 250], np.uint8),
        np.array([100, -100, 27, -100], np.int8),
        np.array([2**63 + 5, 2**63 + 1, 2**63 + 5], np.uint64),
        [2**40, 0, 1, 1],
        ["b", "a", "b"],
        [True, False],
        [],
    ],
)
def test_labels_are_coded_as_numpy_does(labels):
    labels = np.asarray(labels)
    classes, codes = linear._classes.coded(labels)
    expected = np.unique(labels, return_inverse=True)
    np.testing.assert_array_equal(classes, expected[0])
    np.testing.assert_array_equal(codes, expected[1])
    assert classes.dtype == labels.dtype


def test_separated_classes_are_told():
    fit = linear.logistic([[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"], penalty=0.0)
    assert fit.separation.kind == "complete" and not fit.converged
    assert list(fit.predict([[0.5], [2.5]])) == ["a", "b"]


def test_decompositions_rebuild_the_matrix():
    for x in (X, X.astype(np.float32), X.T):
        u, s, vh = linear.svd(x)
        np.testing.assert_allclose(u @ np.diag(s) @ vh, x, atol=1e-12)
        np.testing.assert_allclose(s, np.linalg.svd(x.astype(np.float64), compute_uv=False), rtol=1e-12)
        q, r = linear.qr(x)
        np.testing.assert_allclose(q @ r, x, atol=1e-12)
    assert linear.svd(X, full=True).u.shape == (120, 120)
    assert linear.svd(X, 2).s.shape == linear.svd(X, 2, randomized=True, seed=3).s.shape == (2,)
    assert linear.qr(X, full=True).q.shape == (120, 120)
    found = linear.pca(X, 3)
    np.testing.assert_allclose(found.transform(X), (X - X.mean(axis=0)) @ found.components.T, atol=1e-12)
    np.testing.assert_allclose(linear.pca(X).inverse_transform(linear.pca(X).transform(X)), X, atol=1e-12)


def test_systems_are_solved_and_singular_ones_told():
    a = X[:4] + 3 * np.eye(4)
    b = RNG.standard_normal((4, 2))
    for method in ("auto", "lu", "qr", "svd"):
        np.testing.assert_allclose(linear.solve(a, b, method=method).x, np.linalg.solve(a, b), rtol=1e-9)
    spd = a @ a.T
    found = linear.solve(spd, b[:, 0], method="cholesky")
    np.testing.assert_allclose(found.x, np.linalg.solve(spd, b[:, 0]), rtol=1e-9)
    assert found.backward_error < 1e-15 and found.method == "cholesky"
    assert [linear.solve(system, b).method for system in (spd, a)] == ["cholesky", "lu"]
    with pytest.raises(errors.SingularError, match="rank 1 of 2"):
        linear.solve([[1.0, 2.0], [2.0, 4.0]], [1.0, 2.0], method="lu")
    # Unless a method is named, dependent columns are told, not refused: as the command does.
    for system, right in [([[1.0, 2.0], [2.0, 4.0]], [1.0, 2.0]), ([[1.0, 1.0]] * 3, [1.0, 2.0, 3.0])]:
        found, shortest = linear.solve(system, right), linear.solve(system, right, method="svd")
        assert (found.method, found.rank, shortest.rank) == ("svd", 1, 1)
        np.testing.assert_array_equal(found.x, shortest.x)
        assert "rank 1 of 2: the shortest of many answers" in repr(found)
    with pytest.raises(errors.SingularError):
        linear.solve([[1.0, 1.0]] * 3, [1.0, 2.0, 3.0], method="qr")


def test_measures():
    assert int(linear.rank(np.column_stack([X, X[:, 0]]))) == 4
    assert linear.cond(np.diag([1.0, 1e6])).raw == pytest.approx(1e6)
    split = linear.project(X, Y)
    np.testing.assert_allclose(X.T @ split.outside, 0, atol=1e-10)
    np.testing.assert_allclose(split.inside + split.outside, Y)
    assert linear.in_span(X, X @ [1, 2, 3, 4]) and not linear.in_span(X, Y)
    outside = linear.in_hull([[0, 0], [4, 0], [0, 4]], [4.0, 4.0])
    assert not outside and outside.separating.margin == pytest.approx(8**0.5)
    assert [bool(found) for found in linear.in_hull([[0], [2]], [[1.0], [3.0]])] == [True, False]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: linear.lstsq(X, Y[:5]), errors.ShapeError, ["fit", "`y`", "5", "120"]),
        (lambda: linear.lstsq(X[0], Y), errors.ShapeError, ["`X`", "2 dimensions"]),
        (lambda: linear.lstsq(X, Y[:, None, None]), errors.ShapeError, ["`y`", "1 or 2"]),
        (lambda: linear.lstsq(X[:0], Y[:0]), errors.ShapeError, ["`X`", "(0, 4)"]),
        (lambda: linear.lstsq(X, Y, weights=-np.ones(120)), errors.NumberError, ["`weights`", "-1", "row 0"]),
        (lambda: linear.lstsq(X, Y, tolerance=2.0), errors.NumberError, ["`tolerance`", "2"]),
        (lambda: linear.lstsq(X, Y, deficiency="x"), errors.NumberError, ["`deficiency`", "'x'"]),
        (lambda: linear.lstsq(X * 1j, Y), errors.DtypeError, ["`X`", "complex128"]),
        (lambda: linear.lstsq(np.ma.masked_greater(X, 0), Y), errors.DtypeError, ["`X`", "masked", "hint:"]),
        (lambda: linear.lstsq(X, np.ma.masked_equal(Y, Y[0])), errors.DtypeError, ["`y`", "1 entry is masked"]),
        (lambda: linear.lstsq([["a"]], [1.0]), errors.DtypeError, ["`X`"]),
        (lambda: linear.lstsq(X, None), errors.DtypeError, ["`y`"]),
        (lambda: linear.ridge(X, Y, alpha=-1.0), errors.NumberError, ["ridge", "`alpha`", "-1"]),
        (lambda: linear.ridge(X, Y, alpha=[1.0, 2.0]), errors.ShapeError, ["`alpha`", "2 entries"]),
        (lambda: linear.logistic(X, np.zeros(120)), errors.NumberError, ["`y`", "at least 2"]),
        (lambda: linear.pca(X, 9), errors.NumberError, ["`components`", "9"]),
        (lambda: linear.pca(X, method="x"), errors.NumberError, ["`method`", '"x"']),
        (lambda: linear.svd(X, 2, full=True), errors.NumberError, ["`full`", "`k`"]),
        (lambda: linear.solve(X, Y, method="lu"), errors.ShapeError, ["`A`", "as many rows as columns"]),
        (lambda: linear.in_hull(X, [1.0]), errors.ShapeError, ["`query`", "`points`"]),
        (lambda: linear.in_hull(X, X[:2] * np.nan), errors.NotFiniteError, ["`query` holds NaN at row 0"]),
        (lambda: linear.project(X, Y * np.nan), errors.NotFiniteError, ["project: `v` holds NaN at row 0"]),
        (lambda: linear.project(X, Y[:5]), errors.ShapeError, ["project: `v` has 5 rows"]),
        (lambda: linear.lstsq(X, Y).predict(X[:, :2]), errors.ShapeError, ["predict", "2 columns", "4 columns"]),
        (lambda: linear.lstsq(X, Y).predict(np.full((1, 4), np.nan)), errors.NotFiniteError, ["row 0, column 0"]),
    ],
)
def test_what_does_not_fit_is_named(call, error, words):
    with pytest.raises(error) as raised:
        call()
    assert isinstance(raised.value, (ValueError, TypeError))
    for word in words:
        assert word in str(raised.value)


def test_masked_arrays_with_nothing_masked_are_arrays():
    masked = np.ma.masked_array(X, np.zeros(X.shape, bool))
    np.testing.assert_array_equal(linear.lstsq(masked, np.ma.masked_array(Y)).coefficients, linear.lstsq(X, Y).coefficients)


def test_the_version_is_the_librarys():
    assert spanwise.__version__.count(".") == 2


def test_tables_are_matched_by_the_names_of_their_columns():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.standard_normal((60, 3)), columns=["a", "b", "c"])
    y = frame["a"] + 2 * frame["b"] + 3 * frame["c"] + 0.1 * rng.standard_normal(60)
    turned = frame[["c", "a", "b"]]
    for fit in (linear.lstsq(frame, y), linear.ridge(frame, y), linear.logistic(frame, y > 0)):
        np.testing.assert_array_equal(fit.predict(turned), fit.predict(frame))
        with pytest.raises(errors.ShapeError, match="no column 'b'; expected those of the model: a, b, c"):
            fit.predict(frame[["a", "c"]])
        assert fit.predict(frame.to_numpy()).shape == (60,)
    pca = linear.pca(frame, 2)
    np.testing.assert_array_equal(pca.transform(turned), pca.transform(frame))
    chunks = iter([(frame[:30], y[:30]), (turned[30:], y[30:])])
    np.testing.assert_allclose(linear.lstsq(chunks).coefficients, linear.lstsq(frame, y).coefficients, rtol=1e-12)


def test_truth_values_are_one_column_of_numbers_however_a_table_holds_them():
    rng = np.random.default_rng(5)
    truths, x = rng.random(40) > 0.4, rng.standard_normal(40)
    y = 2.0 * truths + x + 0.1 * rng.standard_normal(40)
    said = [str(truth) for truth in truths]
    frames = [
        pd.DataFrame({"flag": truths, "x": x}),
        pd.DataFrame({"flag": said, "x": x}),
        pd.DataFrame({"flag": truths.astype(object), "x": x}),
        pd.DataFrame({"flag": pd.array(truths, dtype="boolean"), "x": x}),
        pl.DataFrame({"flag": truths, "x": x}),
        pl.DataFrame({"flag": [word.lower() for word in said], "x": x}),
    ]
    fits = [linear.lstsq(frame, y) for frame in frames]
    for fit in fits:
        assert fit.names == ("flag", "x")
        for frame in frames:
            np.testing.assert_array_equal(fit.predict(frame), fits[0].predict(frames[0]))
    gaps = pd.DataFrame({"flag": [True, None, False, True], "x": x[:4]})
    with pytest.raises(errors.NotFiniteError, match="flag"):
        linear.lstsq(gaps, y[:4])


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA])
def test_a_label_that_is_missing_has_its_row(missing):
    labels = np.array(["a", "b", missing, "a"], dtype=object)
    with pytest.raises(errors.NotFiniteError, match="`y` holds .* at row 2; expected labels of classes"):
        linear.logistic(X[:4], labels)


def test_labels_that_have_no_order_are_named_by_their_types():
    with pytest.raises(errors.DtypeError, match="`y` holds labels of the types int, str"):
        linear.logistic(X[:4], np.array(["a", 1, "a", 1], dtype=object))


def test_numbers_with_fractions_are_no_classes():
    X = np.random.default_rng(0).standard_normal((20, 2))
    with pytest.raises(errors.NumberError, match="20 different numbers with fractions"):
        linear.logistic(X, X[:, 0])


def test_a_coefficient_beyond_float64_is_an_error_and_one_that_vanishes_is_named() -> None:
    beyond = r"^fit: the coefficient of `x\[0\]` is beyond 1\.8e308; expected numbers that float64 can hold\nhint: write"
    with pytest.raises(errors.NumberError, match=beyond):
        linear.lstsq(X * 1e-320, Y)
    summary = linear.Summary(4)
    summary.update(X * 1e-320, Y)
    with pytest.raises(errors.NumberError, match=beyond):
        summary.finish()
    with pytest.raises(errors.NumberError, match="the coefficient of `far` is beyond"):
        linear.lstsq(pd.DataFrame({"near": X[:, 0], "far": X[:, 1] * 1e-200}), Y * 1e200)
    with pytest.raises(errors.NumberError, match="^fit: the intercept is beyond"):
        linear.lstsq(X[:, :1] + 1e10, X[:, 0] * 1e300)
    small = linear.lstsq(X * [1.0, 1e200, 1.0, 1.0], Y * 1e-200)
    assert small.out_of_range == (1,) and "nearer to 0 than float64 holds: x[1]" in repr(small)
    assert linear.lstsq(X, Y).out_of_range == () and "nearer" not in repr(linear.lstsq(X, Y))


def test_labels_that_are_not_finite_are_named_with_their_row() -> None:
    for value, word in ((np.nan, "NaN"), (np.inf, "inf"), (-np.inf, "-inf")):
        labels = (Y > 4).astype(float)
        labels[[7, 30]] = value
        expected = f"^logistic regression: `y` holds {word} at row 7; expected labels of classes$"
        with pytest.raises(errors.NotFiniteError, match=expected):
            linear.logistic(X, labels)


def test_counts_and_seeds_out_of_range_are_refused_by_their_name() -> None:
    expected = r"; expected a whole number"
    for number in (-1, 1 << 70):
        cases = [
            ("fit: `refinement`", lambda n=number: linear.lstsq(X, Y, refinement=n)),
            ("logistic regression: `iterations`", lambda n=number: linear.logistic(X, Y > 0, iterations=n)),
            ("decompose: `k`", lambda n=number: linear.svd(X, n)),
            ("decompose: `seed`", lambda n=number: linear.svd(X, 2, randomized=True, seed=n)),
            ("pca: `components`", lambda n=number: linear.pca(X, n)),
            ("pca: `seed`", lambda n=number: linear.pca(X, seed=n)),
            ("summary: `columns`", lambda n=number: linear.Summary(n)),
            ("summary: `targets`", lambda n=number: linear.Summary(2, n)),
        ]
        for name, call in cases:
            with pytest.raises(errors.NumberError, match=f"^{name} is {number}{expected}"):
                call()
    with pytest.raises(errors.DtypeError, match=r"^fit: `refinement` is 2\.5; expected a whole number ≥ 0$"):
        linear.lstsq(X, Y, refinement=2.5)


def test_what_is_no_table_and_no_count_is_refused_by_its_name() -> None:
    words = pd.DataFrame({"a": RNG.standard_normal(9), "town": list("abcabcabc")})
    fit = linear.lstsq(words, RNG.standard_normal(9))
    cases = [
        (errors.DtypeError, "`X` is a query that has not run", lambda: linear.lstsq(pl.DataFrame(X).lazy(), Y)),
        (errors.ShapeError, "parts have different shapes", lambda: linear.lstsq([(X, Y), (X[:3], Y[:3])])),
        (errors.ShapeError, 'no column "town"', lambda: fit.predict(words[["a"]])),
        (errors.NumberError, "`components` is 9; expected between 1 and 4", lambda: linear.pca(X, 9)),
        (errors.NumberError, "`columns` is -1", lambda: linear.Summary(-1)),
        (errors.NumberError, "`alpha` is 'x'", lambda: linear.ridge(X, Y, alpha="x")),
        (errors.ShapeError, "`alpha` has 2 entries; expected 1$", lambda: linear.ridge(X, Y, alpha=[1, 2])),
    ]
    for kind, message, call in cases:
        with pytest.raises(kind, match=message):
            call()


def test_answers_say_what_they_are_in_a_few_lines_whatever_their_size() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 30))
    y = X[:, 0] - X[:, 1] + rng.normal(size=60)
    labels = np.digitize(y, [-0.5, 0.5])
    answers = {
        "LinearFit: 60 rows, rank 31 of 31": linear.lstsq(X, y),
        "LinearFit: 60 rows, rank 2 of 2": linear.lstsq(X[:, :1], np.c_[y, -y, y]),
        "RidgeFit: alpha 2, R² 0.": linear.ridge(X, y, alpha=2.0),
        "RidgeFit: alpha 1 to 3, R² 0.": linear.ridge(X, np.c_[y, y], alpha=[1.0, 3.0]),
        "LogisticFit: 2 classes, R² 0.": linear.logistic(X, y > 0),
        "LogisticFit: 3 classes, R² 0.": linear.logistic(X, labels),
        "LogisticFit: 2 classes, R² ": linear.logistic(X[:, :1], X[:, 0] > 0, penalty=0.0),
        "Pca: 60 rows, 30 components of 30 columns, 100 % of the variance": linear.pca(X),
        "Pca: 60 rows, 1 component of 1 column, 100 % of the variance": linear.pca(X[:, :1]),
        "Solution: by lu, relative residual ": linear.solve(X[:30], y[:30]),
        "Rank: 30 of 30 columns, sure": linear.rank(X),
        "Projection: rank 30, angle 0.": linear.project(X, y),
        "SpanMembership: outside, residual 0.": linear.in_span(X, y),
        "HullMembership: inside, distance ": linear.in_hull(X, X.mean(axis=0)),
    }
    for start, answer in answers.items():
        said = repr(answer)
        assert said.startswith(start), said
        assert said.count("\n") <= 13 and max(map(len, said.split("\n"))) <= 120, said
    assert "for each of 3 targets" in repr(answers["LinearFit: 60 rows, rank 2 of 2"])
    assert "… 19 more" in repr(answers["RidgeFit: alpha 2, R² 0."])
    assert "complete separation" in repr(answers["LogisticFit: 2 classes, R² "])


def test_a_small_fit_is_printed_with_its_numbers() -> None:
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    assert repr(linear.ridge(X, 1 + 2 * X[:, 0], alpha=5.0)).split("\n")[1:] == [
        "  intercept               2.5",
        "  x[0]                      1",
    ]
    assert repr(linear.solve([[4.0, 2.0], [2.0, 3.0]], [8.0, 8.0])).endswith("x = [1. 2.]")
