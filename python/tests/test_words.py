"""Columns of words in `spanwise.linear`: one column of 0 and 1 for each level but the first."""

import pickle
import sys
import threading
import types

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from spanwise import _progress, errors, linear

RNG = np.random.default_rng(8)
TOWNS = np.array(["Chur", "Bern", "Basel"])[RNG.integers(0, 3, 90)]
TOWNS[:3] = ["Chur", "Bern", "Basel"]
AREA = RNG.uniform(0, 1, 90)
Y = 3 * AREA + 2.0 * (TOWNS == "Bern") - 1.0 * (TOWNS == "Basel") + 0.5 + 0.01 * RNG.standard_normal(90)
FRAME = pd.DataFrame({"area": AREA, "town": TOWNS})
BY_HAND = np.column_stack([AREA, TOWNS == "Bern", TOWNS == "Basel"])
NAMES = ("area", "town=Bern", "town=Basel")
TABLES = {
    "pandas": FRAME,
    "pandas object": FRAME.astype({"town": object}),
    "pandas category": FRAME.astype({"town": pd.CategoricalDtype(["Chur", "Bern", "Basel"])}),
    "polars": pl.from_pandas(FRAME),
    "polars category": pl.from_pandas(FRAME).with_columns(pl.col("town").cast(pl.Categorical)),
    "polars enum": pl.from_pandas(FRAME).with_columns(pl.col("town").cast(pl.Enum(["Chur", "Bern", "Basel"]))),
    "pyarrow": pa.Table.from_pandas(FRAME, preserve_index=False),
    "pyarrow dictionary": pa.table({"area": AREA, "town": pa.array(TOWNS).dictionary_encode()}),
}


@pytest.mark.parametrize("kind", list(TABLES))
def test_fits_are_those_of_columns_made_by_hand(kind):
    table = TABLES[kind]
    fit, expected = linear.lstsq(table, Y), linear.lstsq(BY_HAND, Y)
    assert fit.names == NAMES
    np.testing.assert_allclose(fit.coefficients, expected.coefficients, rtol=1e-12)
    np.testing.assert_allclose(fit.predict(table), expected.predict(BY_HAND))
    np.testing.assert_allclose(fit.predict(table[40:50]), expected.predict(BY_HAND[40:50]))
    np.testing.assert_allclose(fit.predict(BY_HAND), expected.predict(BY_HAND))


def test_every_model_takes_words():
    ridge = linear.ridge(FRAME, Y, alpha=0.1)
    np.testing.assert_allclose(ridge.coefficients, linear.ridge(BY_HAND, Y, alpha=0.1).coefficients)
    np.testing.assert_allclose(ridge.predict(FRAME), ridge.predict(BY_HAND))
    labels = np.where(Y > np.median(Y), "high", "low")
    logistic = linear.logistic(FRAME, labels)
    assert logistic.names == NAMES
    assert (logistic.predict(FRAME) == logistic.predict(BY_HAND)).all()
    components = linear.pca(FRAME, 2)
    np.testing.assert_allclose(components.transform(FRAME), components.transform(BY_HAND))
    assert linear.rank(FRAME).rank == linear.rank(BY_HAND.astype(float)).rank
    assert linear.svd(FRAME).s == pytest.approx(linear.svd(BY_HAND).s)


def test_the_order_of_a_categorical_column_chooses_the_reference():
    table = FRAME.astype({"town": pd.CategoricalDtype(["Basel", "Bern", "Chur"])})
    assert linear.lstsq(table, Y).names == ("area", "town=Bern", "town=Chur")


def test_predictions_know_the_levels_of_the_fit():
    fit = pickle.loads(pickle.dumps(linear.lstsq(FRAME, Y)))
    one = FRAME[FRAME["town"] == "Basel"][:1]
    np.testing.assert_allclose(fit.predict(one), fit.predict(FRAME)[one.index])
    with pytest.raises(errors.NumberError, match='"Zug" in row 0'):
        fit.predict(pd.DataFrame({"area": [1.0], "town": ["Zug"]}))
    with pytest.raises(errors.ShapeError, match='no column "area"'):
        fit.predict(pd.DataFrame({"town": ["Bern"]}))


def test_dependencies_are_told_in_names_of_levels():
    table = FRAME.assign(bernese=(TOWNS == "Bern").astype(float))
    assert [str(found) for found in linear.lstsq(table, Y).dependencies] == ["bernese = town=Bern"]


def test_chunks_and_summaries_share_the_levels_of_the_first():
    chunks = [(FRAME[i : i + 30], Y[i : i + 30]) for i in range(0, 90, 30)]
    whole = linear.lstsq(FRAME, Y)
    fit = linear.lstsq(iter(chunks))
    assert fit.names == NAMES
    np.testing.assert_allclose(fit.coefficients, whole.coefficients, rtol=1e-9)
    np.testing.assert_allclose(fit.predict(FRAME), whole.predict(FRAME))
    summary = linear.Summary(columns=3)
    for x, y in chunks:
        summary.update(x, y)
    again = pickle.loads(pickle.dumps(summary)).finish()
    np.testing.assert_allclose(again.predict(FRAME), whole.predict(FRAME))
    other = linear.Summary(columns=3)
    other.update(FRAME[1:], Y[1:])  # begins with another level
    with pytest.raises(errors.ShapeError, match="other levels"):
        summary.merge(other)
    with pytest.raises(errors.NumberError, match='"Zug"'):
        summary.update(FRAME.assign(town="Zug"), Y)


def test_what_is_neither_numbers_nor_words_is_refused_by_name():
    dates = pd.date_range("2020-01-01", periods=90)
    mixed = ["a", 1.5] * 45
    for table in (
        FRAME.assign(day=dates),
        pl.DataFrame({"area": AREA, "day": dates}),
        FRAME.assign(day=mixed),
        FRAME.assign(day=[None] * 90).astype({"day": object}),
    ):
        with pytest.raises((errors.DtypeError, errors.NotFiniteError), match="'day'|\"day\""):
            linear.lstsq(table, Y)
    holes = FRAME.copy()
    holes.loc[5, "town"] = None
    with pytest.raises(errors.NotFiniteError, match='"town".*row 5'):
        linear.lstsq(holes, Y)
    with pytest.raises(errors.NumberError, match="levels"):
        linear.lstsq(pd.DataFrame({"name": [f"n{i}" for i in range(1200)]}), np.ones(1200))


def test_progress_of_one_call_tells_its_shape_and_time(capsys, monkeypatch):
    X = np.random.default_rng(0).standard_normal((500, 3))
    lstsq = linear._fit._spanwise.lstsq
    told = threading.Event()
    monkeypatch.setattr(_progress, "_EVERY", 0.01)
    monkeypatch.setattr(_progress.Progress, "_write", lambda self, text: (told.set(), sys.stderr.write(text)))
    slow = types.SimpleNamespace(lstsq=lambda *given: (told.wait(60), lstsq(*given))[1])
    monkeypatch.setattr(linear._fit, "_spanwise", slow)
    linear.lstsq(X, X[:, 0], progress=True)
    assert "fit: 500 × 3, " in capsys.readouterr().err
    told.set()
    linear.lstsq(X, X[:, 0])
    assert capsys.readouterr().err == ""


def test_progress_counts_chunks_where_it_is_wanted(capsys):
    chunks = [(FRAME[i : i + 30], Y[i : i + 30]) for i in range(0, 90, 30)]
    linear.lstsq(iter(chunks))
    assert capsys.readouterr().err == ""
    linear.lstsq(iter(chunks), progress=True)
    said = capsys.readouterr().err
    assert "fit: 1 chunk, 30 rows" in said and said.endswith("\r")
    linear.lstsq(iter(chunks), progress=False)
    assert capsys.readouterr().err == ""
