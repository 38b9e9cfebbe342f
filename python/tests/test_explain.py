"""`spanwise.explain` on tables of every kind and on attention."""

import json
import os

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import spanwise
from spanwise.errors import DtypeError, NotFiniteError, NumberError, ShapeError

rng = np.random.default_rng(3)
TOWNS = rng.choice(["Bern", "Basel", "Chur"], 120)
FRAME = pd.DataFrame({"area": rng.uniform(50, 200, 120), "town": TOWNS, "age": rng.integers(0, 60, 120)})
PRICE = 2 * FRAME["area"] - 30 * (TOWNS == "Chur") + rng.standard_normal(120)
DEPENDENT = FRAME.assign(rooms=FRAME["area"] / 25 + 2)


def terms(found):
    """Coefficients by term, from the JSON."""
    return {row[0]: row[1] for row in found.json["tables"][0]["rows"]}


TABLES = {
    "pandas": lambda frame: frame,
    "pandas category": lambda frame: frame.astype({"town": pd.CategoricalDtype(frame["town"].unique())}),
    "polars": pl.from_pandas,
    "polars category": lambda frame: pl.from_pandas(frame).with_columns(pl.col("town").cast(pl.Categorical)),
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


@pytest.mark.parametrize("kind", list(TABLES))
def test_a_table_is_explained_the_same_whatever_holds_it(kind):
    found = spanwise.explain(TABLES[kind](DEPENDENT), PRICE.to_numpy())
    assert found.findings[0].name == "exact-dependency"
    assert found.findings[0].severity == "serious"
    assert "rooms" in found.findings[0].statement
    first = TOWNS[0]
    others = [f"town={town}" for town in dict.fromkeys(TOWNS) if town != first]
    assert list(terms(found)) == ["intercept", "area", *others, "age", "rooms"]
    plain = spanwise.explain(DEPENDENT, PRICE.to_numpy())
    np.testing.assert_allclose(list(terms(found).values()), list(terms(plain).values()), rtol=1e-12)


def test_numbers_are_those_of_least_squares():
    X = FRAME[["area", "age"]]
    fit = spanwise.linear.lstsq(X, PRICE)
    found = terms(spanwise.explain(X, PRICE))
    np.testing.assert_allclose([found["area"], found["age"]], fit.coefficients, rtol=1e-12)


def test_the_target_may_be_a_column_of_the_table():
    found = spanwise.explain(FRAME.assign(price=PRICE), "price")
    assert found.json["subject"]["target"] == "price"
    assert terms(found) == terms(spanwise.explain(FRAME, PRICE.rename("price")))
    with pytest.raises(ShapeError, match="'cost'.*expected a column"):
        spanwise.explain(FRAME, "cost")


@pytest.mark.parametrize("labels", [["low", "high"], [False, True], [0, 1]])
def test_words_and_booleans_are_classes(labels):
    y = np.array(labels)[(PRICE > 250).to_numpy().astype(int)]
    found = spanwise.explain(FRAME[["area", "age"]], y, classes=True if labels == [0, 1] else None)
    assert sorted(found.json["subject"]["classes"]) == sorted(str(label) for label in labels)


def test_findings_are_plain_objects():
    finding = spanwise.explain(DEPENDENT, PRICE).findings[0]
    assert finding.advice and finding.certificate and finding.figure
    assert all(isinstance(value, float) for value in finding.evidence.values())
    assert str(finding) == f"serious: {finding.statement}"


def test_text_json_and_page_say_the_same(tmp_path):
    found = spanwise.explain(DEPENDENT, PRICE)
    assert repr(found).startswith("explain · table · 120 rows")
    assert found.findings[0].statement.split(":")[0] in repr(found)
    assert json.loads(found.to_json())["findings"][0]["name"] == found.findings[0].name
    assert "<iframe" in found._repr_html_()
    found.save(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert page.startswith("<!doctype html>") and "https:" not in page
    assert os.listdir(tmp_path) == ["page.html"]
    written = found.figures(tmp_path / "figures")
    assert {path.stem for path in written} == {figure["id"] for figure in found.json["figures"]}
    assert all(path.read_text().startswith("<svg") for path in written)


def test_a_page_that_cannot_be_written_leaves_nothing_behind(tmp_path):
    (tmp_path / "taken").mkdir()
    found = spanwise.explain(FRAME, PRICE)
    with pytest.raises(OSError):
        found.save(tmp_path / "taken")
    with pytest.raises(FileNotFoundError):
        found.save(tmp_path / "nowhere" / "page.html")
    assert os.listdir(tmp_path) == ["taken"]


def test_missing_values_are_refused_dropped_or_filled():
    holes = FRAME.copy()
    holes.loc[4, "area"] = np.nan
    holes.loc[7, "town"] = None
    with pytest.raises(NotFiniteError, match="row 4"):
        spanwise.explain(holes, PRICE)
    dropped = spanwise.explain(holes, PRICE, missing="drop").json["subject"]
    assert (dropped["rows"], dropped["rows_read"]) == (118, 120)
    assert spanwise.explain(holes, PRICE, missing="mean").json["subject"]["rows"] == 120
    target = PRICE.copy()
    target[2] = np.nan
    assert spanwise.explain(FRAME, target, missing="drop").json["subject"]["rows"] == 119
    with pytest.raises(NotFiniteError):
        spanwise.explain(FRAME, target)
    with pytest.raises(NumberError, match='"error", "drop" or "mean"'):
        spanwise.explain(FRAME, PRICE, missing="guess")


def test_weights_count():
    weights = np.linspace(0.5, 2, 120)
    X = FRAME[["area", "age"]]
    fit = spanwise.linear.lstsq(X, PRICE, weights=weights)
    found = terms(spanwise.explain(X, PRICE, weights=weights))
    np.testing.assert_allclose([found["area"], found["age"]], fit.coefficients, rtol=1e-12)


def test_attention_is_explained_from_arrays_of_any_type():
    q = rng.standard_normal((1, 2, 48, 16))
    for dtype in (np.float64, np.float32, np.float16):
        found = spanwise.explain(q=q.astype(dtype), k=q.astype(dtype), v=q.astype(dtype), causal=True)
        assert found.json["subject"]["kind"] == "attention"
        assert found.json["subject"]["queries"] == 48
    loud = spanwise.explain(q=30 * q, k=q, v=q)
    assert loud.findings[0].name == "saturated-softmax"


@pytest.mark.parametrize(
    ("error", "arguments"),
    [
        (NumberError, dict()),
        (NumberError, dict(X=FRAME)),
        (NumberError, dict(q=np.ones((4, 4)), k=np.ones((4, 4)))),
        (NumberError, dict(q=np.ones((4, 4)), k=np.ones((4, 4)), v=np.ones((4, 4)), colour=1)),
        (NumberError, dict(X=FRAME, y=PRICE, causal=True)),
        (NumberError, dict(X=FRAME, y=PRICE, confidence=1.5)),
        (ShapeError, dict(X=FRAME, y=PRICE[:7])),
        (ShapeError, dict(X=FRAME, y=PRICE, weights=np.ones(3))),
        (ShapeError, dict(q=np.ones((4, 4)), k=np.ones((4, 3)), v=np.ones((4, 4)))),
        (DtypeError, dict(X=FRAME, y=TOWNS, classes=False)),
        (DtypeError, dict(X=FRAME.assign(day=pd.Timestamp("2020-01-01")), y=PRICE)),
        (DtypeError, dict(X=FRAME.assign(mixed=["a", 1.5] * 60), y=PRICE)),
    ],
)
def test_what_does_not_fit_is_an_error_of_its_own_kind(error, arguments):
    with pytest.raises(error, match="^(explain|attention): "):
        spanwise.explain(**arguments)


def test_progress_is_said_only_where_it_is_wanted(capsys):
    spanwise.explain(FRAME, PRICE)
    assert capsys.readouterr().err == ""
    spanwise.explain(FRAME, PRICE, progress=True)
    said = capsys.readouterr().err
    assert "explain: " in said and said.endswith("\r")
