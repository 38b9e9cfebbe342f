"""The masks of Hugging Face models, told in words where they can be.

A model says which keys a query sees by a function of places (causal, a sliding window) and by which tokens are padding.
:func:`mask` keeps such patterns as they are, a few numbers and one row per batch entry, in a :class:`Pattern`: a tensor
of shape (B, 1, N, M) that holds no N × M booleans. Code that computes with it gets the booleans, made at that moment;
the attention function reads the pattern instead. Whatever is not recognised is a plain tensor of booleans.

Places: query ``i`` of a call stands at ``i + shift`` among the keys of the same call, where ``shift`` is how many keys
the cache held before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._pytree import tree_map_only
from transformers import masking_utils as theirs

__all__ = ["Facts", "Pattern", "mask"]

Window = tuple[int | None, int | None]


@dataclass(frozen=True, slots=True)
class Facts:
    """Which keys the queries of a call see.

    Attributes
    ----------
    queries, keys : int
        N and M.
    shift : int
        The place of the first query among the keys.
    causal : bool
        No query sees a key beyond its own place.
    window : (int or None, int or None), optional
        How many keys before and after its place a query sees.
    padding : Tensor of bool, (B, M), optional
        True for tokens, False for padding.
    lengths : list of int, optional
        Where all padding comes last: how many keys each batch entry has.
    first_key : int
        The place of the first key among all tokens: a sliding cache has let go of those before it.
    """

    queries: int
    keys: int
    shift: int
    causal: bool
    window: Window | None
    padding: torch.Tensor | None
    lengths: list[int] | None
    first_key: int = 0

    def booleans(self, batch: int, device: Any) -> torch.Tensor:
        """The same as (B, 1, N, M) booleans, True keeps."""
        places = torch.arange(self.queries, device=device)[:, None] + self.shift
        keys = torch.arange(self.keys, device=device)[None, :]
        seen = torch.ones(self.queries, self.keys, dtype=torch.bool, device=device)
        if self.causal:
            seen &= keys <= places
        left, right = self.window or (None, None)
        if left is not None:
            seen &= keys >= places - left
        if right is not None:
            seen &= keys <= places + right
        if self.padding is None:
            return seen.expand(batch, 1, -1, -1)
        return seen & self.padding.to(device)[:, None, None, :]

    def reach(self) -> int:
        """How many keys any query can see; the rest of a cache that is not full yet lies beyond."""
        return min(self.keys, max(self.shift + self.queries, 0)) if self.causal else self.keys

    def tokens(self) -> torch.Tensor | None:
        """Which queries are tokens and not padding, (B, N), where they are those whose places the keys' padding tells of."""
        if self.padding is None or not 0 <= self.shift <= self.keys - self.queries:
            return None
        return self.padding[:, self.shift : self.shift + self.queries]

    def options(self) -> dict[str, Any] | None:
        """The same as options of :func:`spanwise.attention` over the first :meth:`reach` keys; None where none fit."""
        keys = self.reach()
        bottom = keys - self.queries
        if self.shift not in (0, bottom) or keys == 0:
            return None
        diagonal = "top-left" if self.shift == 0 else "bottom-right"
        options: dict[str, Any] = {}
        if self.causal and not (self.queries == 1 and self.shift == bottom):
            options["causal"] = diagonal
        window = self._needed(keys)
        if window is not None:
            options["window"] = (*window, diagonal)
        if self.lengths is not None:
            options["lengths"] = [min(length, keys) for length in self.lengths]
        elif self.padding is not None:
            options["mask"] = self.padding[:, None, None, :keys]
        return options

    def _needed(self, keys: int) -> Window | None:
        """The window, where it hides anything."""
        if self.window is None:
            return None
        left, right = self.window
        if left is not None and left >= self.shift + self.queries - 1:
            left = None
        if right is not None and (self.causal or right >= keys - 1 - self.shift):
            right = None
        return None if left is None and right is None else (left, right)


class Pattern(torch.Tensor):  # type: ignore[misc]
    """A tensor of (B, 1, N, M) booleans that are made only where they are computed with."""

    facts: Facts

    @staticmethod
    def __new__(cls, facts: Facts, batch: int, device: Any) -> Pattern:
        shape = (batch, 1, facts.queries, facts.keys)
        made: Pattern = torch.Tensor._make_wrapper_subclass(cls, shape, dtype=torch.bool, device=device)
        made.facts = facts
        return made

    def booleans(self) -> torch.Tensor:
        """The booleans themselves."""
        return self.facts.booleans(self.shape[0], self.device)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        def plain(tree: Any) -> Any:
            return tree_map_only(Pattern, lambda pattern: pattern.booleans(), tree)

        return func(*plain(args), **plain(kwargs or {}))

    __torch_function__ = torch._C._disabled_torch_function_impl

    def __repr__(self, **_: Any) -> str:
        return f"Pattern(shape={tuple(self.shape)}, {self.facts})"


def _held(function: Callable[..., Any], name: str) -> Any:
    """What a closure holds under a name."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=False))
    return cells[name].cell_contents


def _is(function: Any, like: Callable[..., Any]) -> bool:
    """Whether both were made by the same lines of code."""
    return getattr(function, "__code__", None) is like.__code__


# One of each kind, to compare the code of others with.
_BOTH = theirs.and_masks(theirs.causal_mask_function)
_BACK = theirs.sliding_window_overlay(1)
_AROUND = theirs.sliding_window_bidirectional_overlay(1)


def _pattern(function: Any) -> tuple[bool, Window | None] | None:
    """Whether a function of places is causal, and its window; None where it is something else."""
    if function is theirs.causal_mask_function:
        return True, None
    if function is theirs.bidirectional_mask_function:
        return False, None
    if _is(function, _BACK):
        return False, (int(_held(function, "sliding_window")) - 1, None)
    if _is(function, _AROUND):
        reach = int(_held(function, "sliding_window"))
        return False, (reach, reach)
    if _is(function, _BOTH):
        return _together([_pattern(part) for part in _held(function, "mask_functions")])
    return None


def _together(parts: list[tuple[bool, Window | None] | None]) -> tuple[bool, Window | None] | None:
    """All of them at once, where at most one has a window."""
    known = [part for part in parts if part is not None]
    windows = [window for _, window in known if window is not None]
    if len(known) < len(parts) or len(windows) > 1:
        return None
    return any(causal for causal, _ in known), windows[0] if windows else None


def mask(
    batch_size: int,
    q_length: int,
    kv_length: int,
    q_offset: Any = 0,
    kv_offset: int = 0,
    mask_function: Callable[..., Any] = theirs.causal_mask_function,
    attention_mask: torch.Tensor | None = None,
    allow_is_bidirectional_skip: bool = False,
    device: Any = "cpu",
    **others: Any,
) -> torch.Tensor | None:
    """The mask of a call, as ``transformers`` asks for it: None, a :class:`Pattern`, or booleans that True keeps.

    Parameters
    ----------
    batch_size, q_length, kv_length : int
        B, N and M.
    q_offset, kv_offset : int
        The places of the first query and the first key.
    mask_function : callable
        Of batch entry, head, query's place and key's place.
    attention_mask : Tensor of bool, (B, tokens), optional
        False for padding.
    allow_is_bidirectional_skip : bool
        Whether None may stand for a mask that hides nothing.
    device
    **others
        For transformers' own function.
    """
    found = None if torch.compiler.is_compiling() or torch.jit.is_tracing() else _pattern(mask_function)
    if found is None:
        # Nothing that relies on `is_causal`: what is returned says all.
        others["allow_is_causal_skip"] = False
        return theirs.sdpa_mask(
            batch_size=batch_size,
            q_length=q_length,
            kv_length=kv_length,
            q_offset=q_offset,
            kv_offset=kv_offset,
            mask_function=mask_function,
            attention_mask=attention_mask,
            allow_is_bidirectional_skip=allow_is_bidirectional_skip,
            device=device,
            **others,
        )
    causal, window = found
    padding = theirs.prepare_padding_mask(attention_mask, kv_length, kv_offset)
    if padding is not None:
        padding = padding[:, kv_offset : kv_offset + kv_length].to(torch.bool)
    shift = int(q_offset) - kv_offset
    padding, lengths = _told(padding, min(kv_length, max(shift + q_length, 0)) if causal else kv_length)
    facts = Facts(q_length, kv_length, shift, causal, window, padding, lengths, kv_offset)
    if allow_is_bidirectional_skip and padding is None and not causal and facts.options() == {}:
        return None
    return Pattern(facts, batch_size, device)


def _told(padding: torch.Tensor | None, reach: int) -> tuple[torch.Tensor | None, list[int] | None]:
    """Padding among the keys that can be seen: None without any, with lengths where all of it comes last."""
    if padding is None or bool(padding[:, :reach].all()):
        return None, None
    lengths = padding.sum(dim=1)
    places = torch.arange(padding.shape[1], device=padding.device)
    if bool((padding == (places < lengths[:, None])).all()):
        return padding, lengths.tolist()
    return padding, None
