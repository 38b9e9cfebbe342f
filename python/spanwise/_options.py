"""What may be asked of attention, checked and as the extension takes it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from ._arrays import as_array
from ._kinds import Plain, Torch
from ._numbers import seed as random_seed
from ._numbers import whole
from .errors import DtypeError, NumberError, ShapeError

Array = npt.NDArray[Any]
Diagonal = Literal["top-left", "bottom-right"]
Window = tuple[int | None, int | None] | tuple[int | None, int | None, Diagonal]


def _number(argument: str, x: Any) -> float:
    try:
        return float(x)
    except (TypeError, ValueError):
        raise DtypeError(f"attention: `{argument}` is {x!r}; expected a number") from None


def _numbers(argument: str, x: Any) -> list[float]:
    found = as_array("attention", argument, x)
    if found.ndim != 1:
        raise ShapeError(f"attention: `{argument}` has shape {tuple(found.shape)}; expected 1 dimension")
    return [float(value) for value in found]


class Scored(TypedDict, total=False):
    """What changes scores; :func:`spanwise.attention` says what each means."""

    scale: float | None
    softcap: float | None
    bias: Any
    mask: Any
    causal: bool | Diagonal
    window: Window | None
    alibi: Any
    lengths: Any


class Weighed(Scored, total=False):
    """And weights."""

    sinks: Any


class Options(Weighed, total=False):
    """And outputs."""

    dropout: float
    seed: int


def refuse_others(function: str, options: Iterable[str], known: type[Any]) -> None:
    """Python's own words for keywords that are not among those of a class of options."""
    for name in options:
        if name not in known.__annotations__:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")


def asked(kind: Plain | Torch, like: Array, **options: Unpack[Options]) -> dict[str, Any] | None:
    """Those options that ask for something; ``like`` is ``q``, whose storage type a bias gets."""
    refuse_others("attention", options, Options)
    given: dict[str, Any] = {}
    if (scale := options.get("scale")) is not None:
        given["scale"] = _number("scale", scale)
    if (softcap := options.get("softcap")) is not None:
        given["softcap"] = _number("softcap", softcap)
    if (bias := options.get("bias")) is not None:
        if str(getattr(bias, "dtype", "")).endswith("bool"):
            raise DtypeError("attention: `bias` has dtype bool; expected numbers to add\nhint: `mask` takes booleans")
        given["bias"] = kind.bias(bias, like)
    if (mask := options.get("mask")) is not None:
        given["mask"] = _mask(kind, mask)
    causal = options.get("causal")
    if not isinstance(causal, (bool, np.bool_, str, type(None))):
        raise DtypeError(f'attention: `causal` is {causal!r}; expected True, False, "top-left" or "bottom-right"')
    if isinstance(causal, str) or causal:
        given["causal"] = causal if isinstance(causal, str) else "square"
    if (window := options.get("window")) is not None:
        given["window"] = _window(window)
    if (alibi := options.get("alibi")) is not None:
        given["alibi"] = _numbers("alibi", alibi)
    if (lengths := options.get("lengths")) is not None:
        given["lengths"] = _lengths(lengths)
    if (sinks := options.get("sinks")) is not None:
        given["sinks"] = _numbers("sinks", sinks)
    if (dropout := options.get("dropout", 0.0)) != 0.0:
        given["dropout"] = (_number("dropout", dropout), random_seed("attention", options.get("seed", 0)))
    return given or None


def _mask(kind: Plain | Torch, mask: Any) -> Array:
    array = kind.take("mask", mask)
    if array.dtype != np.bool_:
        raise DtypeError(
            f"attention: `mask` has dtype {array.dtype}; expected bool, where True keeps\n"
            "hint: `bias` takes numbers to add to the scores"
        )
    return array


def _window(window: Window) -> tuple[int | None, int | None, str | None]:
    if not isinstance(window, Iterable):
        raise DtypeError(f"attention: `window` is {window!r}; expected (left, right), None for no limit")
    parts = tuple(window)
    if len(parts) not in (2, 3):
        raise ShapeError(f"attention: `window` has {len(parts)} entries; expected (left, right) or (left, right, diagonal)")
    expected = "whole numbers ≥ 0, or None for no limit"
    left, right = (None if reach is None else whole("attention", "window", reach, expected) for reach in parts[:2])
    return left, right, str(parts[2]) if len(parts) == 3 else None


def _lengths(lengths: Any) -> list[int]:
    found = as_array("attention", "lengths", lengths)
    if found.ndim != 1:
        raise ShapeError(f"attention: `lengths` has shape {tuple(found.shape)}; expected 1 dimension")
    if found.dtype.kind not in "iu":
        raise DtypeError(f"attention: `lengths` has dtype {found.dtype}; expected whole numbers")
    if found.size and int(found.min()) < 0:
        raise NumberError(f"attention: `lengths` is {int(found.min())}; expected numbers ≥ 0")
    return [int(value) for value in found]


_SIMPLE = ("lse", "entropy", "max", "received", "row_sum_error")


def wanted(stats: str | Iterable[str]) -> dict[str, Any]:
    """The statistics that ``stats`` names."""
    names: dict[str, Any] = {}
    if not isinstance(stats, Iterable):
        raise DtypeError(f"attention: `stats` is {stats!r}; expected names of statistics")
    for word in (stats,) if isinstance(stats, str) else stats:
        name, colon, size = str(word).partition(":")
        parts = [int(part) if part.isdecimal() else 0 for part in size.split("x")]
        if name in _SIMPLE and not colon:
            names[name] = True
        elif name == "top_k" and len(parts) == 1 and parts[0] > 0:
            names["top_k"] = parts[0]
        elif name == "map" and len(parts) <= 2 and min(parts) > 0:
            names["map"] = (parts[0], parts[-1])
        else:
            raise NumberError(
                f"attention: `stats` names {word!r}; expected any of "
                '"lse", "entropy", "max", "top_k:8", "received", "row_sum_error", "map:128", "map:64x128"'
            )
    return names
