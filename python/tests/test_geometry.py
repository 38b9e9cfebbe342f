"""Angles, orthogonality, definiteness, bases, components and a change of basis, beside NumPy and SciPy."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.linalg

from spanwise import errors, linear

RNG = np.random.default_rng(7)
X = RNG.normal(size=(40, 4)) + [0, 1, 5, 0]
Y = RNG.normal(size=(40, 3))


def test_angles_keep_their_digits() -> None:
    assert linear.angle([1.0, 0.0], [1.0, 1e-12]) == pytest.approx(1e-12, rel=1e-12)
    assert linear.angle([1.0, 0.0], [-2.0, 0.0]) == pytest.approx(np.pi)
    assert np.isnan(linear.angle([0.0, 0.0], [1.0, 0.0]))


def test_the_angles_of_columns_are_those_of_numpy() -> None:
    found = linear.column_angles(X)
    assert len(found) == 6
    correlations = np.corrcoef(X, rowvar=False)
    for pair in found:
        a, b = X[:, pair.first], X[:, pair.second]
        assert np.cos(pair.angle) == pytest.approx(a @ b / np.linalg.norm(a) / np.linalg.norm(b), abs=1e-13)
        assert np.cos(pair.centred) == pytest.approx(correlations[pair.first, pair.second], abs=1e-12)
    from_line = [min(pair.angle, np.pi - pair.angle) for pair in found]
    assert from_line == sorted(from_line)
    assert linear.column_angles(pd.DataFrame(X, columns=list("abcd")), most=2) == found[:2]
    assert np.isnan(linear.column_angles([[1.0, 7.0], [2.0, 7.0]])[0].centred)
    assert linear.column_angles([[1.0], [2.0]]) == []


def test_angles_of_f32_are_computed_without_a_copy_by_numpy() -> None:
    short, other = X.astype(np.float32), Y.astype(np.float32)
    long = short.astype(np.float64)
    for found, expected in zip(linear.column_angles(short), linear.column_angles(long), strict=True):
        assert tuple(found) == tuple(expected)
    expected = linear.principal_angles(long, other.astype(np.float64))
    for pair in [(short, other), (short, other.astype(np.float64)), (long, other)]:
        np.testing.assert_allclose(linear.principal_angles(*pair), expected, atol=1e-13)
    # What f32 cannot tell apart is one direction.
    twice = np.column_stack([short[:, 0], short[:, 1], short[:, 0] + short[:, 1]])
    assert len(linear.principal_angles(twice, twice)) == 2
    large = np.ones((100_000, 4), np.float32)
    large[::2, 1] = large[::3, 2] = large[::5, 3] = 2
    for call in [lambda: linear.column_angles(large), lambda: linear.principal_angles(large, large)]:
        tracemalloc.start()
        call()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < large.nbytes / 4, peak


def test_principal_angles_are_those_of_scipy() -> None:
    expected = np.sort(scipy.linalg.subspace_angles(X, Y))
    np.testing.assert_allclose(linear.principal_angles(X, Y), expected, atol=1e-13)
    # One direction of the smaller span is in the larger.
    inside = np.column_stack([X @ [1, 2, 3, 4], Y[:, 0]])
    angles = linear.principal_angles(X, inside)
    assert angles[0] < 1e-14 < angles[1] and len(angles) == 2


def test_orthogonality_says_what_is_missing() -> None:
    q, _ = linear.qr(X)
    assert linear.orthogonality(q).orthonormal and linear.orthogonality(2 * q)
    assert not linear.orthogonality(2 * q).orthonormal
    found = linear.orthogonality([[1.0, 0.0, 0.6], [0.0, 1.0, 0.8]])
    assert not found and found.worst_pair == (1, 2) and found.largest_cosine == pytest.approx(0.8)
    assert linear.orthogonality([[1.0]]).worst_pair is None
    assert repr(found).startswith("Orthogonality: not orthogonal, largest cosine 0.8 between columns 1 and 2")


@pytest.mark.parametrize(
    ("matrix", "kind"),
    [
        ([[2.0, 1.0], [1.0, 2.0]], "positive definite"),
        ([[1.0, 1.0], [1.0, 1.0]], "positive semidefinite"),
        ([[1.0, 2.0], [2.0, 1.0]], "indefinite"),
        ([[-1.0, -1.0], [-1.0, -1.0]], "negative semidefinite"),
        ([[-2.0, 1.0], [1.0, -2.0]], "negative definite"),
    ],
)
def test_definiteness_comes_with_its_direction(matrix: list[list[float]], kind: str) -> None:
    found = linear.definiteness(matrix)
    assert repr(found).startswith(f"Definiteness: {kind}, eigenvalues from")
    assert bool(found) == (kind == "positive definite") and found.indefinite == (kind == "indefinite")
    values = np.linalg.eigvalsh(matrix)
    assert (found.smallest, found.largest) == pytest.approx((values[0], values[-1]), abs=1e-14)
    v = found.direction
    assert found.curvature == pytest.approx(v @ np.array(matrix) @ v, abs=1e-14)


def test_a_basis_and_its_complement_make_a_whole() -> None:
    dependent = np.column_stack([X, X[:, 0] - 2 * X[:, 1]])
    span, complement = linear.basis(dependent), linear.basis(dependent, complement=True)
    assert (span.shape, complement.shape) == ((40, 4), (40, 36))
    whole = np.hstack([span, complement])
    np.testing.assert_allclose(whole.T @ whole, np.eye(40), atol=1e-13)
    np.testing.assert_allclose(span @ (span.T @ dependent), dependent, atol=1e-12)
    # What f32 cannot tell apart adds no direction.
    short = np.column_stack([Y, 0.3 * Y[:, 0] + 0.7 * Y[:, 1]]).astype(np.float32)
    assert linear.basis(short).shape[1] == 3 and linear.basis(short.astype(np.float64)).shape[1] == 4


def test_rows_are_rebuilt_from_components() -> None:
    seen = linear.onto_components(X, 2)
    u, s, vh = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    expected = X.mean(axis=0) + (u[:, :2] * s[:2]) @ vh[:2]
    np.testing.assert_allclose(seen.rebuilt, expected, atol=1e-12)
    np.testing.assert_allclose(seen.distances, np.linalg.norm(X - expected, axis=1), atol=1e-12)
    kept = float(seen.pca.explained_variance_ratio.sum())
    assert kept + seen.relative_error**2 == pytest.approx(1.0, abs=1e-13)
    # Components of other rows, by the columns' names in any order.
    table = pd.DataFrame(X, columns=list("abcd"))
    known = linear.pca(table, 2)
    again = linear.onto_components(table[["d", "a", "c", "b"]], known)
    np.testing.assert_allclose(again.scores, known.transform(table), atol=1e-13)
    assert repr(seen).startswith("ComponentProjection: 40 rows, 2 components, relative error 0.")


def test_a_change_of_basis_leaves_the_prediction() -> None:
    B, w = RNG.normal(size=(4, 4)), np.array([1.0, -2.0, 0.5, 3.0])
    same = linear.change_of_basis(X, w, B)
    np.testing.assert_allclose(same.prediction, X @ w, atol=1e-13)
    np.testing.assert_allclose(same.features @ same.coefficients, X @ w, atol=1e-11)
    assert same.error < 1e-12 and same.condition >= 1
    assert repr(same).startswith("ChangeOfBasis: 4 columns, error ")


@pytest.mark.parametrize(
    ("call", "kind", "mentions"),
    [
        (lambda: linear.angle([1.0], [1.0, 2.0]), errors.ShapeError, ["measure: `b` has length 2", "`a`"]),
        (lambda: linear.angle([1.0], [np.nan]), errors.NotFiniteError, ["`b` holds NaN"]),
        (lambda: linear.column_angles(X, most=-1), errors.NumberError, ["`most` is -1"]),
        (lambda: linear.column_angles(X[:0]), errors.ShapeError, ["`X`"]),
        (lambda: linear.principal_angles(X, Y[:5]), errors.ShapeError, ["`B` has 5 rows", "`A`"]),
        (lambda: linear.definiteness([[1.0, 2.0], [3.0, 1.0]]), ValueError, ["not symmetric"]),
        (lambda: linear.definiteness(X), errors.ShapeError, ["`A`"]),
        (lambda: linear.basis(np.ones((16385, 1)), complement=True), errors.NumberError, ["at most 16384"]),
        (lambda: linear.onto_components(X, 9), ValueError, ["components"]),
        (lambda: linear.change_of_basis(X, [1.0, 2.0], np.eye(4)), errors.ShapeError, ["`w`", "2"]),
        (lambda: linear.change_of_basis(X, [1.0] * 4, np.ones((4, 4))), errors.SingularError, ["`B` is singular"]),
    ],
)
def test_what_does_not_fit_is_named(call, kind, mentions) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(kind) as raised:
        call()
    for mention in mentions:
        assert mention in str(raised.value)
