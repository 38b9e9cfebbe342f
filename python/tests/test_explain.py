"""`spanwise.explain` on tables of every kind and on attention."""

import json
import os
from decimal import Decimal
from fractions import Fraction

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


OBJECTS = {
    "floats": lambda y: np.array(list(y), dtype=object),
    "scalars of NumPy": lambda y: np.array([np.float32(value) for value in y], dtype=object),
    "pandas": lambda y: pd.Series(y, dtype=object),
    "decimals": lambda y: [Decimal(repr(float(value))) for value in y],
    "fractions": lambda y: [Fraction(float(value)) for value in y],
    "large integers": lambda y: [2**70 + int(value * 2**60) for value in y],
    "polars decimals": lambda y: pl.Series([Decimal(f"{value:.3f}") for value in y]),
}


@pytest.mark.parametrize("kind", list(OBJECTS))
def test_numbers_that_are_objects_are_numbers(kind):
    y = OBJECTS[kind](PRICE.to_numpy())
    found = spanwise.explain(FRAME, y)
    assert found.json["subject"]["classes"] == []
    assert terms(found) == terms(spanwise.explain(FRAME, np.array([float(value) for value in y])))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([1.0] * 119 + ["x"], r"holds 1\.0 and 'x'"),
        (np.array([1.0] * 119 + ["x"], dtype=object), r"holds 1\.0 and 'x'"),
        (["x", True] * 60, "holds 'x' and True"),
        (np.array([1.5, True] * 60, dtype=object), r"holds 1\.5 and True"),
        ([Decimal(1), "x"] * 60, r"holds Decimal\('1'\) and 'x'"),
        (np.array([b"a", b"b"] * 60, dtype=object), "holds b'a'"),
        ([pd.Timestamp("2020-01-01").date()] * 120, r"holds datetime\.date\(2020, 1, 1\)"),
    ],
)
def test_a_target_of_numbers_and_words_is_refused(values, said):
    for classes in (None, True):
        with pytest.raises(DtypeError, match=f"^explain: `y` {said}; expected numbers alone or words alone"):
            spanwise.explain(FRAME, values, classes=classes)


HIGH = (PRICE > 250).to_numpy()
WITH_A_HOLE = {
    "booleans of pandas": pd.Series(HIGH, dtype="boolean").mask(np.arange(120) == 5),
    "booleans of polars": pl.Series([None if row == 5 else bool(high) for row, high in enumerate(HIGH)]),
    "booleans of pyarrow": pa.array([None if row == 5 else bool(high) for row, high in enumerate(HIGH)]),
    "words of pandas": pd.Series(np.where(HIGH, "high", "low"), dtype="string").mask(np.arange(120) == 5),
    "words and NaN": [np.nan if row == 5 else "high" if high else "low" for row, high in enumerate(HIGH)],
    "words and None": [None if row == 5 else "high" if high else "low" for row, high in enumerate(HIGH)],
    "words and NaT": [pd.NaT if row == 5 else "high" if high else "low" for row, high in enumerate(HIGH)],
}


@pytest.mark.parametrize("kind", list(WITH_A_HOLE))
def test_a_class_that_is_missing_is_refused_or_its_row_is_dropped(kind):
    y = WITH_A_HOLE[kind]
    X = FRAME[["area", "age"]]
    for missing in ("error", "mean"):
        with pytest.raises(NotFiniteError, match="^explain: `y` holds nothing at row 5; expected a class"):
            spanwise.explain(X, y, missing=missing)
    subject = spanwise.explain(X, y, missing="drop").json["subject"]
    assert subject["rows"] == 119
    assert subject["classes"] == (["high", "low"] if "words" in kind else ["False", "True"])


def test_numbers_among_which_one_is_missing_are_numbers():
    for hole in (None, pd.NA, np.nan, Decimal("NaN"), Decimal("sNaN")):
        y = np.array([hole, *PRICE[1:]], dtype=object)
        with pytest.raises(NotFiniteError, match="^explain: `y` holds NaN at row 0"):
            spanwise.explain(FRAME, y)
        assert spanwise.explain(FRAME, y, missing="drop").json["subject"]["rows"] == 119


def test_infinity_is_no_class():
    for value, said in ((np.inf, "inf"), (-np.inf, "-inf"), (-(10**400), "-inf"), (10**5000, "inf")):
        y = np.array([0.0, 1.0] * 60, dtype=object)
        y[7] = value
        for classes in (True, None):
            with pytest.raises(NotFiniteError, match=f"^explain: `y` holds {said} at row 7; expected finite numbers"):
                spanwise.explain(FRAME, y, classes=classes)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_a_column_of_booleans_is_classes_too_unless_numbers_are_asked_for(kind):
    table = TABLES[kind](FRAME.assign(high=HIGH))
    assert spanwise.explain(table, "high").json["subject"]["classes"] == ["False", "True"]
    assert terms(spanwise.explain(table, "high", classes=False)) == terms(
        spanwise.explain(TABLES[kind](FRAME), HIGH.astype(float))
    )
    assert spanwise.explain(TABLES[kind](FRAME), HIGH, classes=False).json["subject"]["classes"] == []


def test_categories_are_classes_whether_named_or_given():
    grades = pd.Series(np.where(HIGH, 6, 4), name="grade").astype("category")
    assert spanwise.explain(FRAME, grades).json["subject"]["classes"] == ["4", "6"]
    assert spanwise.explain(FRAME.assign(grade=grades), "grade").json["subject"]["classes"] == ["4", "6"]


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_a_table_of_one_column_is_a_target(kind):
    y = TABLES[kind](pd.DataFrame({"price": PRICE}))
    assert terms(spanwise.explain(FRAME, y)) == terms(spanwise.explain(FRAME, PRICE))
    with pytest.raises(ShapeError, match="^explain: `y` has 3 columns; expected 1"):
        spanwise.explain(FRAME, TABLES[kind](FRAME))


def test_a_name_that_is_nearly_a_column_is_answered_with_it():
    table = FRAME.assign(price=PRICE)
    for slip in ("pric", "Price", "prcie"):
        with pytest.raises(ShapeError, match=f"^explain: `y` is '{slip}'; .*\nhint: did you mean \"price\"\\?$"):
            spanwise.explain(table, slip)
    with pytest.raises(ShapeError) as stranger:
        spanwise.explain(table, "salary")
    assert "hint" not in str(stranger.value)


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
    with pytest.raises(ValueError, match=r"x\.pdf.*expected \.html"):
        found.save(tmp_path / "x.pdf")
    with pytest.raises(FileNotFoundError) as refused:
        found.save(tmp_path / "nowhere" / "page.html")
    assert refused.value.filename == str(tmp_path / "nowhere")
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


@pytest.mark.parametrize("y", [PRICE, np.where(HIGH, "high", "low")], ids=["numbers", "classes"])
def test_errors_in_numbers_and_weights_are_those_of_explain_and_count_the_rows_given(y):
    holes = FRAME.copy()
    holes.loc[4, "area"] = np.nan  # the row before those that are wrong is dropped
    for value, error, said in (
        (np.nan, NotFiniteError, "NaN at row 9; expected finite numbers"),
        (np.inf, NotFiniteError, "inf at row 9; expected finite numbers"),
        (-1.5, NumberError, "-1.5 at row 9; expected numbers ≥ 0"),
    ):
        weights = np.ones(120)
        weights[9] = value
        with pytest.raises(error, match=f"^explain: `weights` holds {said}"):
            spanwise.explain(holes, y, weights=weights, missing="drop")
    with pytest.raises(NumberError, match="^explain: .*weights"):
        spanwise.explain(FRAME, y, weights=np.zeros(120))
    with pytest.raises(NumberError, match="^explain: `y` holds 1 different"):
        spanwise.explain(FRAME, ["one"] * 120)
    target = PRICE.copy()
    target[3] = np.nan
    with pytest.raises(NotFiniteError, match="^explain: `y` holds NaN at row 3; expected finite numbers"):
        spanwise.explain(FRAME, target)


@pytest.mark.parametrize(
    "setting",
    [
        dict(weights=np.ones(4)),
        dict(missing="drop"),
        dict(confidence=0.9),
        dict(classes=True),
        dict(classes=False),
        dict(intercept=False),
    ],
)
def test_settings_of_tables_are_refused_with_attention(setting):
    q = np.ones((4, 4))
    with pytest.raises(NumberError, match=f"^explain: `{next(iter(setting))}` is for tables; expected `X` and `y`"):
        spanwise.explain(q=q, k=q, v=q, **setting)


def test_attention_is_explained_from_arrays_of_any_type():
    q = rng.standard_normal((1, 2, 48, 16))
    for dtype in (np.float64, np.float32, np.float16):
        found = spanwise.explain(q=q.astype(dtype), k=q.astype(dtype), v=q.astype(dtype), causal=True)
        assert found.json["subject"]["kind"] == "attention"
        assert found.json["subject"]["queries"] == 48
    loud = spanwise.explain(q=30 * q, k=q, v=q)
    assert loud.findings[0].name == "saturated-softmax"


def test_attention_with_a_number_that_is_not_finite_is_refused_with_its_place():
    q = rng.standard_normal((1, 2, 6, 4))
    bad = q.copy()
    bad[0, 1, 2, 3] = np.nan
    place = "`q` holds NaN at batch 0, head 1, row 2, column 3, and 1 of 12 rows of outputs is not finite"
    with pytest.raises(NotFiniteError, match=f"^attention: {place}"):
        spanwise.explain(q=bad, k=q, v=q)


@pytest.mark.parametrize(
    ("error", "arguments"),
    [
        (NumberError, dict()),
        (NumberError, dict(X=FRAME)),
        (NumberError, dict(q=np.ones((4, 4)), k=np.ones((4, 4)))),
        (NumberError, dict(q=np.ones((4, 4)), k=np.ones((4, 4)), v=np.ones((4, 4)), colour=1)),
        (NumberError, dict(X=FRAME, y=PRICE, causal=True)),
        (NumberError, dict(X=FRAME, y=PRICE, wieghts=np.ones(120))),
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
