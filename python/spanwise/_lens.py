"""Where the attention of a Hugging Face model looks, layer by layer and head by head.

While a lens is open the model's attention runs in Spanwise, whatever implementation the model has, and the statistics of
the weights come with the values. The N × M weights are never stored, and nothing falls back to eager attention.
"""

from __future__ import annotations

import operator
import os
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from . import _spanwise
from ._explain import Explanation
from ._kinds import kind_of
from ._options import asked
from .errors import DtypeError, NumberError

__all__ = ["Lens", "LayerMap", "lens"]

F64 = npt.NDArray[np.float64]


class LayerMap(NamedTuple):
    """The weights of one head pooled over cells, queries down and keys across: means and largest, (rows, cols) each."""

    mean: F64
    max: F64


class Lens:
    """Statistics of a model's attention weights; made by :func:`spanwise.lens`.

    Attributes
    ----------
    layers : list of str
        The attention layers that were called, in the model's order, by their names in the model.
    """

    def __init__(self, model: Any, cells: int) -> None:
        self._model = model
        self._cells = cells
        self._names: dict[int, str] = {}
        self._order: dict[str, int] = {}
        self._found: dict[str, _spanwise.LayerTally] = {}
        self._crossing: set[int] = set()
        self._before: list[tuple[Any, Any]] = []

    def __repr__(self) -> str:
        heads = sum(layer.heads() for layer in self._found.values())
        return f"Lens({type(self._model).__name__}): {len(self._found)} layers and {heads} heads seen"

    def __enter__(self) -> Self:
        from . import transformers as ours

        ours.register()
        models = ours.models_of(self._model)
        if not models:
            raise DtypeError(
                f"lens: `model` is a {type(self._model).__name__}; expected a model of transformers, or a module that holds some"
            )
        for model in models:
            if not model._can_set_attn_implementation():
                raise NumberError(
                    f"lens: {type(model).__name__} does not go through transformers' attention interface; expected a "
                    "model that does"
                )
        for name, module in self._model.named_modules():
            self._names[id(module)] = name
            self._order[name] = len(self._order)
        self._crossing = ours.crossing_of(self._model)
        self._before = [(config, config._attn_implementation_internal) for config in ours.configs_of(self._model)]
        for config, _ in self._before:
            config._attn_implementation_internal = ours.NAME
        ours.watchers.append(self._watch)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        from . import transformers as ours

        if self._watch in ours.watchers:
            ours.watchers.remove(self._watch)
        for config, before in self._before:
            config._attn_implementation_internal = before
        self._before, self._names, self._crossing = [], {}, set()

    def _watch(self, module: Any, q: Any, k: Any, v: Any, options: dict[str, Any], facts: Any) -> Any:
        """Called for every attention layer of any model; gives the values where the layer is one of ours."""
        from .transformers import served

        name = self._names.get(id(module))
        if name is None:
            return None
        if q.numel() == 0 or k.numel() == 0:
            return None
        if not served(q, k, v):
            raise NumberError(
                f"lens: layer {name!r} computes with {q.dtype} on {q.device}; expected plain tensors on the CPU, of float64, "
                "float32, bfloat16 or float16, and a model that is not compiled"
            )
        kind = kind_of(q)
        plain = {key: value.detach() if hasattr(value, "detach") else value for key, value in options.items()}
        arrays = kind.take("q", q.detach()), kind.take("k", k.detach()), kind.take("v", v.detach())
        place = self._cells, 0 if facts is None else facts.first_key, self._tokens(module, facts)
        tally = self._found.get(name) or _spanwise.LayerTally(q.shape[1])
        values = tally.attend(*arrays, asked(kind, arrays[0], **plain), place, kind.bits)
        self._found[name] = tally
        return kind.give(values, q)

    def _tokens(self, module: Any, facts: Any) -> npt.NDArray[np.bool_] | None:
        """Which queries are tokens, row after row of the batch, where the mask tells of them and not of other tokens."""
        if facts is None or (id(module) in self._crossing and not facts.causal):
            return None
        tokens = facts.tokens()
        return None if tokens is None else np.ascontiguousarray(tokens.numpy()).ravel()

    @property
    def layers(self) -> list[str]:
        return sorted(self._found, key=self._order.__getitem__)

    def _layer(self, layer: int | str) -> _spanwise.LayerTally:
        names = self.layers
        self._require_calls()
        if isinstance(layer, str):
            if layer not in self._found:
                raise NumberError(f"lens: `layer` is {layer!r}; expected one of {names}")
            return self._found[layer]
        place = _whole("layer", layer, "a whole number or a name")
        if not -len(names) <= place < len(names):
            raise NumberError(f"lens: `layer` is {layer}; expected a number below {len(names)}, the layers seen")
        return self._found[names[place]]

    def _require_calls(self) -> None:
        if not self._found:
            raise NumberError("lens: no attention layer was called; expected the model to run inside the `with` block")

    def table(self) -> Any:
        """One row per layer and head: a pandas DataFrame where pandas is installed, else a dict of columns.

        Returns
        -------
        DataFrame or dict
            ``layer`` (its name) and ``head``; ``rows``: queries that are tokens and saw a key, over batch entries and
            calls; ``keys``; means over those rows of ``entropy`` (in nats), ``entropy_share`` (of what the row's keys could have; 1 is uniform) and
            ``max`` (the largest weight); ``saturated``, the share of rows with a weight above 0.9; ``top_key``, the key that
            receives most, and ``top_share``, its share of all mass; ``sink_mass``, the share that goes to a sink logit.
        """
        columns: dict[str, list[Any]] = {"layer": [], "head": [], **_spanwise.LayerTally(0).numbers()}
        for name in self.layers:
            numbers = self._found[name].numbers()
            heads = range(self._found[name].heads())
            for key, values in {"layer": [name] * len(heads), "head": heads, **numbers}.items():
                columns[key].extend(values)
        try:
            import pandas
        except ImportError:
            return columns
        return pandas.DataFrame(columns)

    def map(self, layer: int | str, head: int, *, batch: int | None = None) -> LayerMap:
        """The pooled weights of a head, in the call of its layer that had the most weights.

        Parameters
        ----------
        layer : int or str
            Its place in :attr:`layers`, or its name.
        head : int
        batch : int, optional
            The batch entry; means over all, and the largest of all, unless given.

        Returns
        -------
        LayerMap
            ``mean`` and ``max``, each (rows, cols), queries down and keys across. A batch entry in which a row of a cell is
            NaN is left out of the cell; a cell with no other entry is NaN.
        """
        found = self._layer(layer)
        head = _whole("head", head, "a whole number")
        batch = None if batch is None else _whole("batch", batch, "a whole number, or None")
        if not 0 <= head < found.heads():
            raise NumberError(f"lens: `head` is {head}; expected a number below {found.heads()}")
        entries = found.map_batch()
        if entries is not None and batch is not None and not 0 <= batch < entries:
            raise NumberError(f"lens: `batch` is {batch}; expected a number below {entries}")
        cells = None if entries is None else found.map(head, batch)
        if cells is None:
            raise NumberError(f"lens: layer {layer!r} has no map; expected a call with queries and keys")
        return LayerMap(*cells)

    def received(self, layer: int | str) -> F64:
        """What each key of a layer received from queries that are tokens, (H, M), over batch entries and calls."""
        return self._layer(layer).received()

    def explain(self) -> Explanation:
        """What follows: findings, figures and tables over all layers and heads."""
        self._require_calls()
        layers = [(name, self._found[name]) for name in self.layers]
        return Explanation(_spanwise.explain_layers(type(self._model).__name__, layers))

    def report(self, path: str | os.PathLike[str]) -> None:
        """Writes one page, complete in itself: entropy per layer and head, all heads, received mass, findings."""
        self.explain().save(path)


def _whole(argument: str, found: Any, expected: str) -> int:
    try:
        return operator.index(found)
    except TypeError:
        raise DtypeError(f"lens: `{argument}` is {found!r}; expected {expected}") from None


def lens(model: Any, *, cells: int = 64) -> Lens:
    """Looks at the attention of a model while it runs.

    Inside the ``with`` block the model's attention is computed by Spanwise. At its end, or where an error leaves it, the
    model has the implementation it had before.

    Queries that are padding do not count, where the mask given to the model tells of them: an ``attention_mask`` of (B, N)
    does, for self-attention. A mask of (B, 1, N, M) does not, nor does the encoder's mask in cross-attention: there every
    query counts that sees a key. Maps show all queries.

    Parameters
    ----------
    model : PreTrainedModel
        Of ``transformers``, or a module that holds some.
    cells : int
        Cells along each side of the pooled maps, at most.

    Returns
    -------
    Lens
        With :meth:`~Lens.table`, :meth:`~Lens.map`, :meth:`~Lens.received` and :meth:`~Lens.report`.

    Examples
    --------
    >>> import spanwise, torch  # doctest: +SKIP
    >>> with spanwise.lens(model) as lens, torch.no_grad():  # doctest: +SKIP
    ...     model(**inputs)
    >>> lens.table()  # doctest: +SKIP
    >>> lens.report("attention.html")  # doctest: +SKIP
    """
    count = _whole("cells", cells, "a whole number ≥ 1")
    if count < 1:
        raise NumberError(f"lens: `cells` is {cells}; expected a number ≥ 1")
    return Lens(model, count)
