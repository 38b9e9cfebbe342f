"""Where the attention of a Hugging Face model looks, layer by layer and head by head.

While a lens is open the model's attention runs in Spanwise, whatever implementation the model has, and the statistics of
the weights come with the values. The N × M weights are never stored, and nothing falls back to eager attention.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from . import _spanwise
from ._attention import AttentionStats, attention
from ._explain import Explanation
from .errors import NumberError

__all__ = ["Lens", "LayerMap", "lens"]

F64 = npt.NDArray[np.float64]
F32 = npt.NDArray[np.float32]

# A row is saturated where one weight is larger.
_SATURATED = 0.9
_COLUMNS = (
    "layer",
    "head",
    "rows",
    "keys",
    "entropy",
    "entropy_share",
    "max",
    "saturated",
    "top_key",
    "top_share",
    "sink_mass",
)


class LayerMap(NamedTuple):
    """The weights of one head pooled over cells, queries down and keys across: means and largest, (rows, cols) each."""

    mean: F64
    max: F64


@dataclass(slots=True)
class _Layer:
    """What was seen of one attention layer, summed over batch entries and calls. H heads; M keys of the longest call."""

    name: str
    heads: int
    calls: int = 0
    queries: int = 0
    keys: int = 0
    empty_rows: int = 0
    rows: F64 = field(default_factory=lambda: np.zeros(0))
    entropy: F64 = field(default_factory=lambda: np.zeros(0))
    shares: F64 = field(default_factory=lambda: np.zeros(0))
    shared: F64 = field(default_factory=lambda: np.zeros(0))
    largest: F64 = field(default_factory=lambda: np.zeros(0))
    saturated: F64 = field(default_factory=lambda: np.zeros(0))
    received: F64 = field(default_factory=lambda: np.zeros((0, 0)))
    # Of the call with the most weights: (B, H, rows, cols).
    map_mean: F32 | None = None
    map_max: F32 | None = None

    def __post_init__(self) -> None:
        for name in ("rows", "entropy", "shares", "shared", "largest", "saturated"):
            setattr(self, name, np.zeros(self.heads))
        self.received = np.zeros((self.heads, 0))

    def add(self, stats: AttentionStats, seen: npt.NDArray[Any], first_key: int) -> None:
        """Adds a call; `seen` counts the keys that each row sees, broadcast to (B, H, N)."""
        assert stats.entropy is not None and stats.max is not None and stats.received is not None
        live = stats.max > 0
        self.calls += 1
        self.empty_rows += stats.empty_rows
        self.rows += live.sum(axis=(0, 2))
        self.entropy += np.where(live, stats.entropy, 0.0).sum(axis=(0, 2))
        # Keys that a row does not see do not make it less even.
        several = live & (seen > 1)
        uniform = np.log(np.maximum(seen, 2))
        self.shares += np.where(several, stats.entropy / uniform, 0.0).sum(axis=(0, 2))
        self.shared += several.sum(axis=(0, 2))
        self.largest += np.where(live, stats.max, 0.0).sum(axis=(0, 2))
        # A row with one key has no choice.
        self.saturated += (several & (stats.max > _SATURATED)).sum(axis=(0, 2))
        self._receive(stats.received.sum(axis=0), first_key)
        queries, keys = stats.max.shape[2], stats.received.shape[2]
        if stats.map_mean is not None and stats.map_max is not None and queries * keys > self.queries * self.keys:
            self.map_mean, self.map_max = stats.map_mean.astype(np.float32), stats.map_max.astype(np.float32)
            self.queries, self.keys = queries, keys

    def _receive(self, mass: F64, first_key: int) -> None:
        places = slice(first_key, first_key + mass.shape[1])
        more = places.stop - self.received.shape[1]
        if more > 0:
            self.received = np.pad(self.received, ((0, 0), (0, more)))
        self.received[:, places] += mass

    def numbers(self) -> dict[str, F64]:
        """One number per head, by name."""
        rows = np.maximum(self.rows, 1)
        mass = self.received.sum(axis=1)
        top = self.received.argmax(axis=1)
        best = np.take_along_axis(self.received, top[:, None], axis=1)[:, 0]
        return {
            "entropy": self.entropy / rows,
            "entropy_share": np.where(self.shared > 0, self.shares / np.maximum(self.shared, 1), 1.0),
            "max": self.largest / rows,
            "saturated": self.saturated / rows,
            "top_key": top.astype(np.float64),
            "top_share": np.divide(best, mass, out=np.zeros_like(best), where=mass > 0),
            "sink_mass": np.maximum(1.0 - mass / rows, 0.0),
        }


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
        self._found: dict[str, _Layer] = {}
        self._before: list[tuple[Any, Any]] = []

    def __enter__(self) -> Self:
        from . import transformers as ours

        ours.register()
        for model in ours.models_of(self._model):
            if not model._can_set_attn_implementation():
                raise NumberError(
                    f"lens: {type(model).__name__} does not go through transformers' attention interface; expected a "
                    "model that does"
                )
        for name, module in self._model.named_modules():
            self._names[id(module)] = name
            self._order[name] = len(self._order)
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
        self._before, self._names = [], {}

    def _watch(self, module: Any, q: Any, k: Any, v: Any, options: dict[str, Any], first_key: int) -> Any:
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
        n, m = q.shape[2], k.shape[2]
        cells = f"map:{min(self._cells, n)}x{min(self._cells, m)}"
        plain = {key: value.detach() if hasattr(value, "detach") else value for key, value in options.items()}
        values, stats = attention(
            q.detach(), k.detach(), v.detach(), **plain, stats=["entropy", "max", "received", cells]
        )
        layer = self._found.setdefault(name, _Layer(name, q.shape[1]))
        layer.add(stats, seen_counts(n, m, plain), first_key)
        return values

    @property
    def layers(self) -> list[str]:
        return sorted(self._found, key=self._order.__getitem__)

    def _layer(self, layer: int | str) -> _Layer:
        names = self.layers
        if isinstance(layer, str):
            if layer not in self._found:
                raise NumberError(f"lens: `layer` is {layer!r}; expected one of {names}")
            return self._found[layer]
        if not -len(names) <= layer < len(names):
            raise NumberError(f"lens: `layer` is {layer}; expected a number below {len(names)}, the layers seen")
        return self._found[names[layer]]

    def table(self) -> Any:
        """One row per layer and head: a pandas DataFrame where pandas is installed, else a dict of columns.

        Returns
        -------
        DataFrame or dict
            ``layer`` (its name) and ``head``; ``rows`` that saw a key, over batch entries and calls, and ``keys``; means over
            those rows of ``entropy`` (in nats), ``entropy_share`` (of what the row's keys could have; 1 is uniform) and
            ``max`` (the largest weight); ``saturated``, the share of rows with a weight above 0.9; ``top_key``, the key that
            receives most, and ``top_share``, its share of all mass; ``sink_mass``, the share that goes to a sink logit.
        """
        columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
        for name in self.layers:
            layer = self._found[name]
            numbers = layer.numbers()
            for head in range(layer.heads):
                columns["layer"].append(name)
                columns["head"].append(head)
                columns["rows"].append(int(layer.rows[head]))
                columns["keys"].append(layer.received.shape[1])
                for key, values in numbers.items():
                    columns[key].append(int(values[head]) if key == "top_key" else float(values[head]))
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
            ``mean`` and ``max``, each (rows, cols), queries down and keys across.
        """
        found = self._layer(layer)
        if not 0 <= head < found.heads:
            raise NumberError(f"lens: `head` is {head}; expected a number below {found.heads}")
        if found.map_mean is None or found.map_max is None:
            raise NumberError(f"lens: layer {found.name!r} has no map; expected a call with queries and keys")
        mean, largest = found.map_mean[:, head].astype(np.float64), found.map_max[:, head].astype(np.float64)
        if batch is None:
            return LayerMap(mean.mean(axis=0), largest.max(axis=0))
        if not 0 <= batch < len(mean):
            raise NumberError(f"lens: `batch` is {batch}; expected a number below {len(mean)}")
        return LayerMap(mean[batch], largest[batch])

    def received(self, layer: int | str) -> F64:
        """What each key of a layer received, (H, M), summed over queries, batch entries and calls."""
        return self._layer(layer).received.copy()

    def explain(self) -> Explanation:
        """What follows: findings, figures and tables over all layers and heads."""
        if not self._found:
            raise NumberError("lens: no attention layer was called; expected the model to run inside the `with` block")
        layers = []
        for name in self.layers:
            layer = self._found[name]
            maps = None
            if layer.map_mean is not None and layer.map_max is not None:
                mean = np.ascontiguousarray(layer.map_mean.mean(axis=0), dtype=np.float64)
                largest = np.ascontiguousarray(layer.map_max.max(axis=0), dtype=np.float64)
                maps = (mean.shape[1], mean.shape[2], mean.ravel(), largest.ravel())
            layers.append(
                {
                    "name": name,
                    "queries": layer.queries,
                    "keys": layer.keys,
                    "rows": int(layer.rows.sum()),
                    "empty_rows": layer.empty_rows,
                    "received": layer.received,
                    "map": maps,
                    **layer.numbers(),
                }
            )
        return Explanation(_spanwise.explain_layers(type(self._model).__name__, layers))

    def report(self, path: str | os.PathLike[str]) -> None:
        """Writes one page, complete in itself: entropy per layer and head, all heads, received mass, findings."""
        self.explain().save(path)


def seen_counts(n: int, m: int, options: dict[str, Any]) -> npt.NDArray[Any]:
    """How many keys each row sees after masking, broadcast to (B, H, N)."""
    rows = np.arange(n)
    low, high = np.zeros(n, dtype=np.int64), np.full(n, m)
    left, right, diagonal = options.get("window") or (None, None, "top-left")
    for reach, which in ((0 if options.get("causal") else None, options.get("causal")), (right, diagonal)):
        if reach is not None:
            high = np.minimum(high, rows + (m - n if which == "bottom-right" else 0) + reach + 1)
    if left is not None:
        low = np.maximum(low, rows + (m - n if diagonal == "bottom-right" else 0) - left)
    low, high = np.minimum(low, m), np.clip(high, 0, m)
    mask = options.get("mask")
    if mask is None and options.get("bias") is not None:
        # Masks that are added hold the lowest number of their type, or -inf.
        bias = options["bias"].double().numpy()
        mask = bias > -1e4 if bias.min() <= -1e4 else None
    if options.get("lengths") is not None:
        lengths = np.asarray(options["lengths"])[:, None]
        return np.asarray(np.maximum(np.minimum(high, lengths) - low, 0)[:, None, :])
    if mask is None:
        return np.asarray(np.maximum(high - low, 0)[None, None, :])
    kept = np.asarray(mask)
    if kept.shape[-2] != 1:  # a mask of its own for each query says all
        return np.asarray(kept.sum(axis=-1))
    row = kept[..., 0, :]
    before = np.concatenate([np.zeros((*row.shape[:-1], 1), dtype=np.int64), row.cumsum(axis=-1)], axis=-1)
    return np.asarray(np.maximum(before[..., high] - before[..., low], 0))


def lens(model: Any, *, cells: int = 64) -> Lens:
    """Looks at the attention of a model while it runs.

    Inside the ``with`` block the model's attention is computed by Spanwise; a query counts where it sees a key, be it a
    token or padding. At its end, or where an error leaves it, the
    model has the implementation it had before.

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
    if cells < 1:
        raise NumberError(f"lens: `cells` is {cells}; expected a number ≥ 1")
    return Lens(model, int(cells))
