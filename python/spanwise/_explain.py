"""From a table, or from queries, keys and values, to findings a person can act on."""

from __future__ import annotations

import base64
import json
import os
import re
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _spanwise
from ._arrays import matrix, vector
from ._files import write_whole
from ._kinds import kind_of
from ._options import asked
from ._progress import Progress
from ._tables import Missing, encode, table_columns, target, target_of_column
from .errors import DtypeError, NotFiniteError, NumberError, ShapeError

__all__ = ["Explanation", "Finding", "explain"]

F64 = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that follows from the data.

    Attributes
    ----------
    name : str
        What kind it is, such as ``"exact-dependency"``.
    severity : {"serious", "caution", "note"}
    statement : str
        What was found, in a sentence.
    evidence : dict of str to float
        The numbers behind it.
    certificate : str or None
        How it was checked, and what the check left.
    advice : str or None
        What to do about it.
    figure : str or None
        The id of the figure that shows it.
    """

    name: str
    severity: str
    statement: str
    evidence: dict[str, float]
    certificate: str | None
    advice: str | None
    figure: str | None

    def __str__(self) -> str:
        return f"{self.severity}: {self.statement}"


class Explanation:
    """What follows from data: findings, the figures behind them, tables, how it was computed.

    Printed it is one screen of text; a notebook shows the page.

    Attributes
    ----------
    verdict : tuple of str
        The answer in two or three sentences.
    findings : tuple of Finding
        Most serious first.
    """

    __slots__ = ("_found", "findings", "verdict")

    def __init__(self, found: _spanwise.Explanation) -> None:
        self._found = found
        self.verdict: tuple[str, ...] = tuple(found.verdict())
        self.findings: tuple[Finding, ...] = tuple(
            Finding(name, severity, statement, dict(evidence), certificate, advice, figure)
            for name, severity, statement, advice, certificate, evidence, figure in found.findings()
        )

    def __repr__(self) -> str:
        return self._found.text().rstrip("\n")

    def _repr_html_(self) -> str:
        # A page of its own: its styles and script must not touch the notebook's.
        page = base64.b64encode(self._found.html().encode()).decode()
        return (
            f'<iframe src="data:text/html;charset=utf-8;base64,{page}" title="Spanwise explains" '
            'style="width:100%;height:900px;border:0"></iframe>'
        )

    def to_json(self) -> str:
        """Everything as JSON; numbers read back to the same bits."""
        return self._found.json()

    @property
    def json(self) -> Any:
        """Everything as plain lists and dictionaries."""
        return json.loads(self._found.json())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page, one HTML file complete in itself: whole, or not at all."""
        if Path(path).suffix.lower() not in ("", ".html", ".htm"):
            raise ValueError(
                f"explain: `path` is {os.fspath(path)!r}; expected .html or no ending\n"
                "hint: browsers print a page as .pdf; `figures` writes pictures"
            )
        write_whole(path, self._found.html())

    def figures(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Writes each figure as an SVG file into a folder, made where it is not there, and says which were written."""
        place = Path(folder)
        place.mkdir(exist_ok=True)
        written = []
        for name, drawing in self._found.figures():
            written.append(place / f"{name}.svg")
            write_whole(written[-1], drawing)
        return written


def explain(
    X: Any = None,
    y: Any = None,
    *,
    q: Any = None,
    k: Any = None,
    v: Any = None,
    weights: Any = None,
    intercept: bool = True,
    classes: bool | None = None,
    missing: Missing = "error",
    confidence: float = 0.95,
    progress: bool | None = None,
    **options: Any,
) -> Explanation:
    """Explains a table with a target, ``explain(X, y)``, or attention, ``explain(q=…, k=…, v=…)``.

    Of a table: rank and conditioning, which columns depend on which and by what formula, how much of the target lies outside
    the span and whether other features would reach it, rows that stand out, digits that can be trusted. Of attention:
    where heads look, which are saturated, alike or at rest, and whether outputs lie in the hull of the values.

    Parameters
    ----------
    X : array or table, (n, d)
        NumPy arrays, pandas and polars frames, pyarrow tables. Columns of words become columns of 0 and 1 for each level
        but the first.
    y : array, (n,), or str
        The target: numbers, words or booleans (classes), or the name of a column of ``X``.
    q, k, v : array or tensor
        As :func:`spanwise.attention` takes them.
    weights : array, (n,), optional
        One weight ≥ 0 per row.
    intercept : bool
    classes : bool, optional
        Whether the target is classes and not numbers; so for words and booleans unless given.
    missing : {"error", "drop", "mean"}
        What becomes of missing values: refused, their rows left out, or the column's mean instead.
    confidence : float
        Of intervals.
    progress : bool, optional
        Whether to say on stderr what is being done; in notebooks and interactive terminals unless given.
    **options
        ``scale``, ``softcap``, ``bias``, ``mask``, ``causal``, ``window``, ``alibi``, ``lengths`` and ``sinks`` of attention.

    Returns
    -------
    Explanation

    Examples
    --------
    >>> import numpy as np, spanwise
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 2))
    >>> X = np.column_stack([X, X[:, 0] + X[:, 1]])
    >>> found = spanwise.explain(X, X @ [1.0, 2.0, 0.0] + rng.standard_normal(200))
    >>> found.findings[0].name, found.findings[0].severity
    ('exact-dependency', 'serious')
    >>> print(found.findings[0].statement)
    `x[2]` adds nothing: x[2] = x[0] + x[1]
    """
    given = [name for name, value in (("q", q), ("k", k), ("v", v)) if value is not None]
    with Progress("explain", progress) as line:
        if given:
            if X is not None or y is not None or len(given) < 3:
                raise NumberError("explain: expected `X` and `y`, or `q`, `k` and `v`")
            _refuse_table_settings(weights, intercept, classes, missing, confidence)
            return _attention(q, k, v, options, line)
        if X is None or y is None:
            raise NumberError("explain: expected `X` and `y`, or `q`, `k` and `v`")
        if options:
            _refuse_unknown(options)
            raise NumberError(f"explain: `{next(iter(options))}` is for attention; expected `q`, `k` and `v` with it")
        table = _Table(X, y, weights, classes, missing)
        return table.explained(intercept, confidence, line)


_OPTIONS = ("scale", "softcap", "bias", "mask", "causal", "window", "alibi", "lengths", "sinks")


def _refuse_unknown(options: dict[str, Any]) -> None:
    unknown = next((name for name in options if name not in _OPTIONS), None)
    if unknown is not None:
        raise NumberError(f"explain: there is no option `{unknown}`; expected any of {', '.join(_OPTIONS)}")


def _refuse_table_settings(weights: Any, intercept: Any, classes: Any, missing: Any, confidence: Any) -> None:
    asked_for = {
        "weights": weights is not None,
        "intercept": intercept is not True,
        "classes": classes is not None,
        "missing": missing != "error",
        "confidence": confidence != 0.95,
    }
    given = next((name for name, differs in asked_for.items() if differs), None)
    if given is not None:
        raise NumberError(f"explain: `{given}` is for tables; expected `X` and `y` with it")


def _attention(q: Any, k: Any, v: Any, options: dict[str, Any], line: Progress) -> Explanation:
    _refuse_unknown(options)
    kind = kind_of(q)
    arrays = kind.take("q", q), kind.take("k", k), kind.take("v", v)
    given = asked(kind, arrays[0], **options)
    return Explanation(_spanwise.explain_attention(*arrays, given, kind.bits, line.callback))


# "fit: ", "logistic regression: ": what the library was doing for the explanation.
_OPERATION = re.compile("^[a-z ]+: ")


class _Table:
    """A table, its target and weights, as the library takes them."""

    def __init__(self, X: Any, y: Any, weights: Any, classes: bool | None, missing: str) -> None:
        columns = table_columns("explain", "X", X, words=False)
        if columns is None:
            found = matrix("explain", "X", X)
            names = found.names or tuple(f"x[{j}]" for j in range(found.values.shape[1]))
            numbers = (np.ascontiguousarray(column, dtype=np.float64) for column in found.values.T)
            columns = [(name, column, None) for name, column in zip(names, numbers, strict=True)]
        if isinstance(y, str):
            self.name = y
            place = _place(y, [name for name, _, _ in columns])
            self.target = target_of_column(X, columns, place)
            columns = columns[:place] + columns[place + 1 :]
        else:
            self.name = str(getattr(y, "name", None) or "y")
            self.target = target("explain", "y", y)
        self.rows_read = self.target.rows
        for _, held, words in columns:
            rows = len(held) if held is not None else len(words[0]) if words is not None else 0
            if rows != self.rows_read:
                raise ShapeError(f"explain: `X` has {rows} rows, `y` has {self.rows_read}; they must be equal")
        if self.target.words is not None and classes is False:
            raise DtypeError("explain: `y` holds words; expected numbers\nhint: `classes=True` explains classes")
        self.classes = self.target.boolean if classes is None else classes
        self.columns, self.missing = columns, missing
        self.weights = None if weights is None else vector("explain", "weights", weights)
        if self.weights is not None and len(self.weights) != self.rows_read:
            raise ShapeError(
                f"explain: `weights` has length {len(self.weights)}, `y` has {self.rows_read}; they must be equal"
            )

    def _present(self) -> npt.NDArray[np.bool_] | None:
        """Rows whose target is there, where others may be left out."""
        if self.missing != "drop":
            return None
        if self.target.numbers is not None:
            return np.isfinite(self.target.numbers)
        assert self.target.words is not None
        return np.array([word is not None for word in self.target.words], dtype=np.bool_)

    def _taken(self, kept: npt.NDArray[np.intp]) -> tuple[F64 | None, list[str | None] | None]:
        """The target of the rows that are kept: numbers, or one class per row."""
        if self.target.words is not None:
            words = [self.target.words[row] for row in kept]
            if None in words:
                raise _no_class(int(kept[words.index(None)]))
            return None, words
        assert self.target.numbers is not None
        numbers = self.target.numbers[kept]
        if not self.classes:
            return _finite("y", numbers, kept), None
        if np.isnan(numbers).any():
            raise _no_class(int(kept[np.isnan(numbers)][0]))
        labels = (bool(value) if self.target.boolean else value for value in _finite("y", numbers, kept).tolist())
        return None, [_label(label) for label in labels]

    def _weighed(self, kept: npt.NDArray[np.intp]) -> F64 | None:
        """The weights of the rows that are kept."""
        if self.weights is None:
            return None
        weights = _finite("weights", self.weights[kept], kept)
        if (weights < 0).any():
            place = int(np.flatnonzero(weights < 0)[0])
            raise NumberError(f"explain: `weights` holds {weights[place]:g} at row {kept[place]}; expected numbers ≥ 0")
        return weights

    def explained(self, intercept: bool, confidence: float, line: Progress) -> Explanation:
        if not 0 < confidence < 1:
            raise NumberError(f"explain: `confidence` is {confidence}; expected a number between 0 and 1")
        rows = encode("explain", "X", self.columns, missing=self.missing, present=self._present())
        if len(rows.kept) < 2:
            raise ShapeError(f"explain: {len(rows.kept)} of {self.rows_read} rows are left; expected at least 2")
        facts = {
            "source": "table",
            "target": self.name,
            "names": list(rows.design.names),
            "encodings": rows.design.encodings,
            "intercept": bool(intercept),
            "confidence": float(confidence),
            "rows_read": self.rows_read,
            "filled": rows.filled,
            "index": rows.kept.tolist(),
        }
        numbers, labels = self._taken(rows.kept)
        weights = self._weighed(rows.kept)
        try:
            found = _spanwise.explain_table(rows.values, numbers, labels, weights, facts, line.callback)
        except ValueError as error:
            raise type(error)(_OPERATION.sub("explain: ", str(error))) from None
        return Explanation(found)


def _place(name: str, names: list[str]) -> int:
    """Which column has the name."""
    if name in names:
        return names.index(name)
    folded = {known.lower(): known for known in names}
    near = get_close_matches(name.lower(), folded, n=1)
    hint = f'\nhint: did you mean "{folded[near[0]]}"?' if near else ""
    raise ShapeError(f"explain: `y` is {name!r}; expected a column of `X`, or the target itself{hint}")


def _finite(argument: str, values: F64, kept: npt.NDArray[np.intp]) -> F64:
    """The values of the rows that are kept, without gaps; errors count rows as they were given."""
    wrong = np.flatnonzero(~np.isfinite(values))
    if wrong.size:
        value = "NaN" if np.isnan(values[wrong[0]]) else f"{values[wrong[0]]:g}"
        raise NotFiniteError(
            f"explain: `{argument}` holds {value} at row {kept[wrong[0]]}; expected finite numbers"
        )
    return np.ascontiguousarray(values)


def _no_class(row: int) -> NotFiniteError:
    return NotFiniteError(f"explain: `y` holds nothing at row {row}; expected a class")


def _label(value: float | bool) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return repr(value)
