"""What can go wrong, each kind its own class.

Messages have the library's wording: operation, argument, what was found, what was expected, and where it helps a
second line that begins with ``hint:``.
"""

from __future__ import annotations

__all__ = [
    "ConvergenceError",
    "DeviceError",
    "DtypeError",
    "NotFiniteError",
    "NumberError",
    "ShapeError",
    "SingularError",
    "SummaryBytesError",
]


class ShapeError(ValueError):
    """Arrays that do not fit each other, or have the wrong number of dimensions."""


class NumberError(ValueError):
    """A setting, or a number in an array, outside the range that makes sense."""


class NotFiniteError(NumberError):
    """A NaN or an infinity where numbers are needed."""


class SingularError(ValueError):
    """A system without a unique answer."""


class ConvergenceError(ValueError):
    """An iteration that ended without reaching its tolerance."""


class SummaryBytesError(ValueError):
    """Bytes that are not a summary."""


class DtypeError(TypeError):
    """Something that does not hold numbers, or numbers of a type that is not supported."""


class DeviceError(TypeError):
    """An array that does not lie in the memory of the processor."""
